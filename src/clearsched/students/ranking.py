"""Shallow boosted trees that rank the candidates of a decision (xgboost), as flat trees for the simulator's loop.

"None of these" has no features. It is ranked with the candidates as a row whose values are all missing, which every
tree sends one way, so its score is one constant; all scores are then told relative to it, and its own is 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from clearsched.compiled.feature import Feature
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.compiled.trees import LEAF, pack
from clearsched.decisions.choices import Choices
from clearsched.students.dataset import best_rows, subset
from clearsched.students.settings import RankingParams


def learn(
    choices: Choices, features: Sequence[Feature], settings: RankingParams, seed: int, *, monotone: bool = False
) -> list[dict[str, Any]]:
    """Trees whose sum ranks the expert's best candidate first, and is above 0 where a candidate is better than none.

    Decisions with one row say nothing about ranking and are left out. One thread and the histogram method, so that the
    same decisions give the same trees on any machine.

    Args:
        choices: the expert's decisions.
        features: of the columns.
        settings: number, depth and weight of the trees.
        seed: of xgboost.
        monotone: hold the score to the direction of each feature that has one (`Feature.monotone`), so that the trees
            can't say that a job with more work left is the better choice, all else equal.
    """
    booster = train(choices, features, settings, seed, monotone=monotone)
    trees = export(booster)
    return [*trees, constant(-score_of_missing(booster))] if choices.is_none.any() else trees


def rescored(choices: Choices, features: Sequence[Feature], settings: RankingParams, seed: int) -> Choices:
    """The decisions with the trees' scores in place of the expert's.

    They rank all candidates of a decision, also where the expert only named one, and smoothly where it wavers.
    """
    trees = pack(learn(choices, features, settings, seed), len(features), "boosted trees")
    return choices._replace(score=np.where(choices.is_none, 0.0, scores_of(Packed(trees=trees), choices.features)))


def train(
    choices: Choices, features: Sequence[Feature], settings: RankingParams, seed: int, *, monotone: bool = False
) -> Any:
    """The fitted xgboost booster. See `learn`."""
    import xgboost

    real = subset(choices, ~choices.trivial)
    best = np.zeros(len(real.features), np.float32)
    best[best_rows(real)] = 1.0
    data = xgboost.DMatrix(real.features, best, qid=real.owner, nthread=1)
    parameters: dict[str, Any] = {
        "objective": "rank:ndcg",
        "max_depth": settings.depth,
        "eta": settings.learning_rate,
        "tree_method": "hist",
        "base_score": 0.0,
        "nthread": 1,
        "seed": seed,
    }
    if monotone:
        parameters["monotone_constraints"] = tuple(feature.monotone for feature in features)
    return xgboost.train(parameters, data, settings.trees)


def export(booster: Any) -> list[dict[str, Any]]:
    """A booster's trees as flat trees with the same comparisons (float32, a row goes left if its value is below).

    `gain` says how much a split improved the objective; nothing reads it when the policy runs.
    """
    return [_flat(tree) for tree in _trees(booster)]


def score_of_missing(booster: Any) -> float:
    """What a row of missing values gets: the leaves that every tree's default directions lead to, in float64."""
    total = 0.0
    for tree in _trees(booster):
        node = 0
        while tree["left_children"][node] != -1:
            node = tree["left_children" if tree["default_left"][node] else "right_children"][node]
        total += _float32(tree["split_conditions"][node])
    return total


def constant(value: float) -> dict[str, Any]:
    """A tree of one leaf."""
    return {"feature": [LEAF], "threshold": [0.0], "left": [0], "right": [0], "value": [value], "gain": [0.0]}


def _trees(booster: Any) -> list[dict[str, Any]]:
    trees: list[dict[str, Any]] = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"][
        "trees"
    ]
    return trees


def _flat(tree: dict[str, Any]) -> dict[str, Any]:
    inner = [child != -1 for child in tree["left_children"]]
    numbers = [_float32(value) for value in tree["split_conditions"]]  # a leaf's value stands where a threshold would
    return {
        "feature": [f if is_inner else LEAF for f, is_inner in zip(tree["split_indices"], inner, strict=True)],
        "threshold": [n if is_inner else 0.0 for n, is_inner in zip(numbers, inner, strict=True)],
        "left": [max(child, 0) for child in tree["left_children"]],
        "right": [max(child, 0) for child in tree["right_children"]],
        "value": [0.0 if is_inner else n for n, is_inner in zip(numbers, inner, strict=True)],
        "gain": [_float32(g) if is_inner else 0.0 for g, is_inner in zip(tree["loss_changes"], inner, strict=True)],
    }


def _float32(value: float) -> float:
    """The shortest decimal of the float32, which is what xgboost compares with."""
    return float(np.format_float_positional(np.float32(value)))
