"""How long a task takes: counter-based draws, so that a task's luck depends on nothing but itself."""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import inlined
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.profiles import ADD_MS, LENGTH, MEAN_MS, OFFSET
from clearsched.problems.dag_jobs.simulator.state import mix

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FAULT = np.uint64(0xD1B54A32D192ED03)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@inlined
def random_bits(stream: int, start: int) -> np.uint64:
    """The 64 random bits of a start of a task: start number `start` of the stage with that random stream."""
    return mix(np.uint64(stream) + np.uint64(start + 1) * GOLDEN)


@inlined
def drawn_duration_ms(
    table: np.ndarray, durations_ms: np.ndarray, levels: np.ndarray, g: int, executors: int, wave: int, bits: np.uint64
) -> int:
    """A task's duration drawn from the measured ones (docs/simulator.md §2).

    Args:
        table, durations_ms: of the profiles.
        levels: int64[N + 1, 3], see `profiles.level_table`.
        g: row of the stage in the profiles.
        executors: executors attached to the job.
        wave: what the executor did before.
        bits: of the task's start; the high half chooses between two levels, the low half within the list.
    """
    side = 1 if np.int64(bits >> HALF) < levels[executors, 2] else 0
    row = table[g, levels[executors, side], wave]
    pick = np.int64(((bits & LOW) * np.uint64(row[LENGTH])) >> HALF)
    return durations_ms[row[OFFSET] + pick] + row[ADD_MS]


@inlined
def mean_duration_ms(table: np.ndarray, levels: np.ndarray, g: int, executors: int, wave: int) -> int:
    """The rounded mean of the durations at the left level: how the golden episodes run."""
    return table[g, levels[executors, 0], wave, MEAN_MS]


@inlined
def with_faults(duration_ms: int, bits: np.uint64, threshold: int, fault: np.ndarray) -> tuple[int, bool]:
    """How long an attempt runs, ms, and whether it ends by the failure of its executor (docs/simulator.md §11).

    Args:
        duration_ms: of the task, if nothing happens to it.
        bits: of the task's start.
        threshold: probability of a straggler x 2^32.
        fault: mean time to failure, ms, and factor on the duration of a straggler.
    """
    bits = mix(bits ^ FAULT)
    if np.int64(bits >> HALF) < threshold:
        duration_ms = int(np.floor(duration_ms * fault[st.SLOWDOWN] + 0.5))
    if fault[st.MEAN_LIFE_MS] < np.inf:
        life_ms = np.floor(-np.log((np.float64(bits & LOW) + 0.5) / 4294967296.0) * fault[st.MEAN_LIFE_MS])
        if life_ms < duration_ms:
            return int(life_ms), True
    return duration_ms, False
