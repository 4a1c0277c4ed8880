"""Steps as scorer: ordered cases, each with conditions, a cap, and an order among what falls under it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from clearsched.compiled.cap_terms import NO_CAP_TERMS, TIMES, pack_cap_terms
from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import Packed
from clearsched.compiled.steps import NO_COLUMN, pack_steps
from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.cap_terms import level_in_words
from clearsched.scorers.conditions import OTHERWISE, Condition, Rule, by_columns, parse_conditions
from clearsched.scorers.pieces import each_less, each_of, less, with_item
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

KEYS = ("if", "of", "below", "then", "plus")
"""What an object of the list `steps` may have."""


@dataclass(frozen=True)
class Step:
    """A row falls under it if it meets the conditions and its feature `of` is below the least of the terms.

    Attributes:
        conditions: by the columns of `StepList.names`.
        of: the feature that the cap bounds; empty without a cap, and where the cap is only told.
        below: the terms of the cap: coefficient under `times`, powers by feature.
        value: of such a row; None: the cap.
        plus: weights by feature, added to the value.
    """

    conditions: tuple[Condition, ...]
    of: str = ""
    below: tuple[Mapping[str, float], ...] = ()
    value: float | None = None
    plus: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StepList(ByColumns):
    """Steps read from the top: the first that a row falls under gives it its value.

    A level is rounded up, so that it says what the caps of the candidates say: who is below one may take one more.

    Attributes:
        steps: the last takes every row.
        names: of the columns by which conditions count.
    """

    steps: tuple[Step, ...]
    names: tuple[str, ...]

    clause: ClassVar[str] = "step"

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop."""
        column = {name: known_column(name, names, where) for name in self.used}
        terms = [term for step in self.steps for term in step.below]
        caps = pack_cap_terms(terms, names, where) if terms else NO_CAP_TERMS
        packed = [
            {
                "conditions": by_columns(step.conditions, self.names, column),
                "of": column[step.of] if step.of else NO_COLUMN,
                "terms": len(step.below),
                "value": step.value,
                "plus": [(column[name], weight) for name, weight in step.plus.items()],
            }
            for step in self.steps
        ]
        return Packed(steps=pack_steps(packed, caps), up=True)

    def to_json(self) -> dict[str, Any]:
        """Each step with its keys, those that it lacks left out."""
        entries = []
        for step in self.steps:
            entry: dict[str, Any] = {"if": Rule(step.conditions, 0.0).text(self.names)}
            entry |= {"of": step.of} if step.of else {}
            entry |= {"below": [dict(term) for term in step.below]} if step.below else {}
            entry |= {"then": step.value} if step.value is not None else {}
            entry |= {"plus": dict(step.plus)} if step.plus else {}
            entries.append(entry)
        return {"steps": entries}

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> StepList:
        """`steps`: a list of objects with `if`, and `of` with `below`, `then`, `plus` as needed."""
        entries, where = value["steps"], f"{where}.steps"
        if not isinstance(entries, list) or not entries:
            raise ClearschedError(f"{where}: a list of steps expected")
        steps = tuple(_step(entry, names, f"{where}[{place}]") for place, entry in enumerate(entries))
        if steps[-1].conditions or steps[-1].of:
            raise ClearschedError(
                f"{where}: the last step must be `otherwise`, without `of`, so that every case has one"
            )
        scorer = cls(steps, tuple(names))
        scorer.pack(names, where)  # so that a broken number is told now
        return scorer

    def check(self, choice: Question, where: str) -> None:
        """What a step gives for a level is a share."""
        if choice.form == LEVEL:
            for place, step in enumerate(self.steps):
                check_share(None if step.plus else step.value, f"{where}.steps[{place}]: then")

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """One step after another; a line where "none of these" stands among them."""
        unit, idle = words.units(choice), words.idles(choice, facts)
        if choice.form == words.SCORE:
            how = (
                "The first step that fits a candidate counts; the candidate of the highest score is chosen, the first "
                "among equals."
            )
        else:
            how = "The first step that fits, rounded up."
        told_idle = not idle or not any(step.value is not None and step.value <= 0 for step in self.steps)
        lines = words.heading(choice, how, facts if told_idle else {})
        lines.append("")
        for place, step in enumerate(self.steps, 1):
            if not told_idle and step.value is not None and step.value <= 0:
                lines.append(f"     below here: {idle}")
                told_idle = True
            told = f"{self._case(step, place, choice, facts)}  ->  {_result(step, choice, facts)}"
            lines += words.wrapped(f"{place:>3}. ", told)
            if step.plus:
                lines += [f"        {line.strip()}" for line in words.terms(step.plus, unit)]
        return lines

    def _case(self, step: Step, place: int, choice: Question, facts: Facts) -> str:
        """When a step fits, in words."""
        unit = words.units(choice)
        told = [words.phrase(condition, self.names, unit) for condition in step.conditions]
        if step.of:
            terms = " and ".join(f"below {level_in_words(term, choice, facts, up=True)}" for term in step.below)
            told.append(f"{step.of} {terms}")
        if not told:
            return OTHERWISE
        return ("if " if place == 1 else "else if ") + " and ".join(told)

    def complexity(self) -> int:
        """Conditions, terms, weights and steps."""
        return sum(
            1 + len(step.conditions) + sum(len(term) for term in step.below) + len(step.plus) for step in self.steps
        )

    def pieces(self) -> list[Piece]:
        """The steps, and of a cap of several terms each of these."""
        terms = [
            Piece(
                f"{self.clause} {i + 1}, term {j + 1}",
                replace(self, steps=with_item(self.steps, i, replace(step, below=less(step.below, j)))),
                speaks=False,
            )
            for i, step in enumerate(self.steps)
            if len(step.below) > 1
            for j in range(len(step.below))
        ]
        return [*each_of(self, "steps", self.clause, otherwise=True), *terms]

    def clauses(self) -> list[Clause]:
        """The steps."""
        return [Clause(step.conditions, bool(step.of)) for step in self.steps]

    def shorter(self) -> Iterator[StepList]:
        """Without a step, a term of a cap or a condition."""
        for place in reversed(range(len(self.steps) - 1)):
            yield replace(self, steps=less(self.steps, place))
        for place, step in enumerate(self.steps):
            fewer = [replace(step, below=below) for below in each_less(step.below) if below]
            fewer += [replace(step, conditions=rest) for rest in each_less(step.conditions) if rest]
            for other in fewer:
                yield replace(self, steps=with_item(self.steps, place, other))

    def numbered(self) -> StepList:
        """The first step that a row falls under speaks."""
        return replace(self, steps=tuple(replace(step, value=float(i), plus={}) for i, step in enumerate(self.steps)))

    def is_piecewise(self, name: str, together: int = 1) -> bool:
        """But for the features of caps that are scores; of several rows, if steps give the feature one weight."""
        if together > 1 and len({step.plus.get(name, 0.0) for step in self.steps}) > 1:
            return False
        return name not in {
            factor for step in self.steps if step.value is None for term in step.below for factor in term
        }

    def thresholds(self, name: str) -> np.ndarray:
        """Those of the conditions."""
        return sorted_marks(
            c.threshold for step in self.steps for c in step.conditions if self.names[c.feature] == name
        )

    def places(self) -> Counter[str]:
        """Of conditions, caps and weights."""
        found: Counter[str] = Counter()
        for step in self.steps:
            found.update(self.names[condition.feature] for condition in step.conditions)
            found.update([step.of] if step.of else [])
            found.update(name for term in step.below for name in term if name != TIMES)
            found.update(list(step.plus))  # the names: of a mapping a Counter would add the weights
        return found


