"""Does a score go the way that a feature should move it: proved over the box of features, or two rows that say no.

"More work left never raises priority": two rows that differ in one feature only, and the one with more of it must not
have the higher score. Rule lists and sums of trees are decided; weights by their signs; of others what is not settled
by their form is searched for two rows that say no.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.reading.verification.box import Box, Region, TooManyCells, a_row, cells, whole_region, within
from clearsched.scorers.conditions import Condition
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import StepList
from clearsched.scorers.trees import TreeSum

SMALL = 1e-12
"""What sums of leaves may be apart without being another number."""

MOST_BRANCHES = 200_000
"""Combinations of leaves that are looked at for one feature before it is given up."""

PAIRS = 20_000
"""Pairs of rows that are tried where nothing is decided."""


@dataclass(frozen=True)
class Verdict:
    """Of one feature of one scorer.

    Attributes:
        feature: column.
        direction: +1: more of it must not lower the score; -1: must not raise it.
        holds: None: neither proved nor refuted.
        pair: float32[2, F], where it does not hold: two rows, the second with more of the feature.
        scores: of those rows.
        held: columns of the other features whose values matter for it.
    """

    feature: int
    direction: int
    holds: bool | None
    pair: np.ndarray | None = None
    scores: tuple[float, float] = (0.0, 0.0)
    held: tuple[int, ...] = ()


class Pair(NamedTuple):
    """Where two leaves or rules meet at a threshold: a region of the other features, and what the score gains there."""

    region: Region
    gain: float


class Found(NamedTuple):
    """Two rows, and the columns of the other features whose values matter."""

    rows: np.ndarray
    held: tuple[int, ...]


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


class Undecided(Exception):
    """Too many combinations to look at each."""


def monotone(scorer: Scorer, feature: int, direction: int, box: Box, names: Sequence[str]) -> Verdict:
    """Whether the score of a scorer goes one way in a feature.

    Args:
        scorer: of a rank choice.
        feature: column.
        direction: +1 or -1.
        box: what the features, in the order of `names`, can be.
        names: of the features, those of the scorer where it has its own.
    """
    if names[feature] not in scorer.used:
        return Verdict(feature, direction, True)
    try:
        if isinstance(scorer, RuleList):
            found = _of_rules(scorer, feature, direction, box)
        elif isinstance(scorer, TreeSum):
            found = _of_trees(scorer, feature, direction, box)
        elif _by_sign(scorer, names[feature], direction):
            found = None
        else:
            raise Undecided
    except (Undecided, TooManyCells):
        found = _searched(scorer, feature, direction, box, names)
        if found is None:
            return Verdict(feature, direction, None)
    if found is None:
        return Verdict(feature, direction, True)
    low, high = scorer.scores(found.rows, names).tolist()
    return Verdict(feature, direction, False, found.rows, (low, high), found.held)


def _pair(region: Region, box: Box, feature: int, low: float, high: float) -> Found:
    """Two rows of a region of the other features."""
    rows = np.tile(a_row(region, box), (2, 1))
    rows[:, feature] = low, high
    start = whole_region(box)
    narrower = (region.low > start.low) | (region.high < start.high)
    return Found(rows, tuple(f for f in np.flatnonzero(narrower).tolist() if f != feature))


# Rules --------------------------------------------------------------------------------------------------------------


def _of_rules(scorer: RuleList, feature: int, direction: int, box: Box) -> Found | None:
    """Two rows that say no; None where there are none. The regions of the rules are held against each other."""
    split = cells([rule.conditions for rule in scorer.rules], box)
    regions = [region for part in split for region in part]
    values = np.array([rule.value for rule, part in zip(scorer.rules, split, strict=True) for _ in part])
    low, high = np.array([r.low for r in regions]), np.array([r.high for r in regions])
    for place, region in enumerate(regions):
        apart = np.maximum(low, region.low) < np.minimum(high, region.high)
        apart[:, feature] = region.low[feature] < low[:, feature]
        wrong = apart.all(axis=1) & (direction * (values - values[place]) < 0)
        if wrong.any():
            other = int(np.flatnonzero(wrong)[0])
            met = Region(np.maximum(low[other], region.low), np.minimum(high[other], region.high))
            met.low[feature], met.high[feature] = region.low[feature], region.high[feature]
            last = box.before(feature, region.high[feature])
            return _pair(met, box, feature, last, low[other, feature])
    return _of_ties(scorer, feature, direction, box, regions)


def _of_ties(scorer: RuleList, feature: int, direction: int, box: Box, regions: Sequence[Region]) -> Found | None:
    """Among the rows of one rule the ties decide."""
    weight = dict(scorer.tie_weights).get(scorer.names[feature], 0.0)
    if weight * direction >= 0:
        return None
    for region in regions:
        row = a_row(region, box)
        low, high = float(row[feature]), region.high[feature]
        above = low + 1.0
        if above < high:
            return _pair(region, box, feature, low, above)
        if region.low[feature] < low:
            return _pair(region, box, feature, max(region.low[feature], low - 1.0), low)
        if box.after(feature, low) < high:
            return _pair(region, box, feature, low, box.before(feature, high))
    return None


# Trees --------------------------------------------------------------------------------------------------------------


def _of_trees(scorer: TreeSum, feature: int, direction: int, box: Box) -> Found | None:
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
            return _pair(found, box, feature, box.before(feature, mark), mark)
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
) -> Iterator[Pair]:
    """What a tree gains where a feature goes from just below a mark to it, by region of the other features."""
    budget.spend()
    inner = next((place for place in (0, 1) if tree["feature"][nodes[place]] != LEAF), None)
    if inner is None:
        yield Pair(region, tree["value"][nodes[1]] - tree["value"][nodes[0]])
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


def _least(parts: Sequence[Sequence[Pair]], direction: int, start: Region, budget: Budget) -> Region | None:
    """A region in which the trees together lose; None where there is none. Branch and bound over their leaves."""
    best = [min(direction * pair.gain for pair in part) for part in parts]
    rest = np.append(np.cumsum(best[::-1])[::-1], 0.0)

    def search(place: int, region: Region, gain: float) -> Region | None:
        budget.spend()
        if gain + rest[place] >= -SMALL:
            return None
        if place == len(parts):
            return region
        for pair in sorted(parts[place], key=lambda pair: direction * pair.gain):
            low = np.maximum(region.low, pair.region.low)
            high = np.minimum(region.high, pair.region.high)
            if np.all(low < high):
                found = search(place + 1, Region(low, high), gain + direction * pair.gain)
                if found is not None:
                    return found
        return None

    return search(0, start, 0.0)


# Others -------------------------------------------------------------------------------------------------------------


def _by_sign(scorer: Scorer, name: str, direction: int) -> bool:
    """Whether the form of a scorer settles it: all weights of the feature have the right sign, nothing else asks."""
    if isinstance(scorer, WeightedSum):
        log = scorer.log_weights.get(name, {}).get("weight", 0.0)
        return direction * scorer.weights.get(name, 0.0) >= 0 and direction * log >= 0
    if isinstance(scorer, StepList):
        asked = {scorer.names[c.feature] for step in scorer.steps for c in step.conditions}
        asked |= {step.of for step in scorer.steps} | {n for s in scorer.steps for term in s.below for n in term}
        return name not in asked and all(direction * step.plus.get(name, 0.0) >= 0 for step in scorer.steps)
    return False


def _searched(scorer: Scorer, feature: int, direction: int, box: Box, names: Sequence[str]) -> Found | None:
    """Two rows that say no, among pairs drawn from the box; None where none of them does."""
    generator = np.random.default_rng([feature, 1 + direction])
    low = np.where(np.isfinite(box.low), box.low, -1e3)
    high = np.where(np.isfinite(box.high), box.high, 1e3)
    # Half of the features as usual: far corners of the box are all alike to most conditions.
    drawn = low + (high - low) * generator.random((PAIRS, len(low))) ** 3
    rows = np.where(generator.random(drawn.shape) < 0.5, box.usual, drawn)
    ends = np.sort(low[feature] + (high - low)[feature] * generator.random((PAIRS, 2)) ** 3, axis=1)
    rows[:, box.whole], ends = np.round(rows[:, box.whole]), np.round(ends) if box.whole[feature] else ends
    below, above = rows.astype(np.float32), rows.astype(np.float32)
    below[:, feature], above[:, feature] = ends.T
    gain = direction * (scorer.scores(above, names) - scorer.scores(below, names))
    wrong = np.flatnonzero((gain < 0) & (below[:, feature] < above[:, feature]))
    if not len(wrong):
        return None
    others = tuple(place for place, name in enumerate(names) if name in scorer.used and place != feature)
    return Found(np.stack([below[wrong[0]], above[wrong[0]]]), others)
