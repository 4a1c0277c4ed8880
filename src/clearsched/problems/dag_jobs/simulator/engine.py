"""The event loop: the rules of docs/simulator.md §5 and §6.

`advance` runs events until a decision is pending or the episode is over; `commit` carries out an answer. Nine events
in ten are "the executor goes on with the next task of its stage"; `advance` handles these inline on local arrays, in
one loop that reads one line of the stage, one of the job and one of the profile's table and touches one slot of the
queue: a call that passes the whole state costs more than such an event. Everything else is a function.

Invariants between events: RUNNING of a stage is the number of its executors; ATTACHED of a job is its RUNNING
summed plus POOL; the queue holds one event an executor that runs, moves or is down; the promises of a stage's key are
at most its RUNNING; and those of candidates.py and events.py.
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
from clearsched.problems.dag_jobs.simulator.candidates import (
    demand,
    forget_selected,
    in_frontier,
    lower_demand,
    raise_demand,
    saturate,
    select,
)
from clearsched.problems.dag_jobs.simulator.durations import drawn_duration_ms, random_bits
from clearsched.problems.dag_jobs.simulator.executors import attempt, back_up, dispatch, schedule, set_ready, start_task
from clearsched.problems.dag_jobs.simulator.logs import log_decision, log_task
from clearsched.problems.dag_jobs.simulator.profiles import FRESH, REST_WAVE
from clearsched.problems.dag_jobs.simulator.promises import (
    drop_promises_to,
    first_promise,
    last_promise,
    promise,
    take_from,
)
from clearsched.problems.dag_jobs.simulator.recycling import admit, has_room, release, tally_job
from clearsched.problems.dag_jobs.simulator.state import (
    ARRIVES,
    ARRIVES_MS,
    ATTACHED,
    BASE,
    COMMITTED,
    COMPLETION_MS,
    COUNTED_TO_MS,
    DEMAND,
    ENTRY_COUNT,
    ENTRY_NEXT,
    ENTRY_TO,
    FAILS,
    FAULTS,
    FINISHES,
    GLOBAL_POOL,
    GRANTED,
    HOLDS_JOBS,
    IDLING,
    JOB,
    JOB_TIME_MS,
    KEY,
    KIND_BITS,
    KIND_MASK,
    MEAN_DURATIONS,
    MORE_ARRIVALS,
    MOVING,
    NEXT_ARRIVAL,
    NONE,
    NUM_ACTIVE,
    NUM_ARRIVALS,
    NUM_COMPLETE,
    NUM_DECISIONS,
    NUM_STAGES,
    NUM_STARTED,
    OFFER_DUE,
    OPENED,
    OPENED_COUNT,
    POOL,
    PROFILE_STAGE,
    READY_DETACHED,
    READY_POOL,
    READY_STAGE,
    RECORD_DECISIONS,
    RECORD_TASKS,
    RECOVERS,
    RECOVERY_MS,
    REPLAY,
    ROUND_OPEN,
    RUNNING,
    SOURCE_JOB,
    STAGES_LEFT,
    STARTED,
    STREAM,
    TASKS_LEFT,
    TIME_MS,
    TO_DECIDE,
    TOTAL_CANDIDATES,
    TRANSIT,
    UNSTARTED,
    WAITING,
    WORK_CONSERVING,
    WORK_STAMP,
    State,
    activate,
    count_job_time,
    open_round_of_global_pool,
)

OVER, DECIDE, PAUSED = range(3)
"""Why `advance` returned: no event is left, a decision is pending, or (in a replay only) it needs jobs or rows."""


@compiled
def advance(state: State) -> int:
    """Run until a decision is pending (DECIDE) or no event is left (OVER); a replay may be PAUSED."""
    scalar, stage, job = state.scalar, state.stage, state.job
    bitmap, wheel, node, overflow = state.bitmap, state.wheel, state.node, state.overflow
    levels, table, durations_ms = state.levels, state.profiles.table, state.profiles.durations_ms
    plain = scalar[MEAN_DURATIONS] == 0 and scalar[FAULTS] == 0
    record_tasks = scalar[RECORD_TASKS] == 1
    conserving = scalar[WORK_CONSERVING] == 1 or scalar[HOLDS_JOBS] == 1
    while True:
        if scalar[ROUND_OPEN] == 1:
            if scalar[TO_DECIDE] > 0:
                return DECIDE
            close_round(state)
        if conserving and offer_pool(state):
            return DECIDE
        now_ms, started = scalar[TIME_MS], scalar[NUM_STARTED]
        limit_ms = min(next_arrival_ms(state), overflow_ms(bitmap, overflow) - WHEEL_SLOTS + 1)
        code = EMPTY
        # The hot path: the executor of the earliest event starts the next task of its stage.
        while True:
            slot = next_slot(bitmap, now_ms & SLOT_MASK)
            if slot == EMPTY:
                at_ms = FAR
                break
            at_ms = now_ms + ((slot - now_ms) & SLOT_MASK)
            if at_ms >= limit_ms:
                break
            now_ms = at_ms
            n = take_first(bitmap, wheel, node, slot)
            code = node[n, NODE_CODE]
            s = code >> KIND_BITS
            if code & KIND_MASK != FINISHES or stage[s, UNSTARTED] == 0:
                free_node(node, n)
                break
            j = stage[s, JOB]
            failed = False
            if plain:
                bits = random_bits(stage[s, STREAM], stage[s, STARTED])
                duration_ms = drawn_duration_ms(
                    table, durations_ms, levels, stage[s, PROFILE_STAGE], job[j, ATTACHED], REST_WAVE, bits
                )
            else:
                duration_ms, failed = attempt(state, s, REST_WAVE)
                if failed:
                    node[n, NODE_CODE] = (s << KIND_BITS) | FAILS
            if record_tasks:
                scalar[TIME_MS], scalar[NUM_STARTED] = now_ms, started
                log_task(state, duration_ms, s, REST_WAVE, failed)
            started += 1
            stage[s, STARTED] += 1
            stage[s, UNSTARTED] -= 1
            job[j, TASKS_LEFT] -= 1
            stage[s, DEMAND] -= 1
            if duration_ms < WHEEL_SLOTS:
                append(bitmap, wheel, node, (now_ms + duration_ms) & SLOT_MASK, n)
            else:
                push_overflow(bitmap, overflow, now_ms + duration_ms, node[n, NODE_CODE])
                free_node(node, n)
                limit_ms = min(limit_ms, now_ms + duration_ms - WHEEL_SLOTS + 1)
            if stage[s, DEMAND] == 0:
                saturate(state, s)
            code = EMPTY
            if conserving:
                scalar[OFFER_DUE] = 1
                break
        scalar[TIME_MS], scalar[NUM_STARTED] = now_ms, started
        if code != EMPTY:
            scalar[OFFER_DUE] = 1
            executor_event(state, code)
        elif conserving and scalar[OFFER_DUE] == 1:
            continue
        else:
            arrival_ms = next_arrival_ms(state)
            next_ms = min(at_ms, overflow_ms(bitmap, overflow))
            if arrival_ms == NONE or (arrival_ms <= next_ms and arrival_ms != FAR and not has_room(state)):
                return PAUSED
            if next_ms == FAR and arrival_ms == FAR:
                if offer_idle(state):
                    return DECIDE
                return OVER
            # An arrival was scheduled before any other event, so it goes first among events of the same time.
            scalar[TIME_MS] = min(arrival_ms, next_ms)
            promote(bitmap, wheel, node, overflow, scalar[TIME_MS])
            if arrival_ms <= next_ms:
                scalar[OFFER_DUE] = 1
                job_arrives(state)


@inlined
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
    if scalar[RECORD_DECISIONS] == 1:
        log_decision(state, s, requested, committed)
    if s != NONE:
        select(state, s)
        lower_demand(state, s, committed)
        if state.stage[s, JOB] != scalar[SOURCE_JOB]:
            state.job[state.stage[s, JOB], GRANTED] += committed  # what FIFO's second rule counts
    promise(state, scalar[KEY], s, committed)
    scalar[TO_DECIDE] = k - committed
    scalar[NUM_DECISIONS] += 1
    return committed


@compiled
def job_time_ms(state: State) -> int:
    """Integral of the number of jobs in the system from time 0 to now, ms: minus the return so far (§8)."""
    scalar = state.scalar
    return scalar[JOB_TIME_MS] + scalar[NUM_ACTIVE] * (scalar[TIME_MS] - scalar[COUNTED_TO_MS])


@inlined
def close_round(state: State) -> None:
    """All executors of the round have a promise: those that are ready go."""
    state.scalar[ROUND_OPEN] = 0
    forget_selected(state)
    dispatch(state)


@inlined
def offer_pool(state: State) -> bool:
    """Under the work-conserving rule (§10), open a round on the global pool if it can do anything, once an event."""
    scalar = state.scalar
    if scalar[OFFER_DUE] == 0 or scalar[GLOBAL_POOL] == 0 or scalar[TOTAL_CANDIDATES] == 0:
        scalar[OFFER_DUE] = 0
        return False
    open_round_of_global_pool(state)
    return True


@compiled
def offer_idle(state: State) -> bool:
    """Where the queue has run empty while a stage waits, open a round on executors that were left idle (§5).

    Promises of `none` are carried out when an executor finishes, without another question, so executors can all be
    parked with work left: they are asked for once more, and then `none` is refused, since nothing is pending.
    """
    scalar = state.scalar
    if scalar[TOTAL_CANDIDATES] == 0:
        return False
    if scalar[GLOBAL_POOL] > 0:
        open_round_of_global_pool(state)
        return True
    for i in range(scalar[NUM_ACTIVE]):
        if state.job[state.active[i], POOL] > 0:
            open_round_of_pool(state, state.active[i])
            return True
    return False


@compiled
def something_pending(state: State) -> bool:
    """Whether something is going to happen if the pending decision is answered `none`.

    An executor runs, moves or is down; a job is going to arrive; or a stage was promised executors in this round.
    """
    scalar, bitmap = state.scalar, state.bitmap
    if next_slot(bitmap, scalar[TIME_MS] & SLOT_MASK) != EMPTY or overflow_ms(bitmap, state.overflow) != FAR:
        return True
    if next_arrival_ms(state) != FAR:
        return True
    e = first_promise(state, scalar[KEY])
    while e != NONE:
        if state.entry[e, ENTRY_TO] != NONE:
            return True
        e = state.entry[e, ENTRY_NEXT]
    return False


@compiled
def none_allowed(state: State) -> bool:
    """Whether a learned policy may answer `none` to the pending decision."""
    return state.scalar[IDLING] == 1 and something_pending(state)


@inlined
def next_arrival_ms(state: State) -> int:
    """Time of the next job arrival; FAR if there is none, NONE if a replay does not know it yet."""
    scalar = state.scalar
    if scalar[NEXT_ARRIVAL] < scalar[NUM_ARRIVALS]:
        return state.arrival[scalar[NEXT_ARRIVAL], ARRIVES_MS]
    return NONE if scalar[MORE_ARRIVALS] == 1 else FAR


@inlined
def job_arrives(state: State) -> None:
    """The only time after t = 0 that the global pool is consulted (a flaw that is kept)."""
    scalar = state.scalar
    j = admit(state) if scalar[REPLAY] == 1 else scalar[NEXT_ARRIVAL]
    activate(state, j)
    scalar[NEXT_ARRIVAL] += 1
    if scalar[GLOBAL_POOL] > 0:
        open_round_of_global_pool(state)


@inlined
def executor_event(state: State, code: int) -> None:
    """Something other than going on with the next task happens to an executor."""
    s, kind = code >> KIND_BITS, code & KIND_MASK
    if kind == FINISHES:
        finish_task(state, s)
    elif kind == ARRIVES:
        executor_arrives(state, s)
    elif kind == FAILS:
        executor_fails(state, s)
    else:
        state.scalar[GLOBAL_POOL] += 1
        open_round_of_global_pool(state)


@inlined
def executor_arrives(state: State, s: int) -> None:
    """An executor in transit reaches its stage."""
    stage, job = state.stage, state.job
    j = stage[s, JOB]
    stage[s, MOVING] -= 1
    job[j, TRANSIT] -= 1
    if job[j, STAGES_LEFT] == 0:
        stage[s, DEMAND] += 1
        back_up(state, NONE, FRESH)
        if state.scalar[REPLAY] == 1:
            release(state, j)
        return
    job[j, ATTACHED] += 1
    if in_frontier(stage, s):
        start_task(state, s, FRESH)
        return
    raise_demand(state, s, 1)
    if stage[s, UNSTARTED] == 0:
        back_up(state, j, FRESH)
    else:
        job[j, POOL] += 1


@inlined
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
    has_promises = first_promise(state, s) != NONE
    if has_promises:
        set_ready(state, READY_STAGE, s, 1)
        dispatch(state)
    if opened:
        if not has_promises:
            job[j, POOL] += 1
        open_round_of_pool(state, j)
    elif not has_promises:
        set_ready(state, READY_STAGE, s, 1)
        scalar[TO_DECIDE] = on_stage
        scalar[ROUND_OPEN] = 1
    if job[j, STAGES_LEFT] == 0:
        complete_job(state, j)
        if not has_promises:
            # The round of the last executor still runs, but it is detached now.
            set_ready(state, READY_DETACHED, NONE, 1)


@inlined
def open_round_of_pool(state: State, j: int) -> None:
    """A decision round on the executors in job j's free pool, which may be none."""
    scalar, job = state.scalar, state.job
    scalar[SOURCE_JOB] = j
    set_ready(state, READY_POOL, j, job[j, POOL])
    scalar[TO_DECIDE] = job[j, POOL]
    scalar[ROUND_OPEN] = 1


