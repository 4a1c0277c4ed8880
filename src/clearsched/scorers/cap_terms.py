"""Cap terms as scorer: the least of a few products of features, the form in which people say limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clearsched.compiled.cap_terms import TIMES, pack_cap_terms
from clearsched.compiled.scoring import Packed
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.pieces import each_of
from clearsched.scorers.scorer import Facts, Piece, Question, Scorer

DIGITS = 12
"""Of a number that a person may compute by: what lies beyond is the rounding of a product."""


@dataclass(frozen=True)
class LeastTerm(Scorer):
    """The least of some terms.

    Attributes:
        terms: each a coefficient under `times` (1 where it is missing) and powers by feature.
        up: of a level: it is rounded up, so that who is below it may take one more; else to the nearest.
    """

    terms: tuple[Mapping[str, float], ...]
    up: bool = False

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop."""
        return Packed(caps=pack_cap_terms(self.terms, names, where), up=self.up)

    def to_json(self) -> dict[str, Any]:
        """The terms as they are."""
        return {"cap_terms": [dict(term) for term in self.terms]} | ({"up": True} if self.up else {})

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> LeastTerm:
        """`cap_terms`: a list of objects such as {"times": 3, "job_sqrt_share": 1}; `up`: true or false."""
        terms, up = value["cap_terms"], value.get("up", False)
        if not isinstance(terms, list) or not terms:
            raise ClearschedError(f"{where}.cap_terms: a list of terms expected")
        if not isinstance(up, bool):
            raise ClearschedError(f"{where}.up: true or false expected")
        scorer = cls(tuple(terms), up)
        scorer.pack(names, f"{where}.cap_terms")  # so that a broken term is told now
        return scorer

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """One term a line, as people say it."""
        unit = words.units(choice)
        if choice.form == words.SCORE:
            how = "The candidate with the highest number: the least of these products."
            told = [_product(term, unit) for term in self.terms]
        else:
            how = f"All of this holds, rounded{' up' * self.up}."
            told = [f"at most {level_in_words(term, choice, facts, self.up)}" for term in self.terms]
        joined = [("and " * (place > 0)) + text for place, text in enumerate(told)]
        ends = [","] * (len(told) - 1) + ["."]
        return [
            *words.heading(choice, how, facts),
            "",
            *(f"  {text}{end}" for text, end in zip(joined, ends, strict=True)),
        ]

    def complexity(self) -> int:
        """Coefficients and powers."""
        return sum(len(term) for term in self.terms)

    @property
    def used(self) -> tuple[str, ...]:
        """The features of the terms, in order."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term if name != TIMES))

    def pieces(self) -> list[Piece]:
        """The terms."""
        return each_of(self, "terms", "term")

    def firing(self, features: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """int64[n]: the least term of each row."""
        found = np.stack([replace(self, terms=(term,)).scores(features, names) for term in self.terms])
        return found.argmin(axis=0)

    def places(self) -> Counter[str]:
        """Of powers."""
        return Counter(name for term in self.terms for name in term if name != TIMES)


def level_in_words(term: Mapping[str, float], choice: Question, facts: Facts, up: bool = False) -> str:
    """A term in words: `3 times job_sqrt_share`, or `one executor for each 6 s of job_work_left_s`.

    The term is a share of the most; a feature with a unit is told by what it is worth in whole things, as far as the
    most is known. All digits are told that count: who computes by the text comes to what runs. `up`: how it is rounded.
    """
    unit, times = words.units(choice), float(term.get(TIMES, 1.0))
    powers = {name: power for name, power in term.items() if name != TIMES}
    if not powers:
        return words.amount(times, choice, facts, up)
    name, power = next(iter(powers.items()))
    most, things = facts.get("most", 0), choice.unit or facts.get("unit", "")
    if len(powers) > 1 or power != 1 or times <= 0 or (unit[name] and not most):
        return f"{_product(term, unit)} of the {things or 'most'}"
    if not unit[name]:
        return name if times == 1 else f"{times:g} times {name}"
    worth = times * most  # things for one unit of the feature
    each = f"{1 / worth:.4g}"
    if worth <= 1 and math.isclose(1 / float(each), worth, rel_tol=10.0 ** (1 - DIGITS)):
        each = "" if each == "1" else f"{each} "
        return f"one {things.removesuffix('s') or 'step'} for each {each}{unit[name]} of {name}"
    return f"{worth:.{DIGITS}g} {things or 'steps'} for each {unit[name]} of {name}"


def _product(term: Mapping[str, float], unit: Mapping[str, str]) -> str:
    """A term as a product, with units."""
    told = f"{float(term.get(TIMES, 1.0)):g}"
    for name, power in term.items():
        if name != TIMES:
            size = "" if abs(power) == 1 else f"^{abs(power):g}"
            told += f" {'x' if power > 0 else '/'} {name}{size}" + (f" [{unit[name]}]" if unit[name] else "")
    return told
