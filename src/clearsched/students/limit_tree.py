"""How many executors a job may hold: a small regression tree on the expert's limits, written as rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.students.dataset import Dataset, best_rows, subset
from clearsched.students.rounding import Columns
from clearsched.students.rules import Rule, as_list

MIN_SAMPLES = 20
"""Decisions that a leaf must cover."""


def variants(dataset: Dataset, leaves: int) -> Iterator[list[Rule]]:
    """Limit rules of growing size: 1, 2, 4, ... up to `leaves` leaves."""
    size = 1
    while True:
        yield learn(dataset, size)
        if size >= leaves:
            return
        size = min(2 * size, leaves)


def learn(dataset: Dataset, leaves: int) -> list[Rule]:
    """Rules for the share of the executors that the job of the chosen stage may hold.

    Fitted by least squares to the expert's best limit, not cut to the executors that were free at that moment, on the
    decisions that had more than one limit to choose from.
    """
    limit = subset(dataset.limit, ~dataset.limit.trivial)
    if len(limit.chosen) == 0:  # a cluster of one executor
        return [Rule((), 1.0)]
    rows, share = limit.features[limit.starts[:-1]], limit.candidate[best_rows(limit)] / dataset.num_executors
    if leaves < 2:
        return [Rule((), _share(float(share.mean())))]
    from sklearn.tree import DecisionTreeRegressor

    model = DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=MIN_SAMPLES, random_state=0)
    tree = merge(from_sklearn(model.fit(rows, share).tree_))
    return Columns(rows).round_rules(as_list(tree))


def from_sklearn(tree: Any) -> dict[str, list]:
    """A fitted scikit-learn tree as a flat tree; its `x <= t` becomes `x < the next float32`."""
    return {
        "feature": np.where(tree.feature < 0, LEAF, tree.feature).tolist(),
        "threshold": np.nextafter(tree.threshold.astype(np.float32), np.float32(np.inf)).tolist(),
        "left": np.maximum(tree.children_left, 0).tolist(),
        "right": np.maximum(tree.children_right, 0).tolist(),
        "value": tree.value[:, 0, 0].tolist(),
    }


def merge(tree: dict[str, list]) -> dict[str, list]:
    """Round the leaves to whole percent; a node whose two leaves are then equal becomes a leaf."""
    merged = {name: list(column) for name, column in tree.items()}
    for node in reversed(range(len(tree["feature"]))):  # children are later nodes
        if merged["feature"][node] == LEAF:
            merged["value"][node] = _share(merged["value"][node])
            continue
        left, right = merged["left"][node], merged["right"][node]
        both_leaves = merged["feature"][left] == merged["feature"][right] == LEAF
        if both_leaves and merged["value"][left] == merged["value"][right]:
            merged["feature"][node], merged["value"][node] = LEAF, merged["value"][left]
    return merged


def _share(value: float) -> float:
    return min(1.0, max(0.01, round(value, 2)))
