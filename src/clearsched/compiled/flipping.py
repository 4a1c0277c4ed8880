"""The smallest change of one feature that gives a decision another answer, where scores are straight lines in pieces.

Between two thresholds every score is a straight line in the feature, so that the values at which one row stays the best
lie together: if a decision flips within such a piece, it does so at the far end of it as well. So two ends are asked of
each piece, from the row's own value outwards, and the one piece whose ends differ is halved to the last digit of a
float32. Where a cap is crossed depends on the row and is solved for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.asking import Held
from clearsched.compiled.jit import allocating, compiled, inlined
from clearsched.compiled.patches import place_of
from clearsched.compiled.scoring import INVALID, NONE, Packed, write_scores
from clearsched.compiled.steps import NO_COLUMN, Steps
from clearsched.compiled.trees import BLOCK

ROW, GROUP, DECISION = range(3)
"""Whose a feature is: it is changed for a row, for all rows of its group, for all of the decision."""

ANY = -3
"""In place of a wanted row: any other answer."""

HALVINGS = 60
"""Of a piece, at most; between numbers of one size 24 lead to neighbours."""

NEAR = np.float32(1e-6)
"""Share of a solved value by which it may be off: both sides of it are looked at."""


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


REACHED = float(np.finfo(np.float32).max)


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
