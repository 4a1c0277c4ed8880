"""The numbers of a student that a search may move: thresholds, levels, leaf values, coefficients of caps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.cap_terms import TIMES
from clearsched.compiled.trees import LEAF
from clearsched.problems.programs import Number, rounded
from clearsched.scorers.conditions import Rule
from clearsched.scorers.points import PointSum
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import StepList
from clearsched.scorers.trees import TreeSum
from clearsched.students.rounding import LEAF_DIGITS, Columns

STEP = 0.15
"""First deviation of a threshold and of the factor of a cap term, as a share of it."""

REACH = 4.0
"""So many times larger or smaller a threshold may become."""

LEVEL_STEP = 0.08
"""First deviation of a level, as a share of the most."""

LEAF_STEP = 0.2
"""First deviation of a leaf's value, in deviations of all leaves of the sum."""


class Refinement:
    """A student but for its numbers: a `problems.programs.Program`."""

    first = None

    def __init__(self, student: ScoredPolicy, columns: Mapping[str, Columns]) -> None:
        self.student = student
        self._parts = [
            part_of(scorer, columns[choice.name], choice.form == "level")
            for choice in student.problem.choices
            if (scorer := student.scorers.get(choice.name)) is not None
        ]
        self.numbers = [number for part in self._parts for number in part.numbers]

    def start(self, generator: np.random.Generator, found: np.ndarray | None) -> np.ndarray:
        """Every restart begins with the student as it is."""
        return np.array([number.start for number in self.numbers])

    def scorers(self, values: np.ndarray) -> dict[str, Any]:
        """The scorers with these numbers, as in a student's file."""
        return {name: scorer.to_json() for name, scorer in self.filled(values).scorers.items()}

    def filled(self, values: np.ndarray) -> ScoredPolicy:
        """The student with these numbers."""
        scorers, rest = {}, list(values)
        for (name, _), part in zip(self.student.scorers.items(), self._parts, strict=True):
            own, rest = rest[: len(part.numbers)], rest[len(part.numbers) :]
            scorers[name] = part.filled(own)
        return replace(self.student, scorers=scorers)


class Part(NamedTuple):
    """A scorer but for its numbers."""

    numbers: list[Number]
    filled: Callable[[Sequence[float]], Scorer]


@singledispatch
def part_of(scorer: Scorer, columns: Columns, level: bool) -> Part:
    """What of a scorer is searched for: nothing, unless its kind is registered below."""
    return Part([], lambda values: scorer)


@part_of.register(RuleList)
def _of_rules(rules: RuleList, columns: Columns, level: bool) -> Part:
    """The thresholds, and of a level the values too; the scores of candidates only tell the order of the rules."""
    numbers, moved = _of_conditions(rules.rules, rules.names, columns)
    thresholds = len(numbers)
    if level:
        numbers += [
            Number(f"rule {place + 1}: then", rule.value, LEVEL_STEP, 0.01, 1.0)
            for place, rule in enumerate(rules.rules)
        ]

    def filled(values: Sequence[float]) -> RuleList:
        found = moved(values[:thresholds])
        if level:
            levels = values[thresholds:]
            found = [rule._replace(value=rounded(value)) for rule, value in zip(found, levels, strict=True)]
        return RuleList(tuple(found), rules.names, ties=rules.ties)

    return Part(numbers, filled)


@part_of.register(PointSum)
def _of_points(points: PointSum, columns: Columns, level: bool) -> Part:
    """The thresholds: points are whole numbers, and few."""
    numbers, moved = _of_conditions(points.points, points.names, columns)
    return Part(numbers, lambda values: replace(points, points=tuple(moved(values))))


def _of_conditions(
    rules: Sequence[Rule], names: Sequence[str], columns: Columns, each: str = "rule"
) -> tuple[list[Number], Callable[[Sequence[float]], list[Rule]]]:
    """The thresholds of rules (or steps), and the rules with other ones; a flag has one threshold."""
    places = [
        (place, number)
        for place, rule in enumerate(rules)
        for number, condition in enumerate(rule.conditions)
        if not columns.is_flag(condition.feature)
    ]
    numbers = []
    for place, number in places:
        condition = rules[place].conditions[number]
        name = f"{each} {place + 1}: {names[condition.feature]}"
        numbers.append(_threshold(name, condition.threshold, columns.is_whole(condition.feature)))

    def moved(values: Sequence[float]) -> list[Rule]:
        found = dict(zip(places, map(rounded, values), strict=True))
        return [
            rule._replace(
                conditions=tuple(
                    condition._replace(threshold=found.get((place, number), condition.threshold))
                    for number, condition in enumerate(rule.conditions)
                )
            )
            for place, rule in enumerate(rules)
        ]

    return numbers, moved


