"""Does a score go the way that a feature should move it: proved over the box of features, or two rows that say no.

"More work left never raises priority": two rows that differ in one feature only, and the one with more of it must not
have the higher score. Rule lists, sums of trees and switches between them are decided; weights by their signs; of
others what is not settled by their form is searched for two rows that say no.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from clearsched.compiled.cap_terms import TIMES
from clearsched.reading.verification import tree_sums
from clearsched.reading.verification.bounds import step_bounds
from clearsched.reading.verification.box import Box, Region, TooManyCells, a_row, cells, whole_region
from clearsched.reading.verification.pairs import Found, Undecided, pair
from clearsched.reading.verification.switches import boxes_of
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.switch import Switch
from clearsched.scorers.ties import tie_weights
from clearsched.scorers.trees import TreeSum

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
        found = _decided(scorer, feature, direction, box, names)
    except (Undecided, TooManyCells):
        found = _searched(scorer, feature, direction, box, names)
        if found is None:
            return Verdict(feature, direction, None)
    if found is None:
        return Verdict(feature, direction, True)
    low, high = scorer.scores(found.rows, names).tolist()
    return Verdict(feature, direction, False, found.rows, (low, high), found.held)


@singledispatch
def _decided(scorer: Scorer, feature: int, direction: int, box: Box, names: Sequence[str]) -> Found | None:
    """Two rows that say no; None where there surely are none.

    Raises:
        Undecided: neither is known; nor of any kind that is not registered below.
    """
    raise Undecided


# Rules and trees ----------------------------------------------------------------------------------------------------


@_decided.register(TreeSum)
def _of_trees(scorer: TreeSum, feature: int, direction: int, box: Box, names: Sequence[str]) -> Found | None:
    return tree_sums.against(scorer, feature, direction, box)


@_decided.register(RuleList)
def _of_rules(scorer: RuleList, feature: int, direction: int, box: Box, names: Sequence[str]) -> Found | None:
    """The regions of the rules are held against each other."""
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
            return pair(met, box, feature, last, low[other, feature])
    return _of_ties(scorer, feature, direction, box, regions)


def _of_ties(scorer: RuleList, feature: int, direction: int, box: Box, regions: Sequence[Region]) -> Found | None:
    """Among the rows of one rule the ties decide."""
    weight = dict(tie_weights(scorer.ties)).get(scorer.names[feature], 0.0)
    if weight * direction >= 0:
        return None
    for region in regions:
        row = a_row(region, box)
        low, high = float(row[feature]), region.high[feature]
        above = low + 1.0
        if above < high:
            return pair(region, box, feature, low, above)
        if region.low[feature] < low:
            return pair(region, box, feature, max(region.low[feature], low - 1.0), low)
        if box.after(feature, low) < high:
            return pair(region, box, feature, low, box.before(feature, high))
    return None


# Switches -----------------------------------------------------------------------------------------------------------


@_decided.register(Switch)
def _of_cases(scorer: Switch, feature: int, direction: int, box: Box, names: Sequence[str]) -> Found | None:
    """Each case where it answers. What decides between cases two candidates share: they never differ in it."""
    asked = [case.condition.feature for case in scorer.cases if case.condition]
    if feature in asked:
        raise Undecided
    undecided = False
    for case, part in zip(scorer.cases, boxes_of(scorer, box), strict=True):
        if part is None or names[feature] not in case.scorer.used:
            continue
        try:
            found = _decided(case.scorer, feature, direction, part, names)
        except (Undecided, TooManyCells):
            undecided = True
            continue
        if found is not None:
            return found._replace(held=tuple(sorted({*found.held, *asked})))
    if undecided:
        raise Undecided
    return None


# Others -------------------------------------------------------------------------------------------------------------


@_decided.register(WeightedSum)
def _of_weights(scorer: WeightedSum, feature: int, direction: int, box: Box, names: Sequence[str]) -> None:
    """The signs of the weights settle it where they agree."""
    name = names[feature]
    log = scorer.log_weights.get(name, {}).get("weight", 0.0)
    if direction * scorer.weights.get(name, 0.0) < 0 or direction * log < 0:
        raise Undecided


@_decided.register(StepList)
def _of_steps(scorer: StepList, feature: int, direction: int, box: Box, names: Sequence[str]) -> None:
    """The form settles it where steps go the right way."""
    if not _steps_go(scorer, names[feature], direction, box):
        raise Undecided


def _steps_go(scorer: StepList, name: str, direction: int, box: Box) -> bool:
    """Whether a row that fits a step fits it also when the feature goes its way, and earlier steps score higher.

    Then such a row falls under the same step or an earlier one. Within a step weights of the right sign do the rest.
    """
    for step in scorer.steps:
        asked = [c.below for c in step.conditions if scorer.names[c.feature] == name]
        if any(below == (direction > 0) for below in asked) or direction * step.plus.get(name, 0.0) < 0:
            return False
        if not _cap_goes(step, scorer.names, name, direction, box):
            return False
    moves = [place for place, step in enumerate(scorer.steps) if _asks(step, scorer.names, name)]
    region = whole_region(box)
    ends = [step_bounds(step, scorer, region) for step in scorer.steps]
    return all(ends[place][0] >= max(high for _, high in ends[place + 1 :]) for place in moves if ends[place + 1 :])


def _asks(step: Step, names: Sequence[str], name: str) -> bool:
    """Whether a feature decides if a row falls under a step."""
    asked = {names[c.feature] for c in step.conditions} | {n for term in step.below for n in term} | {step.of}
    return name in asked


def _cap_goes(step: Step, names: Sequence[str], name: str, direction: int, box: Box) -> bool:
    """Whether a row below a step's cap stays below it when a feature goes its way."""
    if step.value is None or (step.of == name and direction > 0):
        return False
    if not any(name in term for term in step.below):
        return True
    for term in step.below:
        others = [names.index(key) for key in term if key != TIMES]
        if term.get(TIMES, 1.0) < 0 or not np.all(box.low[others] >= 0) or direction * term.get(name, 0.0) < 0:
            return False
    return True


def _searched(scorer: Scorer, feature: int, direction: int, box: Box, names: Sequence[str]) -> Found | None:
    """Two rows that say no, among pairs drawn from the box; None where none of them does.

    A scorer that holds rows against each other is asked about a decision of the two.
    """
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
    pairs = np.stack([below, above], axis=1).reshape(-1, below.shape[1])
    scores = scorer.scores(pairs, names, np.arange(0, len(pairs) + 1, 2))
    gain = direction * (scores[1::2] - scores[::2])
    wrong = np.flatnonzero((gain < 0) & (below[:, feature] < above[:, feature]))
    if not len(wrong):
        return None
    others = tuple(place for place, name in enumerate(names) if name in scorer.used and place != feature)
    return Found(np.stack([below[wrong[0]], above[wrong[0]]]), others)
