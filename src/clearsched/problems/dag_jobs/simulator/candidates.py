"""Which stages a decision may choose (docs/simulator.md §4), and what policies read of the jobs.

Candidates are kept up to date, not searched: `lower_demand` and `raise_demand` are the only places where a stage's
demand changes (beside the hot path of engine.py, which calls `saturate` itself), and when it crosses 0 they mark or
unmark the stage and its children. Invariants at any time, over the stages of active jobs:

    UNSATURATED = number of parents with demand > 0
    CANDIDATE = 1 if and only if demand > 0, UNSATURATED = 0 and SELECTED = 0 (and WAITING = 0 under Spark's offers)
    HAS_DEMAND, READY, NUM_CANDIDATES of a job and JOBS_WITH_DEMAND, TOTAL_CANDIDATES count these.
"""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import compiled, inlined
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.parking import change_ready
from clearsched.problems.dag_jobs.simulator.state import NONE, State


@inlined
def demand(stage: np.ndarray, s: int) -> int:
    """Tasks of stage s that no executor is meant for yet; may be negative."""
    return stage[s, st.DEMAND]


@inlined
def is_complete(stage: np.ndarray, s: int) -> bool:
    """All tasks of stage s have finished."""
    return stage[s, st.UNSTARTED] == 0 and stage[s, st.RUNNING] == 0


@inlined
def in_frontier(stage: np.ndarray, s: int) -> bool:
    """All parents of stage s are complete and it has tasks not started."""
    return stage[s, st.WAITING] == 0 and stage[s, st.UNSTARTED] > 0


@inlined
def is_offered(state: State, s: int) -> bool:
    """The parents of stage s let it be a candidate: all saturated, or under Spark's offers (§10) complete."""
    waits = state.scalar[st.SPARK_OFFERS] == 1 and state.stage[s, st.WAITING] > 0
    return state.stage[s, st.UNSATURATED] == 0 and not waits


@inlined
def lower_demand(state: State, s: int, count: int) -> None:
    """An executor (or `count` of them) is now meant for stage s."""
    before = state.stage[s, st.DEMAND]
    state.stage[s, st.DEMAND] = before - count
    if before > 0 and before <= count:
        saturate(state, s)


@inlined
def raise_demand(state: State, s: int, count: int) -> None:
    """An executor (or `count` of them) is no longer meant for stage s."""
    before = state.stage[s, st.DEMAND]
    state.stage[s, st.DEMAND] = before + count
    if before <= 0 and before + count > 0:
        unsaturate(state, s)


@compiled
def saturate(state: State, s: int) -> None:
    """The demand of stage s has fallen to 0 or below: it is no candidate, and its children may be."""
    scalar, stage, job, profiles = state.scalar, state.stage, state.job, state.profiles
    j, g = stage[s, st.JOB], stage[s, st.PROFILE_STAGE]
    mark(state, s, 0)
    if stage[s, st.WAITING] == 0:
        change_ready(state, j, -1)
    job[j, st.HAS_DEMAND] -= 1
    if job[j, st.HAS_DEMAND] == 0:
        scalar[st.JOBS_WITH_DEMAND] -= 1
    for i in range(profiles.child_start[g], profiles.child_start[g + 1]):
        child = job[j, st.BASE] + profiles.children[i]
        stage[child, st.UNSATURATED] -= 1
        if is_offered(state, child) and stage[child, st.DEMAND] > 0 and stage[child, st.SELECTED] == 0:
            mark(state, child, 1)


@compiled
def unsaturate(state: State, s: int) -> None:
    """The demand of stage s has risen above 0: it may be a candidate, and its children are not."""
    scalar, stage, job, profiles = state.scalar, state.stage, state.job, state.profiles
    j, g = stage[s, st.JOB], stage[s, st.PROFILE_STAGE]
    if is_offered(state, s) and stage[s, st.SELECTED] == 0:
        mark(state, s, 1)
    if stage[s, st.WAITING] == 0:
        change_ready(state, j, 1)
    if job[j, st.HAS_DEMAND] == 0:
        scalar[st.JOBS_WITH_DEMAND] += 1
    job[j, st.HAS_DEMAND] += 1
    for i in range(profiles.child_start[g], profiles.child_start[g + 1]):
        child = job[j, st.BASE] + profiles.children[i]
        stage[child, st.UNSATURATED] += 1
        mark(state, child, 0)


@inlined
def mark(state: State, s: int, candidate: int) -> None:
    """Set whether stage s is a candidate, and the counts."""
    change = candidate - state.stage[s, st.CANDIDATE]
    state.stage[s, st.CANDIDATE] = candidate
    state.job[state.stage[s, st.JOB], st.NUM_CANDIDATES] += change
    state.scalar[st.TOTAL_CANDIDATES] += change


