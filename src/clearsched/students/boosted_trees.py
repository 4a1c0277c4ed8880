"""Shallow boosted trees that rank the candidates of a decision (xgboost), as flat trees for the simulator's loop."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.compiled.trees import LEAF, pack, scores
from clearsched.decisions.reader import Choices
from clearsched.problems.dag_jobs.features import FEATURES, NUM_FEATURES
from clearsched.students.dataset import best_rows, subset

if TYPE_CHECKING:
    from clearsched.params.models import BoostedTreesParams


def learn(choices: Choices, settings: BoostedTreesParams, seed: int) -> list[dict[str, Any]]:
    """Trees whose sum ranks the expert's best candidate first.

    Decisions with one candidate say nothing about ranking and are left out. One thread and the histogram method, so
    that the same decisions give the same trees on any machine.

    Args:
        choices: the expert's decisions.
        settings: number, depth and weight of the trees; with `monotone` the score is held to the direction of each
            feature that has one (`Feature.monotone`), so that the trees can't say that a job with more work left is
            the better choice, all else equal.
        seed: of xgboost.
    """
    return export(train(choices, settings, seed))


def rescored(choices: Choices, settings: BoostedTreesParams, seed: int) -> Choices:
    """The decisions with the trees' scores in place of the expert's.

    They rank all candidates of a decision, also where the expert only named one, and smoothly where it wavers.
    """
    trees = pack(learn(choices, settings, seed), NUM_FEATURES, "boosted trees")
    return choices._replace(score=scores(trees, choices.features))


def train(choices: Choices, settings: BoostedTreesParams, seed: int) -> Any:
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
    if settings.monotone:
        parameters["monotone_constraints"] = tuple(feature.monotone for feature in FEATURES)
    return xgboost.train(parameters, data, settings.trees)


def export(booster: Any) -> list[dict[str, Any]]:
    """A booster's trees as flat trees with the same comparisons (float32, a row goes left if its value is below).

    `gain` says how much a split improved the objective; nothing reads it when the policy runs.
    """
    model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    return [_flat(tree) for tree in model["trees"]]


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
