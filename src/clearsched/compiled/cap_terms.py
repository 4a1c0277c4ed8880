"""Cap terms: a level as the least of a few products of features, the form in which people say limits.

"At most 3 times its square-root share, and at most one worker for each 6 s of work left" are two terms, each a
coefficient times features to small powers; the least of them counts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.jit import compiled, inlined
from clearsched.errors import ClearschedError

TIMES = "times"
"""The key of a term's coefficient; every other key is a feature, its value the power."""


class CapTerms(NamedTuple):
    """min over T terms of coefficient x product of feature^power, in float64; no term adds nothing."""

    start: np.ndarray  # int64[T + 1]: term t has the factors start[t] to start[t + 1]
    coefficient: np.ndarray  # float64[T]
    feature: np.ndarray  # int64[factors]: column
    power: np.ndarray  # float64[factors]


def pack_cap_terms(terms: Sequence[Mapping[str, Any]], names: Sequence[str], where: str) -> CapTerms:
    """Pack terms such as {"times": 3, "sqrt_share": 1}.

    Args:
        terms: each a coefficient under `times` (1 if it is not there) and powers by feature.
        names: of the columns.
        where: begins an error.

    Raises:
        ClearschedError: no term, an unknown feature, or a number that is not finite.
    """
    if not terms:
        raise ClearschedError(f"{where}: cap terms need at least one term")
    start, coefficients, features, powers = [0], [], [], []
    for place, term in enumerate(terms):
        here = f"{where}[{place}]"
        if not isinstance(term, Mapping) or not term:
            raise ClearschedError(f"{here}: an object of powers by feature, and {TIMES!r}, expected")
        for name, value in term.items():
            if name != TIMES and name not in names:
                near = get_close_matches(name, [*names, TIMES], 1)
                raise ClearschedError(
                    f"{here}: unknown feature {name!r}" + (f"; did you mean {near[0]}?" if near else "")
                )
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
                raise ClearschedError(f"{here}: {name}: a finite number expected, not {value!r}")
        factors = [name for name in term if name != TIMES]
        coefficients.append(float(term.get(TIMES, 1.0)))
        features += [list(names).index(name) for name in factors]
        powers += [float(term[name]) for name in factors]
        start.append(len(features))
    return CapTerms(
        np.array(start, np.int64), np.array(coefficients), np.array(features, np.int64), np.array(powers, np.float64)
    )


NO_CAP_TERMS = CapTerms(np.zeros(1, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


@compiled
def add_cap_terms(terms: CapTerms, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Add the least term of each of the first `count` rows of float32[n, F] to `values`; nothing if there is none."""
    if len(terms.coefficient) == 0:
        return
    for i in range(count):
        values[i] += least_term(terms, 0, len(terms.coefficient), rows, i)


@inlined
def least_term(terms: CapTerms, first: int, last: int, rows: np.ndarray, i: int) -> float:
    """The least of the terms from `first` to before `last` for row i of float32[n, F]; infinite if there is none."""
    least = np.inf
    for t in range(first, last):
        product = terms.coefficient[t]
        for f in range(terms.start[t], terms.start[t + 1]):
            value, power = np.float64(rows[i, terms.feature[f]]), terms.power[f]
            product *= value if power == 1.0 else value**power
        least = min(least, product)
    return least
