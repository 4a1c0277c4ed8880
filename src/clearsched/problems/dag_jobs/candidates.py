"""Which stages a decision may choose (docs/simulator.md §4), and what heuristics read of the jobs."""

from __future__ import annotations

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.state import (
    ATTACHED,
    BASE,
    CANDIDATE,
    COMMITTED,
    CRITICAL_PATH_LEFT_MS,
    HAS_DEMAND,
    MOVING,
    NONE,
    NUM_ACTIVE,
    NUM_CANDIDATES,
    NUM_STAGES,
    OPENED,
    PROFILE_STAGE,
    PROMISED,
    ROUND,
    RUNNING,
    SELECTED_IN,
    SOURCE_JOB,
    TO_DECIDE,
    TRANSIT,
    UNSTARTED,
    WAITING,
    WORK_LEFT_MS,
    State,
)


@njit(cache=True)
def demand(stage: np.ndarray, s: int) -> int:
    """Tasks of stage s that no executor is meant for yet; may be negative."""
    return stage[s, UNSTARTED] - stage[s, MOVING] - stage[s, COMMITTED]


@njit(cache=True)
def is_complete(stage: np.ndarray, s: int) -> bool:
    """All tasks of stage s have finished."""
    return stage[s, UNSTARTED] == 0 and stage[s, RUNNING] == 0


@njit(cache=True)
def in_frontier(stage: np.ndarray, s: int) -> bool:
    """All parents of stage s are complete and it has tasks not started."""
    return stage[s, WAITING] == 0 and stage[s, UNSTARTED] > 0


@njit(cache=True)
def is_candidate(
    stage: np.ndarray, parent_start: np.ndarray, parents: np.ndarray, base: int, decision_round: int, s: int
) -> bool:
    """Stage s is not selected in this round, has demand > 0, and all its parents are saturated (demand <= 0).

    Takes the few arrays it reads instead of the whole state: it is asked of every stage at every decision.
    """
    if demand(stage, s) <= 0 or stage[s, SELECTED_IN] == decision_round:
        return False
    if stage[s, WAITING] > 0:
        g = stage[s, PROFILE_STAGE]
        for i in range(parent_start[g], parent_start[g + 1]):
            if demand(stage, base + parents[i]) > 0:
                return False
    return True


@njit(cache=True)
def survey(state: State) -> int:
    """Mark the candidates of the pending decision and sum up each active job; return the number of candidates.

    Fills `stage[:, CANDIDATE]`, `job[:, NUM_CANDIDATES]`, `job[:, HAS_DEMAND]` and `work` of the active jobs.
    """
    stage, job, profiles = state.stage, state.job, state.profiles
    parent_start, parents, decision_round = profiles.parent_start, profiles.parents, state.scalar[ROUND]
    mean_ms, num_tasks, critical_path_ms = profiles.mean_ms, profiles.num_tasks, profiles.critical_path_ms
    total = 0
    for i in range(state.scalar[NUM_ACTIVE]):
        j = state.active[i]
        candidates = has_demand = 0
        work = critical_path = 0.0
        base = job[j, BASE]
        for s in range(base, base + job[j, NUM_STAGES]):
            chosen = 0
            if stage[s, UNSTARTED] > 0:
                g = stage[s, PROFILE_STAGE]
                own = stage[s, UNSTARTED] * mean_ms[g]
                below = critical_path_ms[g] - num_tasks[g] * mean_ms[g]
                work += own
                critical_path = max(critical_path, own + below)
                if demand(stage, s) > 0:
                    has_demand = 1
                    if is_candidate(stage, parent_start, parents, base, decision_round, s):
                        chosen = 1
                        candidates += 1
            stage[s, CANDIDATE] = chosen
        job[j, NUM_CANDIDATES] = candidates
        job[j, HAS_DEMAND] = has_demand
        state.work[j, WORK_LEFT_MS] = work
        state.work[j, CRITICAL_PATH_LEFT_MS] = critical_path
        total += candidates
    return total


@njit(cache=True)
def executors_of(state: State, j: int) -> int:
    """Executors attached to job j, in transit to it, or promised to it from keys outside the job."""
    row = state.job[j]
    return row[ATTACHED] + row[TRANSIT] + row[PROMISED]


@njit(cache=True)
def executors_held(state: State, j: int) -> int:
    """`executors_of`, without the k that are being decided on if j is their source: the count that a limit bounds."""
    held = executors_of(state, j)
    if j == state.scalar[SOURCE_JOB]:
        held -= state.scalar[TO_DECIDE]
    return held


@njit(cache=True)
def first_candidate_of(state: State, j: int) -> int:
    """Job j's first candidate in frontier order, else its candidate of lowest index, else NONE."""
    stage, job = state.stage, state.job
    best = NONE
    for s in range(job[j, BASE], job[j, BASE] + job[j, NUM_STAGES]):
        if stage[s, CANDIDATE] == 0:
            continue
        if best == NONE or (
            stage[s, WAITING] == 0 and (stage[best, WAITING] > 0 or stage[s, OPENED] < stage[best, OPENED])
        ):
            best = s
    return best


@njit(cache=True)
def first_candidate_overall(state: State) -> int:
    """The candidate of the earliest active job, lowest index first, else NONE. Does not use the marks of `survey`."""
    stage, job, decision_round = state.stage, state.job, state.scalar[ROUND]
    parent_start, parents = state.profiles.parent_start, state.profiles.parents
    for i in range(state.scalar[NUM_ACTIVE]):
        base = job[state.active[i], BASE]
        for s in range(base, base + job[state.active[i], NUM_STAGES]):
            if stage[s, UNSTARTED] > 0 and is_candidate(stage, parent_start, parents, base, decision_round, s):
                return s
    return NONE
