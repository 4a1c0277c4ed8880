"""The rows that a model of single candidates is fitted on: what each is like, and how good it is in its decision."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice
from clearsched.scorers.conditions import Rule
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.students import ranking
from clearsched.students.dataset import best_rows, ranks, subset, thinned
from clearsched.students.rounding import Columns
from clearsched.students.settings import RankingParams
from clearsched.students.task import Task

SMALL, LARGE = 3_000, 20_000
"""Decisions that a model is fitted on, evenly taken from all: what imodels and scikit-learn take seconds for."""

RESCORING = RankingParams()
"""The boosted trees that say how good each candidate is, also where the expert named the best one only."""

OFTEN = 0.01
"""Share of the decisions from which on "none of these" is worth a model's questions."""

IMPORTANCE_LEAVES = 64
"""Of the tree that tells which features matter."""


class Told(NamedTuple):
    """How good each candidate is, n in all, and what it weighs in a fit."""

    place: np.ndarray  # float64[n]: 1 / (1 + answers of its decision that are better)
    best: np.ndarray  # float64[n]: 1 for the best answer of a decision, 0 for all others
    even: np.ndarray  # float64[n]: weight with which the best candidate counts as much as all others of its decision


class Examples:
    """Decisions with more than one answer, and of each candidate a row.

    "None of these" has no row: it tells how good the others are. Features that all candidates of a decision share can't
    tell one from another and mislead small models, so they are left out, unless none is an answer: nothing may be worth
    choosing now.

    Attributes:
        real: the decisions, with scores that rank all their candidates.
        choice: that they answer.
        columns: the features that a model may ask for, by their place in `choice`.
        features: float32[n, columns] of the candidates.
    """

    def __init__(self, real: Choices, choice: Choice, most_features: int) -> None:
        """Choose the `most_features` features that tell most of how good a candidate is."""
        self.real, self.choice = real, choice
        self.all_features = real.features[~real.is_none]
        idles = real.is_none[best_rows(real)].mean() >= OFTEN
        told = [i for i, feature in enumerate(choice.features) if idles or not feature.per_decision]
        self.columns = telling(self.all_features, told, self.told.place, most_features)
        self.features = np.ascontiguousarray(self.all_features[:, self.columns])

    @cached_property
    def told(self) -> Told:
        """What a model is fitted to."""
        kept = ~self.real.is_none
        rank, size = ranks(self.real)[kept], self.real.sizes[self.real.owner][kept]
        best = _first_best(self.real)[kept]
        return Told(1.0 / (1.0 + rank), best, np.where(best == 1, 1.0, 1.0 / np.maximum(size - 1, 1)))

    @cached_property
    def values(self) -> Columns:
        """The values of all features, to round thresholds by."""
        return Columns(self.all_features)


Fit = Callable[[Examples, Task], Scorer]


def distilled(task: Task, fit: Fit, most_decisions: int, *, rescored: bool = True) -> Scorer:
    """What `fit` makes of the log; one rule for all candidates where the log tells nothing.

    Args:
        task: its settings have `features`, the most that a student may ask for.
        fit: of the kind.
        most_decisions: that it is fitted on, at least 1.
        rescored: with the scores of boosted trees, which rank all candidates of a decision; else with the expert's.
    """
    equal = RuleList((Rule((), 1.0),), task.names)
    if task.dataset.rank.trivial.all():
        return equal
    ranked = task.dataset.rank
    if rescored:
        ranked = ranking.rescored(ranked, task.rank.features, RESCORING, task.seed)
    examples = Examples(thinned(subset(ranked, ~ranked.trivial), most_decisions), task.rank, task.settings.features)
    if not np.ptp(examples.features, axis=0).any() or not 0 < examples.told.best.mean() < 1:
        return equal
    return fit(examples, task)


def _first_best(real: Choices) -> np.ndarray:
    """float64[n]: 1 for the first best row of each decision."""
    best = np.zeros(len(real.features))
    best[best_rows(real)] = 1.0
    return best


def telling(features: np.ndarray, columns: list[int], target: np.ndarray, most: int) -> list[int]:
    """Those of the columns that a tree of many leaves asks for most, in their order; the first one if it asks none."""
    from sklearn.tree import DecisionTreeRegressor

    model = DecisionTreeRegressor(max_leaf_nodes=IMPORTANCE_LEAVES, random_state=0)
    importance = model.fit(features[:, columns], target, target).feature_importances_
    order = [place for place in np.argsort(-importance, kind="stable")[:most].tolist() if importance[place] > 0]
    return sorted(columns[place] for place in order) or columns[:1]
