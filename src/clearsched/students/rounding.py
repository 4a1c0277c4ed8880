"""Make fitted rules readable without changing what they decide on the rows they were fitted on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.problems.programs import rounded
from clearsched.scorers.conditions import Condition, Rule, first_rule

CROSSING_SHARE = 0.005
"""Share of the rows that a rounded threshold may put on its other side."""

CHANGED_SHARE = 0.002
"""Share of the rows whose value a dropped condition or rule may change."""

LEAF_DIGITS = 3
"""Digits that count of what a leaf adds to a sum of trees: those that its text has."""


class Columns:
    """The sorted values of every feature, to tell what a threshold can be rounded to.

    Attributes:
        directions: of each feature, the way that a score must go with it (`Feature.monotone`); empty: either.
    """

    def __init__(self, features: np.ndarray, directions: Sequence[int] = ()) -> None:
        self.directions = tuple(directions)
        self._values = np.sort(features, axis=0)
        self._whole = np.all(features == np.floor(features), axis=0)

    def is_whole(self, feature: int) -> bool:
        """The feature takes whole numbers only."""
        return bool(self._whole[feature])

    def is_flag(self, feature: int) -> bool:
        """The feature is 0 or 1."""
        return self.is_whole(feature) and self._values[0, feature] >= 0 and self._values[-1, feature] <= 1

    def round(self, feature: int, threshold: float) -> float:
        """The number with the fewest digits that splits the rows nearly as `threshold` does; whole numbers exactly."""
        if self._whole[feature]:
            return float(np.ceil(threshold))
        values = self._values[:, feature]
        place = np.searchsorted(values, np.float32(threshold))
        for digits in range(1, 7):
            candidate = rounded(threshold, digits)
            crossing = abs(int(np.searchsorted(values, np.float32(candidate))) - int(place))
            if crossing <= CROSSING_SHARE * len(values):
                return candidate
        return float(np.float32(threshold))

    def round_rules(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules with every threshold rounded."""
        return [
            Rule(tuple(Condition(c.feature, c.below, self.round(c.feature, c.threshold)) for c in conditions), value)
            for conditions, value in rules
        ]


def simplify(rules: Sequence[Rule], features: np.ndarray) -> list[Rule]:
    """Drop rules and conditions that hardly any of the rows float32[n, F] needs; the last rule becomes `otherwise`."""
    kept = list(rules)
    values = _values(kept, features)
    allowed = CHANGED_SHARE * len(features)

    def is_same(changed: list[Rule]) -> bool:
        return bool(np.sum(_values(changed, features) != values) <= allowed)

    place = len(kept) - 1
    while place >= 0:
        without = kept[:place] + kept[place + 1 :]
        if len(kept) > 1 and is_same(without):
            kept = without
        else:
            for condition in list(kept[place].conditions):
                fewer = tuple(c for c in kept[place].conditions if c != condition)
                changed = [*kept[:place], Rule(fewer, kept[place].value), *kept[place + 1 :]]
                if is_same(changed):
                    kept = changed
        place -= 1
    return [*kept[:-1], Rule((), kept[-1].value)]


def _values(rules: Sequence[Rule], features: np.ndarray) -> np.ndarray:
    """float64[n]: the value of each row; the lowest where no rule fits, as `compile_rules` has it."""
    table = np.array([*(rule.value for rule in rules), min(rule.value for rule in rules)])
    found: np.ndarray = table[first_rule(rules, features)]
    return found
