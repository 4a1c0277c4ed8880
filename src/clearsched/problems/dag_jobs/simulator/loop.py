"""A whole episode inside the compiled loop: advance, ask the policy, commit, until no event is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.features import new_rows
from clearsched.compiled.jit import allocating, compiled, concurrent, inlined
from clearsched.compiled.scoring import INVALID, NOTHING, Packed, best_candidate, write_levels, write_scores
from clearsched.compiled.trees import BLOCK
from clearsched.errors import FeatureError
from clearsched.problems.dag_jobs.features import NUM_FEATURES
from clearsched.problems.dag_jobs.policies import LEARNED
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import executors_held, first_candidate_overall, survey
from clearsched.problems.dag_jobs.simulator.dispatch import choose_heuristic, reads_work
from clearsched.problems.dag_jobs.simulator.engine import DECIDE, advance, commit
from clearsched.problems.dag_jobs.simulator.rounds import none_allowed, something_pending
from clearsched.problems.dag_jobs.simulator.rows import describe_candidates, describe_fault, fill_features, place_of
from clearsched.problems.dag_jobs.simulator.state import NONE, State

EVERY = np.ones(NUM_FEATURES, np.bool_)
"""Of the features: all are read."""

EPSILON = 1e-9
"""Keeps a limit that is whole, but for rounding, from growing by one."""


class Compiled(NamedTuple):
    """A policy that runs inside the loop: a heuristic with its parameters, or what scores stages and limits.

    The candidate with the highest score is chosen, the first of equals; the score of the limit is the share of the
    executors that the job of the chosen stage may hold.
    """

    code: int  # one of policies.CODES, or LEARNED
    parameters: np.ndarray  # float64[2]
    stage: Packed = NOTHING
    limit: Packed = NOTHING
    read: np.ndarray = EVERY  # bool[NUM_FEATURES]: the features that either asks for; no others are written


class Scratch(NamedTuple):
    """What `choose` works in, so that the loop allocates nothing. S stage rows, J job rows."""

    rows: np.ndarray  # float32[at least S, NUM_FEATURES]: the feature matrix
    stages: np.ndarray  # int64[S]: the stage of each row
    numbers: np.ndarray  # float64[3 (S + J)]
    values: np.ndarray  # float64[S + BLOCK]: scores


@allocating
def new_scratch(state: State) -> Scratch:
    """Scratch for any decision of the state."""
    stages, jobs = len(state.stage), len(state.job)
    return Scratch(
        new_rows(stages, NUM_FEATURES),
        np.empty(stages, np.int64),
        np.empty(3 * (stages + jobs)),
        np.empty(stages + BLOCK),
    )


@inlined
def choose(state: State, policy: Compiled, scratch: Scratch) -> tuple[int, int]:
    """(stage, requested executors) of the pending decision, or (NONE, 0), or (INVALID, 0). `survey` must have run.

    `none` is refused where nothing else is going to happen, so that no policy can stop the cluster: a heuristic gets
    the first candidate instead, a policy that scores its best one.
    """
    code, parameters = policy.code, policy.parameters
    if code == LEARNED:
        return choose_by_score(state, policy, scratch)
    s, requested = choose_heuristic(state, code, parameters)
    if s == NONE and state.scalar[st.TOTAL_CANDIDATES] > 0 and not something_pending(state):
        return first_candidate_overall(state), state.scalar[st.TO_DECIDE]
    return s, requested


@inlined
def choose_by_score(state: State, policy: Compiled, scratch: Scratch) -> tuple[int, int]:
    """The candidate of the highest score, and as many executors as its job's limit leaves."""
    rows, stages, values = scratch.rows, scratch.stages, scratch.values
    count, finite = describe_candidates(state, rows, stages, scratch.numbers, policy.read)
    if count == 0:
        return NONE, 0
    if not finite:
        return INVALID, 0
    allowed = policy.stage.none and none_allowed(state)
    best = best_candidate(policy.stage, rows, count, values, allowed)
    if best < 0:
        return best, 0
    write_levels(policy.limit, rows[best : best + 1], 1, values)
    if not np.isfinite(values[0]):
        return INVALID, 0
    held = executors_held(state, state.stage[stages[best], st.JOB])
    return stages[best], limit_executors(values[0], state.scalar[st.NUM_EXECUTORS], held, policy.limit.up) - held


@inlined
def limit_executors(share: float, num_executors: int, held: int, up: bool) -> int:
    """The limit that a share of the cluster means for a job that holds `held`: rounded, from held + 1 to all."""
    wanted = min(max(share, 0.0), 1.0) * num_executors
    limit = int(np.ceil(wanted - EPSILON)) if up else int(np.floor(wanted + 0.5))
    return max(held + 1, limit)


@allocating
def choose_limit(state: State, policy: Compiled) -> tuple[int, int]:
    """(stage, limit) of the pending decision; (NONE, 0) if the policy names none; (INVALID, 0). See `choose`."""
    s, requested = choose(state, policy, new_scratch(state))
    if s < 0:
        return s, 0
    held = executors_held(state, state.stage[s, st.JOB])
    return s, min(held + requested, state.scalar[st.NUM_EXECUTORS])


@concurrent
def run_episode(state: State, policy: Compiled) -> int:
    """Run an episode to its end (OVER), a replay also to where it needs more jobs or rows (PAUSED).

    DECIDE: it stopped at a decision that has no answer; `fault` tells why.
    """
    return run(state, policy, new_scratch(state))


@compiled
def run(state: State, policy: Compiled, scratch: Scratch) -> int:
    """`run_episode` without what it allocates."""
    if policy.code != LEARNED:
        state.scalar[st.HELP_FIRST] = 0  # what `none` of a heuristic means is published
    while True:
        why = advance(state)
        if why != DECIDE:
            return why
        if reads_work(policy.code):
            survey(state)
        s, requested = choose(state, policy, scratch)
        if s == INVALID:
            return DECIDE
        commit(state, s, requested)


def run_or_raise(state: State, policy: Compiled) -> int:
    """`run_episode`, with a fault as an error.

    Raises:
        FeatureError: a feature or a score of the policy is not finite.
    """
    why: int = run_episode(state, policy)
    if why == DECIDE:
        raise FeatureError(fault(state, policy))
    return why


def fault(state: State, policy: Compiled) -> str:
    """Why `choose` answered INVALID to the pending decision, in one line."""
    rows, stages, _, values = new_scratch(state)
    count = fill_features(state, rows, stages)
    told = describe_fault(state, rows[:count], stages[:count])
    if told:
        return told
    for what, scorer in (("score", policy.stage), ("limit", policy.limit)):
        write_scores(scorer, rows, count, values)
        wrong = np.flatnonzero(~np.isfinite(values[:count]))
        if len(wrong):
            return (
                f"{place_of(state, stages[wrong[0]], f'the {what} is {values[wrong[0]]}')}: its weights are too large"
            )
    return ""
