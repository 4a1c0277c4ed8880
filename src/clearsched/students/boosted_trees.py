"""The student of boosted trees: a sum of shallow trees ranks the candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.decisions.choices import Choices
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.trees import TreeSum
from clearsched.students import ranking
from clearsched.students.levels import with_level
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Fit the trees, then the level."""
    trees = _trees(task, task.dataset.rank)
    asked = most_used(trees, task.settings.features)
    if len(asked) < len(task.names):
        trees = _trees(task, only(task.dataset.rank, asked))
    return with_level(task, TreeSum(tuple(trees), task.names))


def _trees(task: Task, choices: Choices) -> list[dict[str, Any]]:
    return ranking.learn(choices, task.rank.features, task.settings, task.seed, monotone=task.settings.monotone)


def most_used(trees: Sequence[Mapping[str, Any]], most: int) -> list[int]:
    """Of the features that trees ask for, by their columns, so many whose questions gain most, in their order."""
    gains: dict[int, float] = {}
    for tree in trees:
        for feature, gain in zip(tree["feature"], tree["gain"], strict=True):
            if feature != LEAF:
                gains[feature] = gains.get(feature, 0.0) + gain
    return sorted(sorted(gains, key=lambda feature: (-gains[feature], feature))[:most])


def only(choices: Choices, columns: Sequence[int]) -> Choices:
    """The decisions with those features alone: all others are missing, so that no tree asks for them."""
    features = np.full_like(choices.features, np.nan)
    features[:, columns] = choices.features[:, columns]
    return choices._replace(features=features)
