"""Fitted models of scikit-learn and imodels as flat trees (`compiled.trees.pack`), with the same comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from clearsched.compiled.trees import LEAF

FlatTree = dict[str, list]


def from_sklearn(tree: Any, columns: Sequence[int] | None = None) -> FlatTree:
    """A fitted scikit-learn tree as a flat tree; its `x <= t` becomes `x < the next float32`.

    Args:
        tree: the attribute `tree_` of the estimator, of one output.
        columns: the column of each of its features; None: its own.
    """
    names = np.arange(tree.n_features) if columns is None else np.asarray(columns)
    is_leaf = tree.feature < 0
    return {
        "feature": np.where(is_leaf, LEAF, names[np.where(is_leaf, 0, tree.feature)]).tolist(),
        "threshold": np.nextafter(tree.threshold.astype(np.float32), np.float32(np.inf)).tolist(),
        "left": np.maximum(tree.children_left, 0).tolist(),
        "right": np.maximum(tree.children_right, 0).tolist(),
        "value": tree.value[:, 0, 0].tolist(),
    }


def from_figs(root: Any, columns: Sequence[int]) -> FlatTree:
    """A tree of imodels' FIGS as a flat tree; its `x <= t` becomes `x < the next float32`."""
    tree = empty_tree()

    def add(node: Any) -> int:
        place, is_leaf = len(tree["feature"]), node.left is None
        value = float(np.asarray(node.value).ravel()[-1]) if is_leaf else 0.0
        threshold = 0.0 if is_leaf else float(np.nextafter(np.float32(node.threshold), np.float32(np.inf)))
        append(tree, LEAF if is_leaf else columns[node.feature], threshold, 0, 0, value)
        if not is_leaf:
            tree["left"][place], tree["right"][place] = add(node.left), add(node.right)
        return place

    add(root)
    return tree


def from_greedy_list(rules: Sequence[dict[str, Any]], columns: Sequence[int]) -> FlatTree:
    """The `rules_` of imodels' greedy rule list as a flat tree: a chain, whose leaves are its probabilities."""
    tree = empty_tree()
    for rule in rules[:-1]:
        place = len(tree["feature"])
        met, rest = place + 1, place + 2
        left, right = (met, rest) if rule["flip"] else (rest, met)  # not flipped, the rule is x >= cutoff
        append(tree, columns[rule["index_col"]], float(rule["cutoff"]), left, right, 0.0)
        append(tree, LEAF, 0.0, 0, 0, float(rule["val_right"]))
    append(tree, LEAF, 0.0, 0, 0, float(rules[-1]["val"]))
    return tree


def empty_tree() -> FlatTree:
    """A tree without nodes, to be appended to."""
    return {name: [] for name in ("feature", "threshold", "left", "right", "value")}


def append(tree: FlatTree, *row: float) -> None:
    """Add a node: feature, threshold, left, right, value."""
    for column, entry in zip(tree.values(), row, strict=True):
        column.append(entry)


@contextmanager
def seeded_ties() -> Iterator[None]:
    """Seed numpy's global stream for a while: the stumps inside imodels break ties between features by it."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        yield
    finally:
        np.random.set_state(state)
