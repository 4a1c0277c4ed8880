"""Where the pieces of a feature begin in which scores are straight lines: at thresholds, where caps are crossed."""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import compiled
from clearsched.compiled.reach import Marks
from clearsched.compiled.steps import NO_COLUMN, Steps

NEAR = np.float32(1e-6)
"""Share of a solved value by which it may be off: both sides of it are looked at."""


@compiled
def add_crossings(steps: Steps, last: int, rows: np.ndarray, i: int, column: int, cuts: np.ndarray, count: int) -> int:
    """Add to `cuts` where the feature of a row above 0 crosses a cap of the first `last` steps; the new count.

    A cap is c x^p beside the other factors, and the feature that it bounds is x itself or another one.
    """
    for s in range(last):
        if steps.of[s] == NO_COLUMN:
            continue
        for t in range(steps.first_term[s], steps.first_term[s + 1]):
            rest, power = steps.caps.coefficient[t], 0.0
            for f in range(steps.caps.start[t], steps.caps.start[t + 1]):
                if steps.caps.feature[f] == column:
                    power += steps.caps.power[f]
                else:
                    rest *= np.float64(rows[i, steps.caps.feature[f]]) ** steps.caps.power[f]
            bounded = steps.of[s] == column
            if not bounded and rest == 0.0:
                continue  # the cap is 0 whatever the feature is
            exponent = 1.0 - power if bounded else power
            base = rest if bounded else np.float64(rows[i, steps.of[s]]) / rest
            if exponent == 0.0 or not base > 0.0 or not np.isfinite(base):
                continue
            met = base ** (1.0 / exponent)
            if np.isfinite(met) and met < 3e38:
                cuts[count] = np.float32(met) * (np.float32(1) - NEAR)
                cuts[count + 1] = np.float32(met) * (np.float32(1) + NEAR)
                count += 2
    return count


@compiled
def write_cuts(
    steps: Steps,
    last: int,
    rows: np.ndarray,
    unit: np.ndarray,
    size: int,
    column: int,
    marks: Marks,
    k: int,
    cuts: np.ndarray,
) -> int:
    """Write, ascending, where a piece begins: the marks of feature k, and where its rows cross caps; how many."""
    own = count = marks.first[k + 1] - marks.first[k]
    for m in range(own):
        cuts[m] = marks.values[marks.first[k] + m]
    for u in range(size if len(steps.caps.coefficient) > 0 else 0):
        count = add_crossings(steps, last, rows, unit[u], column, cuts, count)
    if count == own:
        return count
    cuts[count] = np.float32(0)  # a power is another one beyond it
    for i in range(own, count + 1):
        value, j = cuts[i], i
        while j > 0 and cuts[j - 1] > value:
            cuts[j] = cuts[j - 1]
            j -= 1
        cuts[j] = value
    return count + 1
