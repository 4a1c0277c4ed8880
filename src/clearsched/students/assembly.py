"""Put mined rules in order: each where it lowers the regret most, and "none of these" among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.scorers.conditions import Rule
from clearsched.students.mining import Conditions, Mined
from clearsched.students.settings import RuleListParams

CONDITION_PRICE = 0.0005
"""What a condition must save in mean regret (0 to 1) to be worth its reader's time."""


class Regret:
    """What the choices of a list cost: 1 - exp(score of the choice - best score), averaged over decisions.

    It is 0 where they agree, and near 0 for near ties.
    """

    def __init__(self, choices: Choices, order: np.ndarray | None = None) -> None:
        """Regret of every answer to `choices`, decisions of which each has a candidate.

        Args:
            choices: n candidates, beside the rows of "none of these".
            order: int64[n], the place of each candidate among all: the first of those with equal keys is chosen; None:
                that of the rows.
        """
        regret = 1.0 - np.exp(choices.score - np.maximum.reduceat(choices.score, choices.starts[:-1])[choices.owner])
        candidates = ~choices.is_none
        self._regret = regret[candidates]
        self._count = len(self._regret)
        self._order = np.arange(self._count) if order is None else order
        self._row = np.argsort(self._order)
        self._first = (np.cumsum(candidates) - candidates)[choices.starts[:-1]]
        self._idle = np.full(len(choices.chosen), np.nan)  # regret of none; nan where it was no answer
        self._idle[choices.owner[choices.is_none]] = regret[choices.is_none]
        self._may_idle = np.isfinite(self._idle)

    def of(self, keys: np.ndarray) -> Cost:
        """Mean regret if of each decision the row with the lowest key is chosen, the first in the order of equals.

        Args:
            keys: int64[candidates], at least 0.
        """
        chosen = np.minimum.reduceat(keys * self._count + self._order, self._first)
        regret = self._regret[self._row[chosen % self._count]]
        if not self._may_idle.any():
            return Cost(float(regret.mean()), -1)
        more = (regret - self._idle)[self._may_idle]  # than none costs, if the candidate is chosen
        by_key = np.bincount(chosen[self._may_idle] // self._count, more, int(keys.max()) + 1)
        above = np.concatenate([[0.0], np.cumsum(by_key)])  # if all candidates of a lower key stand above none
        place = len(above) - 1 - int(above[::-1].argmin())  # the last of equals: rather work than idle
        total = regret[~self._may_idle].sum() + self._idle[self._may_idle].sum() + above[place]
        return Cost(float(total / len(regret)), place)


class Cost(NamedTuple):
    """The mean regret of a list, "none of these" standing where that is lowest."""

    regret: float
    none: int  # the first key below none; -1 where none was no answer


def assemble(
    mined: Sequence[Mined], real: Choices, settings: RuleListParams, order: np.ndarray | None = None
) -> list[Rule]:
    """Put rules into a list one by one, each where it lowers the regret most, until none pays or the list is full.

    "None of these" stands at each moment where the regret is lowest: rules above it have values above 0.

    Args:
        mined: where the rules come from.
        real: the decisions.
        settings: at most `max_rules` rules.
        order: of the candidates, int64[n]: the first of those that end at one rule is chosen (`ties.order_of`);
            None: that of the rows.
    """
    regret = Regret(real, order)
    place = np.zeros(int((~real.is_none).sum()), np.int64)  # the rule of each candidate
    rules: list[Conditions] = [()]

    def cost(keys: np.ndarray) -> float:
        return regret.of(keys).regret

    lowest = cost(place)
    while len(rules) < settings.max_rules:
        options = (
            (cost(2 * place + 1 - later * (2 * (place - i) + 1)) + CONDITION_PRICE * len(rule.conditions), i, n)
            for i in range(len(rules))
            for n, rule in enumerate(mined)
            if (later := rule.rows & (place >= i)).any()
        )
        found, i, n = min(options, default=(lowest, 0, 0))
        if found >= lowest:
            break
        lowest = found - CONDITION_PRICE * len(mined[n].conditions)
        place = np.where(mined[n].rows & (place >= i), i, place + (place >= i))
        rules.insert(i, mined[n].conditions)
    none = regret.of(place).none
    return [Rule(conditions, value) for conditions, value in zip(rules, values_of(len(rules), none), strict=True)]


def values_of(count: int, none: int) -> list[float]:
    """Falling values for a list of rules: down to 0, or above 0 for the first `none` rules and below 0 for the rest.

    Args:
        count: rules.
        none: how many stand above "none of these"; -1 where that is no answer.
    """
    if none < 0:
        return [float(count - 1 - i) for i in range(count)]
    return [float(none - i) if i < none else float(none - 1 - i) for i in range(count)]


def none_place(rules: Sequence[Rule]) -> int:
    """How many rules of a list stand above "none of these"."""
    return sum(rule.value > 0 for rule in rules)


def divided(rules: Sequence[Rule], none: int) -> list[Rule]:
    """The same order with the values of `values_of`: the first `none` rules stand above "none of these"."""
    return [rule._replace(value=value) for rule, value in zip(rules, values_of(len(rules), none), strict=True)]


def numbered(rules: Sequence[Rule], none: bool) -> list[Rule]:
    """The same order with whole values, down to 0, or with `none` around 0; rules of equal value get equal ones."""
    distinct = sorted({rule.value for rule in rules}, reverse=True)
    above = sum(value > 0 for value in distinct) if none else -1
    told = dict(zip(distinct, values_of(len(distinct), above), strict=True))
    return [Rule(rule.conditions, told[rule.value]) for rule in rules]
