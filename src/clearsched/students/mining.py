"""Where the rules of a list come from: models of imodels, and every part of the rules they find."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice
from clearsched.scorers.conditions import Condition, flatten, holds
from clearsched.students.dataset import best_rows, ranks, subset, without_none
from clearsched.students.elimination import elimination_list
from clearsched.students.examples import telling
from clearsched.students.flat_trees import from_figs, seeded_ties
from clearsched.students.rounding import Columns
from clearsched.students.settings import RuleListParams

Conditions = tuple[Condition, ...]


class Mined(NamedTuple):
    """A conjunction of conditions, and which rows meet it."""

    conditions: Conditions
    rows: np.ndarray  # bool[n], of the candidates


def mine(real: Choices, choice: Choice, settings: RuleListParams) -> list[Mined]:
    """The rules of several models of imodels, with every part of them; of rules for the same rows the shortest.

    Args:
        real: decisions with more than one row; those of "none of these" say which candidates are worth choosing at all.
        choice: the choice that they answer.
        settings: at most `max_rules` rules a model, of so many features; a rule has at most so many conditions.
    """
    features = real.features[~real.is_none]
    columns, asked = Columns(features), _asked(real, choice, settings.features)
    found: dict[bytes, Mined] = {}
    for trees in itertools.chain(_models(real, choice, settings, asked), _models_of_none(real, settings, asked)):
        for rule in columns.round_rules(flatten(trees)):
            for length in range(1, min(len(rule.conditions), settings.conditions) + 1):
                for conditions in itertools.combinations(rule.conditions, length):
                    rows = np.logical_and.reduce([holds(condition, features) for condition in conditions])
                    known = found.get(key := rows.tobytes())
                    if known is None or length < len(known.conditions):
                        found[key] = Mined(conditions, rows)
    return list(found.values())


def _asked(real: Choices, choice: Choice, most: int) -> list[int]:
    """The features that rules may ask for: all, or so many, those that tell most of how good a candidate is."""
    every = list(range(len(choice.features)))
    if most >= len(every):
        return every
    kept = ~real.is_none
    return telling(real.features[kept], every, 1.0 / (1 + ranks(real)[kept]), most)


def _models(
    real: Choices, choice: Choice, settings: RuleListParams, asked: Sequence[int]
) -> Iterator[list[dict[str, Any]]]:
    """Models fitted to the candidates' ranks and to the best ones, as flat trees.

    Features that all candidates of a decision share can't tell one from another, and mislead small models, so they are
    left out. So is, for half of the models, the feature that tells the candidate which changes nothing: what was chosen
    before mostly is preferred again, so this feature goes with the choice without being its reason.
    """
    real = without_none(real)
    real = subset(real, ~real.trivial)
    if not len(real.chosen):
        return
    rank, sizes = ranks(real), real.sizes[real.owner]
    best = np.zeros(len(rank))
    best[best_rows(real)] = 1.0
    even = np.where(best == 1, 1.0, 1.0 / np.maximum(sizes - 1, 1))  # the best one weighs as much as all others
    told = [(i, choice.features[i].name) for i in asked if not choice.features[i].per_decision]
    for columns in filter(None, ([i for i, _ in told], [i for i, name in told if name != choice.keeps])):
        features = real.features[:, columns]
        for target, weight in itertools.product((1.0 / (1 + rank), best), (1.0 / sizes, 1.0 / (1 + rank))):
            yield _figs(features, target, weight, columns, settings)
        yield [elimination_list(features, columns, best, even, settings.max_rules)]


def _models_of_none(real: Choices, settings: RuleListParams, asked: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
    """Models fitted to which candidates are better than "none of these", where that was an answer.

    Here what all candidates of a decision share does tell something: nothing may be worth choosing now.
    """
    owner = real.owner
    if not real.is_none.any():
        return
    score = np.full(len(real.chosen), np.nan)
    score[owner[real.is_none]] = real.score[real.is_none]
    rows = ~real.is_none & np.isfinite(score[owner])
    better = (real.score > score[owner])[rows].astype(np.float64)
    for weight in (np.ones(len(better)), 1.0 / real.sizes[owner][rows]):
        yield _figs(real.features[rows][:, asked], better, weight, asked, settings)


def _figs(
    features: np.ndarray, target: np.ndarray, weight: np.ndarray, columns: Sequence[int], settings: RuleListParams
) -> list[dict[str, Any]]:
    from imodels import FIGSRegressor

    model = FIGSRegressor(max_rules=max(1, settings.max_rules - 1), max_trees=1)
    with seeded_ties():
        model.fit(features, target, sample_weight=weight)
    return [from_figs(tree, columns) for tree in model.trees_]
