"""Random trees and rows on a coarse grid, so that values often equal thresholds."""

from __future__ import annotations

import operator

import numpy as np

from clearsched.compiled.scoring import Packed, scores_of
from clearsched.compiled.trees import pack

COLUMNS = 6
SIGNS = {"<": operator.lt, ">=": operator.ge}


def random_tree(rng: np.random.Generator, depth: int) -> dict[str, list]:
    """A tree over six features."""
    tree: dict[str, list] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}

    def grow(level: int) -> int:
        place, leaf = len(tree["feature"]), level == 0 or rng.random() < 0.15
        row = (-1 if leaf else int(rng.integers(COLUMNS)), float(rng.integers(5)) / 2, 0, 0, float(rng.normal()))
        for column, value in zip(tree.values(), row, strict=True):
            column.append(value)
        if not leaf:
            tree["left"][place], tree["right"][place] = grow(level - 1), grow(level - 1)
        return place

    grow(depth)
    return tree


def grid_rows(rng: np.random.Generator, count: int) -> np.ndarray:
    """float32[count, COLUMNS]."""
    return (rng.integers(5, size=(count, COLUMNS)) / 2).astype(np.float32)


def tree_scores(trees: list[dict[str, list]], features: np.ndarray) -> np.ndarray:
    """float64[n]: the sum of trees as it runs."""
    return scores_of(Packed(trees=pack(trees, features.shape[1], "test")), features)


def walk(trees: list[dict[str, list]], row: np.ndarray) -> float:
    """The sum of trees for one row, in plain Python, tree by tree."""
    total = 0.0
    for tree in trees:
        node = 0
        while tree["feature"][node] >= 0:
            below = row[tree["feature"][node]] < np.float32(tree["threshold"][node])
            node = tree["left"][node] if below else tree["right"][node]
        total += tree["value"][node]
    return total
