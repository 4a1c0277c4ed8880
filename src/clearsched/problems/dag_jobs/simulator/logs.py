"""What is written down of an episode where it is asked for: task starts and decisions."""

from __future__ import annotations

from clearsched.compiled.jit import compiled
from clearsched.problems.dag_jobs.simulator.state import (
    BASE,
    JOB,
    NONE,
    NUM_DECISIONS,
    NUM_STARTED,
    READY_AT,
    READY_KIND,
    READY_STAGE,
    SOURCE_JOB,
    STARTED,
    TIME_MS,
    TO_DECIDE,
    State,
)


@compiled
def log_task(state: State, duration_ms: int, s: int, wave: int, failed: bool) -> None:
    """Row of a task that starts now; with faults there can be more starts than rows, which then are dropped."""
    row = state.scalar[NUM_STARTED]
    if row >= len(state.task_log):
        return
    log, j = state.task_log[row], state.stage[s, JOB]
    log[0], log[1], log[2], log[3] = state.scalar[TIME_MS], duration_ms, j, s - state.job[j, BASE]
    log[4], log[5], log[6] = wave, state.stage[s, STARTED], failed


@compiled
def log_decision(state: State, s: int, requested: int, committed: int) -> None:
    """Row of docs/simulator.md §9; the rows that do not fit are dropped, `NUM_DECISIONS` tells."""
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
