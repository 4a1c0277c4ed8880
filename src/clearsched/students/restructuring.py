"""Other structures for a rule list, in closed loop: a rule or condition more, less, or elsewhere; successive halving.

Distillation asks which rules choose as the expert does. This asks which schedule better: an expert's rare choice may
be worth more than a frequent one. Source of the halving: Z. Karnin, T. Koren, O. Somekh, Almost optimal exploration in
multi-armed bandits, ICML 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

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

Costs = Callable[[Sequence[ScoredPolicy], Sequence[Episode]], np.ndarray]
"""float64[policies, episodes]: `search.trials.Trials.cost`."""


def restructured(
    student: ScoredPolicy,
    choice: str,
    costs: Costs,
    train: Sequence[Episode],
    features: np.ndarray,
    max_rules: int,
) -> ScoredPolicy:
    """The best structure next to that of a student's rule list, or the student where none is better.

    Args:
        student: whose scorer of `choice` is a rule list.
        choice: name of the choice among candidates.
        costs: runs policies.
        train: episodes to compare on.
        features: float32[n, F] of candidates, to tell thresholds by.
        max_rules: of the list.
    """
    rules = student.scorers[choice]
    assert isinstance(rules, RuleList)
    options = [
        replace(student, scorers={**student.scorers, choice: option})
        for option in structures(rules, features, max_rules, student.none)
    ]
    if not options:
        return student
    own = costs([student], train)[0].mean()
    options, means = halved(options, costs, train)
    more = [option.scorers[choice].complexity() - rules.complexity() for option in options]
    found = means + GAIN * abs(own) * np.maximum(more, 0)
    best = int(found.argmin())
    return options[best] if found[best] < own else student


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
