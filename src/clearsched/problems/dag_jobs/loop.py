"""A whole episode inside the compiled loop: advance, ask the policy, commit, until no event is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.candidates import executors_held, survey
from clearsched.problems.dag_jobs.engine import DECIDE, advance, commit
from clearsched.problems.dag_jobs.features import NUM_FEATURES, fill_features
from clearsched.problems.dag_jobs.heuristics import (
    CAPPED_SRPT,
    FIFO,
    LEARNED,
    LOCAL_SRPT,
    SJF_CP,
    WEIGHTED_FAIR,
    WSJF,
    capped_srpt,
    fifo,
    local_srpt,
    sjf_cp,
    weighted_fair,
    wsjf,
)
from clearsched.problems.dag_jobs.state import JOB, NONE, NUM_EXECUTORS, State
from clearsched.problems.dag_jobs.trees import Trees, score


class Compiled(NamedTuple):
    """A policy that runs inside the loop: a heuristic with its parameters, or trees for stage and limit."""

    code: int  # one of the codes of heuristics.py
    parameters: np.ndarray  # float64[2]
    stage: Trees  # score of a candidate; the first best wins
    limit: Trees  # share of the executors that the chosen stage's job may hold


@njit(cache=True)
def choose(state: State, policy: Compiled, rows: np.ndarray, stages: np.ndarray) -> tuple[int, int]:
    """(stage, requested executors) of the pending decision, or (NONE, 0). `survey` must have run."""
    code, parameters = policy.code, policy.parameters
    if code == LEARNED:
        return choose_by_trees(state, policy, rows, stages)
    if code == FIFO:
        return fifo(state)
    if code == WEIGHTED_FAIR:
        return weighted_fair(state, parameters[0])
    if code == SJF_CP:
        return sjf_cp(state)
    if code == WSJF:
        return wsjf(state, parameters[0])
    if code == CAPPED_SRPT:
        return capped_srpt(state, parameters[0], parameters[1])
    if code == LOCAL_SRPT:
        return local_srpt(state, parameters[0], parameters[1])
    return NONE, 0


@njit(cache=True)
def choose_by_trees(state: State, policy: Compiled, rows: np.ndarray, stages: np.ndarray) -> tuple[int, int]:
    """The candidate of the highest score, and as many executors as its job's limit leaves."""
    count = fill_features(state, rows, stages)
    best, best_score = NONE, -np.inf
    for c in range(count):
        value = score(policy.stage, rows[c])
        if value > best_score:
            best, best_score = c, value
    if best == NONE:
        return NONE, 0
    held = executors_held(state, state.stage[stages[best], JOB])
    share = score(policy.limit, rows[best])
    return stages[best], limit_executors(share, state.scalar[NUM_EXECUTORS], held) - held


@njit(cache=True)
def limit_executors(share: float, num_executors: int, held: int) -> int:
    """The limit that a share of the cluster means for a job that holds `held`: rounded, from held + 1 to all."""
    limit = int(np.floor(share * num_executors + 0.5))
    return max(held + 1, min(limit, num_executors))


@njit(cache=True)
def choose_limit(state: State, policy: Compiled) -> tuple[int, int]:
    """(stage, limit) of the pending decision, (NONE, 0) if the policy names none. `survey` must have run."""
    rows = np.empty((len(state.stage), NUM_FEATURES), np.float32)
    stages = np.empty(len(state.stage), np.int64)
    s, requested = choose(state, policy, rows, stages)
    if s == NONE:
        return NONE, 0
    held = executors_held(state, state.stage[s, JOB])
    return s, min(held + requested, state.scalar[NUM_EXECUTORS])


@njit(cache=True)
def reads_work(code: int) -> bool:
    """Whether a policy asks for the work that is left, which `survey` sums up."""
    return code != FIFO and code != WEIGHTED_FAIR and code != WSJF


@njit(cache=True, nogil=True)
def run_episode(state: State, policy: Compiled) -> int:
    """Run an episode to its end (OVER), a replay also to where it needs more jobs or rows (PAUSED)."""
    rows = np.empty((len(state.stage), NUM_FEATURES), np.float32)
    stages = np.empty(len(state.stage), np.int64)
    while True:
        why = advance(state)
        if why != DECIDE:
            return why
        if reads_work(policy.code):
            survey(state)
        s, requested = choose(state, policy, rows, stages)
        commit(state, s, requested)
