"""What happens to a free executor (docs/simulator.md §5): dispatch, backup, parking, moving, starting a task."""

from __future__ import annotations

from numba import njit

from clearsched.problems.dag_jobs.candidates import demand, first_candidate_overall, in_frontier
from clearsched.problems.dag_jobs.durations import task_duration_ms
from clearsched.problems.dag_jobs.heap import sift_up
from clearsched.problems.dag_jobs.logs import log_task
from clearsched.problems.dag_jobs.profiles import FIRST_WAVE, FRESH
from clearsched.problems.dag_jobs.promises import take_promise
from clearsched.problems.dag_jobs.state import (
    ATTACHED,
    BASE,
    EVENT_MS,
    EVENT_NUMBER,
    EVENT_STAGE,
    GLOBAL_POOL,
    HEAP_SIZE,
    JOB,
    KEY,
    MEAN_DURATIONS,
    MOVING,
    MOVING_DELAY_MS,
    NEXT_NUMBER,
    NONE,
    NUM_EXECUTORS,
    NUM_STAGES,
    NUM_STARTED,
    OPENED,
    POOL,
    PROFILE_STAGE,
    READY_AT,
    READY_COUNT,
    READY_GLOBAL,
    READY_KIND,
    READY_POOL,
    READY_STAGE,
    RECORD_TASKS,
    RING_HEAD,
    RING_SIZE,
    RUNNING,
    TASKS_LEFT,
    TIME_MS,
    TRANSIT,
    UNSTARTED,
    State,
)


@njit(cache=True)
def set_ready(state: State, kind: int, at: int, count: int, key: int) -> None:
    """Name the executors that the next dispatch takes: `count` of them, at a pool, a stage or nowhere."""
    scalar = state.scalar
    scalar[READY_KIND], scalar[READY_AT], scalar[READY_COUNT], scalar[KEY] = kind, at, count, key


@njit(cache=True)
def dispatch(state: State) -> None:
    """Send ready executors where the promises of their key say (docs/simulator.md §5)."""
    scalar, stage, job = state.scalar, state.stage, state.job
    key, kind, at = scalar[KEY], scalar[READY_KIND], scalar[READY_AT]
    attached, wave = NONE, FRESH
    if kind == READY_POOL:
        attached = at
    elif kind == READY_STAGE:
        attached, wave = stage[at, JOB], FIRST_WAVE
    while state.key_head[key] != NONE and scalar[READY_COUNT] > 0:
        to = take_promise(state, key)
        scalar[READY_COUNT] -= 1
        if kind == READY_GLOBAL:
            scalar[GLOBAL_POOL] -= 1
        elif kind == READY_POOL:
            job[at, POOL] -= 1
        if to == NONE:
            if attached != NONE and job[attached, TASKS_LEFT] > 0:
                park(state, attached)
            else:
                detach(state, attached)
                park(state, NONE)
        elif stage[to, UNSTARTED] == 0:
            back_up(state, attached, wave)
        elif stage[to, JOB] != attached:
            move(state, attached, to)
        elif in_frontier(state.stage, to):
            start_task(state, to, wave)
        else:
            park(state, attached)


@njit(cache=True)
def back_up(state: State, attached: int, wave: int) -> None:
    """Use an executor whose stage has no task left: its job's first frontier stage with demand, else any candidate."""
    stage, job = state.stage, state.job
    if attached != NONE:
        best = NONE
        for s in range(job[attached, BASE], job[attached, BASE] + job[attached, NUM_STAGES]):
            if (
                in_frontier(state.stage, s)
                and demand(state.stage, s) > 0
                and (best == NONE or stage[s, OPENED] < stage[best, OPENED])
            ):
                best = s
        if best != NONE:
            start_task(state, best, wave)
            return
    to = first_candidate_overall(state)
    if to != NONE:
        move(state, attached, to)
    else:
        park(state, attached)


@njit(cache=True)
def park(state: State, attached: int) -> None:
    """A blank executor joins the free pool of the job it is attached to, or the global pool."""
    if attached == NONE:
        state.scalar[GLOBAL_POOL] += 1
    else:
        state.job[attached, POOL] += 1


@njit(cache=True)
def detach(state: State, attached: int) -> None:
    if attached != NONE:
        state.job[attached, ATTACHED] -= 1


@njit(cache=True)
def move(state: State, attached: int, to: int) -> None:
    """Send an executor to a stage of another job (or, from `back_up`, of its own): it is in transit for the delay."""
    scalar = state.scalar
    detach(state, attached)
    at = (scalar[RING_HEAD] + scalar[RING_SIZE]) % scalar[NUM_EXECUTORS]
    state.ring[at, EVENT_MS] = scalar[TIME_MS] + scalar[MOVING_DELAY_MS]
    state.ring[at, EVENT_NUMBER] = scalar[NEXT_NUMBER]
    state.ring[at, EVENT_STAGE] = to
    scalar[NEXT_NUMBER] += 1
    scalar[RING_SIZE] += 1
    state.stage[to, MOVING] += 1
    state.job[state.stage[to, JOB], TRANSIT] += 1


@njit(cache=True)
def start_task(state: State, s: int, wave: int) -> None:
    """Start the next task of stage s on an executor that is attached to its job."""
    scalar, stage, heap, profiles = state.scalar, state.stage, state.heap, state.profiles
    j, g = stage[s, JOB], stage[s, PROFILE_STAGE]
    level = state.levels[state.job[j, ATTACHED]]
    task = NONE if scalar[MEAN_DURATIONS] == 1 else profiles.num_tasks[g] - stage[s, UNSTARTED]
    duration = task_duration_ms(profiles.table, profiles.durations_ms, g, level, wave, state.stream[s], task)
    if scalar[RECORD_TASKS] == 1:
        log_task(state, scalar[NUM_STARTED], scalar[TIME_MS], duration, s, wave)
    scalar[NUM_STARTED] += 1
    stage[s, UNSTARTED] -= 1
    stage[s, RUNNING] += 1
    state.job[j, TASKS_LEFT] -= 1
    scalar[HEAP_SIZE] += 1
    sift_up(heap, scalar[HEAP_SIZE], scalar[TIME_MS] + duration, scalar[NEXT_NUMBER], s)
    scalar[NEXT_NUMBER] += 1
