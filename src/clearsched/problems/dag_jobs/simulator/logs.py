"""What is written down of an episode where it is asked for: task starts and decisions."""

from __future__ import annotations

from clearsched.compiled.jit import compiled
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.state import NONE, State


@compiled
def log_task(state: State, duration_ms: int, s: int, wave: int, failed: bool) -> None:
    """Row of a task that starts now; with faults there can be more starts than rows, which then are dropped."""
    row = state.scalar[st.NUM_STARTED]
    if row >= len(state.task_log):
        return
    log, j = state.task_log[row], state.stage[s, st.JOB]
    log[0], log[1], log[2], log[3] = state.scalar[st.TIME_MS], duration_ms, j, s - state.job[j, st.BASE]
    log[4], log[5], log[6] = wave, state.stage[s, st.STARTED], failed


@compiled
def log_decision(state: State, s: int, requested: int, committed: int) -> None:
    """Row of docs/simulator.md §9; the rows that do not fit are dropped, `NUM_DECISIONS` tells."""
    scalar = state.scalar
    if scalar[st.NUM_DECISIONS] >= len(state.decision_log):
        return
    log = state.decision_log[scalar[st.NUM_DECISIONS]]
    log[0], log[1], log[2], log[3] = scalar[st.TIME_MS], scalar[st.SOURCE_JOB], NONE, scalar[st.TO_DECIDE]
    if scalar[st.READY_KIND] == st.READY_STAGE:
        log[2] = scalar[st.READY_AT] - state.job[state.stage[scalar[st.READY_AT], st.JOB], st.BASE]
    log[4], log[5] = NONE, NONE
    if s != NONE:
        log[4] = state.stage[s, st.JOB]
        log[5] = s - state.job[log[4], st.BASE]
    log[6], log[7] = requested, committed