def _result(step: Step, choice: Question, facts: Facts) -> str:
    """What a step gives, in words."""
    if step.value is None:
        terms = (level_in_words(term, choice, facts, up=True) for term in step.below)
        return "up to that" if step.of else " and ".join(terms)
    if choice.form == words.SCORE:
        return f"score {step.value:g}" + (", and" if step.plus else "")
    return words.amount(step.value, choice, facts, up=True)


def _step(entry: Any, names: Sequence[str], where: str) -> Step:
    """A step of a file.

    Raises:
        ClearschedError: a key that is none, one that is missing, or a value that is malformed.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("if"), str):
        raise ClearschedError(f"{where}: an object with the text `if` expected")
    strange = sorted(set(entry) - set(KEYS))
    if strange:
        raise ClearschedError(f"{where}: unknown key {strange[0]!r}: a step has {', '.join(KEYS)}")
    of, below, value, plus = entry.get("of", ""), entry.get("below", []), entry.get("then"), entry.get("plus", {})
    if not isinstance(of, str):
        raise ClearschedError(f"{where}.of: the name of a feature expected")
    if of:
        known_column(of, names, f"{where}.of")
    if not isinstance(below, list) or (of and not below):
        raise ClearschedError(f"{where}.below: a list of terms expected, since `of` has a cap")
    if below:
        pack_cap_terms(below, names, f"{where}.below")
    if value is None and not below:
        raise ClearschedError(f"{where}: `then` is missing: a number expected where there is no cap to take")
    if value is not None and not is_number(value):
        raise ClearschedError(f"{where}.then: a number expected")
    if not isinstance(plus, dict):
        raise ClearschedError(f"{where}.plus: weights by feature expected")
    if plus:
        pack_formula(plus, names, f"{where}.plus")
        if "constant" in plus:
            raise ClearschedError(f"{where}.plus: no constant here: add it to `then`")
    conditions = parse_conditions(entry["if"], names, f"{where}.if")
    return Step(conditions, of, tuple(below), value, plus)
