"""The event loop: the rules of docs/simulator.md §6.

`advance` runs events until a decision is pending or the episode is over; `commit` carries out an answer. Nine events
in ten are "the executor goes on with the next task of its stage"; `advance` handles these inline on local arrays, in
one loop that reads one line of the stage, one of the job and one of the profile's table and touches one slot of the
queue: a call that passes the whole state costs more than such an event. Everything else is a function.

Invariants between events: RUNNING of a stage is the number of its executors; ATTACHED of a job is its RUNNING
summed plus POOL; the queue holds one event an executor that runs, moves or is down; the promises of a stage's key are
at most its RUNNING; and those of candidates.py and compiled/wheel.py.
"""

from __future__ import annotations

from clearsched.compiled.jit import compiled, inlined
from clearsched.compiled.wheel import (
    EMPTY,
    FAR,
    NODE_CODE,
    SLOT_MASK,
    WHEEL_SLOTS,
    append,
    free_node,
    next_slot,
    overflow_ms,
    promote,
    push_overflow,
    take_first,
)
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import (
    demand,
    in_frontier,
    is_complete,
    lower_demand,
    mark,
    raise_demand,
    saturate,
    select,
)
from clearsched.problems.dag_jobs.simulator.durations import drawn_duration_ms, random_bits
from clearsched.problems.dag_jobs.simulator.executors import (
    attempt,
    back_up,
    dispatch,
    in_outage,
    schedule,
    set_ready,
    start_task,
    wait,
)
from clearsched.problems.dag_jobs.simulator.logs import log_decision, log_task
from clearsched.problems.dag_jobs.simulator.parking import change_pool, change_ready
from clearsched.problems.dag_jobs.simulator.profiles import REST_WAVE
from clearsched.problems.dag_jobs.simulator.promises import (
    drop_promises_to,
    first_promise,
    last_promise,
    promise,
    take_from,
)
from clearsched.problems.dag_jobs.simulator.recycling import admit, has_room, release, tally_job
from clearsched.problems.dag_jobs.simulator.rounds import (
    begin_event,
    close_round,
    conserves,
    next_arrival_ms,
    offer_idle,
    offer_parked,
    offer_pool,
    open_round_of_pool,
)
from clearsched.problems.dag_jobs.simulator.state import (
    NONE,
    State,
    activate,
    count_job_time,
    open_round_of_global_pool,
)

OVER, DECIDE, PAUSED = range(3)
"""Why `advance` returned: no event is left, a decision is pending, or (in a replay only) it needs jobs or rows."""

GOES_ON = 3
"""None of these: there is a further event."""


@compiled
def advance(state: State) -> int:
    """Run until a decision is pending (DECIDE) or no event is left (OVER); a replay may be PAUSED."""
    scalar = state.scalar
    conserving = conserves(state)
    offering_pool = conserving or scalar[st.OFFER_AT_COMPLETION] == 1
    offering = scalar[st.OFFER_PARKED] == 1
    while True:
        if scalar[st.ROUND_OPEN] == 1:
            if scalar[st.TO_DECIDE] > 0:
                return DECIDE
            close_round(state)
        if scalar[st.ENDED_STAGE] != NONE:
            open_children(state, scalar[st.ENDED_STAGE])
            scalar[st.ENDED_STAGE] = NONE
        if offering_pool and offer_pool(state):
            return DECIDE
        if offering and offer_parked(state):
            return DECIDE
        code, at_ms = start_tasks(state, conserving)
        if code != EMPTY:
            begin_event(state)
            executor_event(state, code)
        elif not (conserving and scalar[st.OFFER_DUE] == 1):
            reason = let_jobs_arrive(state, at_ms)
            if reason != GOES_ON:
                return reason


