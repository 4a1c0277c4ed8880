"""A formula as scorer: a weighted sum of features that an administrator writes down as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearsched.compiled.formulae import CONSTANT, pack_formula
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.scorers import words
from clearsched.scorers.scorer import Facts, Question


@dataclass(frozen=True)
class WeightedSum:
    """constant + sum of weight x feature.

    Attributes:
        weights: by feature, and under `constant` the term that belongs to none.
    """

    weights: Mapping[str, float]

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop."""
        return Packed(formula=pack_formula(self.weights, names, where))

    def scores(self, features: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """float64[n] of float32[n, F]."""
        return scores_of(self.pack(names), features)

    def to_json(self) -> dict[str, float]:
        """The weights as they are."""
        return dict(self.weights)

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> WeightedSum:
        """Weights by feature, an object that has them under `weights`, or a number: the same for every row."""
        if isinstance(value, int | float):
            value = {CONSTANT: value}
        elif "weights" in value:
            value, where = value["weights"], f"{where}.weights"
        scorer = cls(value if isinstance(value, Mapping) else {})
        scorer.pack(names, where)  # so that a broken weight is told now
        return scorer

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """One term a line."""
        how = "The candidate with the highest sum." if choice.form == words.SCORE else "This share of all, rounded."
        return [*words.heading(choice, how, facts), "", *words.terms(self.weights, words.units(choice))]

    def complexity(self) -> int:
        """The number of weights."""
        return len(self.weights)

    @property
    def used(self) -> tuple[str, ...]:
        """The features with a weight."""
        return tuple(name for name in self.weights if name != CONSTANT)
