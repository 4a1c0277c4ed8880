"""How far a feature may be changed, and for which rows at once: what the smallest change is asked within."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.jit import allocating

ROW, GROUP, DECISION = range(3)
"""Whose a feature is: it is changed for a row, for all rows of its group, for all of the decision."""

REACHED = float(np.finfo(np.float32).max)


class Marks(NamedTuple):
    """Thresholds of k features, ascending for each: those of feature i from first[i] to before first[i + 1]."""

    columns: np.ndarray  # int64[k]
    first: np.ndarray  # int64[k + 1]
    values: np.ndarray  # float32


class Spread(NamedTuple):
    """How far features reach, arrays [F]; a feature with the deviation 0 is not changed."""

    low: np.ndarray  # float64
    high: np.ndarray  # float64
    deviation: np.ndarray  # float64
    whole: np.ndarray  # bool: it takes whole numbers only
    owner: np.ndarray  # int64: ROW, GROUP or DECISION


@allocating
def spread_of_rows(rows: np.ndarray, groups: np.ndarray, marks: Marks, shared: np.ndarray) -> Spread:
    """How far features reach, from nothing but the rows at hand and what the rules compare them with.

    A feature reaches from half of its least value to twice its most, and at least to 1; where rules compare it with a
    number, to 0 and to twice that besides. It is whole where the rows' values are. Its deviation is theirs; where they
    are alike, their size.

    Args:
        rows: float32[n, F].
        groups: int64[n].
        marks: of the features that are asked for; of the others nothing is told.
        shared: bool[F]: the feature belongs to the decision.
    """
    width, told = rows.shape[1], len(np.unique(groups)) < len(groups)
    low, high, deviation = np.zeros(width), np.zeros(width), np.zeros(width)
    whole, owner = np.zeros(width, np.bool_), np.zeros(width, np.int64)
    for k in range(len(marks.columns)):
        column = marks.columns[k]
        values = rows[:, column].astype(np.float64)
        size, least = np.max(np.abs(values)), np.min(values)
        low[column], high[column] = least / 2 if least > 0.0 else 2 * least, max(2 * size, 1.0)
        for m in range(marks.first[k], marks.first[k + 1]):
            mark = np.float64(marks.values[m])
            low[column], high[column] = min(low[column], mark - abs(mark)), max(high[column], 2 * mark)
        low[column], high[column] = max(low[column], -REACHED), min(high[column], REACHED)
        deviation[column] = np.std(values)
        if not deviation[column] > 0.0:
            deviation[column] = size if size > 0.0 else 1.0
        whole[column] = np.all(values == np.floor(values))
        owner[column] = DECISION if shared[column] else GROUP if told else ROW
    return Spread(low, high, deviation, whole, owner)


@allocating
def owners_at_hand(rows: np.ndarray, groups: np.ndarray, marks: Marks, owner: np.ndarray) -> np.ndarray:
    """int64[F]: whose features are, where what the rows at hand do not share is each one's own."""
    found = owner.copy()
    for k in range(len(marks.columns)):
        column = marks.columns[k]
        for i in range(len(rows)):
            for j in range(i):
                together = owner[column] == DECISION or (owner[column] == GROUP and groups[i] == groups[j])
                if together and rows[i, column] != rows[j, column]:
                    found[column] = ROW
    return found