@inlined
def start_tasks(state: State, conserving: bool) -> tuple[int, int]:
    """The hot path: the executor of the earliest event starts the next task of its stage, as long as there is one.

    Returns:
        The code of the first event of an executor that is something else, or EMPTY; and when the next event of the
        wheel is, ms, or FAR.
    """
    scalar, stage = state.scalar, state.stage
    bitmap, wheel, node, overflow = state.bitmap, state.wheel, state.node, state.overflow
    plain = scalar[st.MEAN_DURATIONS] == 0 and scalar[st.FAULTS] == 0
    record_tasks, asks = scalar[st.RECORD_TASKS] == 1, scalar[st.ASK_EACH_TASK] == 1
    now_ms, started = scalar[st.TIME_MS], scalar[st.NUM_STARTED]
    limit_ms = min(next_arrival_ms(state), overflow_ms(bitmap, overflow) - WHEEL_SLOTS + 1)
    code, at_ms = EMPTY, FAR
    while True:
        slot = next_slot(bitmap, now_ms & SLOT_MASK)
        at_ms = FAR if slot == EMPTY else now_ms + ((slot - now_ms) & SLOT_MASK)
        if slot == EMPTY or at_ms >= limit_ms:
            break
        now_ms = at_ms
        n = take_first(bitmap, wheel, node, slot)
        code = node[n, NODE_CODE]
        s = code >> st.KIND_BITS
        if code & st.KIND_MASK != st.FINISHES or stage[s, st.UNSTARTED] == 0 or asks:
            free_node(node, n)
            break
        code = EMPTY
        duration_ms = next_duration_ms(state, s, n, now_ms, plain)
        if record_tasks:
            scalar[st.TIME_MS], scalar[st.NUM_STARTED] = now_ms, started
            log_task(state, duration_ms, s, REST_WAVE, node[n, NODE_CODE] & st.KIND_MASK == st.FAILS)
        started += 1
        count_start(state, s)
        if duration_ms < WHEEL_SLOTS:
            append(bitmap, wheel, node, (now_ms + duration_ms) & SLOT_MASK, n)
        else:
            push_overflow(bitmap, overflow, now_ms + duration_ms, node[n, NODE_CODE])
            free_node(node, n)
            limit_ms = min(limit_ms, now_ms + duration_ms - WHEEL_SLOTS + 1)
        if stage[s, st.DEMAND] == 0:
            scalar[st.TIME_MS] = now_ms
            saturate(state, s)
        if conserving:
            scalar[st.OFFER_DUE] = 1
            break
    scalar[st.TIME_MS], scalar[st.NUM_STARTED] = now_ms, started
    return code, at_ms


@inlined
def next_duration_ms(state: State, s: int, n: int, now_ms: int, plain: bool) -> int:
    """How long the next task of stage s takes, ms; the event of node n says FAILS where it is lost (§11)."""
    stage, profiles = state.stage, state.profiles
    if plain:
        bits = random_bits(stage[s, st.STREAM], stage[s, st.STARTED])
        attached = state.job[stage[s, st.JOB], st.ATTACHED]
        profile = stage[s, st.PROFILE_STAGE]
        return drawn_duration_ms(
            profiles.table, profiles.durations_ms, state.levels, profile, attached, REST_WAVE, bits
        )
    state.scalar[st.TIME_MS] = now_ms
    duration_ms, failed = attempt(state, s, REST_WAVE)
    if failed:
        state.node[n, NODE_CODE] = (s << st.KIND_BITS) | st.FAILS
    return duration_ms


@inlined
def count_start(state: State, s: int) -> None:
    """A task of stage s has started whose executor was there already."""
    stage = state.stage
    stage[s, st.STARTED] += 1
    stage[s, st.UNSTARTED] -= 1
    stage[s, st.DEMAND] -= 1
    state.job[stage[s, st.JOB], st.TASKS_LEFT] -= 1


@compiled
def let_jobs_arrive(state: State, at_ms: int) -> int:
    """No executor's event comes first: the next job arrives, or the wheel moves on to its next event, at `at_ms`.

    Returns:
        GOES_ON; DECIDE where the last executors are offered once more; OVER, or in a replay PAUSED.
    """
    scalar, bitmap, overflow = state.scalar, state.bitmap, state.overflow
    arrival_ms = next_arrival_ms(state)
    next_ms = min(at_ms, overflow_ms(bitmap, overflow))
    if arrival_ms == NONE or (arrival_ms <= next_ms and arrival_ms != FAR and not has_room(state)):
        return PAUSED
    if next_ms == FAR and arrival_ms == FAR:
        return DECIDE if offer_idle(state) else OVER
    # An arrival was scheduled before any other event, so it goes first among events of the same time.
    scalar[st.TIME_MS] = min(arrival_ms, next_ms)
    promote(bitmap, state.wheel, state.node, overflow, scalar[st.TIME_MS])
    if arrival_ms <= next_ms:
        begin_event(state)
        job_arrives(state)
    return GOES_ON


