"""How well a job fits into what is foreseen: the numbers that heuristics and features share."""

from __future__ import annotations

from clearsched.compiled.jit import compiled, inlined
from clearsched.problems.deferrable_jobs.simulator.state import CPU, DEADLINE, DURATION, SLOT, State

SURE = 9.0
"""Margins of more standard deviations count as so many."""


@inlined
def slack_of(state: State, j: int) -> int:
    """Slots that job j may still wait and meet its deadline; below 0: it is too late."""
    return state.job[j, DEADLINE] - state.scalar[SLOT] - state.job[j, DURATION]


@compiled
def margin_of(state: State, j: int) -> int:
    """Millicores left beside job j, started now, in the slot of its run where the forecast leaves least."""
    least = state.room[0]
    for r in range(1, state.job[j, DURATION]):
        least = min(least, state.room[r])
    return least - state.job[j, CPU]


@compiled
def safety_of(state: State, j: int) -> float:
    """The same in standard deviations of the forecast's error, over the slots after this one; -SURE to SURE."""
    cpu, least = state.job[j, CPU], SURE
    for r in range(1, state.job[j, DURATION]):
        least = min(least, (state.room[r] - cpu) / state.deviation[r])
    return max(least, -SURE)
