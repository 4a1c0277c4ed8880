"""Which way a sum of trees goes in a feature: branch and bound over the leaves that meet at a threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.reading.verification.box import Box, Region, whole_region, within
from clearsched.reading.verification.pairs import Found, Undecided, pair
from clearsched.scorers.conditions import Condition
from clearsched.scorers.trees import TreeSum

SMALL = 1e-12
"""What sums of leaves may be apart without being another number."""

MOST_BRANCHES = 200_000
"""Combinations of leaves that are looked at for one feature before it is given up."""


class Meeting(NamedTuple):
    """Two leaves of a tree that meet at a threshold: a region of the other features, the gain of the score there."""

    region: Region
    gain: float


class Budget:
    """Counts combinations of leaves."""

    def __init__(self) -> None:
        self.left = MOST_BRANCHES

    def spend(self) -> None:
        """One more.

        Raises:
            Undecided: there were too many.
        """
        self.left -= 1
        if self.left < 0:
            raise Undecided


def against(scorer: TreeSum, feature: int, direction: int, box: Box) -> Found | None:
    """Two rows that say no: at a threshold the trees that ask for it change, and all others add the same."""
    trees = scorer.trees
    marks = sorted({mark for tree in trees for mark in _marks(tree, feature, box)})
    start, budget = whole_region(box), Budget()
    for mark in marks:
        if not (start.low[feature] < mark < start.high[feature]):
            continue
        parts = [
            list(_meeting(tree, feature, mark, box, start, budget))
            for tree in trees
            if mark in _marks(tree, feature, box)
        ]
        found = _least(parts, direction, start, budget)
        if found is not None:
            return pair(found, box, feature, box.before(feature, mark), mark)
    return None


def _marks(tree: dict[str, Any], feature: int, box: Box) -> set[float]:
    """The thresholds of a feature, as the least value that goes to the right."""
    pairs = zip(tree["feature"], tree["threshold"], strict=True)
    return {box.begin(feature, threshold) for asked, threshold in pairs if asked == feature}


def _meeting(
    tree: dict[str, Any],
    feature: int,
    mark: float,
    box: Box,
    region: Region,
    budget: Budget,
    nodes: tuple[int, int] = (0, 0),
) -> Iterator[Meeting]:
    """What a tree gains where a feature goes from just below a mark to it, by region of the other features."""
    budget.spend()
    inner = next((place for place in (0, 1) if tree["feature"][nodes[place]] != LEAF), None)
    if inner is None:
        yield Meeting(region, tree["value"][nodes[1]] - tree["value"][nodes[0]])
        return
    node = nodes[inner]
    asked, threshold = tree["feature"][node], tree["threshold"][node]
    if asked == feature:
        at = box.begin(feature, threshold)
        turns = [("left" if mark <= at else "right") if inner == 0 else ("left" if mark < at else "right")]
        parts = [(region, turn) for turn in turns]
    else:
        parts = [
            (part, turn)
            for turn, below in (("left", True), ("right", False))
            if (part := within(region, [Condition(asked, below, threshold)], box)) is not None
        ]
    for part, turn in parts:
        child = tree[turn][node]
        both = nodes[0] == nodes[1] and asked != feature
        following = (child, child) if both else (child, nodes[1]) if inner == 0 else (nodes[0], child)
        yield from _meeting(tree, feature, mark, box, part, budget, following)


def _least(parts: Sequence[Sequence[Meeting]], direction: int, start: Region, budget: Budget) -> Region | None:
    """A region in which the trees together lose; None where there is none. Branch and bound over their leaves."""
    best = [min(direction * meeting.gain for meeting in part) for part in parts]
    rest = np.append(np.cumsum(best[::-1])[::-1], 0.0)

    def search(place: int, region: Region, gain: float) -> Region | None:
        budget.spend()
        if gain + rest[place] >= -SMALL:
            return None
        if place == len(parts):
            return region
        for meeting in sorted(parts[place], key=lambda meeting: direction * meeting.gain):
            low = np.maximum(region.low, meeting.region.low)
            high = np.minimum(region.high, meeting.region.high)
            if np.all(low < high):
                found = search(place + 1, Region(low, high), gain + direction * meeting.gain)
                if found is not None:
                    return found
        return None

    return search(0, start, 0.0)