@inlined
def select(state: State, s: int) -> None:
    """Stage s was chosen: no candidate for the rest of the round."""
    state.stage[s, st.SELECTED] = 1
    state.selected[state.scalar[st.NUM_SELECTED]] = s
    state.scalar[st.NUM_SELECTED] += 1
    mark(state, s, 0)


@inlined
def forget_selected(state: State) -> None:
    """The round is over: what was chosen in it may be chosen again."""
    stage, selected = state.stage, state.selected
    for i in range(state.scalar[st.NUM_SELECTED]):
        s = selected[i]
        stage[s, st.SELECTED] = 0
        if stage[s, st.DEMAND] > 0 and is_offered(state, s):
            mark(state, s, 1)
    state.scalar[st.NUM_SELECTED] = 0


@compiled
def survey(state: State) -> int:
    """Bring `work` up to date for the active jobs; return the number of candidates of the pending decision.

    Sums are taken anew, in order of the stages, so that they do not depend on what happened before; but only of jobs
    that have started a task since.
    """
    stage, job, work, known, num_tasks = state.stage, state.job, state.work, state.known, state.profiles.num_tasks
    for i in range(state.scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        if job[j, st.WORK_STAMP] == job[j, st.TASKS_LEFT]:
            continue
        left = critical_path = 0.0
        for s in range(job[j, st.BASE], job[j, st.BASE] + job[j, st.NUM_STAGES]):
            if stage[s, st.UNSTARTED] > 0:
                task_ms = known[s, st.TASK_MS]
                own = stage[s, st.UNSTARTED] * task_ms
                below = known[s, st.PATH_MS] - num_tasks[stage[s, st.PROFILE_STAGE]] * task_ms
                left += own
                critical_path = max(critical_path, own + below)
        work[j, st.WORK_LEFT_MS] = left
        work[j, st.CRITICAL_PATH_LEFT_MS] = critical_path
        work[j, st.WORK_ROOT] = (left + st.ROOT_OFFSET_MS) ** 0.2
        job[j, st.WORK_STAMP] = job[j, st.TASKS_LEFT]
    return state.scalar[st.TOTAL_CANDIDATES]


@inlined
def executors_of(state: State, j: int) -> int:
    """Executors attached to job j, in transit to it, or promised to it from keys outside the job."""
    job = state.job
    return job[j, st.ATTACHED] + job[j, st.TRANSIT] + job[j, st.PROMISED]


@inlined
def executors_held(state: State, j: int) -> int:
    """`executors_of`, without the k that are being decided on if j is their source: the count that a limit bounds."""
    held = executors_of(state, j)
    if j == state.scalar[st.SOURCE_JOB]:
        held -= state.scalar[st.TO_DECIDE]
    return held


@inlined
def first_candidate_of(state: State, j: int) -> int:
    """Job j's first candidate in frontier order, else its candidate of lowest index, else NONE."""
    stage, job = state.stage, state.job
    best = NONE
    for s in range(job[j, st.BASE], job[j, st.BASE] + job[j, st.NUM_STAGES]):
        if stage[s, st.CANDIDATE] == 0:
            continue
        if best == NONE or (
            stage[s, st.WAITING] == 0 and (stage[best, st.WAITING] > 0 or stage[s, st.OPENED] < stage[best, st.OPENED])
        ):
            best = s
    return best


@inlined
def first_candidate_overall(state: State) -> int:
    """The candidate of the earliest active job, lowest index first, else NONE."""
    if state.scalar[st.TOTAL_CANDIDATES] == 0:
        return NONE
    stage, job, active = state.stage, state.job, state.active
    i = 0
    while job[active[i], st.NUM_CANDIDATES] == 0:
        i += 1
    s = job[active[i], st.BASE]
    while stage[s, st.CANDIDATE] == 0:
        s += 1
    return s


@compiled
def candidates_before(state: State, s: int) -> int:
    """How many candidates come before candidate s: by job in order of arrival, then by index."""
    stage, job, active = state.stage, state.job, state.active
    own = stage[s, st.JOB]
    count = i = 0
    while active[i] != own:
        count += job[active[i], st.NUM_CANDIDATES]
        i += 1
    for other in range(job[own, st.BASE], s):
        count += stage[other, st.CANDIDATE]
    return count


@compiled
def candidate_at(state: State, position: int) -> int:
    """The candidate before which `position` others come."""
    stage, job, active = state.stage, state.job, state.active
    i = 0
    while position >= job[active[i], st.NUM_CANDIDATES]:
        position -= job[active[i], st.NUM_CANDIDATES]
        i += 1
    s = job[active[i], st.BASE]
    while True:
        if stage[s, st.CANDIDATE] == 1:
            if position == 0:
                return s
            position -= 1
        s += 1
