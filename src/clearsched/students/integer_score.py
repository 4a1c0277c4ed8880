"""Points: a few conditions with small whole numbers, whose sum ranks the candidates.

A logistic regression on pairs, the best candidate of a decision against each other one, with an L1 penalty chooses the
conditions; its weights are rounded to whole points, and these are then changed one at a time while the regret falls.
Source: B. Ustun, C. Rudin, Supersparse linear integer models for optimized medical scoring systems (SLIM), Machine
Learning 102, 2016, for the form; descent by coordinates in place of their integer program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from clearsched.scorers.conditions import Condition, Rule, holds
from clearsched.scorers.points import PointSum
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.assembly import CONDITION_PRICE, Regret
from clearsched.students.dataset import best_rows
from clearsched.students.examples import SMALL, Examples, distilled
from clearsched.students.levels import with_level
from clearsched.students.task import Task
from clearsched.students.ties import find_ties, order_of

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of a feature's values among the candidates: the thresholds of the conditions that are tried."""

PENALTIES = np.logspace(-4, 1, 16)
"""Inverse strengths of the L1 penalty, the strongest first."""

PASSES = 4
"""Over all points, at most."""


class Stock(NamedTuple):
    """The conditions to choose from, and which candidates meet them."""

    conditions: list[Condition]
    met: np.ndarray  # float32[n, conditions]: 1 or 0


def learn(task: Task) -> ScoredPolicy:
    """Choose conditions and points, then fit the level."""
    return with_level(task, distilled(task, fit, SMALL))


def fit(examples: Examples, task: Task) -> Scorer:
    """The entries by their points; where "none of these" is an answer, one that always counts puts it in place."""
    names = task.names
    stock = stock_of(examples)
    ties = find_ties(examples.real, task.rank, task.settings.ties)
    regret = Regret(examples.real, order_of(examples.real, ties, names))
    weights = selected(stock, examples, task.settings.conditions)
    points, always = descended(stock.met, whole(weights, task.settings.points), regret, task.settings)
    entries = [_above_0(stock.conditions[i], int(points[i])) for i in np.flatnonzero(points)]
    entries.sort(key=lambda entry: -entry.value)
    always += int(points[points < 0].sum()) if task.dataset.none else 0
    if always or not entries:
        entries.append(Rule((), float(always)))
    return PointSum(tuple(entries), names, ties)


def _above_0(condition: Condition, points: int) -> Rule:
    """An entry; points taken away are given for the opposite."""
    if points < 0:
        condition, points = condition._replace(below=not condition.below), -points
    return Rule((condition,), float(points))


def stock_of(examples: Examples) -> Stock:
    """The conditions `feature < quantile` that some candidates meet and some do not; of equal or opposite ones one."""
    found: dict[bytes, tuple[Condition, np.ndarray]] = {}
    for column in examples.columns:
        values = examples.all_features[:, column]
        for threshold in sorted({examples.values.round(column, float(q)) for q in np.quantile(values, QUANTILES)}):
            condition = Condition(column, True, threshold)
            met = holds(condition, examples.all_features)
            if met.any() and not met.all() and (~met).tobytes() not in found:
                found.setdefault(met.tobytes(), (condition, met))
    conditions = [condition for condition, _ in found.values()]
    rows = len(examples.all_features)
    return Stock(conditions, np.array([met for _, met in found.values()], np.float32).reshape(-1, rows).T)


def selected(stock: Stock, examples: Examples, most: int) -> np.ndarray:
    """float64[conditions]: the weights of the regression with the weakest penalty that leaves at most `most` of them.

    Pairs of a decision weigh as much as one pair together.
    """
    from sklearn.linear_model import LogisticRegression

    pairs, weight = _pairs(stock, examples)
    if len(pairs) < 2 or not pairs.shape[1]:
        return np.zeros(pairs.shape[1])
    sign = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0).astype(np.float32)  # so that there are two classes
    rows, weights = pairs * sign[:, None], np.zeros(pairs.shape[1])
    for penalty in PENALTIES:
        model = LogisticRegression(
            l1_ratio=1.0, solver="liblinear", C=float(penalty), fit_intercept=False, random_state=0
        )
        found = model.fit(rows, sign > 0, sample_weight=weight).coef_[0]
        if np.count_nonzero(found) > most:
            break
        weights = found
    return weights


