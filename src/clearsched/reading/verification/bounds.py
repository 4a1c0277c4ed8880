"""Between which numbers the scores of a region of features lie."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.reading.verification.box import Box, Region, TooManyCells, cells, within
from clearsched.reading.verification.switches import regions_of
from clearsched.scorers.conditions import Condition
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.switch import Switch
from clearsched.scorers.trees import TreeSum


def score_bounds(scorer: Scorer, region: Region, box: Box) -> tuple[float, float]:
    """Two numbers between which the score of every row of a region lies; infinite where nothing is known.

    Of rule lists the values of the rules, without what ties add, which never outweighs them.
    """
    try:
        return _bounds(scorer, region, box)
    except TooManyCells:
        return -np.inf, np.inf


@singledispatch
def _bounds(scorer: Scorer, region: Region, box: Box) -> tuple[float, float]:
    return -np.inf, np.inf


@_bounds.register(RuleList)
def _of_rules(scorer: RuleList, region: Region, box: Box) -> tuple[float, float]:
    parts = cells([rule.conditions for rule in scorer.rules], box, region)
    values = [rule.value for rule, part in zip(scorer.rules, parts, strict=True) if part]
    return min(values), max(values)


@_bounds.register(TreeSum)
def _of_trees(scorer: TreeSum, region: Region, box: Box) -> tuple[float, float]:
    ends = [_of_tree(tree, region, box) for tree in scorer.trees]
    return sum(low for low, _ in ends), sum(high for _, high in ends)


def _of_tree(tree: dict[str, Any], region: Region, box: Box, node: int = 0) -> tuple[float, float]:
    feature = tree["feature"][node]
    if feature == LEAF:
        return tree["value"][node], tree["value"][node]
    ends = []
    for below, child in ((True, tree["left"][node]), (False, tree["right"][node])):
        part = within(region, [Condition(feature, below, tree["threshold"][node])], box)
        ends += [] if part is None else [_of_tree(tree, part, box, child)]
    return min(low for low, _ in ends), max(high for _, high in ends)


@_bounds.register(StepList)
def _of_steps(scorer: StepList, region: Region, box: Box) -> tuple[float, float]:
    """A step with a cap may fit or not; one whose value is its cap may have any."""
    ends: list[tuple[float, float]] = []
    uncapped: list[tuple[Condition, ...]] = []
    for step in scorer.steps:
        if cells([*uncapped, step.conditions], box, region)[-1]:
            ends.append(step_bounds(step, scorer, region))
        if not step.of:
            uncapped.append(step.conditions)
    return min(low for low, _ in ends), max(high for _, high in ends)


@_bounds.register(Switch)
def _of_cases(scorer: Switch, region: Region, box: Box) -> tuple[float, float]:
    parts = zip(scorer.cases, regions_of(scorer, region, box), strict=True)
    ends = [_bounds(case.scorer, part, box) for case, part in parts if part is not None]
    return min(low for low, _ in ends), max(high for _, high in ends)


def step_bounds(step: Step, scorer: StepList, region: Region) -> tuple[float, float]:
    """Two numbers between which the score of every row of a region that falls under a step lies."""
    if step.value is None:
        return -np.inf, np.inf
    low = high = float(step.value)
    for name, weight in step.plus.items():
        column = scorer.names.index(name)
        ends = sorted((weight * region.low[column], weight * region.high[column]))
        low, high = low + ends[0], high + ends[1]
    return low, high
