"""The hand-written policies, each small, named and with its source; all run inside the compiled loop.

A heuristic answers a decision with (stage, requested executors), or (NONE, 0) when no job qualifies. `survey` has
marked the candidates before it is asked.
"""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import compiled, inlined
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import (
    demand,
    executors_held,
    executors_of,
    first_candidate_of,
)
from clearsched.problems.dag_jobs.simulator.rows import WORK_OFFSET_MS, comes_before
from clearsched.problems.dag_jobs.simulator.state import NONE, State

EPSILON = 1e-9
"""Keeps the ceiling of a share that is whole, but for rounding, from growing by one."""


READS_NO_WORK = ("fifo", "weighted_fair", "wsjf")
"""Functions here that do not ask for the work that is left, so that `survey` need not sum it up for them."""


@inlined
def fifo(state: State) -> tuple[int, int]:
    """The source job keeps its executors; else the first job granted less than all executors (docs/simulator.md §7).

    As in Spark (`Semantics.spark_fifo`, §10): the executors of a job wait in it while it has a task to start, and what
    counts is what a job holds, not what it was ever granted.
    """
    s, requested = keep_local(state)
    if s != NONE:
        return s, requested
    scalar, source = state.scalar, state.scalar[st.SOURCE_JOB]
    as_spark = scalar[st.SPARK_FIFO] == 1
    scalar[st.HOLDS_JOBS] = scalar[st.SPARK_FIFO]
    if as_spark and source != NONE and state.job[source, st.TASKS_LEFT] > 0:
        return NONE, 0
    for i in range(scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        room = scalar[st.NUM_EXECUTORS] - (executors_of(state, j) if as_spark else state.job[j, st.GRANTED])
        if room > 0 and state.job[j, st.NUM_CANDIDATES] > 0:
            s = first_candidate_of(state, j)
            requested = min(demand(state.stage, s), room, scalar[st.TO_DECIDE])
            return s, requested
    return NONE, 0


@inlined
def weighted_fair(state: State, alpha: float) -> tuple[int, int]:
    """The source job keeps its executors; else the first job below its share, by total work^alpha (0: equal shares)."""
    s, requested = keep_local(state)
    if s != NONE:
        return s, requested
    scalar = state.scalar
    if scalar[st.TOTAL_CANDIDATES] == 0:
        return NONE, 0
    total = total_weight(state, alpha)
    cap = equal_cap(state, total)
    for i in range(scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        if state.job[j, st.NUM_CANDIDATES] == 0:
            continue
        if alpha != 0:
            cap = fair_cap(state, j, alpha, total)
        room = cap - executors_of(state, j)
        if room > 0:
            s = first_candidate_of(state, j)
            return s, min(demand(state.stage, s), room, scalar[st.TO_DECIDE])
    return NONE, 0


@compiled
def wsjf(state: State, alpha: float) -> tuple[int, int]:
    """Among jobs below their weighted fair share, the one with least total work; if none is, it gets everything."""
    scalar, job = state.scalar, state.job
    total = total_weight(state, alpha)
    best = fallback = NONE
    best_room = 0
    for i in range(scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        if job[j, st.NUM_CANDIDATES] == 0:
            continue
        if fallback == NONE or total_work(state, j) < total_work(state, fallback):
            fallback = j
        room = fair_cap(state, j, alpha, total) - executors_held(state, j)
        if room > 0 and (best == NONE or total_work(state, j) < total_work(state, best)):
            best, best_room = j, room
    if best != NONE:
        return deepest_candidate_of(state, best), best_room
    if fallback != NONE:
        return deepest_candidate_of(state, fallback), scalar[st.TO_DECIDE]
    return NONE, 0


@compiled
def sjf_cp(state: State) -> tuple[int, int]:
    """All executors to the job with least work left, on it to the ready stage with the longest critical path."""
    work, stage, known = state.work, state.stage, state.known
    best = NONE
    for i in range(state.scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        if state.job[j, st.NUM_CANDIDATES] > 0 and (
            best == NONE or work[j, st.WORK_LEFT_MS] < work[best, st.WORK_LEFT_MS]
        ):
            best = j
    if best == NONE:
        return NONE, 0
    chosen = NONE
    for s in range(state.job[best, st.BASE], state.job[best, st.BASE] + state.job[best, st.NUM_STAGES]):
        if stage[s, st.CANDIDATE] == 0:
            continue
        ready, chosen_ready = stage[s, st.WAITING] == 0, chosen != NONE and stage[chosen, st.WAITING] == 0
        longer = chosen == NONE or known[s, st.PATH_MS] > known[chosen, st.PATH_MS]
        if (ready and not chosen_ready) or (ready == chosen_ready and longer):
            chosen = s
    return chosen, state.scalar[st.TO_DECIDE]


@compiled
def capped_srpt(state: State, p: float, m: float) -> tuple[int, int]:
    """Shortest remaining work first under caps.

    With W a job's work not yet started plus 5 s, a job may hold ceil(m E W^p / sum W^p) of the E executors. Among jobs
    below their limit, the one with least W gets up to its limit; if all are at their limit, the smallest job gets
    everything. Within the job: ready stages first, then the one with most levels below it.
    """
    best, room, smallest = smallest_below_cap(state, p, m)
    if best != NONE:
        return deepest_candidate_of(state, best), room
    if smallest != NONE:
        return deepest_candidate_of(state, smallest), state.scalar[st.TO_DECIDE]
    return NONE, 0


@compiled
def local_srpt(state: State, p: float, m: float) -> tuple[int, int]:
    """Capped SRPT that moves an executor only when its job has nothing for it to run.

    The source job keeps all k executors while it has a candidate, as under fair scheduling in Spark. Else the smallest
    job below its cap gets up to its cap; if all are at their cap, the executors stay idle: where moving costs as much
    as the work, an executor beyond the cap comes too late to help.
    """
    j = state.scalar[st.SOURCE_JOB]
    if is_local(state, j):
        # It may hold all executors: the limit does not depend on how many happen to be free, so it can be learned.
        return deepest_candidate_of(state, j), state.scalar[st.NUM_EXECUTORS] - executors_held(state, j)
    best, room, _ = smallest_below_cap(state, p, m)
    if best != NONE:
        return deepest_candidate_of(state, best), room
    return NONE, 0


@compiled
def smallest_below_cap(state: State, p: float, m: float) -> tuple[int, int, int]:
    """Of the jobs with a candidate: the one with least work left below its cap, its room, and the one with least work.

    A job's cap is ceil(m E W^p / sum W^p), as in `capped_srpt`. Jobs are NONE where there is none.
    """
    scalar, job, work = state.scalar, state.job, state.work
    total = 0.0
    for i in range(scalar[st.NUM_ACTIVE]):
        total += (work[state.active[i], st.WORK_LEFT_MS] + WORK_OFFSET_MS) ** p
    best = smallest = NONE
    best_room = 0
    for i in range(scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        if job[j, st.NUM_CANDIDATES] == 0:
            continue
        if smallest == NONE or work[j, st.WORK_LEFT_MS] < work[smallest, st.WORK_LEFT_MS]:
            smallest = j
        share = (work[j, st.WORK_LEFT_MS] + WORK_OFFSET_MS) ** p / total
        room = int(np.ceil(m * scalar[st.NUM_EXECUTORS] * share - EPSILON)) - executors_held(state, j)
        if room > 0 and (best == NONE or work[j, st.WORK_LEFT_MS] < work[best, st.WORK_LEFT_MS]):
            best, best_room = j, room
    return best, best_room, smallest


@inlined
def keep_local(state: State) -> tuple[int, int]:
    """The source job's first candidate with all k executors, if the source job is active and has a candidate."""
    j = state.scalar[st.SOURCE_JOB]
    if is_local(state, j):
        return first_candidate_of(state, j), state.scalar[st.TO_DECIDE]
    return NONE, 0


@inlined
def is_local(state: State, j: int) -> bool:
    """Whether the source job j is there, active and has a candidate."""
    return j != NONE and state.job[j, st.STAGES_LEFT] > 0 and state.job[j, st.NUM_CANDIDATES] > 0


@inlined
def total_work(state: State, j: int) -> float:
    """Work of job j, done and left, in executor-milliseconds; at least 1, so that every power of it is a number."""
    return max(state.work[j, st.WORK_TOTAL_MS], 1.0)


@inlined
def total_weight(state: State, alpha: float) -> float:
    """Sum of total work^alpha over the active jobs with a stage of demand > 0."""
    if alpha == 0:
        return float(state.scalar[st.JOBS_WITH_DEMAND])
    total = 0.0
    for i in range(state.scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        if state.job[j, st.HAS_DEMAND] > 0:
            total += total_work(state, j) ** alpha
    return total


@inlined
def equal_cap(state: State, total: float) -> int:
    """`fair_cap` where all jobs weigh the same."""
    return int(np.ceil(state.scalar[st.NUM_EXECUTORS] / total - EPSILON))


@inlined
def fair_cap(state: State, j: int, alpha: float, total: float) -> int:
    """Executors that job j may hold: its share of all, rounded up."""
    return int(np.ceil(state.scalar[st.NUM_EXECUTORS] * total_work(state, j) ** alpha / total - EPSILON))


@compiled
def deepest_candidate_of(state: State, j: int) -> int:
    """Job j's candidate that comes first: ready ones, then most levels below, then lowest index."""
    best = NONE
    for s in range(state.job[j, st.BASE], state.job[j, st.BASE] + state.job[j, st.NUM_STAGES]):
        if state.stage[s, st.CANDIDATE] == 1 and (best == NONE or comes_before(state, s, best)):
            best = s
    return best
