"""Weighted sums of named features as flat arrays: a policy that an administrator writes down as it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.jit import compiled, inlined
from clearsched.errors import ClearschedError

CONSTANT = "constant"
"""The term of a formula that belongs to no feature."""


class Formula(NamedTuple):
    """constant + sum of weight x feature, in float64 and in the order of the terms.

    A term with a scale has sign(x) log(1 + |x| / scale) in place of the feature x.
    """

    feature: np.ndarray  # int64[terms]: column
    weight: np.ndarray  # float64[terms]
    constant: float
    scale: np.ndarray  # float64[terms]: 0 for the feature as it is


def pack_formula(
    weights: Mapping[str, Any],
    names: Sequence[str],
    where: str,
    log_weights: Mapping[str, Any] | None = None,
) -> Formula:
    """A formula from its weights by the name of the feature, and `constant`; `names` are those of the columns.

    `log_weights`: by feature {"weight": w, "scale": s}: the term w sign(x) log(1 + |x| / s).

    Raises:
        ClearschedError: no weight, an unknown feature, a weight that is no finite number, or a scale that is not above
            0.
    """
    log_weights = log_weights or {}
    if not weights and not log_weights:
        raise ClearschedError(f"{where}: a formula needs a weight for at least one feature")
    columns, values, scales = [], [], []
    for name, weight in weights.items():
        _check_name(name, (*names, CONSTANT), where)
        _check_number(weight, f"{where}: {name}")
        if name != CONSTANT:
            columns.append(list(names).index(name))
            values.append(float(weight))
            scales.append(0.0)
    for name, term in log_weights.items():
        _check_name(name, names, where)
        if not isinstance(term, Mapping) or set(term) != {"weight", "scale"}:
            raise ClearschedError(f"{where}: log_weights.{name}: an object with `weight` and `scale` expected")
        for key, value in term.items():
            _check_number(value, f"{where}: log_weights.{name}.{key}")
        if not term["scale"] > 0:
            raise ClearschedError(f"{where}: log_weights.{name}.scale: a number above 0 expected, not {term['scale']}")
        columns.append(list(names).index(name))
        values.append(float(term["weight"]))
        scales.append(float(term["scale"]))
    return Formula(
        np.array(columns, np.int64), np.array(values, np.float64), float(weights.get(CONSTANT, 0.0)), np.array(scales)
    )


def _check_name(name: str, known: Sequence[str], where: str) -> None:
    if name not in known:
        near = get_close_matches(name, known, 1)
        raise ClearschedError(f"{where}: unknown feature {name!r}" + (f"; did you mean {near[0]}?" if near else ""))


def _check_number(value: Any, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ClearschedError(f"{where}: a finite number expected, not {value!r}")


NO_FORMULA = Formula(np.zeros(0, np.int64), np.zeros(0), 0.0, np.zeros(0))


@compiled
def write_formula(formula: Formula, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Write the formula of the first `count` rows of float32[n, F] to `values`."""
    values[:count] = formula.constant
    for term in range(len(formula.feature)):
        column, weight, scale = formula.feature[term], formula.weight[term], formula.scale[term]
        if scale == 0.0:
            for i in range(count):
                values[i] += weight * rows[i, column]
        else:
            for i in range(count):
                values[i] += weight * log_of(rows[i, column], scale)


@inlined
def log_of(value: float, scale: float) -> float:
    """sign(x) log(1 + |x| / scale): about x / scale near 0, and no large number far from it."""
    size = np.log1p(abs(np.float64(value)) / scale)
    return size if value >= 0 else -size
