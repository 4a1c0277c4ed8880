"""The feature matrix of a pending decision, filled inside the loop."""

from __future__ import annotations

import numpy as np

from clearsched.compiled.features import compile_columns, count_smaller
from clearsched.compiled.jit import compiled, inlined
from clearsched.problems.deferrable_jobs.features import FEATURE_NAMES, FEATURES, QUANTITIES
from clearsched.problems.deferrable_jobs.simulator.room import margin_of, safety_of, slack_of
from clearsched.problems.deferrable_jobs.simulator.state import (
    ARRIVAL,
    CLUSTER,
    CPU,
    DAY_SLOTS,
    DAY_START,
    DURATION,
    EVICTIONS,
    FORECAST_SUM,
    NUM_CANDIDATES,
    NUM_RUNNING,
    NUM_WAITING,
    SLOT,
    SLOT_S,
    USED,
    State,
)

ROOM_LEAST, ROOM_MEAN, ROOM_SAFETY = map(FEATURE_NAMES.index, ("room_least", "room_mean", "room_safety"))
"""What goes through all slots of a job's run to be told."""

_write = compile_columns(0, FEATURES, tuple(QUANTITIES))


@compiled
def fill_rows(state: State, rows: np.ndarray, first: int, numbers: np.ndarray, read: np.ndarray) -> int:
    """Write the candidates' features to rows[first:]; their number.

    Args:
        state: with a decision pending.
        rows: float32[n, NUM_FEATURES], with room for them.
        first: row of the first candidate.
        numbers: float64[at least 4 x candidates], to work in.
        read: bool[NUM_FEATURES]: those that are asked for; no others are written.
    """
    scalar, job = state.scalar, state.job
    count, now = scalar[NUM_CANDIDATES], scalar[SLOT]
    for c in range(count):
        j = state.candidates[c]
        numbers[c], numbers[count + c] = job[j, DURATION], slack_of(state, j)
    ranks, ordered = numbers[2 * count :], numbers[3 * count :]
    count_smaller(numbers, ranks, ordered, 0, count)
    for c in range(count):
        numbers[c] = ranks[c]
    urgency = numbers[count:]
    count_smaller(urgency, ranks, ordered, 0, count)
    waiting_cpu = 0
    for i in range(scalar[NUM_WAITING]):
        waiting_cpu += job[state.waiting[i], CPU]
    capacity = state.capacity[now % len(state.capacity)]
    reach = len(state.room)
    foreseen = scalar[FORECAST_SUM] / (reach - 1) if reach > 1 else float(capacity)
    hour = (scalar[DAY_START] + now) % scalar[DAY_SLOTS] * 24.0 / scalar[DAY_SLOTS]
    for c in range(count):
        j = state.candidates[c]
        duration = job[j, DURATION]
        _write(
            rows,
            first + c,
            read,
            job[j, CPU],
            duration,
            now - job[j, ARRIVAL],
            slack_of(state, j),
            job[j, EVICTIONS],
            numbers[c],
            ranks[c],
            state.room[0],
            margin_of(state, j) if read[ROOM_LEAST] else 0,
            mean_room(state, duration) - job[j, CPU] if read[ROOM_MEAN] else 0.0,
            safety_of(state, j) if read[ROOM_SAFETY] else 0.0,
            state.committed[0] - state.committed[duration - 1],
            scalar[USED],
            capacity,
            foreseen,
            scalar[CLUSTER],
            scalar[NUM_WAITING],
            scalar[NUM_RUNNING],
            waiting_cpu,
            hour,
            scalar[SLOT_S],
        )
    return count


@inlined
def mean_room(state: State, slots: int) -> float:
    """Mean room of so many slots from this one on, millicores."""
    total = 0
    for r in range(slots):
        total += state.room[r]
    return total / slots
