"""A switch as scorer: which of several scorers answers now, by a condition on what all candidates share.

"While fewer than 12 jobs are in the system the one list counts, else the other": strategies that compete (Hu et al.,
arXiv 2405.19131).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from clearsched.compiled.gates import Gate, gated, joined
from clearsched.compiled.scoring import Packed
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.conditions import OTHERWISE, Condition, Rule, parse_conditions
from clearsched.scorers.pieces import each_of, with_item
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import ByColumns, Facts, Piece, Question, Scorer, known_column, read_scorer


class Case(NamedTuple):
    """A scorer, and when it counts."""

    condition: Condition | None  # by the columns of `Switch.names`; None: otherwise
    scorer: Scorer


@dataclass(frozen=True)
class Switch(ByColumns):
    """Cases read from the top: the first whose condition holds answers.

    A condition must be on what all candidates of a decision share, since scores of two scorers can't be compared.

    Attributes:
        cases: the last has no condition.
        names: of the columns by which conditions count.
    """

    cases: tuple[Case, ...]
    names: tuple[str, ...]

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop."""
        closed: list[Gate] = []
        parts = []
        for case in self.cases:
            part = case.scorer.pack(names, where)
            gates = closed
            if case.condition is not None:
                column = known_column(self.names[case.condition.feature], names, where)
                gate = Gate(column, case.condition.below, case.condition.threshold)
                gates, closed = [*closed, gate], [*closed, gate.closed]
            for gate in gates:
                part = gated(part, gate, len(names), where)
            parts.append(part)
        return joined(parts, len(names), where)

    def to_json(self) -> dict[str, Any]:
        """Each case as its condition and its scorer."""
        return {
            "switch": [
                {
                    "if": case.condition.text(self.names) if case.condition else OTHERWISE,
                    "use": case.scorer.to_json(),
                }
                for case in self.cases
            ]
        }

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> Switch:
        """`switch`: a list of objects with `if`, one condition or `otherwise`, and `use`, a scorer."""
        entries, where = value["switch"], f"{where}.switch"
        if not isinstance(entries, list) or not entries:
            raise ClearschedError(f"{where}: a list of cases expected")
        cases = tuple(_case(entry, names, f"{where}[{place}]") for place, entry in enumerate(entries))
        if cases[-1].condition is not None or any(case.condition is None for case in cases[:-1]):
            raise ClearschedError(f"{where}: the last case, and no other, must be `otherwise`")
        scorer = cls(cases, tuple(names))
        scorer.pack(names, where)  # so that what can't be switched is told now
        return scorer

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """Each case with the text of its scorer."""
        unit = words.units(choice)
        lines = [f"{choice.question} The first case whose condition holds answers."]
        for place, case in enumerate(self.cases):
            told = OTHERWISE
            if case.condition is not None:
                told = ("else if " if place else "if ") + words.phrase(case.condition, self.names, unit)
            text = case.scorer.render(choice, facts)
            own = [text[0].removeprefix(choice.question).strip(), *text[1:]]
            lines += ["", f"{told}:", "", *(f"  {line}".rstrip() for line in own)]
        return lines

    def complexity(self) -> int:
        """Those of the cases, and their conditions."""
        return sum(case.scorer.complexity() + (case.condition is not None) for case in self.cases)

    def check(self, choice: Question, where: str) -> None:
        """Scores of two scorers can't be compared: candidates of one decision must fall under one case."""
        if choice.form == words.SCORE:
            shared = [feature.name for feature in choice.features if feature.per_decision]
            for name in (self.names[case.condition.feature] for case in self.cases if case.condition):
                if name not in shared:
                    raise ClearschedError(
                        f"{where}: switch: {name} differs between the candidates of a decision; use one of those that "
                        f"all share: {', '.join(shared) or 'this problem has none'}"
                    )
        for place, case in enumerate(self.cases):
            case.scorer.check(choice, f"{where}.switch[{place}].use")

    def pieces(self) -> list[Piece]:
        """The cases, and what each is put together of."""
        within = [
            Piece(f"case {place + 1}: {piece.name}", piece.without and self._with(place, piece.without), speaks=False)
            for place, case in enumerate(self.cases)
            for piece in case.scorer.pieces()
        ]
        return [*each_of(self, "cases", "case", otherwise=True), *within]

    def numbered(self) -> Switch:
        """The place of the case that answers."""
        places = [RuleList((Rule((), float(place)),), self.names) for place in range(len(self.cases))]
        cases = zip(self.cases, places, strict=True)
        return Switch(tuple(case._replace(scorer=scorer) for case, scorer in cases), self.names)

    def _with(self, place: int, scorer: Scorer) -> Switch:
        return replace(self, cases=with_item(self.cases, place, self.cases[place]._replace(scorer=scorer)))

    def places(self) -> Counter[str]:
        """Of the conditions and of the cases."""
        own = Counter(self.names[case.condition.feature] for case in self.cases if case.condition)
        return sum((case.scorer.places() for case in self.cases), own)


def _case(entry: Any, names: Sequence[str], where: str) -> Case:
    if not isinstance(entry, dict) or not isinstance(entry.get("if"), str) or set(entry) != {"if", "use"}:
        raise ClearschedError(f"{where}: an object with the text `if` and the scorer `use` expected")
    conditions = parse_conditions(entry["if"], names, f"{where}.if")
    if len(conditions) > 1:
        raise ClearschedError(f"{where}.if: one condition expected, not {len(conditions)}: write further cases")
    return Case(conditions[0] if conditions else None, read_scorer(entry["use"], names, f"{where}.use"))
