"""Closed-loop trials while students are fitted: training episodes to choose within a fit, validation ones after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.students.policy import Student

Item = TypeVar("Item")

BEHIND = 0.003
"""Share of the JCT by which a student may lag after a quarter of a race without being given up."""


@dataclass(frozen=True)
class Bench:
    """Episodes to try a student on.

    Attributes:
        profiles: the trace.
        train: episodes on which a fit compares its own variants.
        validation: episodes on which the rounds of a fit are compared.
    """

    profiles: Profiles
    train: Sequence[Workload]
    validation: Sequence[Workload]

    def train_jct_s(self, student: Student) -> float:
        """Mean job completion time on the training episodes, s."""
        return float(self._jct_s(student, self.train).mean())

    def validation_jct_s(self, student: Student) -> float:
        """Mean job completion time on the validation episodes, s."""
        return float(self._jct_s(student, self.validation).mean())

    def race(self, student: Student, rival: np.ndarray | None = None) -> np.ndarray | None:
        """Mean JCT of each training episode, float64[episodes], s; None if the student falls behind `rival` early.

        Args:
            student: who runs.
            rival: what an earlier race returned. The race ends after a quarter of the episodes if the student is more
                than `BEHIND` slower on them, since the same episodes tell good changes from bad ones quickly.
        """
        heat = max(1, len(self.train) // 4)
        first = self._jct_s(student, self.train[:heat])
        if rival is not None and first.mean() > rival[:heat].mean() * (1 + BEHIND):
            return None
        return np.concatenate([first, self._jct_s(student, self.train[heat:])])

    def _jct_s(self, student: Student, episodes: Sequence[Workload]) -> np.ndarray:
        return np.array([result.avg_jct_s for result in student.run(self.profiles, episodes)])


def smallest_good(items: Iterable[tuple[Item, float]], tolerance: float) -> tuple[Item, float]:
    """The first item whose cost is within a share `tolerance` of the lowest: the simplest, if sorted so."""
    found = list(items)
    bar = min(cost for _, cost in found) * (1 + tolerance)
    return next((item, cost) for item, cost in found if cost <= bar)
