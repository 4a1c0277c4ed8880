"""A scorer that counts only where a condition holds, and several of these as one: what a switch between policies is.

A score is a sum of parts, and what has nothing to say adds 0. So a gated scorer is the scorer with a question before
each of its trees, and a condition more in each of its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.scoring import NOTHING, Packed
from clearsched.compiled.steps import joined as joined_steps
from clearsched.compiled.steps import with_plain
from clearsched.compiled.trees import LEAF, Trees, pack
from clearsched.errors import ClearschedError

WAYS = ("left", "right")


class Gate(NamedTuple):
    """A condition on a column."""

    column: int
    below: bool  # the value must be below the threshold, else at it or above
    threshold: float

    @property
    def closed(self) -> Gate:
        """The gate that is open where this one is closed."""
        return self._replace(below=not self.below)


def gated(scorer: Packed, gate: Gate, num_features: int, where: str) -> Packed:
    """The scorer, and 0 where the gate is closed.

    Raises:
        ClearschedError: it has parts that cannot be gated: a formula, cap terms, a network.
    """
    free = scorer._replace(trees=NOTHING.trees, steps=NOTHING.steps, up=NOTHING.up, none=NOTHING.none)
    if not all(map(np.array_equal, _arrays(free), _arrays(NOTHING))):
        raise ClearschedError(f"{where}: rules, steps and trees can be switched on and off; a formula or network can't")
    trees = [_asked_first(tree, gate) for tree in _as_lists(scorer.trees)]
    steps = scorer.steps
    place = steps.first_condition[:-1]
    return scorer._replace(
        trees=pack(trees, num_features, where),
        steps=with_plain(
            steps._replace(
                first_condition=steps.first_condition + np.arange(len(steps.first_condition)),
                feature=np.insert(steps.feature, place, gate.column),
                below=np.insert(steps.below, place, gate.below),
                threshold=np.insert(steps.threshold, place, np.float32(gate.threshold)),
            )
        ),
    )


def joined(scorers: Sequence[Packed], num_features: int, where: str) -> Packed:
    """One scorer for several, of which at each row one at most is open.

    Raises:
        ClearschedError: some round a level up and others to the nearest.
    """
    if len({scorer.up for scorer in scorers}) > 1:
        raise ClearschedError(f"{where}: one case rounds up (steps) and another to the nearest: write both as steps")
    trees = [tree for scorer in scorers for tree in _as_lists(scorer.trees)]
    return scorers[0]._replace(
        trees=pack(trees, num_features, where), steps=reduce(joined_steps, [scorer.steps for scorer in scorers])
    )


def _arrays(value: Any) -> list[Any]:
    """The arrays and numbers of nested named tuples."""
    return [each for part in value for each in _arrays(part)] if isinstance(value, tuple) else [value]


def _as_lists(trees: Trees) -> list[dict[str, list]]:
    """The trees one by one, as `pack` takes them."""
    found = []
    ends = np.append(trees.root, len(trees.feature))[1:]
    for begin, end in zip(trees.root, ends, strict=True):
        nodes = {name: getattr(trees, name)[begin:end] for name in ("feature", "threshold", "left", "right", "value")}
        inner = nodes["feature"] != LEAF
        for name in WAYS:
            nodes[name] = np.where(inner, nodes[name] - begin, 0)
        found.append({name: column.tolist() for name, column in nodes.items()})
    return found


def _asked_first(tree: dict[str, list], gate: Gate) -> dict[str, list]:
    """The tree below a question that leads to it, or to a leaf of 0."""
    inner = [feature != LEAF for feature in tree["feature"]]
    left, right = ([2 + to if own else 0 for to, own in zip(tree[name], inner, strict=True)] for name in WAYS)
    return {
        "feature": [gate.column, LEAF, *tree["feature"]],
        "threshold": [float(np.float32(gate.threshold)), 0.0, *tree["threshold"]],
        "left": [2 if gate.below else 1, 0, *left],
        "right": [1 if gate.below else 2, 0, *right],
        "value": [0.0, 0.0, *tree["value"]],
    }
