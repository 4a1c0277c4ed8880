"""The event loop: the rules of SIMULATOR.md §5 and §6.

`advance` runs events until a decision is pending or the episode is over; `commit` carries out an answer. Nine events
in ten are "the executor goes on with the next task of its stage"; `advance` handles these inline on local arrays,
since calls that pass the whole state cost more than the event itself (MEASURED.md). Everything else is a function.

Invariants between events: RUNNING of a stage is the number of its executors; ATTACHED of a job is its RUNNING
summed plus POOL; the heap holds one entry a running task; the promises of a key are at most the executors that can
follow them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.candidates import (
    demand,
    first_candidate_overall,
    in_frontier,
)
from clearsched.problems.dag_jobs.profiles import ADD_MS, FIRST_WAVE, FRESH, LENGTH, MEAN_MS, OFFSET, REST_WAVE
from clearsched.problems.dag_jobs.state import (
    ARRIVAL_MS,
    ATTACHED,
    BASE,
    CANDIDATE,
    COMMITTED,
    COMPLETION_MS,
    ENTRY_COUNT,
    ENTRY_KEY,
    ENTRY_NEXT,
    ENTRY_TO,
    EVENT_MS,
    EVENT_NUMBER,
    EVENT_STAGE,
    FREE_ENTRY,
    GLOBAL_POOL,
    GRANTED,
    HEAP_SIZE,
    JOB,
    KEY,
    MEAN_DURATIONS,
    MOVING,
    MOVING_DELAY_MS,
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
    PROMISED,
    READY_AT,
    READY_COUNT,
    READY_DETACHED,
    READY_GLOBAL,
    READY_KIND,
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
    mix,
    open_round_of_global_pool,
)

FAR = np.iinfo(np.int64).max
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


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


# Events ----------------------------------------------------------------------------------------------------------


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


# Executors ---------------------------------------------------------------------------------------------------------


@njit(cache=True)
def set_ready(state: State, kind: int, at: int, count: int, key: int) -> None:
    """Name the executors that the next dispatch takes: `count` of them, at a pool, a stage or nowhere."""
    scalar = state.scalar
    scalar[READY_KIND], scalar[READY_AT], scalar[READY_COUNT], scalar[KEY] = kind, at, count, key


@njit(cache=True)
def dispatch(state: State) -> None:
    """Send ready executors where the promises of their key say (SIMULATOR.md §5)."""
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


@njit(cache=True)
def task_duration_ms(
    table: np.ndarray, durations_ms: np.ndarray, g: int, level: np.ndarray, wave: int, stream: np.uint64, task: int
) -> int:
    """How long a task takes (SIMULATOR.md §2).

    Args:
        table, durations_ms: of the profiles.
        g: row of the stage in the profiles.
        level: int64[3], row of `profiles.level_table` for the executors of the job.
        wave: what the executor did before.
        stream: random stream of the stage.
        task: index of the task in its stage, which with the stream gives its draw; NONE for the mean at the left level.
    """
    if task == NONE:
        return table[g, level[0], wave, MEAN_MS]
    bits = mix(stream + np.uint64(task + 1) * GOLDEN)
    side = 1 if np.int64(bits >> HALF) < level[2] else 0
    row = table[g, level[side], wave]
    pick = np.int64(((bits & LOW) * np.uint64(row[LENGTH])) >> HALF)
    return durations_ms[row[OFFSET] + pick] + row[ADD_MS]


# Promises ----------------------------------------------------------------------------------------------------------


@njit(cache=True)
def job_of_key(state: State, key: int) -> int:
    """The job that a commitment key belongs to, or NONE for the global pool."""
    num_stages = len(state.stage)
    if key < num_stages:
        return state.stage[key, JOB]
    return key - num_stages if key < num_stages + len(state.job) else NONE


@njit(cache=True)
def count_promises(state: State, key: int, to: int, count: int) -> None:
    """Book `count` promises (negative: taken back) with the stage and, from outside its job, with the job."""
    if to != NONE:
        state.stage[to, COMMITTED] += count
        j = state.stage[to, JOB]
        if job_of_key(state, key) != j:
            state.job[j, PROMISED] += count


@njit(cache=True)
def promise(state: State, key: int, to: int, count: int) -> None:
    """Add `count` promises from a key to a stage (or NONE): to its entry if there is one, else at the end."""
    entry = state.entry
    count_promises(state, key, to, count)
    e = state.key_head[key]
    while e != NONE:
        if entry[e, ENTRY_TO] == to:
            entry[e, ENTRY_COUNT] += count
            return
        e = entry[e, ENTRY_NEXT]
    e = state.scalar[FREE_ENTRY]
    state.scalar[FREE_ENTRY] = entry[e, ENTRY_NEXT]
    entry[e, ENTRY_KEY], entry[e, ENTRY_TO], entry[e, ENTRY_COUNT], entry[e, ENTRY_NEXT] = key, to, count, NONE
    if state.key_head[key] == NONE:
        state.key_head[key] = e
    else:
        entry[state.key_tail[key], ENTRY_NEXT] = e
    state.key_tail[key] = e


@njit(cache=True)
def take_promise(state: State, key: int) -> int:
    """Use up one promise of the first entry of a key; return its stage or NONE."""
    e = state.key_head[key]
    to = state.entry[e, ENTRY_TO]
    if state.entry[e, ENTRY_COUNT] == 1:
        remove_entry(state, e)
    else:
        state.entry[e, ENTRY_COUNT] -= 1
        count_promises(state, key, to, -1)
    return to


@njit(cache=True)
def remove_entry(state: State, e: int) -> None:
    """Delete an entry with all its promises."""
    entry = state.entry
    key, following = entry[e, ENTRY_KEY], entry[e, ENTRY_NEXT]
    count_promises(state, key, entry[e, ENTRY_TO], -entry[e, ENTRY_COUNT])
    before, here = NONE, state.key_head[key]
    while here != e:
        before, here = here, entry[here, ENTRY_NEXT]
    if before == NONE:
        state.key_head[key] = following
    else:
        entry[before, ENTRY_NEXT] = following
    if state.key_tail[key] == e:
        state.key_tail[key] = before
    entry[e, ENTRY_KEY] = NONE
    entry[e, ENTRY_NEXT] = state.scalar[FREE_ENTRY]
    state.scalar[FREE_ENTRY] = e


# Heap and logs -----------------------------------------------------------------------------------------------------


@njit(cache=True)
def sift_down(heap: np.ndarray, size: int, time_ms: int, number: int, s: int) -> None:
    """Put an event in place of the heap's top."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap[right, EVENT_MS] < heap[child, EVENT_MS]
            or (
                heap[right, EVENT_MS] == heap[child, EVENT_MS] and heap[right, EVENT_NUMBER] < heap[child, EVENT_NUMBER]
            )
        ):
            child = right
        child_ms = heap[child, EVENT_MS]
        if child_ms > time_ms or (child_ms == time_ms and heap[child, EVENT_NUMBER] > number):
            break
        heap[hole, EVENT_MS] = child_ms
        heap[hole, EVENT_NUMBER] = heap[child, EVENT_NUMBER]
        heap[hole, EVENT_STAGE] = heap[child, EVENT_STAGE]
        hole = child
    heap[hole, EVENT_MS], heap[hole, EVENT_NUMBER], heap[hole, EVENT_STAGE] = time_ms, number, s


