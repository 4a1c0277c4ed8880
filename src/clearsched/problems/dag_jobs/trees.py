"""Rule lists, trees and tree ensembles as flat arrays, so that a student costs what a heuristic costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from clearsched.errors import ClearschedError

LEAF = -1


class Trees(NamedTuple):
    """An ensemble whose score is the sum over its trees. T trees with M nodes in all."""

    root: np.ndarray  # int64[T]: first node of each tree
    feature: np.ndarray  # int64[M]: column that a node asks for, LEAF at a leaf
    threshold: np.ndarray  # float32[M]: a row goes left if its value is below
    left: np.ndarray  # int64[M]
    right: np.ndarray  # int64[M]
    value: np.ndarray  # float64[M]: score of a leaf


def pack(trees: list[dict[str, Any]], num_features: int, where: str) -> Trees:
    """Pack trees given as dicts of lists (feature, threshold, left, right, value; children by index in their tree).

    Raises:
        ClearschedError: lists of unequal length, a child that is no later node of its tree, a feature out of range,
            or a number that is not finite.
    """
    names = ("feature", "threshold", "left", "right", "value")
    columns: dict[str, list[np.ndarray]] = {name: [] for name in names}
    roots, base = [], 0
    for index, tree in enumerate(trees):
        try:
            arrays = {name: np.asarray(tree[name], np.float64) for name in names}
        except (KeyError, TypeError, ValueError):
            raise ClearschedError(f"{where}: tree {index}: needs the lists {', '.join(names)} of numbers") from None
        count = len(arrays["feature"])
        if count == 0 or any(array.shape != (count,) for array in arrays.values()):
            raise ClearschedError(f"{where}: tree {index}: its lists are empty or of unequal length")
        inner = arrays["feature"] >= 0
        node = np.arange(count)[inner]
        for name in ("left", "right"):
            child = arrays[name][inner]
            if np.any((child <= node) | (child >= count)):
                raise ClearschedError(f"{where}: tree {index}: a {name} child is no later node of the tree")
        if np.any(arrays["feature"] >= num_features):
            raise ClearschedError(f"{where}: tree {index}: it asks for a feature beyond the {num_features} known")
        if not (np.isfinite(arrays["threshold"][inner]).all() and np.isfinite(arrays["value"]).all()):
            raise ClearschedError(f"{where}: tree {index}: a threshold or value is not finite")
        for name in ("left", "right"):
            arrays[name] = np.where(inner, arrays[name] + base, 0)
        roots.append(base)
        base += count
        for name in names:
            columns[name].append(arrays[name])
    joined = {name: np.concatenate(parts) if parts else np.zeros(0) for name, parts in columns.items()}
    return Trees(
        np.asarray(roots, np.int64),
        joined["feature"].astype(np.int64),
        joined["threshold"].astype(np.float32),
        joined["left"].astype(np.int64),
        joined["right"].astype(np.int64),
        joined["value"],
    )


NO_TREES = pack([], 0, "")


@njit(cache=True)
def score(trees: Trees, row: np.ndarray) -> float:
    """Score of one row, float32[F]."""
    total = 0.0
    for t in range(len(trees.root)):
        node = trees.root[t]
        while trees.feature[node] != LEAF:
            node = trees.left[node] if row[trees.feature[node]] < trees.threshold[node] else trees.right[node]
        total += trees.value[node]
    return total


@njit(cache=True)
def scores(trees: Trees, rows: np.ndarray) -> np.ndarray:
    """float64[n]: score of each row of float32[n, F]."""
    result = np.empty(len(rows))
    for i in range(len(rows)):
        result[i] = score(trees, rows[i])
    return result
