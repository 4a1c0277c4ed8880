"""Take out of a student what changes nothing: rules that others stand before, conditions that always hold, idle caps.

A search of numbers moves thresholds past one another. What it leaves without effect costs a reader's time, and room
for a rule that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from clearsched.problems.problem import Episode
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import StepList

FEW = 1 / 24
"""Of the episodes: what changes something mostly shows on them."""

Item = TypeVar("Item")

Costs = Callable[[Sequence[ScoredPolicy], Sequence[Episode]], np.ndarray]
"""float64[policies, episodes]: `search.trials.Trials.cost`."""


def tidied(student: ScoredPolicy, costs: Costs, episodes: Sequence[Episode]) -> ScoredPolicy:
    """The student without the rules, conditions, ties and caps that change the cost of none of the episodes."""
    few = episodes[: max(1, round(FEW * len(episodes)))]
    own = costs([student], episodes)[0]
    while True:
        options = [
            replace(student, scorers={**student.scorers, name: scorer})
            for name, own_scorer in student.scorers.items()
            for scorer in shorter(own_scorer)
        ]
        found = costs(options, few) if options else np.empty((0, len(few)))
        same = (option for option, cost in zip(options, found, strict=True) if np.array_equal(cost, own[: len(few)]))
        idle = next((option for option in same if np.array_equal(costs([option], episodes)[0], own)), None)
        if idle is None:
            return student
        student = idle


def shorter(scorer: Scorer) -> Iterator[Scorer]:
    """The scorers with a rule, condition, tie, case or cap less; the larger parts first, the last of them first."""
    if isinstance(scorer, RuleList):
        rules = scorer.rules
        for place in reversed(range(len(rules) - 1)):
            yield replace(scorer, rules=(*rules[:place], *rules[place + 1 :]), shares=())
        for place, rule in enumerate(rules[:-1]):
            for fewer in _without_one(rule.conditions):
                if fewer:
                    changed = rule._replace(conditions=fewer)
                    yield replace(scorer, rules=(*rules[:place], changed, *rules[place + 1 :]), shares=())
        for ties in _without_one(scorer.ties):
            yield replace(scorer, ties=ties, shares=())
    elif isinstance(scorer, StepList):
        steps = scorer.steps
        for place in reversed(range(len(steps) - 1)):
            yield replace(scorer, steps=(*steps[:place], *steps[place + 1 :]))
        for place, step in enumerate(steps):
            less = [replace(step, below=below) for below in _without_one(step.below) if below]
            less += [replace(step, conditions=fewer) for fewer in _without_one(step.conditions) if fewer]
            for other in less:
                yield replace(scorer, steps=(*steps[:place], other, *steps[place + 1 :]))


def _without_one(items: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """The items without one of them, the last first."""
    for place in reversed(range(len(items))):
        yield (*items[:place], *items[place + 1 :])
