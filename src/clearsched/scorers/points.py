"""Points as scorer: a few conditions that add points or take some away, as people score by hand.

Source of the form: B. Ustun, C. Rudin, Supersparse linear integer models for optimized medical scoring systems, Machine
Learning 102, 2016.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clearsched.compiled.cap_terms import NO_CAP_TERMS
from clearsched.compiled.scoring import Packed
from clearsched.compiled.steps import NO_COLUMN, pack_steps
from clearsched.compiled.trees import pack
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.conditions import OTHERWISE, Rule, by_columns, compile_rules, parse_conditions
from clearsched.scorers.pieces import each_of, ties_of
from clearsched.scorers.scorer import ByColumns, Facts, Piece, Question, known_column
from clearsched.scorers.ties import APART, MOST, among_equals, check_ties, read_ties, tie_weights

ADD = "add"


@dataclass(frozen=True)
class PointSum(ByColumns):
    """The sum of the points of all entries whose conditions a row meets.

    Attributes:
        points: conditions and what they add; an entry without conditions always counts.
        names: of the columns by which conditions count.
        ties: who wins among rows of equal sum, as in `RuleList`; with ties, points are whole numbers.
    """

    points: tuple[Rule, ...]
    names: tuple[str, ...]
    ties: tuple[str, ...] = ()

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop: a tree an entry; with ties sums lie far apart, and one of 0 is below none."""
        column = {name: known_column(name, names, where) for name in self.used}
        times = APART if self.ties else 1.0
        trees = [
            compile_rules([Rule(by_columns(entry.conditions, self.names, column), times * entry.value), Rule((), 0.0)])
            for entry in self.points
        ]
        packed = Packed(trees=pack(trees, len(names), where))
        if not self.ties:
            return packed
        plus = [(column[name], weight) for name, weight in tie_weights(self.ties)]
        order = {"conditions": (), "of": NO_COLUMN, "terms": 0, "value": -APART / 2, "plus": plus}
        return packed._replace(steps=pack_steps([order], NO_CAP_TERMS))

    def to_json(self) -> dict[str, Any]:
        """Each entry as its text and what it adds; the ties."""
        entries = [{"if": entry.text(self.names), ADD: entry.value} for entry in self.points]
        return {"points": entries} | ({"ties": list(self.ties)} if self.ties else {})

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> PointSum:
        """`points`: a list of objects with `if` and `add`; `ties`: names of features."""
        entries, here = value["points"], f"{where}.points"
        if not isinstance(entries, list) or not entries:
            raise ClearschedError(f"{here}: a list of entries expected, each with `if` and `{ADD}`")
        points = tuple(_entry(entry, names, f"{here}[{place}]") for place, entry in enumerate(entries))
        ties = read_ties(value, names, where)
        if ties and not all(float(entry.value).is_integer() for entry in points):
            raise ClearschedError(f"{here}: whole numbers expected, since there are ties")
        return cls(points, tuple(names), ties)

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """One entry a line."""
        if choice.form == words.SCORE:
            how = f"The most points win, {among_equals(self.ties)}."
        else:
            how = "The sum of the points, as a share of all, rounded."
        unit = words.units(choice)
        lines = words.heading(choice, how, facts)
        lines.append("")
        for entry in self.points:
            told = " and ".join(words.phrase(condition, self.names, unit) for condition in entry.conditions)
            lines.append(f"  {entry.value:>+6g}  {f'if {told}' if told else 'always'}")
        return lines

    def complexity(self) -> int:
        """Conditions and entries, and ties."""
        return sum(len(entry.conditions) + 1 for entry in self.points) + len(self.ties)

    def check(self, choice: Question, where: str) -> None:
        """Ties are of a choice among candidates."""
        if self.ties:
            check_ties(choice, where)
        super().check(choice, where)

    def pieces(self) -> list[Piece]:
        """Entries and ties."""
        return each_of(self, "points", "entry") + ties_of(self)

    def places(self) -> Counter[str]:
        """Of conditions and ties."""
        asked = [self.names[c.feature] for entry in self.points for c in entry.conditions]
        return Counter(asked + [tie.removeprefix(MOST) for tie in self.ties])


def _entry(entry: Any, names: Sequence[str], where: str) -> Rule:
    text, value = (entry.get("if", OTHERWISE), entry.get(ADD)) if isinstance(entry, dict) else (None, None)
    if not isinstance(text, str):
        raise ClearschedError(f"{where}: if: a text expected")
    if not is_number(value):
        raise ClearschedError(f"{where}: {ADD}: a number expected")
    return Rule(parse_conditions(text, names, where), value)
