"""A rule list as scorer: the first rule that fits a row gives it its value."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from clearsched.compiled.cap_terms import NO_CAP_TERMS
from clearsched.compiled.scoring import Packed
from clearsched.compiled.steps import NO_COLUMN, pack_steps
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.conditions import Rule, by_columns, first_rule, parse_conditions
from clearsched.scorers.pieces import each_less, each_of, less, ties_of, with_item
from clearsched.scorers.scorer import (
    LEVEL,
    ByColumns,
    Clause,
    Facts,
    Piece,
    Question,
    check_share,
    known_column,
    sorted_marks,
)
from clearsched.scorers.ties import APART, MOST, among_equals, check_ties, read_ties, tie_weights

VALUE = "then"
OLDER_VALUES = ("score", "limit_share")
"""What files of the first format call the value of a rule."""


@dataclass(frozen=True)
class RuleList(ByColumns):
    """Rules read from the top.

    Attributes:
        rules: the last has no condition.
        names: of the columns by which conditions count.
        ties: among rows with the same value the one with the least of the first of these features wins, then the least
            of the next; with a minus before its name, the most.
        shares: how often each rule is the first that fits, 0 to 1, among the rows of the fit; may be empty.
    """

    rules: tuple[Rule, ...]
    names: tuple[str, ...]
    shares: tuple[float, ...] = ()
    ties: tuple[str, ...] = ()

    clause: ClassVar[str] = "rule"

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop."""
        column = {name: known_column(name, names, where) for name in self.used}
        rules = [(by_columns(conditions, self.names, column), value) for conditions, value in self.rules]
        plus = [(column[name], weight) for name, weight in tie_weights(self.ties)]
        worth = _apart if self.ties else float
        steps = [
            {"conditions": conditions, "of": NO_COLUMN, "terms": 0, "value": worth(value), "plus": plus}
            for conditions, value in rules
        ]
        return Packed(steps=pack_steps(steps, NO_CAP_TERMS))

    def with_shares(self, features: np.ndarray) -> RuleList:
        """The list with how often its rules apply to the rows float32[n, F], F as in `names`."""
        counts = np.bincount(first_rule(self.rules, features), minlength=len(self.rules))
        return replace(self, shares=tuple(np.round(counts / max(len(features), 1), 4).tolist()))

    def to_json(self) -> dict[str, Any]:
        """Each rule as its text, its value and its share; the ties."""
        entries: list[dict[str, Any]] = [{"if": rule.text(self.names), VALUE: rule.value} for rule in self.rules]
        for entry, share in zip(entries, self.shares, strict=False):
            entry["share"] = share
        return {"rules": entries} | ({"ties": list(self.ties)} if self.ties else {})

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> RuleList:
        """`rules`: a list of objects with `if` and `then`; `share` is a note; `ties`: names of features."""
        entries, where = value["rules"], f"{where}.rules"
        if not isinstance(entries, list) or not entries:
            raise ClearschedError(f"{where}: a list of rules expected")
        rules = tuple(_rule(entry, names, f"{where}[{place}]") for place, entry in enumerate(entries))
        if rules[-1].conditions:
            raise ClearschedError(f"{where}: the last rule must be `otherwise`, so that every case has one")
        shares = [entry.get("share") for entry in entries]
        known = all(isinstance(share, int | float) for share in shares)
        ties = read_ties(value, names, where)
        return cls(rules, tuple(names), tuple(shares) if known else (), ties)

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """One rule after another; a line where "none of these" stands among them."""
        if choice.form == words.SCORE:
            how = (
                "A candidate has the score of the first rule that fits it; the candidate of the highest score is "
                f"chosen, {self.among_equals}."
            )
            notes = [f"   ({100 * share:.1f} % of the candidates)" for share in self.shares]
            notes += [""] * (len(self.rules) - len(notes))
            results = [f"score {rule.value:g}{note}" for rule, note in zip(self.rules, notes, strict=True)]
            results = self._with_idle(results, choice, facts)
            lines = textwrap.wrap(f"{choice.question} {how}", words.WIDTH)
        else:
            results = [words.amount(rule.value, choice, facts) for rule in self.rules]
            lines = words.heading(choice, "The first rule that fits.", facts)
        rules = list(zip(self.rules, results, strict=True))
        blocks = words.listed(rules, self.names, words.units(choice))
        idle = words.idles(choice, facts)
        if idle and self.is_parted and self.none_place < len(self.rules):  # else every candidate is better than none
            blocks.insert(self.none_place, [f"     below here: {idle}"])
        return [*lines, "", *(line for block in blocks for line in block)]

    def _with_idle(self, results: list[str], choice: Question, facts: Facts) -> list[str]:
        """Where no line parts the rules, each that stands below "none of these" says so."""
        idle = words.idles(choice, facts)
        if not idle or self.is_parted:
            return results
        return [
            f"{result}: {idle}" if rule.value <= 0 else result for rule, result in zip(self.rules, results, strict=True)
        ]

    @property
    def is_parted(self) -> bool:
        """Whether no rule below the line of "none of these" has a score above it: lists of a person may be unsorted."""
        return all(rule.value <= 0 for rule in self.rules[self.none_place :])

    @property
    def among_equals(self) -> str:
        """Who wins among candidates of the same rule, in words."""
        return among_equals(self.ties)

    @property
    def none_place(self) -> int:
        """Where "none of these", whose score is 0, stands among the rules: so many come before it."""
        return next((i for i, rule in enumerate(self.rules) if not rule.value > 0), len(self.rules))

    def complexity(self) -> int:
        """Conditions and rules."""
        return sum(len(rule.conditions) + 1 for rule in self.rules) + len(self.ties)

    def check(self, choice: Question, where: str) -> None:
        """Ties are of a choice among candidates; what a rule gives for a level is a share."""
        if self.ties:
            check_ties(choice, where)
        if choice.form == LEVEL:
            for place, rule in enumerate(self.rules):
                check_share(rule.value, f"{where}.rules[{place}]: {VALUE}")

    def pieces(self) -> list[Piece]:
        """Rules and ties."""
        return each_of(self, "rules", self.clause, otherwise=True, shares=()) + ties_of(self)

    def clauses(self) -> list[Clause]:
        """The rules."""
        return [Clause(rule.conditions) for rule in self.rules]

    def shorter(self) -> Iterator[RuleList]:
        """Without a rule, a condition or a tie."""
        for place in reversed(range(len(self.rules) - 1)):
            yield replace(self, rules=less(self.rules, place), shares=())
        for place, rule in enumerate(self.rules[:-1]):
            for fewer in each_less(rule.conditions):
                if fewer:
                    changed = rule._replace(conditions=fewer)
                    yield replace(self, rules=with_item(self.rules, place, changed), shares=())
        for ties in each_less(self.ties):
            yield replace(self, ties=ties, shares=())

    def numbered(self) -> RuleList:
        """The first rule that fits speaks."""
        numbered = tuple(rule._replace(value=float(i)) for i, rule in enumerate(self.rules))
        return replace(self, rules=numbered, shares=(), ties=())

    def is_piecewise(self, name: str, together: int = 1) -> bool:
        """Constant between thresholds but for ties, which are weights."""
        return True

    def thresholds(self, name: str) -> np.ndarray:
        """Those of the conditions."""
        return sorted_marks(
            c.threshold for rule in self.rules for c in rule.conditions if self.names[c.feature] == name
        )

    def places(self) -> Counter[str]:
        """Of conditions and ties."""
        asked = [self.names[c.feature] for rule in self.rules for c in rule.conditions]
        return Counter(asked + [tie.removeprefix(MOST) for tie in self.ties])


def _apart(value: float) -> float:
    """The value of a rule, so far from those of others that ties decide nothing between them: nor between a rule and
    "none of these", whose value is 0, so that a rule of value 0 must lie below it."""
    return APART * (value if value > 0 else value - 0.5)


def _rule(entry: Any, names: Sequence[str], where: str) -> Rule:
    text = entry.get("if") if isinstance(entry, dict) else None
    if not isinstance(text, str):
        raise ClearschedError(f"{where}: if: a text expected")
    key = next((key for key in (VALUE, *OLDER_VALUES) if key in entry), VALUE)
    value = entry.get(key)
    if not is_number(value):
        raise ClearschedError(f"{where}: {key}: a number expected")
    return Rule(parse_conditions(text, names, where), value)
