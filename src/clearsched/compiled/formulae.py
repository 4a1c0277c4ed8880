"""Weighted sums of named features as flat arrays: a policy that an administrator writes down as it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.jit import allocating, compiled
from clearsched.errors import ClearschedError

CONSTANT = "constant"
"""The term of a formula that belongs to no feature."""


class Formula(NamedTuple):
    """constant + sum of weight x feature, in float64 and in the order of the terms."""

    feature: np.ndarray  # int64[terms]: column
    weight: np.ndarray  # float64[terms]
    constant: float


def pack_formula(weights: Mapping[str, Any], names: Sequence[str], where: str) -> Formula:
    """A formula from its weights by the name of the feature, and `constant`; `names` are those of the columns.

    Raises:
        ClearschedError: no weight, an unknown feature, or a weight that is no finite number.
    """
    if not weights:
        raise ClearschedError(f"{where}: a formula needs a weight for at least one feature")
    for name, weight in weights.items():
        if name != CONSTANT and name not in names:
            near = get_close_matches(name, [*names, CONSTANT], 1)
            raise ClearschedError(f"{where}: unknown feature {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not abs(weight) <= sys.float_info.max:
            raise ClearschedError(f"{where}: {name}: a finite number expected, not {weight!r}")
    terms = [name for name in weights if name != CONSTANT]
    return Formula(
        np.array([list(names).index(name) for name in terms], np.int64),
        np.array([weights[name] for name in terms], np.float64),
        float(weights.get(CONSTANT, 0.0)),
    )


NO_FORMULA = Formula(np.zeros(0, np.int64), np.zeros(0), 0.0)


@compiled
def write_formula(formula: Formula, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Write the formula of the first `count` rows of float32[n, F] to `values`."""
    values[:count] = formula.constant
    for term in range(len(formula.feature)):
        column, weight = formula.feature[term], formula.weight[term]
        for i in range(count):
            values[i] += weight * rows[i, column]


@allocating
def formula_scores(formula: Formula, rows: np.ndarray) -> np.ndarray:
    """float64[n]: the formula of each row of float32[n, F]."""
    values = np.empty(len(rows))
    write_formula(formula, rows, len(rows), values)
    return values
