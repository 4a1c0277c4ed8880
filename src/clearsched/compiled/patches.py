"""Patches inside the loop: which candidates come first or last, which are not worth it, and how high a level may be.

A patch is some conditions on a row of features and what follows for a row that meets them. Patches that order
candidates are asked in turn: whom an earlier one puts first is first, whatever a later one says, and the score decides
among those of whom all patches say the same. So a patch moves candidates, and never makes one.

Patches lie behind the steps of a scorer, in the same arrays: arrays of their own would be handed on at every call,
which took 30 % of the loop's time, for policies without patches too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.compiled.cap_terms import NO_CAP_TERMS
from clearsched.compiled.jit import allocating, compiled
from clearsched.compiled.steps import Steps, conditions_hold, pack_steps

FIRST, LAST, IDLE, CAP = range(4)
"""What follows for a row that meets the conditions: it comes before the others, after them, after "none of these" too;
its level is bounded. It stands where a step has the column that its cap bounds; the bound is the step's value."""

MOST = 32
"""Patches that may order the candidates: a place is a whole number with a bit for each of them."""


def pack_patches(patches: Sequence[tuple[Sequence[tuple[int, bool, float]], int, float]]) -> Steps:
    """Pack patches whose features are columns already, the first that counts first.

    Args:
        patches: conditions (column, below, threshold), action, and of CAP the share of the most; of a rank choice no
            CAP, of a level choice CAP only.
    """
    return pack_steps(
        [
            {"conditions": conditions, "of": action, "terms": 0, "value": cap, "plus": []}
            for conditions, action, cap in patches
        ],
        NO_CAP_TERMS,
    )


@compiled
def place_of(steps: Steps, first: int, above_zero: bool, rows: np.ndarray, i: int, score: float) -> int:
    """Where row i of float32[n, F] stands: the higher comes first; below 0: "none of these" comes before it.

    Args:
        steps: whose entries from `first` on are patches.
        first: number of the first patch.
        above_zero: whether the policy itself takes "none of these" over a score that is not above 0.
        rows: of the candidates.
        i: the row.
        score: of the row.
    """
    place, wanted = 0, not above_zero or score > 0.0
    for p in range(first, len(steps.of)):
        met = conditions_hold(steps, p, rows, i)
        place *= 2
        if met == (steps.of[p] == FIRST):
            place += 1
        if met and steps.of[p] == IDLE:
            wanted = False
    return place if wanted else place - 2 ** (len(steps.of) - first)


@compiled
def lower_levels(steps: Steps, first: int, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Bound the shares of the first `count` rows by the caps of all patches, from `first` on, that each meets."""
    for i in range(count):
        for p in range(first, len(steps.of)):
            if conditions_hold(steps, p, rows, i):
                values[i] = min(values[i], steps.value[p])


def patched(patches: Steps, above_zero: bool, features: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """float64[n]: what scores become outside the loop; without patches they are given back.

    Of a rank choice whole numbers in the order of the loop, those of candidates to which "none of these" is preferred
    below 0, the others above; of a level the bounded shares.

    Args:
        patches: of the choice, as `pack_patches` gives them.
        above_zero: see `place_of`.
        features: float32[n, F].
        scores: float64[n], of each row.
    """
    if not len(patches.of):
        return scores
    rows = np.ascontiguousarray(features, np.float32)
    if patches.of[0] == CAP:
        levels = np.array(scores, np.float64)
        lower_levels(patches, 0, rows, len(rows), levels)
        return levels
    places = _places(patches, above_zero, rows, np.asarray(scores, np.float64))
    keys, number = np.unique(np.stack([places.astype(np.float64), scores]), axis=1, return_inverse=True)
    order = number.ravel() - int((keys[0] < 0).sum())
    return np.where(np.isfinite(scores), order + (places >= 0), scores)


@allocating
def _places(patches: Steps, above_zero: bool, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """int64[n]: `place_of` each row."""
    places = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        places[i] = place_of(patches, 0, above_zero, rows, i, scores[i])
    return places
