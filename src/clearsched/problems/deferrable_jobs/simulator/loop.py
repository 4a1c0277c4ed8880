"""A whole episode inside the compiled loop: advance, ask the policy, answer, until all jobs are complete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from clearsched.compiled.features import new_rows
from clearsched.compiled.jit import allocating, compiled, concurrent
from clearsched.compiled.scoring import INVALID, NOTHING, Packed, best_candidate
from clearsched.compiled.trees import BLOCK
from clearsched.errors import FeatureError
from clearsched.problems.declarations import Heuristic
from clearsched.problems.deferrable_jobs.features import NUM_FEATURES
from clearsched.problems.deferrable_jobs.policies import HEURISTICS
from clearsched.problems.deferrable_jobs.simulator.engine import advance, answer, none_allowed
from clearsched.problems.deferrable_jobs.simulator.rows import fill_rows
from clearsched.problems.deferrable_jobs.simulator.state import NONE, NUM_DECISIONS, State
from clearsched.registry import load

LEARNED = -1
"""Code of a policy that scores the candidates; a heuristic's is its position in the registry."""


EVERY = np.ones(NUM_FEATURES, np.bool_)
"""Of the features: all are read."""


class Compiled(NamedTuple):
    """A policy that runs inside the loop: a heuristic with its parameters, or what scores candidates."""

    code: int
    parameters: np.ndarray  # float64[as many as it has]
    start: Packed = NOTHING
    read: np.ndarray = EVERY  # bool[NUM_FEATURES]: the features that it asks for; no others are written


class Scratch(NamedTuple):
    """What `choose` works in, so that the loop allocates nothing. J jobs."""

    rows: np.ndarray  # float32[at least J, NUM_FEATURES]
    numbers: np.ndarray  # float64[4 J]
    values: np.ndarray  # float64[J + BLOCK]: scores


def dispatcher(entries: Iterable[Heuristic]) -> Any:
    """A compiled function (state, code, parameters) -> job or NONE that asks the heuristic of the code.

    Like a feature's formula it has no cache of its own: it is compiled into the loop, which has one.
    """
    lines, scope = ["def ask(state, code, parameters):"], {}
    for code, entry in enumerate(entries):
        scope[f"heuristic_{code}"] = load(entry.function)
        arguments = "".join(f", parameters[{i}]" for i in range(len(entry.parameters)))
        lines += [f"    if code == {code}:", f"        return heuristic_{code}(state{arguments})"]
    exec("\n".join([*lines, f"    return {NONE}"]), scope)
    options: dict[str, Any] = {"_nrt": False}
    return njit(**options)(scope["ask"])


ask_heuristic = dispatcher(HEURISTICS.values())


@allocating
def new_scratch(jobs: int) -> Scratch:
    """Scratch for any decision of an episode of so many jobs."""
    return Scratch(new_rows(jobs, NUM_FEATURES), np.empty(4 * jobs), np.empty(jobs + BLOCK))


@compiled
def choose(state: State, policy: Compiled, scratch: Scratch) -> int:
    """The job to start, or NONE where that is allowed, or INVALID: a score is not a finite number.

    Where nothing else is going to happen, a heuristic that names no job starts the first candidate.
    """
    may_wait = none_allowed(state)
    if policy.code == LEARNED:
        count = fill_rows(state, scratch.rows, 0, scratch.numbers, policy.read)
        best = best_candidate(policy.start, scratch.rows, count, scratch.values, may_wait)
        return state.candidates[best] if best >= 0 else best
    j = ask_heuristic(state, policy.code, policy.parameters)
    return state.candidates[0] if j == NONE and not may_wait else j


@concurrent
def run_episode(state: State, policy: Compiled) -> bool:
    """Run an episode to its end; False if it stopped at a decision whose answer is INVALID."""
    return run(state, policy, new_scratch(len(state.job)))


@compiled
def run(state: State, policy: Compiled, scratch: Scratch) -> bool:
    """`run_episode` without what it allocates."""
    while advance(state) > 0:
        j = choose(state, policy, scratch)
        if j == INVALID:
            return False
        answer(state, j)
    return True


def run_or_raise(state: State, policy: Compiled) -> None:
    """`run_episode`, with a fault as an error.

    Raises:
        FeatureError: a score of the policy is not finite.
    """
    if not run_episode(state, policy):
        raise fault(state)


def fault(state: State) -> FeatureError:
    """What to raise where `choose` answered INVALID."""
    number = int(state.scalar[NUM_DECISIONS])
    return FeatureError(f"decision {number}: the score of a job is not a finite number: its weights are too large")
