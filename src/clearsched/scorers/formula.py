"""A formula as scorer: a weighted sum of features that an administrator writes down as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clearsched.compiled.formulae import CONSTANT, pack_formula
from clearsched.compiled.scoring import Packed
from clearsched.errors import ClearschedError
from clearsched.scorers import words
from clearsched.scorers.scorer import Facts, Piece, Question, Scorer


@dataclass(frozen=True)
class WeightedSum(Scorer):
    """constant + sum of weight x feature, and of weight x sign(feature) log(1 + |feature| / scale).

    Attributes:
        weights: by feature, and under `constant` the term that belongs to none.
        log_weights: by feature `weight` and `scale` of a logarithm.
    """

    weights: Mapping[str, float]
    log_weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def pack(self, names: Sequence[str], where: str = "scorer") -> Packed:
        """Flat arrays for the loop."""
        return Packed(formula=pack_formula(self.weights, names, where, self.log_weights))

    def to_json(self) -> dict[str, Any]:
        """The weights as they are; under `weights` where there are logarithms besides."""
        if not self.log_weights:
            return dict(self.weights)
        return {
            "weights": dict(self.weights),
            "log_weights": {name: dict(term) for name, term in self.log_weights.items()},
        }

    @classmethod
    def from_json(cls, value: Any, names: Sequence[str], where: str) -> WeightedSum:
        """Weights by feature, an object that has them under `weights`, or a number: the same for every row."""
        if isinstance(value, int | float):
            value = {CONSTANT: value}
        logs: Any = {}
        if "weights" in value:
            logs = value.get("log_weights", {})
            if not isinstance(logs, Mapping):
                raise ClearschedError(f"{where}.log_weights: weights and scales by feature expected")
            value, where = value["weights"], where if logs else f"{where}.weights"
        scorer = cls(value if isinstance(value, Mapping) else {}, logs)
        scorer.pack(names, where)  # so that a broken weight is told now
        return scorer

    def render(self, choice: Question, facts: Facts) -> list[str]:
        """One term a line."""
        how = "The candidate with the highest sum." if choice.form == words.SCORE else "This share of all, rounded."
        unit = words.units(choice)
        logs = [
            f"  {term['weight']:>+14} x log(1 + {name} / {term['scale']:g}{f' {unit[name]}' if unit.get(name) else ''})"
            for name, term in self.log_weights.items()
        ]
        return [*words.heading(choice, how, facts), "", *words.terms(self.weights, unit), *logs]

    def complexity(self) -> int:
        """The number of weights."""
        return len(self.weights) + len(self.log_weights)

    @property
    def used(self) -> tuple[str, ...]:
        """The features with a weight."""
        return tuple(dict.fromkeys((*(name for name in self.weights if name != CONSTANT), *self.log_weights)))

    def pieces(self) -> list[Piece]:
        """The weights."""
        plain = [
            Piece(f"weight of {name}", replace(self, weights=_without(self.weights, name))) for name in self.weights
        ]
        logs = [
            Piece(f"log weight of {name}", replace(self, log_weights=_without(self.log_weights, name)))
            for name in self.log_weights
        ]
        return plain + logs

    def is_piecewise(self, name: str, together: int = 1) -> bool:
        """It only rises or only falls, but where a weight and that of the logarithm disagree."""
        log = self.log_weights.get(name)
        return log is None or float(self.weights.get(name, 0.0)) * float(log["weight"]) >= 0


def _without(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}
