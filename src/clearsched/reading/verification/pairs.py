"""Two rows that differ in one feature, as a counterexample, and giving up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.reading.verification.box import Box, Region, a_row, whole_region


class Found(NamedTuple):
    """Two rows, and the columns of the other features whose values matter."""

    rows: np.ndarray
    held: tuple[int, ...]


class Undecided(Exception):
    """Too many combinations to look at each."""


def pair(region: Region, box: Box, feature: int, low: float, high: float) -> Found:
    """Two rows of a region of the other features."""
    rows = np.tile(a_row(region, box), (2, 1))
    rows[:, feature] = low, high
    start = whole_region(box)
    narrower = (region.low > start.low) | (region.high < start.high)
    return Found(rows, tuple(f for f in np.flatnonzero(narrower).tolist() if f != feature))
