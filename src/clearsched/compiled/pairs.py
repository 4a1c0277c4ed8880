"""Trees that ask for two candidates at a time: each candidate is held against the others, and its wins are added up.

A node may ask for a feature of the one candidate, of the other, or for the difference of both. A forest's answer for a
pair is the sum of its leaves, asked both ways round, so that the order of the two has no say: what the one wins the
other loses. This costs the square of the number of candidates, so each is held against some of the others at most.
"""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import compiled
from clearsched.compiled.trees import LEAF, Trees

OWN, OTHER, DIFFERENCE = range(3)
"""What a node asks for: with F features, column c is feature c % F of the one c // F stands for."""


@compiled
def add_pairs(trees: Trees, pairs: int, opponents: int, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Add to `values` what each of the first `count` rows of float32[n, F] wins against the others.

    Where trees say how a row stands against "none of these", that one is held against rows as well; its own sum is
    taken from all scores, so that its score is 0.

    Args:
        trees: the first `pairs` of them ask for two rows; the sum of the others is what a row wins against none.
        pairs: number of trees.
        opponents: rows that each is held against, at most: where there are more, evenly taken.
        rows: of one decision.
        count: rows.
        values: float64[at least count].
    """
    step, lost_by_none = (count + opponents - 1) // opponents, 0.0
    for i in range(count):
        wins = 0.0
        for t in range(pairs, len(trees.root)):
            wins += leaf_of(trees, t, rows, i, i)
        values[i] += wins
        if i % step == 0:
            lost_by_none += wins
    for i in range(count):
        values[i] += lost_by_none
        for j in range(i + 1, count):
            if i % step != 0 and j % step != 0:
                continue
            wins = 0.0
            for t in range(pairs):
                wins += leaf_of(trees, t, rows, i, j) - leaf_of(trees, t, rows, j, i)
            if j % step == 0:
                values[i] += wins
            if i % step == 0:
                values[j] -= wins


@compiled
def leaf_of(trees: Trees, t: int, rows: np.ndarray, i: int, j: int) -> float:
    """The value of the leaf of tree t that row i, held against row j, comes to."""
    width, node = rows.shape[1], trees.root[t]
    while trees.feature[node] != LEAF:
        asked = trees.feature[node]
        if asked < OTHER * width:
            value = rows[i, asked]
        elif asked < DIFFERENCE * width:
            value = rows[j, asked - OTHER * width]
        else:
            value = rows[i, asked - DIFFERENCE * width] - rows[j, asked - DIFFERENCE * width]
        node = trees.left[node] if value < trees.threshold[node] else trees.right[node]
    return trees.value[node]
