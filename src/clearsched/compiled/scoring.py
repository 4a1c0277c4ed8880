"""Choosing by score: what answers one choice inside the loop, and the best of the candidates.

The score of a candidate is a formula plus a sum of trees plus the least of some cap terms plus the first step that fits
plus a small network; most scorers have one of the five, and what one lacks adds nothing. "None of these" has the score
0 by definition, so that a policy which never idles scores all candidates above 0. Trees may ask for two candidates at a
time (`pairs`). Patches (`patches`) come on top.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.cap_terms import NO_CAP_TERMS, CapTerms, add_cap_terms
from clearsched.compiled.formulae import NO_FORMULA, Formula, write_formula
from clearsched.compiled.jit import allocating, compiled, inlined
from clearsched.compiled.pairs import add_pairs
from clearsched.compiled.patches import lower_levels, place_of
from clearsched.compiled.perceptron import NO_NETWORK, Network, add_network
from clearsched.compiled.steps import (
    MANY,
    NO_COLUMN,
    NO_STEPS,
    Steps,
    add_steps,
    are_plain,
    joined,
    write_plain_steps,
)
from clearsched.compiled.trees import BLOCK, LEAF, NO_TREES, Trees, add_scores
from clearsched.errors import ClearschedError

NONE = -1
"""The answer "none of these"."""

INVALID = -2
"""In place of an answer: a feature or a score is not a finite number."""


ROWS = 4 * BLOCK
"""Rows that are scored at a time outside the loop."""


class Packed(NamedTuple):
    """A scorer as flat arrays."""

    formula: Formula = NO_FORMULA
    trees: Trees = NO_TREES
    caps: CapTerms = NO_CAP_TERMS
    none: bool = False  # whether "none of these" is an answer: it has the score 0
    steps: Steps = NO_STEPS
    network: Network = NO_NETWORK
    up: bool = False  # whether a level is rounded up: what is below a cap may take one more
    patches: int = 0  # so many of the steps, the last ones, are patches
    above_zero: bool = False  # under patches, whether the scores themselves are held against "none of these"
    pairs: int = 0  # so many of the trees, the first ones, ask for two candidates; the others then tell none apart
    opponents: int = 0  # others that a candidate is held against, at most, where trees ask for two


NOTHING = Packed()


def columns_read(scorer: Packed, width: int) -> np.ndarray:
    """bool[width]: which columns of rows of this width a scorer reads, its patches too."""
    trees, steps = scorer.trees.feature, scorer.steps
    asked = [scorer.formula.feature, scorer.caps.feature, scorer.network.feature]
    asked += [steps.feature, steps.of[steps.of != NO_COLUMN], steps.caps.feature, steps.column]
    asked.append(trees[trees != LEAF] % width)  # those of pairs say of whom
    flags = np.zeros(width, np.bool_)
    flags[np.concatenate(asked)] = True
    return flags


@inlined
def write_scores(scorer: Packed, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Write the scores of the first `count` rows to `values`; the next trees.BLOCK - 1 values may change too.

    Patches are no part of them.
    """
    write_formula(scorer.formula, rows, count, values)
    if scorer.pairs > 0:
        add_pairs(scorer.trees, scorer.pairs, scorer.opponents, rows, count, values)
    elif len(scorer.trees.root) > 0:
        add_scores(scorer.trees, rows, count, values)
    if len(scorer.caps.coefficient) > 0:
        add_cap_terms(scorer.caps, rows, count, values)
    steps = len(scorer.steps.of) - scorer.patches
    if steps > 0:
        if count >= MANY and is_alone(scorer) and are_plain(scorer.steps, steps):
            write_plain_steps(scorer.steps, rows, count, values, steps)
        else:
            add_steps(scorer.steps, rows, count, values, steps)
    if len(scorer.network.feature) > 0:
        add_network(scorer.network, rows, count, values)


@inlined
def is_alone(scorer: Packed) -> bool:
    """Whether nothing adds to its steps; trees do where whole points have ties."""
    terms = len(scorer.formula.feature) + len(scorer.trees.root) + len(scorer.caps.coefficient)
    return terms == 0 and scorer.formula.constant == 0.0


