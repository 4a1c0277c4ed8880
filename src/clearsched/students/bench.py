"""Closed-loop trials while students are fitted: training episodes to choose within a fit, validation ones after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance
from clearsched.problems.programs import rounded
from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.trials import JOINED

UNSEEN = 1 / 4
"""Of the training episodes: not searched on, but chosen on."""

DIGITS = 6
"""Digits of the measure that a student's file tells."""

Item = TypeVar("Item")


class Fitted(NamedTuple):
    """A student, and what speaks for it."""

    policy: ScoredPolicy
    cost: float  # mean on the episodes that it was chosen on
    is_safe: bool = True  # it strays from the baseline nowhere, or there is none

    @property
    def rank(self) -> tuple[bool, float]:
        """The lower the better: no mean excuses what is not safe."""
        return not self.is_safe, self.cost


@dataclass(frozen=True)
class Bench:
    """Episodes to try a student on. Its *cost* is the measure, negative where higher values are better.

    Attributes:
        instance: what runs the episodes.
        measure: what a student is judged by.
        train: episodes on which a fit compares its own variants.
        validation: episodes on which the rounds of a fit are compared.
        baseline: a heuristic that every student must keep near to on each episode (`safety`); None: no such check.
        rare: episodes on which it must besides those of the check, for what these need not show.
    """

    instance: Instance
    measure: Measure
    train: Sequence[Episode]
    validation: Sequence[Episode]
    baseline: Policy | None = None
    rare: Sequence[Episode] = ()

    def searched_on(self) -> tuple[list[Episode], list[Episode]]:
        """Training episodes for searches, joined, and those that no search sees, to choose on."""
        joined = self.instance.joined(self.instance.split("train"), JOINED)
        seen = len(joined) - int(UNSEEN * len(joined))
        return joined[:seen], joined[seen:]

    @cached_property
    def short(self) -> list[Episode]:
        """The training episodes for a first look at many variants; what a budget of episodes is counted in."""
        return self.instance.parted(self.instance.split("train"))

    def train_cost(self, student: Policy) -> float:
        """Mean cost of the training episodes, in the unit of the measure."""
        return float(self.costs(student, self.train).mean())

    def validation_cost(self, student: Policy) -> float:
        """Mean cost of the validation episodes, in the unit of the measure."""
        return float(self.costs(student, self.validation).mean())

    def value(self, cost: float) -> float:
        """The measure that a cost stands for."""
        return cost if self.measure.lower_is_better else -cost

    def told(self, cost: float) -> float:
        """The measure that a cost stands for, as a student's file has it."""
        return rounded(self.value(cost), DIGITS)

    def in_words(self, cost: float) -> str:
        """The measure that a cost stands for: "JCT 21.4 s"."""
        value = f"{self.value(cost):.{1 if self.measure.unit == 's' else 4}f}"
        return f"{self.measure.short} {value} {self.measure.unit}".rstrip()

    def costs(self, student: Policy, episodes: Sequence[Episode]) -> np.ndarray:
        """float64[episodes]: what each costs."""
        outcomes = student.run(self.instance, episodes)
        return np.array([self.value(outcome.measures[self.measure.name]) for outcome in outcomes])


def worse_by(cost: float, share: float) -> float:
    """A cost that is higher by a share of its size (lower for a negative share), whatever its sign."""
    return cost * (1 + share) if cost >= 0 else cost * (1 - share)


def smallest_good(items: Iterable[tuple[Item, float]], tolerance: float) -> tuple[Item, float]:
    """The first item whose cost is within a share `tolerance` of the lowest: the simplest, if sorted so."""
    found = list(items)
    bar = worse_by(min(cost for _, cost in found), tolerance)
    return next((item, cost) for item, cost in found if cost <= bar)
