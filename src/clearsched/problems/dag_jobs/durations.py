"""How long a task takes: a counter-based draw, so that a task's luck depends on nothing but itself."""

from __future__ import annotations

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.profiles import ADD_MS, LENGTH, MEAN_MS, OFFSET
from clearsched.problems.dag_jobs.state import NONE, mix

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@njit(cache=True)
def task_duration_ms(
    table: np.ndarray, durations_ms: np.ndarray, g: int, level: np.ndarray, wave: int, stream: np.uint64, task: int
) -> int:
    """How long a task takes (docs/simulator.md §2).

    Args:
        table, durations_ms: of the profiles.
        g: row of the stage in the profiles.
        level: int64[3], row of `profiles.level_table` for the executors of the job.
        wave: what the executor did before.
        stream: random stream of the stage.
        task: index of the task in its stage, which with the stream gives its draw; NONE for the mean at the left level.
    """
    if task == NONE:
        return table[g, level[0], wave, MEAN_MS]
    bits = mix(stream + np.uint64(task + 1) * GOLDEN)
    side = 1 if np.int64(bits >> HALF) < level[2] else 0
    row = table[g, level[side], wave]
    pick = np.int64(((bits & LOW) * np.uint64(row[LENGTH])) >> HALF)
    return durations_ms[row[OFFSET] + pick] + row[ADD_MS]
