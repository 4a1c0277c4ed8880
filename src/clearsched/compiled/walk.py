"""A search from a value outwards for the nearest one that flips an answer, where pieces are cut at known places.

Two ends are asked of each piece between cuts; the one whose ends differ is halved to the last digit of a float32. A
search is a value that says what it asks next, so that whoever asks keeps the loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.jit import compiled
from clearsched.compiled.reach import Spread

HALVINGS = 60
"""Of a piece, at most; between numbers of one size 24 lead to neighbours."""


class Walk(NamedTuple):
    """Where a search stands that goes from a value outwards, and which value it asks for next."""

    up: bool
    place: int  # of the cut whose sides are asked for
    side: int  # 0: the side that is nearer, 1: the other
    near: np.float32  # the furthest value that is known not to flip the answer
    far: np.float32  # the nearest one that is known to flip it; NaN: none yet
    trial: np.float32  # asked for now; NaN: the search is over
    left: int  # halvings


class Ends(NamedTuple):
    """Between which values a feature is changed."""

    low: np.float32
    high: np.float32
    whole: bool  # to whole numbers only


@compiled
def ends_of(spread: Spread, column: int) -> Ends:
    """The least and the most float32, or whole number, within reach."""
    low, high, whole = np.float32(spread.low[column]), np.float32(spread.high[column]), spread.whole[column]
    if low < spread.low[column]:
        low = np.nextafter(low, np.float32(np.inf))
    if high > spread.high[column]:
        high = np.nextafter(high, np.float32(-np.inf))
    if whole:
        low, high = np.float32(np.ceil(low)), np.float32(np.floor(high))
    return Ends(low, high, whole)


@compiled
def begun(own: np.float32, cuts: np.ndarray, ends: Ends, up: bool) -> Walk:
    """A search from a value outwards; a value beyond the ends is first brought to the nearest of them."""
    beyond, near = own < ends.low if up else own > ends.high, own
    if beyond:
        near = np.nextafter(ends.low, np.float32(-np.inf)) if up else np.nextafter(ends.high, np.float32(np.inf))
    place = int(np.searchsorted(cuts, near, "right"))
    walk = Walk(up, place if up else place - 1, 0, near, np.float32(np.nan), np.float32(np.nan), HALVINGS)
    if beyond:
        return Walk(up, walk.place, 0, near, walk.far, ends.low if up else ends.high, HALVINGS)
    return outwards(walk, cuts, ends)


@compiled
def outwards(walk: Walk, cuts: np.ndarray, ends: Ends) -> Walk:
    """The search with the next end of a piece as its trial."""
    up, place, side, trial = walk.up, walk.place, walk.side, np.float32(np.nan)
    while np.isnan(trial):
        is_last = place >= len(cuts) if up else place < 0
        if is_last:
            end = ends.high if up else ends.low
        else:
            end = cuts[place]
            if ends.whole:
                end = np.float32(np.ceil(end))  # the first of the piece that begins there
            if (side == 0) == up:
                end = end - np.float32(1) if ends.whole else np.nextafter(end, np.float32(-np.inf))
        end = min(max(end, ends.low), ends.high)
        if end > walk.near if up else end < walk.near:
            trial = end
        elif is_last:
            break
        if side == 1:
            place += 1 if up else -1
        side = 1 - side
    return Walk(up, place, side, walk.near, walk.far, trial, walk.left)


@compiled
def went_on(walk: Walk, flipped: bool, cuts: np.ndarray, ends: Ends) -> Walk:
    """The search after its trial was asked."""
    up, place, side, near, far, trial, left = walk
    if flipped:
        far = trial
    else:
        near = trial
    if np.isnan(far):
        return outwards(Walk(up, place, side, near, far, trial, left), cuts, ends)
    middle = np.float32((np.float64(near) + np.float64(far)) / 2)
    if ends.whole:
        middle = np.float32(np.floor(middle) if up else np.ceil(middle))
    between = near < middle < far if up else far < middle < near
    over = left == 0 or not between
    return Walk(up, place, side, near, far, np.float32(np.nan) if over else middle, left - 1)
