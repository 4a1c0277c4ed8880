"""An episode under a policy with a guard: the loop of loop.py, with the gauges read at every decision."""

from __future__ import annotations

import numpy as np

from clearsched.compiled.guard import FULL, Guarded, Record, Watch, is_full, takes_over, watched
from clearsched.compiled.jit import compiled, concurrent
from clearsched.compiled.scoring import INVALID
from clearsched.problems.deferrable_jobs.simulator import loop
from clearsched.problems.deferrable_jobs.simulator.engine import advance, answer
from clearsched.problems.deferrable_jobs.simulator.state import CLUSTER, CPU, DURATION, NUM_WAITING, SLOT, SLOT_S, State

NUM_GAUGES = 2
BACKLOG, FORECAST_ERROR = range(NUM_GAUGES)
"""The gauges, in the order in which the problem names them."""

LOOK_BACK_S = 7200
"""Over so long the forecast is held against what came: one slot tells nothing, and a day is too late."""

OVER, FAULT = range(2)
"""Why a run ended, if not FULL: no job is left, a score is not a finite number."""


@compiled
def read_gauges(state: State, values: np.ndarray) -> None:
    """Write the backlog of now, h, and the forecast's error of late, cores, to float64[2]."""
    scalar, waiting = state.scalar, 0
    for i in range(scalar[NUM_WAITING]):
        j = state.waiting[i]
        waiting += state.job[j, CPU] * state.job[j, DURATION]
    values[BACKLOG] = waiting * scalar[SLOT_S] / 3600 / scalar[CLUSTER]
    values[FORECAST_ERROR] = forecast_error(state)


@compiled
def forecast_error(state: State) -> float:
    """By how many cores the forecast of the next slot was off, root mean square over the last slots, `LOOK_BACK_S`.

    Slots before the episode count as foreseen: nobody knows. Where no forecast reaches the next slot it is 0.
    """
    now, slots, count = state.scalar[SLOT], len(state.capacity), max(1, LOOK_BACK_S // state.scalar[SLOT_S])
    if len(state.room) < 2:
        return 0.0
    total = 0.0
    for slot in range(max(0, now - count + 1), now + 1):
        off = state.forecast[slot % slots, 1] - state.capacity[slot % slots]
        total += off * off
    return np.sqrt(total / count) / 1000


@concurrent
def run_episode(state: State, guarded: Guarded, watch: Watch) -> int:
    """Run an episode to its end; FULL: it goes on when it is called again with more room."""
    return run(state, guarded, loop.new_scratch(len(state.job)), watch)


@compiled
def run(state: State, guarded: Guarded, scratch: loop.Scratch, watch: Watch) -> int:
    """`run_episode` without what it allocates."""
    while not is_full(watch):
        if advance(state) == 0:
            return OVER
        read_gauges(state, watch.values)
        if takes_over(guarded.bounds, watch, state.scalar[SLOT] * float(state.scalar[SLOT_S])):
            j = loop.choose(state, guarded.heuristic, scratch)
        else:
            j = loop.choose(state, guarded.policy, scratch)
        if j == INVALID:
            return FAULT
        answer(state, j)
    return FULL


def run_or_raise(state: State, guarded: Guarded) -> Record:
    """Run an episode to its end; what the guard saw.

    Raises:
        FeatureError: a score of the policy is not finite.
    """
    why, seen = watched(run_episode, state, guarded)
    if why == FAULT:
        raise loop.fault(state)
    return seen
