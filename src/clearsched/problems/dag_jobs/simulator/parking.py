"""Executors parked in jobs: how many, for how long, and how long in vain.

An executor that was sent to a stage which is not ready, or left idle, waits in its job. The job is *stalled* while
another stage of it is ready and has tasks that nobody is meant for: a policy that stalls jobs for hours has locked the
cluster. A break of no length, as when a round takes executors out of a pool and puts them back, is none.
"""

from __future__ import annotations

from clearsched.compiled.jit import inlined
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.state import State


@inlined
def change_pool(state: State, j: int, count: int) -> None:
    """`count` executors more (negative: fewer) are parked in job j."""
    scalar = state.scalar
    state.job[j, st.POOL] += count
    scalar[st.PARKED] += count
    scalar[st.PARKED_TIME_MS] -= count * scalar[st.TIME_MS]
    _watch(state, j)


@inlined
def change_ready(state: State, j: int, count: int) -> None:
    """`count` stages more (negative: fewer) of job j are ready and have demand."""
    state.job[j, st.READY] += count
    _watch(state, j)


@inlined
def decided_in_pools(state: State) -> int:
    """Executors parked in jobs that the pending decision is about: those of the source's pool, or none."""
    return state.scalar[st.READY_COUNT] if state.scalar[st.READY_KIND] == st.READY_POOL else 0


@inlined
def _watch(state: State, j: int) -> None:
    """Note when executors begin or cease to wait in job j beside a ready stage."""
    job, now_ms = state.job, state.scalar[st.TIME_MS]
    stalled = 1 if job[j, st.POOL] > 0 and job[j, st.READY] > 0 else 0
    if stalled == job[j, st.STALLED]:
        return
    job[j, st.STALLED] = stalled
    if stalled == 0:
        job[j, st.STALLED_TO_MS] = now_ms
        lasted_ms = now_ms - job[j, st.STALLED_SINCE_MS]
        state.scalar[st.LONGEST_STALL_MS] = max(state.scalar[st.LONGEST_STALL_MS], lasted_ms)
    elif job[j, st.STALLED_TO_MS] != now_ms:
        job[j, st.STALLED_SINCE_MS] = now_ms