@inlined
def commit(state: State, s: int, requested: int) -> int:
    """Carry out the answer to the pending decision: stage s (or NONE) gets up to `requested` executors.

    Returns the number committed: min(requested, demand, k); with NONE all k stay where they are.
    """
    scalar = state.scalar
    k = scalar[st.TO_DECIDE]
    if s == NONE:
        requested = committed = k
    else:
        committed = min(requested, demand(state.stage, s), k)
    if scalar[st.RECORD_DECISIONS] == 1:
        log_decision(state, s, requested, committed)
    if s != NONE:
        select(state, s)
        lower_demand(state, s, committed)
        if state.stage[s, st.JOB] != scalar[st.SOURCE_JOB]:
            state.job[state.stage[s, st.JOB], st.GRANTED] += committed  # what FIFO's second rule counts
    promise(state, scalar[st.KEY], s, committed)
    scalar[st.TO_DECIDE] = k - committed
    scalar[st.NUM_DECISIONS] += 1
    return committed


@compiled
def job_time_ms(state: State) -> int:
    """Integral of the number of jobs in the system from time 0 to now, ms: minus the return so far (§8)."""
    scalar = state.scalar
    return scalar[st.JOB_TIME_MS] + scalar[st.NUM_ACTIVE] * (scalar[st.TIME_MS] - scalar[st.COUNTED_TO_MS])


@inlined
def job_arrives(state: State) -> None:
    """The only time after t = 0 that the global pool is consulted (a flaw that is kept)."""
    scalar = state.scalar
    j = admit(state) if scalar[st.REPLAY] == 1 else scalar[st.NEXT_ARRIVAL]
    activate(state, j)
    scalar[st.NEXT_ARRIVAL] += 1
    if scalar[st.GLOBAL_POOL] > 0:
        open_round_of_global_pool(state)


@inlined
def executor_event(state: State, code: int) -> None:
    """Something other than going on with the next task happens to an executor."""
    s, kind = code >> st.KIND_BITS, code & st.KIND_MASK
    if kind == st.FINISHES:
        finish_task(state, s)
    elif kind == st.ARRIVES:
        executor_arrives(state, s)
    elif kind == st.FAILS:
        executor_fails(state, s)
    else:
        state.scalar[st.GLOBAL_POOL] += 1
        open_round_of_global_pool(state)


@inlined
def executor_arrives(state: State, s: int) -> None:
    """An executor in transit reaches its stage."""
    stage, job = state.stage, state.job
    j = stage[s, st.JOB]
    stage[s, st.MOVING] -= 1
    job[j, st.TRANSIT] -= 1
    if job[j, st.STAGES_LEFT] == 0:
        stage[s, st.DEMAND] += 1
        back_up(state, NONE, NONE)
        if state.scalar[st.REPLAY] == 1:
            release(state, j)
        return
    job[j, st.ATTACHED] += 1
    if in_frontier(stage, s):
        start_task(state, s, NONE)
        return
    raise_demand(state, s, 1)
    if stage[s, st.UNSTARTED] == 0:
        back_up(state, j, NONE)
    else:
        wait(state, j, NONE, False)


@inlined
def finish_task(state: State, s: int) -> None:
    """An executor of stage s has finished a task and is not to go on with the next one by itself.

    The last unstarted task of the stage is out, or executors are asked about after every task (§10).
    """
    scalar, stage, job = state.scalar, state.stage, state.job
    j = stage[s, st.JOB]
    on_stage = stage[s, st.RUNNING]  # the executor that finishes included
    stage[s, st.RUNNING] -= 1
    opened = False
    if is_complete(stage, s):
        job[j, st.STAGES_LEFT] -= 1
        if scalar[st.SPARK_OFFERS] == 1:  # its executor is offered before anybody knows that it is complete
            scalar[st.ENDED_STAGE] = s if job[j, st.STAGES_LEFT] > 0 else NONE
        else:
            opened = open_children(state, s)
    scalar[st.SOURCE_JOB] = j
    has_promises = first_promise(state, s) != NONE
    if has_promises:
        set_ready(state, st.READY_STAGE, s, 1)
        dispatch(state)
    if opened:
        if not has_promises:
            change_pool(state, j, 1)
        open_round_of_pool(state, j)
        scalar[st.ASKED_JOB] = j
    elif not has_promises:
        set_ready(state, st.READY_STAGE, s, 1)
        alone = scalar[st.SPARK_OFFERS] == 1 or stage[s, st.UNSTARTED] > 0
        scalar[st.TO_DECIDE] = 1 if alone else on_stage
        scalar[st.ROUND_OPEN] = 1
    if job[j, st.STAGES_LEFT] == 0:
        complete_job(state, j)
        if not has_promises:
            # The round of the last executor still runs, but it is detached now.
            set_ready(state, st.READY_DETACHED, NONE, 1)


