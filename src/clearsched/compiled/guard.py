"""A guard inside the loop: when a gauge exceeds its bound a heuristic decides, until all of them are low again.

A gauge is a number that a problem reads at every decision, such as its backlog. A policy without a guard runs in a loop
of its own, which knows nothing of this: what is off costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.jit import inlined

ROWS = 16
"""Take-overs that a log has room for at first; a run that needs more goes on with a longer one."""

FULL = -1
"""Beside the numbers by which a problem's loop says why it ended: the log of take-overs has no room."""

# Places in Watch.status.
TAKEN_OVER, TAKE_OVERS = range(2)  # 1 while the heuristic decides; how often it took over

# Columns of Watch.log; UNTIL_S is not a number until the policy decides again.
FROM_S, UNTIL_S, GAUGE, VALUE = range(4)
COLUMNS = 4


class Bounds(NamedTuple):
    """When the heuristic takes over, and until when. G gauges."""

    above: np.ndarray  # float64[G]: it takes over where one of them is higher; inf: never because of this one
    until: np.ndarray  # float64[G]: it decides until none of them is higher


class Guarded(NamedTuple):
    """A policy, and the heuristic that takes over when the guard says so; both as the problem's own loop runs them."""

    policy: Any
    heuristic: Any
    bounds: Bounds


class Watch(NamedTuple):
    """What a guard knows of one episode."""

    values: np.ndarray  # float64[G]: the gauges at the pending decision
    most: np.ndarray  # float64[G]: the highest so far
    status: np.ndarray  # int64[2]
    log: np.ndarray  # float64[rows, COLUMNS]: the take-overs


class TakeOver(NamedTuple):
    """A heuristic that decided for a while."""

    from_s: float  # simulated time of its first decision
    until_s: float | None  # of the first decision after it; None: it decided to the end
    gauge: int  # place of the first gauge that was above its bound
    value: float  # of it then


class Record(NamedTuple):
    """What a guard saw in an episode that is over."""

    most: np.ndarray  # float64[G]: the highest value of each gauge
    take_overs: tuple[TakeOver, ...]

    def share(self, end_s: float) -> float:
        """The part of the time until `end_s` in which the heuristic decided."""
        untils = (end_s if t.until_s is None else min(t.until_s, end_s) for t in self.take_overs)
        taken = sum(max(until - t.from_s, 0.0) for t, until in zip(self.take_overs, untils, strict=True))
        return taken / end_s if end_s > 0 else 0.0


def never(count: int) -> Bounds:
    """Bounds of so many gauges that are never exceeded."""
    return Bounds(np.full(count, np.inf), np.full(count, np.inf))


def new_watch(bounds: Bounds) -> Watch:
    """A watch for an episode that begins."""
    count = len(bounds.above)
    return Watch(np.zeros(count), np.zeros(count), np.zeros(2, np.int64), np.full((ROWS, COLUMNS), np.nan))


def with_room(watch: Watch) -> Watch:
    """The watch with a log of twice the length."""
    return watch._replace(log=np.concatenate([watch.log, np.full_like(watch.log, np.nan)]))


def watched(run_episode: Callable[[Any, Guarded, Watch], int], state: Any, guarded: Guarded) -> tuple[int, Record]:
    """Why a problem's loop ended, and what the guard saw; the log has room for every take-over.

    Args:
        run_episode: the loop, which goes on from where it returned FULL.
        state: of the episode, which runs to its end.
        guarded: who schedules.
    """
    watch = new_watch(guarded.bounds)
    while (why := run_episode(state, guarded, watch)) == FULL:
        watch = with_room(watch)
    return why, record_of(watch)


def record_of(watch: Watch) -> Record:
    """What the watch saw."""
    rows = watch.log[: watch.status[TAKE_OVERS]].tolist()
    taken = (
        TakeOver(row[FROM_S], None if np.isnan(row[UNTIL_S]) else row[UNTIL_S], int(row[GAUGE]), row[VALUE])
        for row in rows
    )
    return Record(watch.most.copy(), tuple(taken))


@inlined
def is_full(watch: Watch) -> bool:
    """Whether there is no room for a further take-over."""
    return watch.status[TAKE_OVERS] == len(watch.log)


@inlined
def takes_over(bounds: Bounds, watch: Watch, now_s: float) -> bool:
    """Whether the heuristic answers the pending decision, whose gauges are `watch.values`; notes when that changes."""
    values, most, status, log = watch.values, watch.most, watch.status, watch.log
    first, is_low = -1, True
    for g in range(len(values)):
        most[g] = max(most[g], values[g])
        if values[g] > bounds.until[g]:
            is_low = False
        if first < 0 and values[g] > bounds.above[g]:
            first = g
    if status[TAKEN_OVER] == 1:
        if is_low:
            status[TAKEN_OVER] = 0
            log[status[TAKE_OVERS] - 1, UNTIL_S] = now_s
    elif first >= 0:
        row = status[TAKE_OVERS]
        log[row, FROM_S], log[row, GAUGE], log[row, VALUE] = now_s, first, values[first]
        status[TAKEN_OVER] = 1
        status[TAKE_OVERS] = row + 1
    return status[TAKEN_OVER] == 1
