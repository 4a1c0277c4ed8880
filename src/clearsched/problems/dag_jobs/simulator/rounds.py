"""Decision rounds: when one opens beside those of the events, and when `none` is refused (docs/simulator.md §5, §10).

Promises of `none` are carried out when an executor finishes, without another question, so all executors can be parked
while a stage waits. Two rules keep any policy from stopping the cluster: `none` is refused where nothing else is going
to happen, and where the queue has run empty the executors are offered again. A third keeps a learned policy from losing
part of it: `none` is refused where nobody would ask about these executors again.
"""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import compiled, inlined
from clearsched.compiled.wheel import EMPTY, FAR, SLOT_MASK, next_slot, overflow_ms
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import forget_selected
from clearsched.problems.dag_jobs.simulator.executors import dispatch, set_ready
from clearsched.problems.dag_jobs.simulator.promises import first_promise
from clearsched.problems.dag_jobs.simulator.state import NONE, State, open_round_of_global_pool


@inlined
def open_round_of_pool(state: State, j: int) -> None:
    """A decision round on the executors in job j's free pool, which may be none."""
    scalar, job = state.scalar, state.job
    scalar[st.SOURCE_JOB] = j
    set_ready(state, st.READY_POOL, j, job[j, st.POOL])
    scalar[st.TO_DECIDE] = job[j, st.POOL]
    scalar[st.ROUND_OPEN] = 1


@inlined
def close_round(state: State) -> None:
    """All executors of the round have a promise: those that are ready go."""
    state.scalar[st.ROUND_OPEN] = 0
    forget_selected(state)
    dispatch(state)


@inlined
def offer_pool(state: State) -> bool:
    """Where a rule of §10 has it due, open a round on the global pool if it can do anything, once an event."""
    scalar = state.scalar
    if scalar[st.OFFER_DUE] == 0 or scalar[st.GLOBAL_POOL] == 0 or scalar[st.TOTAL_CANDIDATES] == 0:
        scalar[st.OFFER_DUE] = 0
        return False
    open_round_of_global_pool(state)
    return True


@inlined
def conserves(state: State) -> bool:
    """Whether the global pool is due after every event (§10): by the work-conserving rule, or Spark's FIFO."""
    return state.scalar[st.WORK_CONSERVING] == 1 or state.scalar[st.HOLDS_JOBS] == 1


@inlined
def begin_event(state: State) -> None:
    """Something is going to happen: after it, pools may be offered again."""
    scalar = state.scalar
    scalar[st.OFFER_DUE] = conserves(state)
    scalar[st.OFFER_FROM], scalar[st.ASKED_JOB] = 0, NONE


@compiled
def offer_parked(state: State) -> bool:
    """Under its rule (§10), open a round on the pool of the next job that has a ready stage waiting, once an event.

    Under Spark's offers a ready stage of any job will do.
    """
    scalar, job = state.scalar, state.job
    first = scalar[st.OFFER_FROM]
    if first == NONE:
        return False
    for i in range(first, scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        wanted = job[j, st.READY] > 0 or (scalar[st.SPARK_OFFERS] == 1 and scalar[st.TOTAL_CANDIDATES] > 0)
        if job[j, st.POOL] > 0 and wanted and j != scalar[st.ASKED_JOB]:
            scalar[st.OFFER_FROM] = i + 1
            open_round_of_pool(state, j)
            return True
    scalar[st.OFFER_FROM] = NONE
    return False


@compiled
def offer_idle(state: State) -> bool:
    """Where the queue has run empty while a stage waits, open a round on executors that were left idle (§5)."""
    scalar = state.scalar
    if scalar[st.TOTAL_CANDIDATES] == 0:
        return False
    if scalar[st.GLOBAL_POOL] > 0:
        open_round_of_global_pool(state)
        return True
    for i in range(scalar[st.NUM_ACTIVE]):
        if state.job[state.active[i], st.POOL] > 0:
            open_round_of_pool(state, state.active[i])
            return True
    return False


@compiled
def something_pending(state: State) -> bool:
    """Whether something is going to happen if the pending decision is answered `none`: else it is refused.

    An executor runs, moves or is down; a job is going to arrive; or a stage was promised executors in this round. The
    first such promise brings an event: while nothing else is going to happen, the parents of a candidate are complete.
    """
    scalar, bitmap = state.scalar, state.bitmap
    if next_slot(bitmap, scalar[st.TIME_MS] & SLOT_MASK) != EMPTY or overflow_ms(bitmap, state.overflow) != FAR:
        return True
    if next_arrival_ms(state) != FAR:
        return True
    e = first_promise(state, scalar[st.KEY])
    while e != NONE:
        if state.entry[e, st.ENTRY_TO] != NONE:
            return True
        e = state.entry[e, st.ENTRY_NEXT]
    return False


@compiled
def asked_again(state: State) -> bool:
    """Whether executors that the pending decision leaves idle are decided on again before the queue has run empty.

    A job is going to arrive, or a stage of the job that they sit in is going to open; or a rule that is switched on
    offers them after other events (§10), or executors fail and come back (§11).
    """
    scalar = state.scalar
    if next_arrival_ms(state) != FAR or scalar[st.WORK_CONSERVING] == 1 or scalar[st.OFFER_PARKED] == 1:
        return True
    if state.fault[st.MEAN_LIFE_MS] < np.inf or scalar[st.OUTAGE_EXECUTORS] > 0:
        return True
    j = scalar[st.SOURCE_JOB]
    if j == NONE:
        return False
    base, waiting = state.job[j, st.BASE], 0
    for s in range(base, base + state.job[j, st.NUM_STAGES]):
        waiting += state.stage[s, st.WAITING]
    return waiting > 0


@compiled
def none_allowed(state: State) -> bool:
    """Whether a learned policy may answer `none` to the pending decision.

    Not where executors would be idle for good, though others wait for them: no policy means that.
    """
    return state.scalar[st.IDLING] == 1 and something_pending(state) and asked_again(state)


@inlined
def next_arrival_ms(state: State) -> int:
    """Time of the next job arrival; FAR if there is none, NONE if one will come that a replay has not read yet."""
    scalar = state.scalar
    if scalar[st.NEXT_ARRIVAL] < scalar[st.NUM_ARRIVALS]:
        return state.arrival[scalar[st.NEXT_ARRIVAL], st.ARRIVES_MS]
    return NONE if scalar[st.MORE_ARRIVALS] == 1 else FAR
