"""The min-heap of task completions, on (time, insertion number)."""

from __future__ import annotations

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.state import EVENT_MS, EVENT_NUMBER, EVENT_STAGE


@njit(cache=True)
def sift_down(heap: np.ndarray, size: int, time_ms: int, number: int, s: int) -> None:
    """Put an event in place of the heap's top."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap[right, EVENT_MS] < heap[child, EVENT_MS]
            or (
                heap[right, EVENT_MS] == heap[child, EVENT_MS] and heap[right, EVENT_NUMBER] < heap[child, EVENT_NUMBER]
            )
        ):
            child = right
        child_ms = heap[child, EVENT_MS]
        if child_ms > time_ms or (child_ms == time_ms and heap[child, EVENT_NUMBER] > number):
            break
        heap[hole, EVENT_MS] = child_ms
        heap[hole, EVENT_NUMBER] = heap[child, EVENT_NUMBER]
        heap[hole, EVENT_STAGE] = heap[child, EVENT_STAGE]
        hole = child
    heap[hole, EVENT_MS], heap[hole, EVENT_NUMBER], heap[hole, EVENT_STAGE] = time_ms, number, s


@njit(cache=True)
def sift_up(heap: np.ndarray, size: int, time_ms: int, number: int, s: int) -> None:
    """Put an event at the end of a heap that now has `size` entries. It has the largest number so far."""
    hole = size - 1
    while hole > 0:
        parent = (hole - 1) // 2
        if heap[parent, EVENT_MS] <= time_ms:
            break
        heap[hole, EVENT_MS] = heap[parent, EVENT_MS]
        heap[hole, EVENT_NUMBER] = heap[parent, EVENT_NUMBER]
        heap[hole, EVENT_STAGE] = heap[parent, EVENT_STAGE]
        hole = parent
    heap[hole, EVENT_MS], heap[hole, EVENT_NUMBER], heap[hole, EVENT_STAGE] = time_ms, number, s