@inlined
def open_children(state: State, s: int) -> bool:
    """Stage s is complete: count it off its children; True if one became runnable."""
    profiles, stage = state.profiles, state.stage
    g = stage[s, st.PROFILE_STAGE]
    base = state.job[stage[s, st.JOB], st.BASE]
    opened = False
    for i in range(profiles.child_start[g], profiles.child_start[g + 1]):
        child = base + profiles.children[i]
        stage[child, st.WAITING] -= 1
        if stage[child, st.WAITING] == 0:
            stage[child, st.OPENED] = state.scalar[st.OPENED_COUNT]
            state.scalar[st.OPENED_COUNT] += 1
            opened = True
            if stage[child, st.DEMAND] > 0:
                change_ready(state, stage[s, st.JOB], 1)
                if state.scalar[st.SPARK_OFFERS] == 1:  # its parents are complete, so they want nothing more
                    mark(state, child, 1)
    return opened


@inlined
def complete_job(state: State, j: int) -> None:
    """Job j is done: its executors are free, promises to it vanish. Executors in transit find out when they arrive."""
    scalar, stage, job, active = state.scalar, state.stage, state.job, state.active
    count_job_time(state)
    job[j, st.COMPLETION_MS] = scalar[st.TIME_MS]
    scalar[st.NUM_COMPLETE] += 1
    scalar[st.OFFER_DUE] |= scalar[st.OFFER_AT_COMPLETION]
    scalar[st.GLOBAL_POOL] += job[j, st.POOL]
    change_pool(state, j, -job[j, st.POOL])
    job[j, st.ATTACHED] = 0
    for s in range(job[j, st.BASE], job[j, st.BASE] + job[j, st.NUM_STAGES]):
        if stage[s, st.COMMITTED] > 0:
            drop_promises_to(state, j)
            break
    position = 0
    while active[position] != j:
        position += 1
    scalar[st.NUM_ACTIVE] -= 1
    for i in range(position, scalar[st.NUM_ACTIVE]):
        active[i] = active[i + 1]
    if scalar[st.REPLAY] == 1:
        tally_job(state, j)
        release(state, j)


@compiled
def executor_fails(state: State, s: int) -> None:
    """The executor of a task of stage s fails: the task is lost, and the executor is down for a while (§11)."""
    scalar, stage, job = state.scalar, state.stage, state.job
    j = stage[s, st.JOB]
    stage[s, st.RUNNING] -= 1
    stage[s, st.UNSTARTED] += 1
    job[j, st.TASKS_LEFT] += 1
    job[j, st.WORK_STAMP] = NONE
    raise_demand(state, s, 1)
    withdraw_promise(state, s)
    job[j, st.ATTACHED] -= 1
    job[j, st.GRANTED] = max(job[j, st.GRANTED] - 1, 0)
    scalar[st.OFFER_DUE] |= scalar[st.OFFER_AT_COMPLETION]  # the task must start again, and its executor is gone
    recovery_ms = scalar[st.TIME_MS] + scalar[st.RECOVERY_MS]
    if in_outage(scalar):
        recovery_ms = max(recovery_ms, scalar[st.OUTAGE_UNTIL_MS])
    schedule(state, recovery_ms, s, st.RECOVERS)
    if job[j, st.POOL] > 0:
        open_round_of_pool(state, j)
        scalar[st.ASKED_JOB] = j


@compiled
def withdraw_promise(state: State, s: int) -> None:
    """If the promises of stage s outnumber its executors, take one back from the last entry."""
    entry = state.entry
    promised, e = 0, first_promise(state, s)
    while e != NONE:
        promised += entry[e, st.ENTRY_COUNT]
        e = entry[e, st.ENTRY_NEXT]
    if promised > state.stage[s, st.RUNNING]:
        to = take_from(state, last_promise(state, s))
        if to != NONE:
            raise_demand(state, to, 1)
            j = state.stage[to, st.JOB]
            if j != state.stage[s, st.JOB]:  # granted to that job, but never to come
                state.job[j, st.GRANTED] = max(state.job[j, st.GRANTED] - 1, 0)
