"""The event loop: the rules of docs/simulator.md §5 and §6.

`advance` runs events until a decision is pending or the episode is over; `commit` carries out an answer. Nine events
in ten are "the executor goes on with the next task of its stage"; `advance` handles these inline on local arrays,
since calls that pass the whole state cost more than the event itself. Everything else is a function.

Invariants between events: RUNNING of a stage is the number of its executors; ATTACHED of a job is its RUNNING
summed plus POOL; the heap holds one entry a running task; the promises of a key are at most the executors that can
follow them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.candidates import demand, in_frontier
from clearsched.problems.dag_jobs.durations import task_duration_ms
from clearsched.problems.dag_jobs.executors import back_up, dispatch, set_ready, start_task
from clearsched.problems.dag_jobs.heap import sift_down
from clearsched.problems.dag_jobs.logs import log_decision, log_task
from clearsched.problems.dag_jobs.profiles import FRESH, REST_WAVE
from clearsched.problems.dag_jobs.promises import promise, remove_entry
from clearsched.problems.dag_jobs.state import (
    ARRIVAL_MS,
    ATTACHED,
    BASE,
    CANDIDATE,
    COMPLETION_MS,
    ENTRY_KEY,
    ENTRY_TO,
    EVENT_MS,
    EVENT_NUMBER,
    EVENT_STAGE,
    GLOBAL_POOL,
    GRANTED,
    HEAP_SIZE,
    JOB,
    KEY,
    MEAN_DURATIONS,
    MOVING,
    NEXT_ARRIVAL,
    NEXT_NUMBER,
    NONE,
    NUM_ACTIVE,
    NUM_DECISIONS,
    NUM_EXECUTORS,
    NUM_STAGES,
    NUM_STARTED,
    OPENED,
    OPENED_COUNT,
    POOL,
    PROFILE_STAGE,
    READY_DETACHED,
    READY_POOL,
    READY_STAGE,
    RECORD_DECISIONS,
    RECORD_TASKS,
    RING_HEAD,
    RING_SIZE,
    ROUND,
    ROUND_OPEN,
    RUNNING,
    SELECTED_IN,
    SOURCE_JOB,
    STAGES_LEFT,
    TASKS_LEFT,
    TIME_MS,
    TO_DECIDE,
    TRANSIT,
    UNSTARTED,
    WAITING,
    State,
    activate,
    open_round_of_global_pool,
)

FAR = np.iinfo(np.int64).max


@njit(cache=True)
def advance(state: State) -> bool:
    """Run until a decision is pending (True) or no event is left (False)."""
    scalar, stage, job, heap = state.scalar, state.stage, state.job, state.heap
    profiles, levels, stream = state.profiles, state.levels, state.stream
    table, durations_ms, num_tasks = profiles.table, profiles.durations_ms, profiles.num_tasks
    mean_durations = scalar[MEAN_DURATIONS] == 1
    record_tasks = scalar[RECORD_TASKS] == 1
    while True:
        if scalar[TO_DECIDE] > 0:
            return True
        if scalar[ROUND_OPEN] == 1:
            scalar[ROUND] += 1  # empties the set of selected stages
            scalar[ROUND_OPEN] = 0
            dispatch(state)
        other_ms, other_number = next_other_event(state)
        # The hot path: the executor of the earliest completion starts the next task of the same stage.
        size, number, started = scalar[HEAP_SIZE], scalar[NEXT_NUMBER], scalar[NUM_STARTED]
        ended = NONE
        while size > 0:
            time_ms = heap[0, EVENT_MS]
            if time_ms > other_ms or (time_ms == other_ms and heap[0, EVENT_NUMBER] > other_number):
                break
            s = heap[0, EVENT_STAGE]
            unstarted = stage[s, UNSTARTED]
            if unstarted == 0:
                ended = s
                break
            j, g = stage[s, JOB], stage[s, PROFILE_STAGE]
            level = levels[job[j, ATTACHED]]
            task = NONE if mean_durations else num_tasks[g] - unstarted
            duration = task_duration_ms(table, durations_ms, g, level, REST_WAVE, stream[s], task)
            if record_tasks:
                log_task(state, started, time_ms, duration, s, REST_WAVE)
            started += 1
            stage[s, UNSTARTED] = unstarted - 1
            job[j, TASKS_LEFT] -= 1
            sift_down(heap, size, time_ms + duration, number, s)
            number += 1
        scalar[NEXT_NUMBER], scalar[NUM_STARTED] = number, started
        if ended != NONE:
            scalar[TIME_MS] = heap[0, EVENT_MS]
            scalar[HEAP_SIZE] = size - 1
            if size > 1:
                last = heap[size - 1]
                sift_down(heap, size - 1, last[EVENT_MS], last[EVENT_NUMBER], last[EVENT_STAGE])
            finish_task(state, ended)
        elif other_ms == FAR:
            return False
        else:
            scalar[TIME_MS] = other_ms
            if other_number == NONE:
                job_arrives(state)
            else:
                executor_arrives(state)


@njit(cache=True)
def commit(state: State, s: int, requested: int) -> int:
    """Carry out the answer to the pending decision: stage s (or NONE) gets up to `requested` executors.

    Returns the number committed: min(requested, demand, k); with NONE all k stay where they are.
    """
    scalar = state.scalar
    k = scalar[TO_DECIDE]
    if s == NONE:
        requested = committed = k
    else:
        committed = min(requested, demand(state.stage, s), k)
        state.stage[s, SELECTED_IN] = scalar[ROUND]
        if state.stage[s, JOB] != scalar[SOURCE_JOB]:
            state.job[state.stage[s, JOB], GRANTED] += committed  # what FIFO's second rule counts
    if scalar[RECORD_DECISIONS] == 1:
        log_decision(state, s, requested, committed)
    promise(state, scalar[KEY], s, committed)
    scalar[TO_DECIDE] = k - committed
    scalar[NUM_DECISIONS] += 1
    return committed


@njit(cache=True)
def next_other_event(state: State) -> tuple[int, int]:
    """(time, number) of the next event that is no task completion: the head of the ring or of the arrivals."""
    scalar, job = state.scalar, state.job
    time_ms, number = FAR, FAR
    if scalar[RING_SIZE] > 0:
        head = state.ring[scalar[RING_HEAD]]
        time_ms, number = head[EVENT_MS], head[EVENT_NUMBER]
    j = scalar[NEXT_ARRIVAL]
    # An arrival was pushed before any other event, so it goes first among events of the same time.
    if j < len(job) and job[j, ARRIVAL_MS] <= time_ms:
        return job[j, ARRIVAL_MS], NONE
    return time_ms, number


@njit(cache=True)
def job_arrives(state: State) -> None:
    """The only time after t = 0 that the global pool is consulted (a flaw that is kept)."""
    activate(state, state.scalar[NEXT_ARRIVAL])
    state.scalar[NEXT_ARRIVAL] += 1
    if state.scalar[GLOBAL_POOL] > 0:
        open_round_of_global_pool(state)


@njit(cache=True)
def executor_arrives(state: State) -> None:
    """The executor at the head of the ring reaches its stage."""
    scalar, stage, job = state.scalar, state.stage, state.job
    s = state.ring[scalar[RING_HEAD], EVENT_STAGE]
    j = stage[s, JOB]
    scalar[RING_HEAD] = (scalar[RING_HEAD] + 1) % scalar[NUM_EXECUTORS]
    scalar[RING_SIZE] -= 1
    stage[s, MOVING] -= 1
    job[j, TRANSIT] -= 1
    if job[j, STAGES_LEFT] == 0:
        back_up(state, NONE, FRESH)
        return
    job[j, ATTACHED] += 1
    if stage[s, UNSTARTED] == 0:
        back_up(state, j, FRESH)
    elif in_frontier(state.stage, s):
        start_task(state, s, FRESH)
    else:
        job[j, POOL] += 1


@njit(cache=True)
def finish_task(state: State, s: int) -> None:
    """The last unstarted task of stage s is out, and one of its executors has finished."""
    scalar, stage, job = state.scalar, state.stage, state.job
    j = stage[s, JOB]
    on_stage = stage[s, RUNNING]  # the executor that finishes included
    stage[s, RUNNING] -= 1
    opened = False
    if stage[s, RUNNING] == 0:
        job[j, STAGES_LEFT] -= 1
        opened = open_children(state, s)
    scalar[SOURCE_JOB] = j
    has_promises = state.key_head[s] != NONE
    if has_promises:
        set_ready(state, READY_STAGE, s, 1, s)
        dispatch(state)
    if opened:
        if not has_promises:
            job[j, POOL] += 1
        set_ready(state, READY_POOL, j, job[j, POOL], len(stage) + j)
        scalar[TO_DECIDE] = job[j, POOL]
        scalar[ROUND_OPEN] = 1
    elif not has_promises:
        set_ready(state, READY_STAGE, s, 1, s)
        scalar[TO_DECIDE] = on_stage
        scalar[ROUND_OPEN] = 1
    if job[j, STAGES_LEFT] == 0:
        complete_job(state, j)
        if not has_promises:
            # The round of the last executor still runs, but it is detached now.
            set_ready(state, READY_DETACHED, NONE, 1, len(stage) + len(job))


@njit(cache=True)
def open_children(state: State, s: int) -> bool:
    """Stage s is complete: count it off its children; True if one became runnable."""
    profiles, stage = state.profiles, state.stage
    g = stage[s, PROFILE_STAGE]
    base = state.job[stage[s, JOB], BASE]
    opened = False
    for i in range(profiles.child_start[g], profiles.child_start[g + 1]):
        child = base + profiles.children[i]
        stage[child, WAITING] -= 1
        if stage[child, WAITING] == 0:
            stage[child, OPENED] = state.scalar[OPENED_COUNT]
            state.scalar[OPENED_COUNT] += 1
            opened = True
    return opened


@njit(cache=True)
def complete_job(state: State, j: int) -> None:
    """Job j is done: its executors are free, promises to it vanish. Executors in transit find out when they arrive."""
    scalar, job, active = state.scalar, state.job, state.active
    job[j, COMPLETION_MS] = scalar[TIME_MS]
    scalar[GLOBAL_POOL] += job[j, POOL]
    job[j, POOL] = job[j, ATTACHED] = 0
    state.stage[job[j, BASE] : job[j, BASE] + job[j, NUM_STAGES], CANDIDATE] = 0  # `survey` visits active jobs only
    for e in range(len(state.entry)):
        to = state.entry[e, ENTRY_TO]
        if state.entry[e, ENTRY_KEY] != NONE and to != NONE and state.stage[to, JOB] == j:
            remove_entry(state, e)
    position = 0
    while active[position] != j:
        position += 1
    scalar[NUM_ACTIVE] -= 1
    for i in range(position, scalar[NUM_ACTIVE]):
        active[i] = active[i + 1]