@njit(cache=True)
def sift_up(heap: np.ndarray, size: int, time_ms: int, number: int, s: int) -> None:
    """Put an event at the end of a heap that now has `size` entries. It has the largest number so far."""
    hole = size - 1
    while hole > 0:
        parent = (hole - 1) // 2
        if heap[parent, EVENT_MS] <= time_ms:
            break
        heap[hole, EVENT_MS] = heap[parent, EVENT_MS]
        heap[hole, EVENT_NUMBER] = heap[parent, EVENT_NUMBER]
        heap[hole, EVENT_STAGE] = heap[parent, EVENT_STAGE]
        hole = parent
    heap[hole, EVENT_MS], heap[hole, EVENT_NUMBER], heap[hole, EVENT_STAGE] = time_ms, number, s


@njit(cache=True)
def log_task(state: State, row: int, start_ms: int, duration_ms: int, s: int, wave: int) -> None:
    log, j = state.task_log[row], state.stage[s, JOB]
    log[0], log[1], log[2], log[3], log[4] = start_ms, duration_ms, j, s - state.job[j, BASE], wave


@njit(cache=True)
def log_decision(state: State, s: int, requested: int, committed: int) -> None:
    """Row of SIMULATOR.md §9; the rows that do not fit are dropped, `NUM_DECISIONS` tells."""
    scalar = state.scalar
    if scalar[NUM_DECISIONS] >= len(state.decision_log):
        return
    log = state.decision_log[scalar[NUM_DECISIONS]]
    log[0], log[1], log[2], log[3] = scalar[TIME_MS], scalar[SOURCE_JOB], NONE, scalar[TO_DECIDE]
    if scalar[READY_KIND] == READY_STAGE:
        log[2] = scalar[READY_AT] - state.job[state.stage[scalar[READY_AT], JOB], BASE]
    log[4], log[5] = NONE, NONE
    if s != NONE:
        log[4] = state.stage[s, JOB]
        log[5] = s - state.job[log[4], BASE]
    log[6], log[7] = requested, committed
