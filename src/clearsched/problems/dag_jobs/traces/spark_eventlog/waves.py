"""Which executor slot ran a task, and whether it was new to the job, new to the stage, or neither.

An executor of the simulator runs one task at a time. A Spark executor has several cores and does not note which of them
ran a task, so a slot is a core of an executor, and the slots are rebuilt from the times: in the order of launch, a task
goes to the slot of its executor that has been free for the longest. Spark notes a finish a moment after the core became
free, so a task may be launched some ms before the noted finish of the one before it on its slot.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

import numpy as np

from clearsched.problems.dag_jobs.traces.spark_eventlog.application import EXECUTOR, FINISH, LAUNCH

FIRST_WAVE, REST_WAVE, FRESH = range(3)
"""Waves, in the order of `dag_jobs.schemas.WAVES`."""


def split_waves(tables: Sequence[np.ndarray], slots: Mapping[int, int]) -> tuple[list[np.ndarray], int]:
    """The wave of every attempt at the tasks of one job, and the number of slots that it used.

    Attempts that do not count (failed, killed, copies) occupy and warm their slot like the others.

    Args:
        tables: int64[attempts, 6] of each stage, columns `application.LAUNCH` and so on.
        slots: executor -> tasks that it runs at once; for an executor that is not listed, the most that it ran at once.

    Returns:
        int8[attempts] of each stage, FIRST_WAVE, REST_WAVE or FRESH; the number of slots used.
    """
    launch = np.concatenate([table[:, LAUNCH] for table in tables])
    finish = np.concatenate([table[:, FINISH] for table in tables])
    executor = np.concatenate([table[:, EXECUTOR] for table in tables])
    lengths = [len(table) for table in tables]
    stage = np.repeat(np.arange(len(tables)), lengths)
    order = np.lexsort((stage, finish, launch))
    free_at = {
        int(one): [
            (0, slot) for slot in range(slots.get(int(one), 0) or _most_at_once(launch, finish, executor == one))
        ]
        for one in np.unique(executor)
    }
    waves = np.zeros(len(launch), np.int8)
    seen: dict[tuple[int, int], set[int]] = {}
    columns = (order.tolist(), executor[order].tolist(), finish[order].tolist(), stage[order].tolist())
    for attempt, one, end, number in zip(*columns, strict=True):
        heap = free_at[one]
        slot = heap[0][1]
        heapq.heapreplace(heap, (end, slot))
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
