"""What the reference simulator moves about: stages, jobs and executors; and how durations and faults are asked for.

Section numbers (§1 to §11) refer to docs/simulator.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class StageProfile:
    """What is known of a stage beforehand: its tasks, its parents and its measured durations (§1).

    A table maps an executor-count level to a list of durations in ms; the three have the same levels.
    """

    num_tasks: int
    parents: tuple[int, ...]
    first_wave: dict[int, list[int]]
    rest_wave: dict[int, list[int]]
    fresh: dict[int, list[int]]


@dataclass(eq=False)
class Stage:
    """A stage of a job that is in the cluster (§3). Starts that were lost count among the attempts only (§11)."""

    job: Job
    index: int
    profile: StageProfile
    attempts: int = 0
    started: int = 0
    finished: int = 0
    believed_ms: float | None = None  # the mean task duration that policies see, where it is not what is

    @property
    def not_started(self) -> int:
        return self.profile.num_tasks - self.started

    @property
    def complete(self) -> bool:
        return self.finished == self.profile.num_tasks

    @property
    def parents(self) -> list[Stage]:
        return [self.job.stages[p] for p in self.profile.parents]

    @property
    def runnable(self) -> bool:
        return all(parent.complete for parent in self.parents)


@dataclass(eq=False)
class Job:
    """A job: its stages, those that opened (in order of opening), its free executors (in order of parking)."""

    id: int
    arrival_ms: int
    stages: list[Stage] = field(default_factory=list)
    opened: list[Stage] = field(default_factory=list)
    pool: list[Executor] = field(default_factory=list)
    completion_ms: int | None = None

    @property
    def frontier(self) -> list[Stage]:
        return [stage for stage in self.opened if stage.not_started]

    @property
    def has_tasks_to_start(self) -> bool:
        return any(stage.not_started for stage in self.stages)


@dataclass(eq=False)
class Executor:
    """One of the identical executors. `last` is the stage of its last task, or None when it is blank."""

    id: int
    job: Job | None = None
    stage: Stage | None = None
    last: Stage | None = None
    in_transit: bool = False
    destination: Stage | None = None  # only in transit; None if its job completed meanwhile
    down: bool = False  # from its failure until it recovers


class Durations(Protocol):
    """How the random choices of §2 are made, for one start: `stage.attempts` is its number within the stage."""

    def level(self, stage: Stage, left: int, right: int, probability_right: float) -> int:
        """The level for an executor count strictly between two levels."""

    def value(self, stage: Stage, values: list[int]) -> int:
        """The duration in ms out of the measured ones."""


class MeanDurations:
    """The durations of the golden episodes: the left level, floor(mean + 0.5)."""

    def level(self, stage: Stage, left: int, right: int, probability_right: float) -> int:
        return left

    def value(self, stage: Stage, values: list[int]) -> int:
        return math.floor(sum(values) / len(values) + 0.5)


class Faults(Protocol):
    """What befalls executors while they run (§11)."""

    def run(self, stage: Stage, duration_ms: int) -> tuple[int, bool]:
        """How long attempt `stage.attempts` of a stage runs (ms), and whether it ends by a failure."""


class NoFaults:
    """Every task runs as long as was drawn, and finishes."""

    def run(self, stage: Stage, duration_ms: int) -> tuple[int, bool]:
        return duration_ms, False
