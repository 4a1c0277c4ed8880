"""Polish a list of rules: small changes, one at a time, each tried in closed loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from clearsched.scorers.conditions import Condition, Rule
from clearsched.students.assembly import none_place, values_of
from clearsched.students.bench import worse_by
from clearsched.students.rounding import Columns
from clearsched.students.settings import RuleListParams

GAIN = 0.0005
"""Share of the mean cost that a polished list must save to be preferred, for each condition or rule that it adds."""

FACTORS = (0.7, 0.85, 1.2, 1.4)
"""What polishing multiplies a threshold by; thresholds on whole numbers move by one instead."""

Costs: TypeAlias = Callable[[list[Rule], np.ndarray | None], np.ndarray | None]
"""Cost of a list on each training episode; None if it falls behind the costs given (`Bench.race`)."""


def polish(
    rules: list[Rule], costs: Costs, columns: Columns, settings: RuleListParams, *, none: bool = False
) -> list[Rule]:
    """A better list near this one: one change at a time, kept if it pays in closed loop.

    Args:
        rules: where to start.
        costs: of a list, by episode.
        columns: which features are whole numbers, and how thresholds round.
        settings: `polish_rounds` passes over all changes at most, the first without a gain being the last;
            at most `max_rules` rules.
        none: "none of these" is an answer: rules stand above it or below it.
    """
    lowest = costs(rules, None)
    assert lowest is not None
    seen = {_key(rules, none)}
    for _ in range(settings.polish_rounds):
        before, place = lowest.mean(), 0
        while place < len(options := neighbours(rules, columns, settings.max_rules, none=none)):
            option = options[place]
            place += 1
            if _key(option, none) in seen:
                continue
            seen.add(_key(option, none))
            found = costs(option, lowest)
            gain = 0.0 if _length(option) < _length(rules) else GAIN * (1 + _length(option) - _length(rules))
            if found is not None and found.mean() <= worse_by(lowest.mean(), -gain):
                rules, lowest = option, found
        if lowest.mean() >= before:
            break
    return rules


def neighbours(rules: Sequence[Rule], columns: Columns, max_rules: int, *, none: bool = False) -> list[list[Rule]]:
    """The lists that differ by one change.

    "None of these" one rule up or down, a rule or condition less, a threshold moved, two rules in the other order, or,
    where a rule more is allowed, a second rule just below one, with one of its conditions looser or dropped.
    """
    found = _none_moved(rules) if none else []
    for i, rule in enumerate(rules[:-1]):
        head, tail = list(rules[:i]), list(rules[i + 1 :])
        found.append(head + tail)
        lower = 0.0 if none and rule.value > 0 >= tail[0].value else tail[0].value  # on the same side of none
        below = (rule.value + lower) / 2
        for k in range(len(rule.conditions)):
            without = _with_condition(rule, k)
            found.append([*head, without, *(tail if without.conditions else [])])
            found += [[*head, moved, *tail] for moved in _moved(rule, k, columns, FACTORS, (-1, 1))]
            if len(rules) < max_rules:
                looser = [*_loosened(rule, k, columns), *([without] if without.conditions else [])]
                found += [[*head, rule, second._replace(value=below), *tail] for second in looser]
        if len(tail) > 1:
            later = tail[0]
            found.append([*head, Rule(later.conditions, rule.value), Rule(rule.conditions, later.value), *tail[1:]])
    return found


def _none_moved(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The lists in which one rule more, or one less, stands above "none of these"."""
    above = none_place(rules)
    places = [place for place in (above + 1, above - 1) if 0 <= place <= len(rules)]
    return [
        [rule._replace(value=value) for rule, value in zip(rules, values_of(len(rules), place), strict=True)]
        for place in places
    ]


def _with_condition(rule: Rule, place: int, *instead: Condition) -> Rule:
    return rule._replace(conditions=(*rule.conditions[:place], *instead, *rule.conditions[place + 1 :]))


def _moved(rule: Rule, place: int, columns: Columns, factors: Sequence[float], steps: Sequence[int]) -> Iterator[Rule]:
    """The rule with one threshold multiplied by a factor, or moved by a step where the feature is a whole number."""
    condition = rule.conditions[place]
    old = condition.threshold
    if columns.is_whole(condition.feature):
        thresholds = [old + step for step in steps if old + step > 0]
    else:
        thresholds = [float(f"{factor * old:.2g}") for factor in factors]
    for threshold in thresholds:
        if threshold != old:
            yield _with_condition(rule, place, condition._replace(threshold=threshold))


def _loosened(rule: Rule, place: int, columns: Columns) -> Iterator[Rule]:
    if rule.conditions[place].below:
        return _moved(rule, place, columns, (1.5, 3.0), (1, 2))
    return _moved(rule, place, columns, (0.67, 0.33), (-1, -2))


def _key(rules: Sequence[Rule], none: bool) -> tuple[object, ...]:
    """What makes two lists schedule alike: their conditions in order (values fall), and where none stands."""
    return (none_place(rules) if none else -1, *(rule.conditions for rule in rules))


def _length(rules: Sequence[Rule]) -> int:
    return sum(len(rule.conditions) + 1 for rule in rules)
