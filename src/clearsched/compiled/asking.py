"""One decision asked for from outside a simulator: who is chosen, who comes next, which piece spoke, which level.

What answers is what a problem's loop calls (`best_candidate`, `write_levels`). All of it is one call, and the hundred
arrays of the scorers are handed over once (`hold`): that takes ten times as long as scoring a few candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.experimental import structref

from clearsched.compiled.jit import allocating, compiled
from clearsched.compiled.patches import place_of
from clearsched.compiled.scoring import NONE, Packed, best_candidate, write_levels, write_scores
from clearsched.compiled.trees import BLOCK

NOBODY = -3
"""In place of a runner-up: there was one answer only."""


RANK, LEVEL = 0, 2
"""Of `scores_held`: the scorer of a choice."""

PIECES = 1
"""Added to it: what tells the piece that speaks."""


class Asked(NamedTuple):
    """What answers the two choices of a problem."""

    rank: Packed
    rank_pieces: Packed  # its score of a row is the number of the piece that speaks for it (`Scorer.numbered`)
    level: Packed
    level_pieces: Packed


class Answer(NamedTuple):
    """What came of a decision. What there is none of is 0."""

    best: int  # row, NONE, or INVALID
    second: int  # row, NONE or NOBODY
    score: float  # of the best row
    second_score: float
    piece: float  # that speaks for the best row
    second_piece: float
    share: float  # of the most, for the best row
    level_piece: float


@structref.register
class HeldType(types.StructRef):
    """The type of `Held` in compiled code."""

    def preprocess_fields(self, fields: Sequence[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
        """The types of the fields, without the values that literals have."""
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class Held(structref.StructRefProxy):
    """What `hold` gives: an `Asked` that compiled code has already."""

    asked: Asked


structref.define_boxing(HeldType, Held)
structref.define_constructor(Held, HeldType, ["asked"])


@allocating
def hold(asked: Asked) -> Held:
    """Hand the arrays of scorers over, for any number of calls."""
    return Held(asked)


@compiled
def runner_up(scorer: Packed, rows: np.ndarray, count: int, values: np.ndarray, best: int, none_allowed: bool) -> int:
    """Who would be chosen if `best` were no answer: a row, NONE or NOBODY; `values` as `best_candidate` leaves them."""
    first = len(scorer.steps.of) - scorer.patches
    second, top = NOBODY, 0
    for c in range(count):
        if c == best:
            continue
        place = 0 if values[c] > 0.0 else -1
        if scorer.patches > 0:
            place = place_of(scorer.steps, first, scorer.above_zero, rows, c, values[c])
        if second == NOBODY or place > top or (place == top and values[c] > values[second]):
            second, top = c, place
    if best != NONE and none_allowed and scorer.none and (second == NOBODY or top < 0):
        return NONE
    return second


@allocating
def ask(held: Held, given: np.ndarray, columns: np.ndarray, width: int, none_allowed: bool) -> Answer:
    """Answer one decision.

    Args:
        held: what `hold` gives, of scorers whose rows have `width` features.
        given: float64[n, k], n at least 1: some features of each candidate, finite as float32; the others are 0.
        columns: int64[k]: the place of each of them among all features.
        width: number of all features.
        none_allowed: whether "none of these" may be answered now.
    """
    asked, count = held.asked, len(given)
    rows = np.zeros((width, count), np.float32).T
    for i in range(count):
        for k in range(len(columns)):
            rows[i, columns[k]] = given[i, k]
    values, one = np.empty(count + BLOCK), np.empty(1 + BLOCK)
    best = best_candidate(asked.rank, rows, count, values, none_allowed)
    second = NOBODY
    score = second_score = piece = second_piece = share = level_piece = 0.0
    if best >= NONE:
        second = runner_up(asked.rank, rows, count, values, best, none_allowed)
    if best >= 0:
        row = rows[best : best + 1]
        write_scores(asked.rank_pieces, row, 1, one)
        score, piece = values[best], one[0]
        write_levels(asked.level, row, 1, one)
        share = one[0]
        write_scores(asked.level_pieces, row, 1, one)
        level_piece = one[0]
    if second >= 0:
        write_scores(asked.rank_pieces, rows[second : second + 1], 1, one)
        second_score, second_piece = values[second], one[0]
    return Answer(best, second, score, second_score, piece, second_piece, share, level_piece)


@allocating
def scores_held(held: Held, which: int, given: np.ndarray) -> np.ndarray:
    """float64[n]: the scores of rows float32[n, F] by one of the scorers: RANK or LEVEL, or PIECES more."""
    asked, count = held.asked, len(given)
    rows = np.empty((given.shape[1], count), np.float32).T
    rows[:] = given
    values = np.empty(count + BLOCK)
    if which == RANK:
        write_scores(asked.rank, rows, count, values)
    elif which == RANK + PIECES:
        write_scores(asked.rank_pieces, rows, count, values)
    elif which == LEVEL:
        write_scores(asked.level, rows, count, values)
    else:
        write_scores(asked.level_pieces, rows, count, values)
    return values[:count]
