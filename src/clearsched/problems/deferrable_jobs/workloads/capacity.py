"""What on-demand work leaves of the cluster, and how that is foreseen."""

from __future__ import annotations

import numpy as np

from clearsched.problems.deferrable_jobs.settings import CapacityParams

PERSISTENCE = 0.95
"""What remains from slot to slot of the on-demand work's wandering about its day."""

COUNTER_BITS = 20
"""A forecast of a longer reach, in slots, would use random numbers twice."""


def residual_share(
    generator: np.random.Generator, options: CapacityParams, slots: int, day_slots: int, day_start: int, slot_s: int
) -> np.ndarray:
    """float64[slots]: share of the cores that on-demand work leaves, which may be below 0: the caller cuts it.

    A sine over the day, an AR(1) process about it, and bursts: as many as a Poisson law says, anywhere, of geometric
    length and exponential height. A burst that goes beyond the last slot goes on in the first: the capacity repeats.
    """
    hour = (day_start + np.arange(slots)) % day_slots * 24.0 / day_slots
    taken = options.on_demand + options.day_swing * np.cos((hour - options.peak_hour) * np.pi / 12)
    wandering = options.noise * generator.standard_normal(slots)
    for slot in range(1, slots):
        wandering[slot] = PERSISTENCE * wandering[slot - 1] + (1 - PERSISTENCE**2) ** 0.5 * wandering[slot]
    taken += wandering
    ends = min(1.0, slot_s / options.burst_s)  # chance that a slot of a burst is its last
    for _ in range(generator.poisson(options.bursts_per_day * slots / day_slots)):
        first = int(generator.integers(slots))
        length = int(generator.geometric(ends))
        height = options.burst_height * generator.exponential()
        taken[(first + np.arange(min(length, slots))) % slots] += height
    return np.asarray(1.0 - taken)


def mean_share(options: CapacityParams, day_s: int) -> float:
    """Share of the cores that on-demand work leaves on average, bursts counted as if none overlapped."""
    return 1.0 - options.on_demand - options.bursts_per_day * options.burst_s / day_s * options.burst_height


def innovations(seed: int, slots: int, reach: int) -> np.ndarray:
    """float64[slots, reach]: what slot u's forecast learns from r slots before it to r - 1; column 0 is 0.

    Mean 0 and variance 1, each the sum of the four 16-bit pieces of SplitMix64's answer to a counter (Steele, Lea,
    Flood, OOPSLA 2014), which is the same on every machine and for every reach.
    """
    slot, step = np.arange(slots, dtype=np.uint64)[:, None], np.arange(reach, dtype=np.uint64)[None, :]
    counter = (slot << np.uint64(COUNTER_BITS)) + step
    bits = _mix(np.uint64(seed) + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    total = sum(((bits >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.int64) for shift in (0, 16, 32, 48))
    values: np.ndarray = (total - 2.0 * 0xFFFF) / np.sqrt((2.0**32 - 1) / 3)
    values[:, 0] = 0.0
    return values


def forecast(capacity: np.ndarray, seed: int, reach: int, error: float, cluster: int) -> tuple[np.ndarray, np.ndarray]:
    """The forecast of every slot by how long before it is made, and the standard deviation of its error.

    Errors follow the martingale model of forecast evolution (Heath and Jackson, IIE Transactions 1994): that of reach r
    is the sum of the r innovations that are still to come.

    Args:
        capacity: int64[T], millicores.
        seed: of the innovations.
        reach: R, forecasts of 0 to R - 1 slots ahead.
        error: standard deviation of an innovation, millicores.
        cluster: millicores: no forecast is above.

    Returns:
        int64[T, R], millicores, and float64[R], millicores, at least 1.
    """
    errors = error * np.cumsum(innovations(seed, len(capacity), reach), axis=1)
    foreseen = np.clip(np.rint(capacity[:, None] + errors), 0, max(cluster, capacity.max())).astype(np.int64)
    return foreseen, np.maximum(error * np.sqrt(np.arange(reach)), 1.0)


def _mix(value: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64, uint64."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
