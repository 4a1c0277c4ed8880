"""An episode under a policy with a guard: the loop of loop.py, with gauges read at every decision."""

from __future__ import annotations

import numpy as np

from clearsched.compiled.guard import FULL, Guarded, Record, Watch, is_full, takes_over, watched
from clearsched.compiled.jit import compiled, concurrent
from clearsched.compiled.scoring import INVALID
from clearsched.errors import FeatureError
from clearsched.problems.dag_jobs.simulator import loop
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.candidates import survey
from clearsched.problems.dag_jobs.simulator.engine import DECIDE, advance, commit
from clearsched.problems.dag_jobs.simulator.state import NONE, State

NUM_GAUGES = 3
BACKLOG, STALL, LARGEST = range(NUM_GAUGES)
"""The gauges, in the order in which the problem names them."""


@compiled
def read_gauges(state: State, values: np.ndarray) -> None:
    """Write the backlog, the longest stall and the largest job of now, s, to float64[3]. `survey` must have run."""
    scalar, job, now_ms = state.scalar, state.job, state.scalar[st.TIME_MS]
    left_ms, largest_ms, stalled_ms = 0.0, 0.0, 0
    for i in range(scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        left_ms += state.work[j, st.WORK_LEFT_MS]
        largest_ms = max(largest_ms, state.work[j, st.WORK_LEFT_MS])
        if job[j, st.STALLED] == 1:
            stalled_ms = max(stalled_ms, now_ms - job[j, st.STALLED_SINCE_MS])
    values[BACKLOG] = left_ms / scalar[st.NUM_EXECUTORS] / 1000
    values[STALL] = stalled_ms / 1000
    values[LARGEST] = largest_ms / scalar[st.NUM_EXECUTORS] / 1000


@compiled
def choose(state: State, guarded: Guarded, scratch: loop.Scratch, watch: Watch) -> tuple[int, int]:
    """`loop.choose` by the policy, or by the heuristic while it has taken over. `survey` must have run."""
    read_gauges(state, watch.values)
    if takes_over(guarded.bounds, watch, state.scalar[st.TIME_MS] / 1000):
        return loop.choose(state, guarded.heuristic, scratch)
    state.scalar[st.HOLDS_JOBS] = 0  # as FIFO leaves it (docs/simulator.md §10): the policy is another one
    return loop.choose(state, guarded.policy, scratch)


@concurrent
def run_episode(state: State, guarded: Guarded, watch: Watch) -> int:
    """`loop.run_episode`, or FULL: it goes on when it is called again with more room."""
    return run(state, guarded, loop.new_scratch(state), watch)


@compiled
def run(state: State, guarded: Guarded, scratch: loop.Scratch, watch: Watch) -> int:
    """`run_episode` without what it allocates."""
    while not is_full(watch):
        why = advance(state)
        if why != DECIDE:
            return why
        s, requested = NONE, 0  # a decision without a candidate has one answer, and asks no guard
        if survey(state) > 0:
            s, requested = choose(state, guarded, scratch, watch)
        if s == INVALID:
            return DECIDE
        commit(state, s, requested)
    return FULL


def run_or_raise(state: State, guarded: Guarded) -> Record:
    """Run an episode to its end; what the guard saw.

    Raises:
        FeatureError: a feature or a score of the policy is not finite.
    """
    why, seen = watched(run_episode, state, guarded)
    if why == DECIDE:
        raise FeatureError(loop.fault(state, guarded.policy))
    return seen
