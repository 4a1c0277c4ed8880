"""For the reference simulator: the random numbers of the compiled one, written anew.

Every start of a task has 64 bits of its own, out of the seed, its job, its stage and the number of starts before it.
"""

from __future__ import annotations

import math

from reference_cluster import Stage

LOW = 0xFFFFFFFF


def mix(value: int) -> int:
    """The finaliser of SplitMix64."""
    value %= 2**64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def bits_of(seed: int, stage: Stage) -> int:
    """The bits of attempt `stage.attempts` of a stage."""
    stream = mix(mix(seed + stage.job.id) + stage.index)
    return mix(stream + (stage.attempts + 1) * 0x9E3779B97F4A7C15)


class HashedDurations:
    """Draws of durations (§2): the upper half of the bits for the level, the lower for the value."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def level(self, stage: Stage, left: int, right: int, probability_right: float) -> int:
        return right if bits_of(self.seed, stage) >> 32 < round(probability_right * 2**32) else left

    def value(self, stage: Stage, values: list[int]) -> int:
        return values[(bits_of(self.seed, stage) & LOW) * len(values) >> 32]


class HashedFaults:
    """Draws of stragglers and failures (§11): the upper half of other bits for the one, the lower for the other."""

    def __init__(
        self, seed: int, failures_per_hour: float, straggler_probability: float, straggler_slowdown: float
    ) -> None:
        self.seed = seed
        self.failures_per_hour = failures_per_hour
        self.straggler_probability = straggler_probability
        self.straggler_slowdown = straggler_slowdown

    def run(self, stage: Stage, duration_ms: int) -> tuple[int, bool]:
        fault = mix(bits_of(self.seed, stage) ^ 0xD1B54A32D192ED03)
        if fault >> 32 < round(self.straggler_probability * 2**32):
            duration_ms = math.floor(duration_ms * self.straggler_slowdown + 0.5)
        if self.failures_per_hour > 0:
            u = ((fault & LOW) + 0.5) / 2**32
            life_ms = math.floor(-math.log(u) * 3_600_000 / self.failures_per_hour)
            if life_ms < duration_ms:
                return life_ms, True
        return duration_ms, False
