"""What happens to a free executor (docs/simulator.md §5): dispatch, backup, parking, moving, starting a task."""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import inlined
from clearsched.compiled.wheel import push
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import (
    first_candidate_overall,
    in_frontier,
    lower_demand,
    raise_demand,
)
from clearsched.problems.dag_jobs.simulator.durations import (
    drawn_duration_ms,
    mean_duration_ms,
    random_bits,
    with_faults,
)
from clearsched.problems.dag_jobs.simulator.logs import log_task
from clearsched.problems.dag_jobs.simulator.parking import change_pool
from clearsched.problems.dag_jobs.simulator.profiles import FIRST_WAVE, FRESH, REST_WAVE
from clearsched.problems.dag_jobs.simulator.promises import first_promise, take_promise
from clearsched.problems.dag_jobs.simulator.state import NONE, State


@inlined
def set_ready(state: State, kind: int, at: int, count: int) -> None:
    """Name the executors that the next dispatch takes: `count` of them, at a pool, a stage or nowhere."""
    scalar = state.scalar
    scalar[st.READY_KIND], scalar[st.READY_AT], scalar[st.READY_COUNT] = kind, at, count
    scalar[st.KEY] = at if kind == st.READY_STAGE else st.ROUND_KEY
    scalar[st.KEY_JOB] = NONE
    if kind == st.READY_STAGE:
        scalar[st.KEY_JOB] = state.stage[at, st.JOB]
    elif kind == st.READY_POOL:
        scalar[st.KEY_JOB] = at


@inlined
def dispatch(state: State) -> None:
    """Send ready executors where the promises of their key say (docs/simulator.md §5).

    A promise that is carried out at once leaves the demand of its stage as it is: what was promised now moves or runs.
    """
    scalar, stage, job = state.scalar, state.stage, state.job
    key, kind, at = scalar[st.KEY], scalar[st.READY_KIND], scalar[st.READY_AT]
    attached, last = NONE, NONE
    if kind == st.READY_POOL:
        attached = at
    elif kind == st.READY_STAGE:
        attached, last = stage[at, st.JOB], at
    while scalar[st.READY_COUNT] > 0 and first_promise(state, key) != NONE:
        to = take_promise(state, key)
        scalar[st.READY_COUNT] -= 1
        if kind == st.READY_GLOBAL:
            scalar[st.GLOBAL_POOL] -= 1
        elif kind == st.READY_POOL:
            change_pool(state, at, -1)
        if to == NONE:
            if attached != NONE and job[attached, st.TASKS_LEFT] > 0:
                wait(state, attached, last, scalar[st.HELP_FIRST] == 1)
            else:
                detach(state, attached)
                park(state, NONE)
        elif stage[to, st.UNSTARTED] == 0:
            raise_demand(state, to, 1)
            back_up(state, attached, last)
        elif stage[to, st.JOB] != attached:
            move(state, attached, to)
        elif in_frontier(stage, to):
            start_task(state, to, last)
        else:
            raise_demand(state, to, 1)
            wait(state, attached, last, False)


@inlined
def wait(state: State, attached: int, last: int, helps: bool) -> None:
    """An executor waits in its job; who helps, or all by the correction (§10), starts ready work of it first.

    Its last task was of stage `last` of the job; NONE: it is blank.
    """
    if (helps or state.scalar[st.BACK_UP_PARKED] == 1) and state.job[attached, st.READY] > 0:
        back_up(state, attached, last)
    else:
        park(state, attached)


@inlined
def back_up(state: State, attached: int, last: int) -> None:
    """Use an executor whose stage has no task left: its job's first frontier stage with demand, else any candidate."""
    stage, job = state.stage, state.job
    if attached != NONE:
        best = NONE
        if job[attached, st.HAS_DEMAND] > 0:
            for s in range(job[attached, st.BASE], job[attached, st.BASE] + job[attached, st.NUM_STAGES]):
                if (
                    stage[s, st.DEMAND] > 0
                    and in_frontier(stage, s)
                    and (best == NONE or stage[s, st.OPENED] < stage[best, st.OPENED])
                ):
                    best = s
        if best != NONE:
            lower_demand(state, best, 1)
            start_task(state, best, last)
            return
        if state.scalar[st.HOLDS_JOBS] == 1 and job[attached, st.TASKS_LEFT] > 0:
            park(state, attached)
            return
    to = first_candidate_overall(state)
    if to != NONE:
        lower_demand(state, to, 1)
        move(state, attached, to)
    else:
        park(state, attached)


