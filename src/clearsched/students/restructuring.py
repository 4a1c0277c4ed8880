"""Other structures for a rule list, in closed loop: a rule or condition more, less, or elsewhere; successive halving.

Distillation asks which rules choose as the expert does. This asks which schedule better: an expert's rare choice may
be worth more than a frequent one. Source of the halving: Z. Karnin, T. Koren, O. Somekh, Almost optimal exploration in
multi-armed bandits, ICML 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearsched.problems.problem import Episode
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.students.assembly import numbered
from clearsched.students.neighbours import neighbours
from clearsched.students.rounding import Columns

QUANTILES = (0.2, 0.5, 0.8)
"""Of a feature's values among the candidates: the thresholds that are tried for a further condition."""

HEATS = ((1 / 96, 96), (1 / 24, 24), (1 / 6, 4))
"""After such a share of the episodes so many options go on; the last of them run all."""

GAIN = 0.0005
"""Share of the mean cost that a further rule or condition must save."""

REPAIR_SHARE = 1 / 24
"""Of the training episodes: they tell which repairs of an unsafe student are cheap."""

REPAIRS = 200
"""Repairs that are tried for safety, the cheapest first; one that is not safe is given up at its first such episode."""

Safe = Callable[[ScoredPolicy], bool]
Costs = Callable[[Sequence[ScoredPolicy], Sequence[Episode]], np.ndarray]
"""float64[policies, episodes]: `search.trials.Trials.cost`."""


class Around(NamedTuple):
    """What structures next to a student are compared by."""

    choice: str  # the choice among candidates
    costs: Costs  # runs policies
    train: Sequence[Episode]  # episodes to compare on
    features: np.ndarray  # float32[n, F] of candidates, to tell thresholds by
    max_rules: int  # of a list


def restructured(student: ScoredPolicy, around: Around, is_safe: Safe = lambda policy: True) -> ScoredPolicy:
    """The best safe structure next to that of a student's rule list, or the student where none is better."""
    options = _options(student, around)
    if not options:
        return student
    own = around.costs([student], around.train)[0].mean()
    options, means = halved(options, around.costs, around.train)
    rules = student.scorers[around.choice].complexity()
    more = [option.scorers[around.choice].complexity() - rules for option in options]
    found = means + GAIN * abs(own) * np.maximum(more, 0)
    better = [place for place in np.argsort(found, kind="stable").tolist() if found[place] < own]
    return next((options[place] for place in better if is_safe(options[place])), student)


def repaired(student: ScoredPolicy, around: Around, is_safe: Safe) -> ScoredPolicy | None:
    """The cheapest safe policy next to an unsafe student: it never idles, or has another structure; None: none is.

    Told by a few episodes: what matters is that it is safe, and refinement goes on from there.
    """
    options = [replace(student, none=False)] if student.none else []
    if isinstance(student.scorers[around.choice], RuleList):
        options += _options(student, around)
    if not options:
        return None
    few = around.train[: max(1, round(REPAIR_SHARE * len(around.train)))]
    order = np.argsort(around.costs(options, few).mean(axis=1), kind="stable")[:REPAIRS].tolist()
    return next((options[place] for place in order if is_safe(options[place])), None)


def _options(student: ScoredPolicy, around: Around) -> list[ScoredPolicy]:
    """The student with each structure next to its own."""
    rules = student.scorers[around.choice]
    assert isinstance(rules, RuleList)
    return [
        replace(student, scorers={**student.scorers, around.choice: option})
        for option in structures(rules, around.features, around.max_rules, student.none)
    ]


def halved(
    options: Sequence[ScoredPolicy], costs: Costs, train: Sequence[Episode]
) -> tuple[list[ScoredPolicy], np.ndarray]:
    """The options, one at least, that are left after all heats, and float64[options]: their mean costs."""
    left, done = list(options), np.empty((len(options), 0))
    for share, kept in HEATS:
        count = max(1, round(share * len(train)))
        if count >= len(train) or len(left) <= kept:
            continue
        done = np.concatenate([done, costs(left, train[done.shape[1] : count])], axis=1)
        stays = np.sort(np.argsort(done.mean(axis=1), kind="stable")[:kept])
        left, done = [left[i] for i in stays], done[stays]
    done = np.concatenate([done, costs(left, train[done.shape[1] :])], axis=1)
    return left, done.mean(axis=1)


def structures(rules: RuleList, features: np.ndarray, max_rules: int, none: bool) -> list[RuleList]:
    """The lists next to one: `neighbours.neighbours`, and those with a further condition or a rule split by one."""
    columns = Columns(features)
    found = neighbours(rules.rules, columns, max_rules, none=none)
    conditions = list(_conditions(features, columns))
    for place, rule in enumerate(rules.rules):
        head, tail = list(rules.rules[:place]), list(rules.rules[place + 1 :])
        for condition in conditions:
            if any(condition[:2] == known[:2] for known in rule.conditions):
                continue
            narrower = Rule((*rule.conditions, condition), rule.value)
            if tail:
                found.append([*head, narrower, *tail])
            if len(rules.rules) < max_rules:
                found.append([*head, narrower._replace(value=_above(rule, head)), rule, *tail])
    return [replace(rules, rules=tuple(numbered(option, none)), shares=()) for option in found]


def _above(rule: Rule, head: Sequence[Rule]) -> float:
    """A value just above that of a rule, on the same side of "none of these", whose value is 0."""
    highest = head[-1].value if head else rule.value + 2
    if rule.value <= 0 < highest:
        highest = 0.0 if rule.value < 0 else 0.5
    return (rule.value + highest) / 2


def _conditions(features: np.ndarray, columns: Columns) -> Iterator[Condition]:
    """Single conditions on each feature."""
    for column in range(features.shape[1]):
        values = features[:, column]
        tried = {columns.round(column, float(value)) for value in np.quantile(values, QUANTILES)}
        for threshold in sorted(tried):
            if values.min() < threshold <= values.max():
                yield Condition(column, True, threshold)
                yield Condition(column, False, threshold)