@inlined
def write_levels(scorer: Packed, rows: np.ndarray, count: int, values: np.ndarray) -> None:
    """Like `write_scores`, of a level choice: the shares of the most, as patches bound them."""
    write_scores(scorer, rows, count, values)
    if scorer.patches > 0:
        lower_levels(scorer.steps, len(scorer.steps.of) - scorer.patches, rows, count, values)


@inlined
def best_candidate(scorer: Packed, rows: np.ndarray, count: int, values: np.ndarray, none_allowed: bool) -> int:
    """The first of the `count` rows with the highest score; NONE if none is allowed and no score is above 0; INVALID.

    Args:
        scorer: of a rank choice.
        rows: float32[n, F], finite.
        count: candidates, at least 1.
        values: float64[at least count + trees.BLOCK], written: the scores.
        none_allowed: whether the simulator takes "none of these" for an answer now.
    """
    write_scores(scorer, rows, count, values)
    if scorer.patches > 0:
        first = len(scorer.steps.of) - scorer.patches
        best, place = best_patched(scorer.steps, first, scorer.above_zero, rows, count, values)
        return NONE if none_allowed and scorer.none and best >= 0 and place < 0 else best
    best = 0
    for c in range(count):
        if not np.isfinite(values[c]):
            return INVALID
        if values[c] > values[best]:
            best = c
    if none_allowed and scorer.none and not values[best] > 0.0:
        return NONE
    return best


@compiled
def best_patched(
    steps: Steps, first: int, above_zero: bool, rows: np.ndarray, count: int, values: np.ndarray
) -> tuple[int, int]:
    """The first of the `count` rows, whose scores are `values`, that the patches put first, or INVALID; its place."""
    best = top = 0
    for c in range(count):
        if not np.isfinite(values[c]):
            return INVALID, 0
        place = place_of(steps, first, above_zero, rows, c, values[c])
        if c == 0 or place > top or (place == top and values[c] > values[best]):
            best, top = c, place
    return best, top


def with_patches(scorer: Packed, patches: Steps) -> Packed:
    """A scorer with patches on top (`patches.pack_patches`); `none` tells whether it is an answer of the scores."""
    if not len(patches.of):
        return scorer
    return scorer._replace(steps=joined(scorer.steps, patches), patches=len(patches.of), above_zero=scorer.none)


def scores_of(scorer: Packed, features: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
    """float64[n]: the scores of float32[n, F], outside the loop, to the bit as inside it; patches are no part.

    `starts`: int64[d + 1], the first row of each decision, for trees that ask for two candidates; None: all are of one.
    """
    if scorer.pairs == 0:
        starts = np.append(np.arange(0, len(features), ROWS), len(features))
    elif starts is None:
        starts = np.array([0, len(features)])
    answer: np.ndarray = _scores(scorer, np.ascontiguousarray(features, np.float32), starts.astype(np.int64))
    return answer


def choose(scorer: Packed, features: np.ndarray, none_allowed: bool) -> int:
    """`best_candidate` of float32[n, F], for a simulator outside the loop: patches hold.

    Raises:
        ClearschedError: a score is not a finite number.
    """
    rows = np.empty(features.shape[::-1], np.float32).T
    rows[:] = features
    best = int(best_candidate(scorer, rows, len(rows), np.empty(len(rows) + BLOCK), none_allowed))
    if best == INVALID:
        raise ClearschedError("the score of a candidate is not a finite number: the weights are too large")
    return best


def levels_of(scorer: Packed, features: np.ndarray) -> np.ndarray:
    """float64[n]: the shares of the most of float32[n, F], outside the loop: caps of patches hold."""
    levels, rows = scores_of(scorer, features), np.ascontiguousarray(features, np.float32)
    lower_levels(scorer.steps, len(scorer.steps.of) - scorer.patches, rows, len(rows), levels)
    return levels


@allocating
def _scores(scorer: Packed, rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """`scores_of`, the rows between two `starts` at a time, each column of them contiguous: what trees are fast for."""
    answer, size = np.empty(len(rows)), 1
    for d in range(len(starts) - 1):
        size = max(size, starts[d + 1] - starts[d])
    block, values = np.empty((rows.shape[1], size), np.float32).T, np.empty(size + BLOCK)
    for d in range(len(starts) - 1):
        first, count = starts[d], starts[d + 1] - starts[d]
        block[:count] = rows[first : first + count]
        write_scores(scorer, block, count, values)
        answer[first : first + count] = values[:count]
    return answer