@inlined
def park(state: State, attached: int) -> None:
    """A blank executor joins the free pool of the job it is attached to, or the global pool."""
    if attached == NONE:
        state.scalar[st.GLOBAL_POOL] += 1
    else:
        change_pool(state, attached, 1)


@inlined
def detach(state: State, attached: int) -> None:
    """An executor leaves the job it is attached to, if any."""
    if attached != NONE:
        state.job[attached, st.ATTACHED] -= 1


@inlined
def move(state: State, attached: int, to: int) -> None:
    """Send an executor to a stage of another job (or, from `back_up`, of its own): it is in transit for the delay."""
    scalar = state.scalar
    detach(state, attached)
    state.stage[to, st.MOVING] += 1
    state.job[state.stage[to, st.JOB], st.TRANSIT] += 1
    schedule(state, scalar[st.TIME_MS] + scalar[st.MOVING_DELAY_MS], to, st.ARRIVES)


@inlined
def start_task(state: State, s: int, last: int) -> None:
    """Start the next task of stage s on an executor attached to its job. The caller has seen to the demand.

    The executor's last task was of stage `last` of the job; NONE: it is blank.
    """
    scalar, stage = state.scalar, state.stage
    wave = FRESH if last == NONE else (REST_WAVE if last == s else FIRST_WAVE)
    duration_ms, failed = attempt(state, s, wave)
    if scalar[st.RECORD_TASKS] == 1:
        log_task(state, duration_ms, s, wave, failed)
    scalar[st.NUM_STARTED] += 1
    stage[s, st.STARTED] += 1
    stage[s, st.UNSTARTED] -= 1
    stage[s, st.RUNNING] += 1
    state.job[stage[s, st.JOB], st.TASKS_LEFT] -= 1
    schedule(state, scalar[st.TIME_MS] + duration_ms, s, st.FAILS if failed else st.FINISHES)


@inlined
def attempt(state: State, s: int, wave: int) -> tuple[int, bool]:
    """How long the next task of stage s runs, ms, and whether it ends by a failure."""
    scalar, stage, profiles = state.scalar, state.stage, state.profiles
    g, executors = stage[s, st.PROFILE_STAGE], state.job[stage[s, st.JOB], st.ATTACHED]
    bits = random_bits(stage[s, st.STREAM], stage[s, st.STARTED])
    if scalar[st.MEAN_DURATIONS] == 1:
        duration_ms = mean_duration_ms(profiles.table, state.levels, g, executors, wave)
    else:
        duration_ms = drawn_duration_ms(profiles.table, profiles.durations_ms, state.levels, g, executors, wave, bits)
    if scalar[st.FAULTS] == 1:
        if in_outage(scalar) and scalar[st.OUTAGE_TAKEN] < scalar[st.OUTAGE_EXECUTORS]:
            scalar[st.OUTAGE_TAKEN] += 1
            return 0, True
        return with_faults(duration_ms, bits, scalar[st.STRAGGLER_THRESHOLD], state.fault)
    return duration_ms, False


@inlined
def in_outage(scalar: np.ndarray) -> bool:
    """Whether an outage lasts now."""
    return scalar[st.OUTAGE_FROM_MS] <= scalar[st.TIME_MS] < scalar[st.OUTAGE_UNTIL_MS]


@inlined
def schedule(state: State, time_ms: int, s: int, kind: int) -> None:
    """Put an event of an executor into the queue."""
    code = (s << st.KIND_BITS) | kind
    push(state.bitmap, state.wheel, state.node, state.overflow, state.scalar[st.TIME_MS], time_ms, code)
