"""The lists of rules next to one: those that differ by a single change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clearsched.problems.programs import rounded
from clearsched.scorers.conditions import Condition, Rule
from clearsched.students.assembly import divided, none_place
from clearsched.students.rounding import Columns

FACTORS = (0.7, 0.85, 1.2, 1.4)
"""What a threshold is multiplied by; thresholds on whole numbers move by one instead."""


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
            without = with_condition(rule, k)
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
    return [divided(rules, place) for place in places]


def further(asked: Sequence[Condition], conditions: Sequence[Condition]) -> Iterator[Condition]:
    """Those of the conditions whose feature none of `asked` holds against a threshold in the same direction."""
    known = {condition[:2] for condition in asked}
    return (condition for condition in conditions if condition[:2] not in known)


def with_condition(rule: Rule, place: int, *instead: Condition) -> Rule:
    """The rule with others in place of one of its conditions; with none of them it asks for one less."""
    return rule._replace(conditions=(*rule.conditions[:place], *instead, *rule.conditions[place + 1 :]))


def _moved(rule: Rule, place: int, columns: Columns, factors: Sequence[float], steps: Sequence[int]) -> Iterator[Rule]:
    """The rule with one threshold multiplied by a factor, or moved by a step where the feature is a whole number."""
    condition = rule.conditions[place]
    old = condition.threshold
    if columns.is_whole(condition.feature):
        thresholds = [old + step for step in steps if old + step > 0]
    else:
        thresholds = [rounded(factor * old) for factor in factors]
    for threshold in thresholds:
        if threshold != old:
            yield with_condition(rule, place, condition._replace(threshold=threshold))


def _loosened(rule: Rule, place: int, columns: Columns) -> Iterator[Rule]:
    if rule.conditions[place].below:
        return _moved(rule, place, columns, (1.5, 3.0), (1, 2))
    return _moved(rule, place, columns, (0.67, 0.33), (-1, -2))
