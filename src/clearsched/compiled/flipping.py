"""The smallest change of one feature that gives a decision another answer, where scores are straight lines in pieces.

Between two thresholds every score is a straight line in the feature, so that the values at which one row stays the best
lie together: if a decision flips within such a piece, it does so at the far end of it as well. `pieces.py` tells where
pieces begin, `walk.py` how they are gone through, `reach.py` how far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.asking import Held
from clearsched.compiled.jit import allocating, compiled, inlined
from clearsched.compiled.patches import place_of
from clearsched.compiled.pieces import write_cuts
from clearsched.compiled.reach import DECISION, GROUP, ROW, Marks, Spread, owners_at_hand, spread_of_rows
from clearsched.compiled.scoring import INVALID, NONE, Packed, write_scores
from clearsched.compiled.trees import BLOCK
from clearsched.compiled.walk import begun, ends_of, went_on

ANY = -3
"""In place of a wanted row: any other answer."""


class Found(NamedTuple):
    """A change after which another row is answered."""

    feature: int  # column; -1: there is no change
    row: int  # that is changed, with those that share the feature
    value: float  # that the feature becomes
    answer: int  # row, or NONE
    distance: float  # deviations of the feature


class Table(NamedTuple):
    """A decision whose rows are changed and scored again; `values` and `places` are those of `rows` as they are."""

    scorer: Packed
    rows: np.ndarray  # float32[n, F]
    values: np.ndarray  # float64[n]
    places: np.ndarray  # int64[n]: where patches put a row; below 0: after "none of these"
    none_allowed: bool
    one: np.ndarray  # float64[1 + BLOCK]: to work in


@inlined
def score_row(table: Table, i: int) -> None:
    """Score row i and write its value and place."""
    scorer, rows = table.scorer, table.rows
    write_scores(scorer, rows[i : i + 1], 1, table.one)
    table.values[i] = table.one[0]
    if scorer.patches > 0:
        first = len(scorer.steps.of) - scorer.patches
        table.places[i] = place_of(scorer.steps, first, scorer.above_zero, rows, i, table.one[0])
    else:
        table.places[i] = 0 if table.one[0] > 0.0 or not scorer.none else -1


@inlined
def answer_of(table: Table) -> int:
    """The row that is answered, NONE, or INVALID where a score is not finite."""
    values, places = table.values, table.places
    ranked = table.scorer.patches > 0
    best = 0
    for c in range(len(values)):
        if not np.isfinite(values[c]):
            return INVALID
        above = ranked and places[c] > places[best]
        level = not ranked or places[c] == places[best]
        if above or (level and values[c] > values[best]):
            best = c
    if table.none_allowed and table.scorer.none and places[best] < 0:
        return NONE
    return best


@inlined
def flips(answer: int, before: int, wanted: int) -> bool:
    """Whether an answer is the wanted one, or where any other is (ANY) another than before."""
    return answer not in (INVALID, before) and wanted in (ANY, answer)


@allocating
def best_rows(table: Table, most: int) -> np.ndarray:
    """int64: the rows that come first, not more than `most`, the first among equals, the best one first."""
    values, places, count = table.values, table.places, len(table.values)
    ranked, left = table.scorer.patches > 0, np.ones(count, np.bool_)
    best = np.empty(min(most, count), np.int64)
    for b in range(len(best)):
        first = -1
        for c in range(count):
            if not left[c]:
                continue
            above = first < 0 or (ranked and places[c] > places[first])
            level = not ranked or places[c] == places[first]
            if above or (level and values[c] > values[first]):
                first = c
        best[b], left[first] = first, False
    return best


@compiled
def is_known(among: np.ndarray, a: int, groups: np.ndarray, owner: int) -> bool:
    """Whether the rows that change with among[a] changed with an earlier one."""
    known = False
    for b in range(a if owner != ROW else 0):
        known |= owner == DECISION or groups[among[b]] == groups[among[a]]
    return known


@compiled
def write_unit(row: int, groups: np.ndarray, owner: int, unit: np.ndarray) -> int:
    """Write the rows that share a feature with a row, itself among them; how many they are."""
    size = 0
    for i in range(len(groups)):
        if i == row or owner == DECISION or (owner == GROUP and groups[i] == groups[row]):
            unit[size] = i
            size += 1
    return size


@allocating
def smallest(
    held: Held,
    given: np.ndarray,
    groups: np.ndarray,
    none_allowed: bool,
    marks: Marks,
    spread: Spread,
    most: int,
    wanted: int,
) -> Found:
    """The smallest change of one of the features of `marks` after which another row is answered.

    Args:
        held: the scorer of the rank choice; in the features it must be as `Scorer.is_piecewise` says.
        given: float32[n, F], finite, without "none of these".
        groups: int64[n].
        none_allowed: whether "none of these" may be answered.
        marks: the features that are changed.
        spread: how far they reach.
        most: so many rows are changed, the best ones, with those that share a feature with them.
        wanted: the row or NONE that is to be answered; ANY: whichever.
    """
    scorer, count = held.asked.rank, len(given)
    rows = np.empty((given.shape[1], count), np.float32).T
    rows[:] = given
    values, places, one = np.empty(count), np.zeros(count, np.int64), np.empty(1 + BLOCK)
    table = Table(scorer, rows, values, places, none_allowed, one)
    for i in range(count):
        score_row(table, i)
    before, among = answer_of(table), best_rows(table, most)
    found = Found(-1, 0, 0.0, 0, np.inf)
    steps = len(scorer.steps.of) - scorer.patches
    room = np.empty(len(marks.values) + 1 + 2 * count * len(scorer.steps.caps.coefficient), np.float32)
    unit, kept, kept_places = np.empty(count, np.int64), np.empty(count), np.empty(count, np.int64)
    for k in range(len(marks.columns) if before != INVALID else 0):
        column = marks.columns[k]
        if not spread.deviation[column] > 0.0:
            continue
        ends = ends_of(spread, column)
        for a in range(len(among)):
            if is_known(among, a, groups, spread.owner[column]):
                continue
            size = write_unit(among[a], groups, spread.owner[column], unit)
            cuts = room[: write_cuts(scorer.steps, steps, rows, unit, size, column, marks, k, room)]
            own = rows[unit[0], column]
            for u in range(size):
                kept[u], kept_places[u] = values[unit[u]], places[unit[u]]
            for up in (False, True):
                answer = before
                walk = begun(own, cuts, ends, up)
                while not np.isnan(walk.trial):
                    if abs(np.float64(walk.near) - np.float64(own)) >= found.distance * spread.deviation[column]:
                        break
                    for u in range(size):
                        rows[unit[u], column] = walk.trial
                        score_row(table, unit[u])
                    now = answer_of(table)
                    flipped = flips(now, before, wanted)
                    answer = now if flipped else answer
                    walk = went_on(walk, flipped, cuts, ends)
                distance = abs(np.float64(walk.far) - np.float64(own)) / spread.deviation[column]
                if np.isnan(walk.trial) and distance < found.distance:
                    found = Found(column, unit[0], np.float64(walk.far), answer, distance)
            for u in range(size):
                rows[unit[u], column] = own
                values[unit[u]], places[unit[u]] = kept[u], kept_places[u]
    return found


@allocating
def smallest_at_hand(
    held: Held,
    rows: np.ndarray,
    groups: np.ndarray,
    none_allowed: bool,
    marks: Marks,
    shared: np.ndarray,
    most: int,
) -> tuple[Found, int]:
    """`smallest` to any other answer within what the rows at hand tell (`spread_of_rows`); and whose the feature is."""
    spread = spread_of_rows(rows, groups, marks, shared)
    owner = owners_at_hand(rows, groups, marks, spread.owner)
    reach = Spread(spread.low, spread.high, spread.deviation, spread.whole, owner)
    found = smallest(held, rows, groups, none_allowed, marks, reach, most, ANY)
    return found, owner[max(found.feature, 0)]
