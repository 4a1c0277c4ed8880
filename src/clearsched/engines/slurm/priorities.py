"""An order of array jobs as Slurm's priorities, with as few changes as can be: each change is a command."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

LOWEST, HIGHEST = 1_000_000_000, 4_000_000_000
"""Of what is managed: above what Slurm gives by itself, below 2^32 - 2. What was just submitted waits for its rank."""

STEP = 1_000_000
"""Between neighbours that are numbered anew."""


def numbered(order: Sequence[int], known: Mapping[int, int]) -> dict[int, int]:
    """A priority for each array of `order`, the best first.

    The most that can keep the number that they have (`known`) keep it; the others get one in the gaps; where a gap is
    too narrow, all are numbered anew.
    """
    kept = _longest_falling([(array, known[array]) for array in order if LOWEST <= known.get(array, 0) <= HIGHEST])
    found: dict[int, int] = {}
    place = 0
    while place < len(order):
        if order[place] in kept:
            found[order[place]] = known[order[place]]
            place += 1
            continue
        last = next((each for each in range(place, len(order)) if order[each] in kept), len(order))
        above = found[order[place - 1]] if place else None
        below = known[order[last]] if last < len(order) else None
        numbers = _between(above, below, last - place)
        if numbers is None:
            return dict(zip(order, _between(None, None, len(order)) or [], strict=True))
        found |= dict(zip(order[place:last], numbers, strict=True))
        place = last
    return found


def _between(above: int | None, below: int | None, count: int) -> list[int] | None:
    """So many falling numbers between two, or None where they do not fit."""
    if above is None and below is None:
        middle = (LOWEST + HIGHEST) // 2
        step = min(STEP, (HIGHEST - LOWEST) // (count + 1))
        return [middle + step * (count // 2 - place) for place in range(count)]
    high = above if above is not None else min(below + STEP * (count + 1), HIGHEST)  # type: ignore[operator]
    low = below if below is not None else max(above - STEP * (count + 1), LOWEST)  # type: ignore[operator]
    step = (high - low) // (count + 1)
    return [high - step * (place + 1) for place in range(count)] if step > 0 else None


def _longest_falling(pairs: Sequence[tuple[int, int]]) -> set[int]:
    """The arrays of a longest strictly falling subsequence (M. L. Fredman, Discrete Mathematics 11, 1975)."""
    tops: list[int] = []  # the least number, negated, at which a subsequence of each length ends
    ends: list[int] = []  # its place
    before: list[int] = []
    for place, (_, number) in enumerate(pairs):
        length = bisect_left(tops, -number)
        before.append(ends[length - 1] if length else -1)
        tops[length:] = [-number, *tops[length + 1 :]]
        ends[length:] = [place, *ends[length + 1 :]]
    kept, place = set(), ends[-1] if ends else -1
    while place >= 0:
        kept.add(pairs[place][0])
        place = before[place]
    return kept