def _pairs(stock: Stock, examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """The best candidate's conditions less those of each other one, float32[p, conditions], and what a pair weighs."""
    real = examples.real
    candidates = ~real.is_none
    place = np.cumsum(candidates) - 1  # of a row among the candidates
    best = best_rows(real)
    real_best = candidates[best][real.owner] & candidates  # decisions whose best answer is a candidate
    others = np.flatnonzero(real_best & (np.arange(len(candidates)) != best[real.owner]))
    owner = real.owner[others]
    difference = stock.met[place[best[owner]]] - stock.met[place[others]]
    return difference, 1.0 / np.bincount(owner)[owner]


def whole(weights: np.ndarray, most: int) -> np.ndarray:
    """int64: the weights as whole points, the largest of them `most`; of those that are not 0 none becomes 0."""
    largest = float(np.abs(weights).max(initial=0.0))
    if not largest:
        return np.zeros(len(weights), np.int64)
    scaled = weights * most / largest
    return (np.sign(scaled) * np.maximum(np.round(np.abs(scaled)), weights != 0)).astype(np.int64)


def descended(met: np.ndarray, points: np.ndarray, regret: Regret, settings: Any) -> tuple[np.ndarray, int]:
    """The points after changes that each lower the regret most, one condition at a time, and the constant.

    A condition gets other points, its points go to another condition, or one that had none gets some.

    Args:
        met: float32[n, conditions].
        points: int64[conditions].
        regret: of orders of the candidates.
        settings: at most `conditions` conditions with at most `points` points, either way.
    """
    lowest = priced(met, points, regret)
    for _ in range(PASSES):
        before = lowest
        for place in range(len(points)):
            options = [(priced(met, option, regret), n, option) for n, option in _options(points, place, settings)]
            found, _, option = min(options, key=lambda each: each[:2], default=(lowest, 0, points))
            if found < lowest:
                lowest, points = found, option
        if lowest == before:
            break
    return points, cost_of(sums_of(met, points), regret)[1]


def _options(points: np.ndarray, place: int, settings: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Numbered: other points for the condition at `place`, or, where it has none, those of another condition."""
    number = 0
    if points[place] or np.count_nonzero(points) < settings.conditions:
        for value in range(-settings.points, settings.points + 1):
            if value != points[place]:
                option = points.copy()
                option[place] = value
                yield (number := number + 1), option
    if not points[place]:
        for other in np.flatnonzero(points):
            for sign in (1, -1):
                option = points.copy()
                option[place], option[other] = sign * points[other], 0
                yield (number := number + 1), option


def priced(met: np.ndarray, points: np.ndarray, regret: Regret) -> float:
    """The regret, and what the conditions must save to be worth reading."""
    return cost_of(sums_of(met, points), regret)[0] + CONDITION_PRICE * np.count_nonzero(points)


def sums_of(met: np.ndarray, points: np.ndarray) -> np.ndarray:
    """float32[n]: the sum of the points of each row; whole numbers far below 2^24, so they are exact.

    Points of another type than `met` would have a copy of it made for every option that is tried.
    """
    total: np.ndarray = met @ points.astype(np.float32)
    return total


def cost_of(sums: np.ndarray, regret: Regret) -> tuple[float, int]:
    """The mean regret of sums of points, and what is to be added so that those above "none of these" are above 0."""
    keys = np.round(sums.max() - sums).astype(np.int64)
    found = regret.of(keys)
    return found.regret, 0 if found.none < 0 else found.none - round(float(sums.max()))
