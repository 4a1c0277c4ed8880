"""What programs of any problem read: the features that tell candidates apart, with their scales, and cap terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.problems.programs import Ground, Number, rounded
from clearsched.search.warm_start import fitted_cap

FEW = 2
"""A feature of so many values is a flag: its logarithm says no more than itself."""

ALIKE = 0.98
"""Correlation of the logarithms of two features from which on one of them is enough for products."""

TERMS = 2
"""Cap terms of a level."""

MOST_FACTORS = 6
"""Features of a cap term."""

NEGLIGIBLE = 0.05
"""A smaller power of a feature is none."""


class Input(NamedTuple):
    """A feature that a program reads: as sign(x) log(1 + |x| / scale), or as it is if the scale is 0."""

    name: str
    scale: float


def inputs_of(ground: Ground) -> tuple[Input, ...]:
    """The features worth a weight, in the order of the columns.

    One in which no decision's candidates differ can only weigh against "none of these"; where that is no answer it is
    left out.
    """
    found = []
    for column, feature in enumerate(ground.rank.features):
        values = ground.rows[:, column].astype(np.float64)
        told = ground.none or (ground.varies[column] and not feature.per_decision)
        if told and values.min() < values.max():
            found.append(Input(feature.name, _scale(values)))
    return tuple(found)


def _scale(values: np.ndarray) -> float:
    """The median size of the values that are not 0; 0 for a flag."""
    if len(np.unique(values)) <= FEW:
        return 0.0
    return rounded(float(np.median(np.abs(values[values != 0]))))


def told(inputs: Sequence[Input], rows: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """float64[n, inputs]: what a program reads of float32[n, F] with the columns `names`."""
    columns = [list(names).index(each.name) for each in inputs]
    values = rows[:, columns].astype(np.float64)
    for place, each in enumerate(inputs):
        if each.scale:
            values[:, place] = np.sign(values[:, place]) * np.log1p(np.abs(values[:, place]) / each.scale)
    return values


class Caps:
    """Cap terms for the level choice: coefficients and powers of features that are never 0.

    The first begins at what fits the heuristic's levels, the others at "all of it". Shares are preferred: their
    products mean the same on a larger cluster.
    """

    def __init__(self, ground: Ground) -> None:
        self.level = ground.level
        self.factors = _factors(ground) if ground.level is not None else ()
        self._fitted = fitted_cap(ground, [name for name, _ in self.factors])

    @property
    def numbers(self) -> tuple[Number, ...]:
        """For each term the logarithm of its value on a median row, then a power for each feature."""
        if self.level is None:
            return ()
        found = []
        for term in range(TERMS):
            value, *powers = self._fitted.tolist() if term == 0 else [0.0] * len(self._fitted)
            found.append(Number(f"cap_{term}", value, 0.5, -6.0, 3.0))
            for (factor, _), power in zip(self.factors, powers, strict=True):
                found.append(Number(f"cap_{term}_{factor}", power, 0.2, -2.0, 2.0))
        return tuple(found)

    def scorers(self, values: np.ndarray) -> dict[str, Any]:
        """The level choice's scorer by its name, as in a file; nothing without such a choice."""
        if self.level is None:
            return {}
        terms = []
        for numbers in np.asarray(values, np.float64).reshape(TERMS, -1):
            powers = {
                name: round(float(power), 2)
                for (name, _), power in zip(self.factors, numbers[1:], strict=True)
                if abs(power) >= NEGLIGIBLE
            }
            medians = dict(self.factors)
            times = float(numbers[0]) - sum(power * np.log(medians[name]) for name, power in powers.items())
            terms.append({"times": rounded(float(np.exp(times))), **powers})
        return {self.level.name: {"cap_terms": terms}}


def _factors(ground: Ground) -> tuple[tuple[str, float], ...]:
    """(feature, its median) of features for products: always above 0, not a flag, not much like an earlier one."""
    features = sorted(enumerate(ground.rank.features), key=lambda each: bool(each[1].unit))
    kept: list[tuple[str, float]] = []
    logs: list[np.ndarray] = []
    for column, feature in features:
        values = ground.rows[:, column].astype(np.float64)
        if len(kept) == MOST_FACTORS or values.min() <= 0 or len(np.unique(values)) <= FEW:
            continue
        log = np.log(values)
        if all(abs(np.corrcoef(log, other)[0, 1]) < ALIKE for other in logs):
            kept.append((feature.name, float(np.median(values))))
            logs.append(log)
    return tuple(kept)
