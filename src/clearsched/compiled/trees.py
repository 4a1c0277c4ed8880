"""Trees and tree ensembles as flat arrays, so that a student costs what a heuristic costs.

Walking a tree node by node, every question waits for the answer to the one before. An ensemble of trees with at most
three questions on a path (what boosting fits) is therefore also kept with all trees filled up to seven questions and
eight leaves: the questions are asked of 16 candidates an instruction, and leaves are selected without a branch. Both
ways add the same numbers in the same order, so their scores are equal to the bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.jit import compiled, inlined
from clearsched.errors import ClearschedError

LEAF = -1

LEVELS = 3
"""Questions on a path, up to which an ensemble is kept in complete form."""

BLOCK = 16
"""Candidates that are evaluated at a time: float32 numbers in the widest vector register."""


class Trees(NamedTuple):
    """An ensemble whose score is the sum over its trees. T trees with M nodes in all."""

    root: np.ndarray  # int64[T]: first node of each tree
    feature: np.ndarray  # int64[M]: column that a node asks for, LEAF at a leaf
    threshold: np.ndarray  # float32[M]: a row goes left if its value is below
    left: np.ndarray  # int64[M]
    right: np.ndarray  # int64[M]
    value: np.ndarray  # float64[M]: score of a leaf
    # The complete form, or no rows if a tree has more than LEVELS questions on a path. After question q come questions
    # 2 q + 1 (below) and 2 q + 2; the leaves after the last level count on from there.
    ask: np.ndarray  # int64[T or 0, 7]: column
    below: np.ndarray  # float32[T or 0, 7]: threshold
    leaf: np.ndarray  # float64[T or 0, 8]: score


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
    nodes = {name: joined[name].astype(np.int64) for name in ("feature", "left", "right")}
    threshold, root = joined["threshold"].astype(np.float32), np.asarray(roots, np.int64)
    complete = _complete(root, nodes["feature"], threshold, nodes["left"], nodes["right"], joined["value"])
    return Trees(root, nodes["feature"], threshold, nodes["left"], nodes["right"], joined["value"], *complete)


def _complete(
    root: np.ndarray, feature: np.ndarray, threshold: np.ndarray, left: np.ndarray, right: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The complete form: below a leaf that comes early, questions whose answers all lead to its score."""
    inner = 2**LEVELS - 1
    ask = np.zeros((len(root), inner), np.int64)
    below = np.zeros((len(root), inner), np.float32)
    leaf = np.zeros((len(root), inner + 1))
    node = root  # of each tree, the node at the place that is looked at
    at: dict[int, np.ndarray] = {0: node}
    for q in range(inner):
        node = at[q]
        is_leaf = feature[node] == LEAF
        ask[:, q] = np.where(is_leaf, 0, feature[node])
        below[:, q] = np.where(is_leaf, 0, threshold[node])
        at[2 * q + 1] = np.where(is_leaf, node, left[node])
        at[2 * q + 2] = np.where(is_leaf, node, right[node])
    for place in range(inner + 1):
        node = at[inner + place]
        if np.any(feature[node] != LEAF):
            return ask[:0], below[:0], leaf[:0]
        leaf[:, place] = value[node]
    return ask, below, leaf


NO_TREES = pack([], 0, "")


@inlined
def reach_of(count: int, rows: np.ndarray, values: np.ndarray) -> int:
    """The next multiple of BLOCK from `count` on, as far as there are rows and values."""
    return min((count + BLOCK - 1) // BLOCK * BLOCK, len(rows), len(values))


@compiled
def add_scores(trees: Trees, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Add the score of the first `count` rows of float32[n, F] to `values`, tree by tree.

    In complete form it may read and write up to the next multiple of BLOCK, as far as there are rows: whole vectors are
    faster than the last few rows one by one. It is fast for rows whose columns are contiguous (`features.new_rows`).
    """
    if len(trees.ask) == len(trees.root):
        add_complete(trees.ask, trees.below, trees.leaf, rows, reach_of(count, rows, values), values)
    else:
        add_walk(trees.root, trees.feature, trees.threshold, trees.left, trees.right, trees.value, rows, count, values)


@compiled
def add_complete(
    ask: np.ndarray, below: np.ndarray, leaf: np.ndarray, rows: np.ndarray, count: int, values: np.ndarray
) -> None:
    """`add_scores` for trees in complete form. The three levels are written out, so that LLVM vectorises over rows."""
    for t in range(len(ask)):
        f0, f1, f2, f3, f4, f5, f6 = ask[t, 0], ask[t, 1], ask[t, 2], ask[t, 3], ask[t, 4], ask[t, 5], ask[t, 6]
        b0, b1, b2, b3 = below[t, 0], below[t, 1], below[t, 2], below[t, 3]
        b4, b5, b6 = below[t, 4], below[t, 5], below[t, 6]
        v0, v1, v2, v3 = leaf[t, 0], leaf[t, 1], leaf[t, 2], leaf[t, 3]
        v4, v5, v6, v7 = leaf[t, 4], leaf[t, 5], leaf[t, 6], leaf[t, 7]
        for i in range(count):
            low_low = v0 if rows[i, f3] < b3 else v1
            low_high = v2 if rows[i, f4] < b4 else v3
            high_low = v4 if rows[i, f5] < b5 else v5
            high_high = v6 if rows[i, f6] < b6 else v7
            low = low_low if rows[i, f1] < b1 else low_high
            high = high_low if rows[i, f2] < b2 else high_high
            values[i] += low if rows[i, f0] < b0 else high


@compiled
def add_walk(
    root: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    value: np.ndarray,
    rows: np.ndarray,
    count: int,
    values: np.ndarray,
) -> None:
    """`add_scores` node by node, for trees of any depth."""
    for i in range(count):
        total = values[i]
        for t in range(len(root)):
            node = root[t]
            while feature[node] != LEAF:
                node = left[node] if rows[i, feature[node]] < threshold[node] else right[node]
            total += value[node]
        values[i] = total
