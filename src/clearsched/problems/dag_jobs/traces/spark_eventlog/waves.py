"""Which executor slot ran a task, and whether it was new to the job, new to the stage, or neither.

An executor of the simulator runs one task at a time. A Spark executor has several cores and does not note which of them
ran a task, so a slot is a core of an executor, and the slots are rebuilt from the times: in the order of launch, a task
goes to the slot of its executor that has been free for the longest. Spark notes a finish a moment after the core became
free, so a task may be launched some ms before the noted finish of the one before it on its slot.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from clearsched.problems.dag_jobs.traces.spark_eventlog.records import EXECUTOR, FINISH, LAUNCH

FIRST_WAVE, REST_WAVE, FRESH = range(3)
"""Waves, in the order of `dag_jobs.schemas.WAVES`."""


class _Slots:
    """The slots of one executor that have run a task, and when each is free again."""

    def __init__(self) -> None:
        self._free: list[tuple[int, int]] = []  # heap of (end, slot)

    def take(self, end: int, number: int) -> int:
        """The slot, of the first `number`, that has been free for the longest; it is taken until `end`."""
        if len(self._free) < number:  # one that has run nothing
            slot = len(self._free)
            heapq.heappush(self._free, (end, slot))
        elif len(self._free) == number:
            slot = heapq.heapreplace(self._free, (end, self._free[0][1]))[1]
        else:  # tasks of more cores than those of stages before
            place = min(range(len(self._free)), key=lambda i: (self._free[i][1] >= number, self._free[i]))
            slot = self._free[place][1]
            self._free[place] = (end, slot)
            heapq.heapify(self._free)
        return slot


Capacities = Mapping[int, int]
"""Executor -> tasks that it runs at once."""


def split_waves(tables: Sequence[np.ndarray], slots: Capacities | Sequence[Capacities]) -> tuple[list[np.ndarray], int]:
    """The wave of every attempt at the tasks of one job, and the number of slots that it used.

    Attempts that do not count (failed, killed, copies) occupy and warm their slot like the others.

    Args:
        tables: int64[attempts, 6] of each stage, columns `records.LAUNCH` and so on.
        slots: executor -> tasks that it runs at once, of each stage where they differ; for an executor that is not
            listed, the most that it ran at once.

    Returns:
        int8[attempts] of each stage, FIRST_WAVE, REST_WAVE or FRESH; the number of slots used.
    """
    launch = np.concatenate([table[:, LAUNCH] for table in tables])
    finish = np.concatenate([table[:, FINISH] for table in tables])
    executor = np.concatenate([table[:, EXECUTOR] for table in tables])
    lengths = [len(table) for table in tables]
    stage = np.repeat(np.arange(len(tables)), lengths)
    order = np.lexsort((stage, finish, launch))
    given = [slots] * len(tables) if isinstance(slots, Mapping) else slots
    most: dict[int, int] = {}
    free: defaultdict[int, _Slots] = defaultdict(_Slots)
    waves = np.zeros(len(launch), np.int8)
    seen: dict[tuple[int, int], set[int]] = {}
    columns = (order.tolist(), executor[order].tolist(), finish[order].tolist(), stage[order].tolist())
    for attempt, one, end, number in zip(*columns, strict=True):
        capacity = given[number].get(one, 0) or most.get(one, 0)
        if not capacity:
            capacity = most[one] = _most_at_once(launch, finish, executor == one)
        slot = free[one].take(end, capacity)
        visited = seen.get((one, slot))
        if visited is None:
            waves[attempt] = FRESH
            seen[(one, slot)] = {number}
        elif number in visited:
            waves[attempt] = REST_WAVE
        else:
            visited.add(number)
    return np.split(waves, np.cumsum(lengths)[:-1]), len(seen)


def _most_at_once(launch: np.ndarray, finish: np.ndarray, mine: np.ndarray) -> int:
    """The largest number of attempts that ran at one time; one that starts as another ends follows it."""
    times = np.concatenate([finish[mine], launch[mine]])
    change = np.repeat([-1, 1], int(mine.sum()))
    return max(1, int(np.cumsum(change[np.argsort(times, kind="stable")]).max()))