@inlined
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


@inlined
def complete_job(state: State, j: int) -> None:
    """Job j is done: its executors are free, promises to it vanish. Executors in transit find out when they arrive."""
    scalar, stage, job, active = state.scalar, state.stage, state.job, state.active
    count_job_time(state)
    job[j, COMPLETION_MS] = scalar[TIME_MS]
    scalar[NUM_COMPLETE] += 1
    scalar[GLOBAL_POOL] += job[j, POOL]
    job[j, POOL] = job[j, ATTACHED] = 0
    for s in range(job[j, BASE], job[j, BASE] + job[j, NUM_STAGES]):
        if stage[s, COMMITTED] > 0:
            drop_promises_to(state, j)
            break
    position = 0
    while active[position] != j:
        position += 1
    scalar[NUM_ACTIVE] -= 1
    for i in range(position, scalar[NUM_ACTIVE]):
        active[i] = active[i + 1]
    if scalar[REPLAY] == 1:
        tally_job(state, j)
        release(state, j)


@compiled
def executor_fails(state: State, s: int) -> None:
    """The executor of a task of stage s fails: the task is lost, and the executor is down for a while (§11)."""
    scalar, stage, job = state.scalar, state.stage, state.job
    j = stage[s, JOB]
    stage[s, RUNNING] -= 1
    stage[s, UNSTARTED] += 1
    job[j, TASKS_LEFT] += 1
    job[j, WORK_STAMP] = NONE
    raise_demand(state, s, 1)
    withdraw_promise(state, s)
    job[j, ATTACHED] -= 1
    job[j, GRANTED] = max(job[j, GRANTED] - 1, 0)
    recovery_ms = scalar[TIME_MS] + scalar[RECOVERY_MS]
    schedule(state, recovery_ms, s, RECOVERS)
    if job[j, POOL] > 0:
        open_round_of_pool(state, j)


@compiled
def withdraw_promise(state: State, s: int) -> None:
    """If the promises of stage s outnumber its executors, take one back from the last entry."""
    entry = state.entry
    promised, e = 0, first_promise(state, s)
    while e != NONE:
        promised += entry[e, ENTRY_COUNT]
        e = entry[e, ENTRY_NEXT]
    if promised > state.stage[s, RUNNING]:
        to = take_from(state, last_promise(state, s))
        if to != NONE:
            raise_demand(state, to, 1)
            j = state.stage[to, JOB]
            if j != state.stage[s, JOB]:  # granted to that job, but never to come
                state.job[j, GRANTED] = max(state.job[j, GRANTED] - 1, 0)