def _threshold(name: str, value: float, whole: bool) -> Number:
    if whole:
        return Number(name, value, 1.0, min(value, 1.0), max(REACH * value, 4.0), 1.0)
    ends = sorted((value / REACH, value * REACH)) if value else (-1.0, 1.0)
    return Number(name, value, STEP * abs(value) or 0.1, *ends)


@part_of.register(TreeSum)
def _of_trees(trees: TreeSum, columns: Columns, level: bool) -> Part:
    """The values of the leaves; those that go the wrong way from each other meet halfway (`held`)."""
    leaves = [
        (place, node)
        for place, tree in enumerate(trees.trees)
        for node, feature in enumerate(tree["feature"])
        if feature == LEAF
    ]
    values = [float(trees.trees[place]["value"][node]) for place, node in leaves]
    step = LEAF_STEP * float(np.std(values)) or LEAF_STEP
    numbers = [
        Number(f"tree {place}: leaf {node}", value, step) for (place, node), value in zip(leaves, values, strict=True)
    ]

    def filled(values: Sequence[float]) -> TreeSum:
        found = [{**tree, "value": list(tree["value"])} for tree in trees.trees]
        for (place, node), value in zip(leaves, values, strict=True):
            found[place]["value"][node] = rounded(value, LEAF_DIGITS)
        for tree in found if any(columns.directions) else ():
            held(tree, columns.directions)
        return TreeSum(tuple(found), trees.names)

    return Part(numbers, filled)


def held(
    tree: Mapping[str, Any], directions: Sequence[int], node: int = 0, low: float = -np.inf, high: float = np.inf
) -> None:
    """Move the leaves of a tree so that its score goes one way with each feature that has a direction.

    Where such a feature parts two branches, no leaf of the one is above any of the other: what is, comes to a bound
    between them, and what is not stays (as xgboost holds a tree while it grows). So is a sum of such trees.

    Args:
        tree: lists as in a student's file; its values are changed.
        directions: by column, +1, -1 or 0.
        node: whose leaves.
        low, high: between which they must lie.
    """
    feature, values = tree["feature"][node], tree["value"]
    if feature == LEAF:
        values[node] = rounded(min(max(values[node], low), high), LEAF_DIGITS)
        return
    below, above = tree["left"][node], tree["right"][node]
    if directions[feature] == 0:
        held(tree, directions, below, low, high)
        held(tree, directions, above, low, high)
        return
    less, more = (below, above) if directions[feature] > 0 else (above, below)
    most, least = max(_leaves(tree, less)), min(_leaves(tree, more))
    middle = min(max((most + least) / 2, low), high)
    held(tree, directions, less, low, middle)
    held(tree, directions, more, middle, high)


def _leaves(tree: Mapping[str, Any], node: int) -> list[float]:
    """The values of the leaves below a node."""
    if tree["feature"][node] == LEAF:
        return [tree["value"][node]]
    return [*_leaves(tree, tree["left"][node]), *_leaves(tree, tree["right"][node])]


@part_of.register(StepList)
def _of_caps(steps: StepList, columns: Columns, level: bool) -> Part:
    """The thresholds of the cases, the coefficients of the caps."""
    cases = [Rule(step.conditions, 0.0) for step in steps.steps]
    numbers, moved = _of_conditions(cases, steps.names, columns, "step")
    thresholds = len(numbers)
    numbers += [
        Number(f"step {place + 1}: {TIMES}", times, STEP * times, times / REACH, times * REACH)
        for place, step in enumerate(steps.steps)
        for times in (float(term.get(TIMES, 1.0)) for term in step.below)
    ]

    def filled(values: Sequence[float]) -> StepList:
        rest = iter(values[thresholds:])
        found = [
            replace(
                step,
                conditions=case.conditions,
                below=tuple({**term, TIMES: rounded(next(rest))} for term in step.below),
            )
            for step, case in zip(steps.steps, moved(values[:thresholds]), strict=True)
        ]
        return replace(steps, steps=tuple(found))

    return Part(numbers, filled)
