"""Conditions on features, and rules made of them: as text, as a flat tree, out of fitted trees.

A list of rules is written as text, parsed from text, and packed for the simulator's loop; so the text that a person
reads (and may edit) is what runs. Conditions count features by their column; names are given where
text is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.errors import ClearschedError
from clearsched.scorers.scorer import known_column

OTHERWISE = "otherwise"
CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([-+.\deE]+)(?:\s+([^\s\d]\S*))?\s*")
"""Feature, sign, number, and a unit after a space, which only some texts may have."""


class Comparison(NamedTuple):
    """A condition as it is written."""

    feature: str
    sign: str  # one of < <= > >=
    value: float
    unit: str  # empty where none is written

    def condition(self, column: int) -> Condition:
        """The same on a column, as `<` or `>=`: x <= t is x < the next float32."""
        value = np.float32(self.value)
        if self.sign in ("<=", ">"):
            value = np.nextafter(value, np.float32(np.inf))
        return Condition(column, self.sign in ("<", "<="), float(value))


class Condition(NamedTuple):
    """`feature < threshold` if below, else `feature >= threshold`."""

    feature: int  # column
    below: bool
    threshold: float

    def text(self, names: Sequence[str]) -> str:
        """For example `job_age_s < 4.8`; `names` are those of the columns."""
        return f"{names[self.feature]} {'<' if self.below else '>='} {number(self.threshold)}"


class Rule(NamedTuple):
    """A row that meets all conditions has the value, if no earlier rule fits it."""

    conditions: tuple[Condition, ...]
    value: float

    def text(self, names: Sequence[str]) -> str:
        """Its conditions, or `otherwise`."""
        return " and ".join(condition.text(names) for condition in self.conditions) or OTHERWISE


def number(value: float) -> str:
    """The shortest decimal that is the same float32, which is what the compiled loop compares with."""
    shortest = np.format_float_positional(np.float32(value), trim="-")
    return shortest if len(shortest) <= 12 else np.format_float_scientific(np.float32(value), trim="-")


def parse_comparisons(text: str, where: str) -> list[Comparison]:
    """What is written in a text such as `age_s < 4.8 and rank >= 1 jobs`; no name is looked up.

    Raises:
        ClearschedError: a part is not of the form `feature < number` (or <=, >, >=).
    """
    found = []
    for part in re.split(r"\band\b", text):
        match = CONDITION.fullmatch(part)
        try:
            name, sign, threshold, unit = match.groups() if match else ("", "", "", "")
            with np.errstate(over="ignore"):
                value = float(np.float32(threshold))
        except ValueError:
            match = None
        if match is None or not np.isfinite(value):
            raise ClearschedError(f"{where}: {part.strip()!r}: expected `feature < number`, with one of < <= > >=")
        found.append(Comparison(name, sign, value, unit or ""))
    return found


def parse_conditions(text: str, names: Sequence[str], where: str) -> tuple[Condition, ...]:
    """Conditions from text such as `age_s < 4.8 and rank >= 1`, or `otherwise`.

    Raises:
        ClearschedError: an unknown feature, a unit, or no condition of the form `feature < number` (or <=, >, >=).
    """
    if text.strip() == OTHERWISE:
        return ()
    conditions = []
    for written in parse_comparisons(text, where):
        if written.unit:
            raise ClearschedError(f"{where}: {written.feature}: no unit here: leave out {written.unit!r}")
        conditions.append(written.condition(known_column(written.feature, names, where)))
    return tuple(conditions)


def by_columns(
    conditions: Sequence[Condition], names: Sequence[str], column: Mapping[str, int]
) -> tuple[Condition, ...]:
    """Conditions that count by `names`, by the columns that `column` gives."""
    return tuple(condition._replace(feature=column[names[condition.feature]]) for condition in conditions)


def compile_rules(rules: Sequence[Rule]) -> dict[str, list]:
    """The list as one flat tree for `trees.pack`; a row that no rule fits gets the lowest value of all.

    A condition that fails leads to the next rule's first one, so the nodes form a chain and no node is repeated.
    """
    closed = [*rules, Rule((), min(rule.value for rule in rules))]
    starts = np.cumsum([0, *(len(rule.conditions) + 1 for rule in closed)]).tolist()
    tree: dict[str, list] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}
    for place, rule in enumerate(closed):
        for i, condition in enumerate(rule.conditions):
            met, failed = starts[place] + i + 1, starts[place + 1]
            left, right = (met, failed) if condition.below else (failed, met)
            _append(tree, condition.feature, condition.threshold, left, right, 0.0)
        _append(tree, LEAF, 0.0, 0, 0, rule.value)
    return tree


def _append(tree: dict[str, list], *row: float) -> None:
    for column, value in zip(tree.values(), row, strict=True):
        column.append(value)


def holds(condition: Condition, features: np.ndarray) -> np.ndarray:
    """bool[n]: which rows of float32[n, F] meet the condition."""
    below: np.ndarray = features[:, condition.feature] < np.float32(condition.threshold)
    return below if condition.below else ~below


def first_rule(rules: Sequence[Rule], features: np.ndarray) -> np.ndarray:
    """int64[n]: the first rule that fits each row, the number of rules where none does."""
    found = np.full(len(features), len(rules))
    open_rows = np.ones(len(features), bool)
    for place, rule in enumerate(rules):
        fits = open_rows.copy()
        for condition in rule.conditions:
            fits &= holds(condition, features)
        found[fits] = place
        open_rows &= ~fits
    return found


def flatten(trees: Sequence[dict[str, Any]]) -> list[Rule]:
    """A sum of trees as rules that exclude each other: one for every combination of leaves that can occur together."""
    rules = [Rule((), 0.0)]
    for tree in trees:
        joined = []
        for rule in rules:
            for path, value in _paths(tree, 0):
                conditions = tighten((*rule.conditions, *path))
                if conditions is not None:
                    joined.append(Rule(conditions, rule.value + value))
        rules = joined
    return rules


def _paths(tree: dict[str, Any], node: int) -> list[tuple[tuple[Condition, ...], float]]:
    """The leaves below a node from left to right: the conditions that lead to each, and its value."""
    if tree["feature"][node] == LEAF:
        return [((), tree["value"][node])]
    found = []
    for below, child in ((True, tree["left"][node]), (False, tree["right"][node])):
        turn = Condition(tree["feature"][node], below, tree["threshold"][node])
        found += [((turn, *path), value) for path, value in _paths(tree, child)]
    return found


def tighten(conditions: Sequence[Condition]) -> tuple[Condition, ...] | None:
    """The same rows with at most two conditions a feature, in order of the columns; None if no row can meet them."""
    bounds: dict[int, list[float]] = {}
    for condition in conditions:
        low_high = bounds.setdefault(condition.feature, [-np.inf, np.inf])
        if condition.below:
            low_high[1] = min(low_high[1], condition.threshold)
        else:
            low_high[0] = max(low_high[0], condition.threshold)
    kept = []
    for feature, (low, high) in sorted(bounds.items()):
        if low >= high:
            return None
        kept += [Condition(feature, False, low)] if low > -np.inf else []
        kept += [Condition(feature, True, high)] if high < np.inf else []
    return tuple(kept)


def as_list(tree: dict[str, Any]) -> list[Rule]:
    """One tree as a list in which the first rule that fits counts, with the fewest conditions.

    Leaves from left to right need only the turns to the left on their path: a row that comes to a rule has failed the
    rules before it, and these cover everything to the left.
    """
    rules = []
    for path, value in _paths(tree, 0):
        conditions = tighten([condition for condition in path if condition.below])
        if conditions is not None:
            rules.append(Rule(conditions, value))
    return rules
