"""The hand-written policies. Each answers a decision with the number of a candidate job, or NONE: nothing now.

`policies.py` names them, with their parameters and sources. Of equals the job that arrived first is taken.
"""

from __future__ import annotations

from clearsched.compiled.jit import compiled
from clearsched.problems.deferrable_jobs.simulator.room import margin_of, safety_of, slack_of
from clearsched.problems.deferrable_jobs.simulator.state import DEADLINE, DURATION, NONE, NUM_CANDIDATES, State


@compiled
def fifo(state: State) -> int:
    """The job that arrived first, of those that fit now."""
    return state.candidates[0]


@compiled
def edf(state: State) -> int:
    """The job with the earliest deadline, of those that fit now."""
    best = state.candidates[0]
    for i in range(1, state.scalar[NUM_CANDIDATES]):
        j = state.candidates[i]
        if state.job[j, DEADLINE] < state.job[best, DEADLINE]:
            best = j
    return best


@compiled
def least_slack(state: State) -> int:
    """The job that may wait least, of those that fit now."""
    best = state.candidates[0]
    for i in range(1, state.scalar[NUM_CANDIDATES]):
        j = state.candidates[i]
        if slack_of(state, j) < slack_of(state, best):
            best = j
    return best


@compiled
def shortest(state: State) -> int:
    """The shortest job, of those that fit now."""
    best = state.candidates[0]
    for i in range(1, state.scalar[NUM_CANDIDATES]):
        j = state.candidates[i]
        if state.job[j, DURATION] < state.job[best, DURATION]:
            best = j
    return best


@compiled
def best_fit(state: State) -> int:
    """The job that fits all through its run by the forecast and leaves least beside it; NONE if none does."""
    best, least = NONE, 0
    for i in range(state.scalar[NUM_CANDIDATES]):
        j = state.candidates[i]
        margin = margin_of(state, j)
        if margin >= 0 and (best == NONE or margin < least):
            best, least = j, margin
    return best


@compiled
def threshold(state: State, safety: float, slack: float) -> int:
    """The shortest job that is safe or urgent; NONE if none is.

    Safe: all through its run the forecast leaves at least `safety` standard deviations of its error beside the job.
    Urgent: it is not too late yet, and the job may wait less than `slack` times its duration.
    """
    best = NONE
    for i in range(state.scalar[NUM_CANDIDATES]):
        j = state.candidates[i]
        if best != NONE and state.job[j, DURATION] >= state.job[best, DURATION]:
            continue
        spare = slack_of(state, j)
        if (0 <= spare < slack * state.job[j, DURATION]) or safety_of(state, j) >= safety:
            best = j
    return best
