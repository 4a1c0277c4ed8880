"""Closed-loop trials while students are fitted: on training episodes to choose within a fit, on validation ones after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from clearsched.problems.dag_jobs.profiles import Profiles
from clearsched.problems.dag_jobs.simulate import Workload
from clearsched.students.policy import Student

Item = TypeVar("Item")


@dataclass
class Bench:
    """Episodes to try a student on.

    Attributes:
        profiles: the trace.
        train: episodes on which a fit compares its own variants.
        validation: episodes on which the rounds of a fit are compared.
        trials: students tried so far, for the record.
    """

    profiles: Profiles
    train: Sequence[Workload]
    validation: Sequence[Workload]
    trials: int = field(default=0, init=False)

    def train_jct_s(self, student: Student) -> float:
        """Mean job completion time on the training episodes, s."""
        return self._mean_jct_s(student, self.train)

    def validation_jct_s(self, student: Student) -> float:
        """Mean job completion time on the validation episodes, s."""
        return self._mean_jct_s(student, self.validation)

    def _mean_jct_s(self, student: Student, episodes: Sequence[Workload]) -> float:
        self.trials += 1
        return float(np.mean([result.avg_jct_s for result in student.run(self.profiles, episodes)]))


def smallest_good(items: Iterable[tuple[Item, float]], tolerance: float) -> tuple[Item, float]:
    """The first item whose cost is within a share `tolerance` of the lowest: the simplest, if they come in that order."""
    found = list(items)
    bar = min(cost for _, cost in found) * (1 + tolerance)
    return next((item, cost) for item, cost in found if cost <= bar)
