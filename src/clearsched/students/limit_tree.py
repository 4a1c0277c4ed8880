"""How much the chosen candidate gets: a small regression tree on the expert's levels, written as rules."""

from __future__ import annotations

from collections.abc import Iterator

from clearsched.compiled.trees import LEAF
from clearsched.scorers.conditions import Rule, as_list
from clearsched.students.dataset import Dataset, best_rows, subset
from clearsched.students.flat_trees import FlatTree, from_sklearn
from clearsched.students.rounding import Columns

MIN_SAMPLES = 20
"""Decisions that a leaf must cover."""


def variants(dataset: Dataset, leaves: int) -> Iterator[list[Rule]]:
    """Rules of growing number: of trees with 1, 2, 4, ... up to `leaves` leaves."""
    size = 1
    while True:
        yield learn(dataset, size)
        if size >= leaves:
            return
        size = min(2 * size, leaves)


def learn(dataset: Dataset, leaves: int) -> list[Rule]:
    """Rules for the share of the most that the chosen candidate gets.

    Fitted by least squares to the expert's best level, not cut to what was free at that moment, on the decisions that
    had more than one level to choose from.
    """
    assert dataset.level is not None
    level = subset(dataset.level, ~dataset.level.trivial)
    if len(level.chosen) == 0:  # there is one thing to give
        return [Rule((), 1.0)]
    rows, share = level.features[level.starts[:-1]], level.candidate[best_rows(level)] / dataset.most
    if leaves < 2:
        return [Rule((), _share(float(share.mean())))]
    from sklearn.tree import DecisionTreeRegressor

    model = DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=MIN_SAMPLES, random_state=0)
    tree = merge(from_sklearn(model.fit(rows, share).tree_))
    return Columns(rows).round_rules(as_list(tree))


def merge(tree: FlatTree) -> FlatTree:
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
