"""What a column of a feature matrix is: a name, a unit, a meaning, a formula. No numba: lists of features are data."""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """A named column of the feature matrix."""

    name: str
    unit: str
    meaning: str
    formula: str = ""  # Python, in the names of the quantities; computed in float64 and stored as float32
    monotone: int = 0  # +1: more of it, all else equal, makes a candidate the better choice; -1: less of it; 0: either
    per_decision: bool = False  # all candidates of a decision share it: it can't tell one from another
