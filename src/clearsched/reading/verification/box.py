"""The box of what features can be, and regions of it: where a rule applies, exactly, whole numbers counted as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.scorers.conditions import Condition

MOST_CELLS = 20_000
"""Regions into which the rules of a list may fall apart before it is given up."""


@dataclass(frozen=True)
class Box:
    """What the features of a choice can be, each an array [F].

    Attributes:
        low, high: float64, both possible; infinite where nothing is known.
        whole: bool, whole numbers only.
        usual: float64, a value to be told where any would do.
    """

    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray
    usual: np.ndarray

    def begin(self, feature: int, value: float) -> float:
        """The least possible value from `value` on."""
        return float(np.ceil(value)) if self.whole[feature] else float(np.float32(value))

    def before(self, feature: int, value: float) -> float:
        """The greatest possible value below `value`, which is one itself or a limit."""
        return value - 1.0 if self.whole[feature] else float(np.nextafter(np.float32(value), np.float32(-np.inf)))

    def after(self, feature: int, value: float) -> float:
        """The least possible value above `value`."""
        return value + 1.0 if self.whole[feature] else float(np.nextafter(np.float32(value), np.float32(np.inf)))


class Region(NamedTuple):
    """Rows with low <= value < high in every feature; float64[F] each, never empty."""

    low: np.ndarray
    high: np.ndarray


class TooManyCells(Exception):
    """The regions of a list are too many to look at each."""


def box_of(choices: Choices) -> Box:
    """The least and the most of each feature in a log; rows of none have none."""
    rows = choices.features[~choices.is_none].astype(np.float64)
    whole = np.all(rows == np.floor(rows), axis=0)
    usual = np.median(rows, axis=0)
    return Box(rows.min(axis=0), rows.max(axis=0), whole, np.where(whole, np.round(usual), usual))


def reordered(box: Box, names: Sequence[str], wanted: Sequence[str]) -> Box:
    """The box of the features `wanted`, each one of `names`, by which a box counts."""
    places = [list(names).index(name) for name in wanted]
    return Box(box.low[places], box.high[places], box.whole[places], box.usual[places])


def unbounded(count: int) -> Box:
    """Of `count` features of which nothing is known."""
    return Box(np.full(count, -np.inf), np.full(count, np.inf), np.zeros(count, bool), np.zeros(count))


def whole_region(box: Box) -> Region:
    """All of the box."""
    high = [np.inf if np.isinf(high) else box.after(f, high) for f, high in enumerate(box.high.tolist())]
    return Region(box.low.copy(), np.array(high))


def within(region: Region, conditions: Sequence[Condition], box: Box) -> Region | None:
    """The part of a region that meets all conditions; None where that is nothing."""
    low, high = region.low.copy(), region.high.copy()
    for condition in conditions:
        mark = box.begin(condition.feature, condition.threshold)
        if condition.below:
            high[condition.feature] = min(high[condition.feature], mark)
        else:
            low[condition.feature] = max(low[condition.feature], mark)
    return Region(low, high) if np.all(low < high) else None


def minus(region: Region, other: Region) -> Iterator[Region]:
    """The part of a region that lies outside another one, as regions that do not overlap."""
    low, high = np.maximum(region.low, other.low), np.minimum(region.high, other.high)
    if not np.all(low < high):
        yield region
        return
    rest_low, rest_high = region.low.copy(), region.high.copy()
    for feature in np.flatnonzero((low > region.low) | (high < region.high)).tolist():
        for part in (slice(rest_low[feature], low[feature]), slice(high[feature], rest_high[feature])):
            if part.start < part.stop:
                own_low, own_high = rest_low.copy(), rest_high.copy()
                own_low[feature], own_high[feature] = part.start, part.stop
                yield Region(own_low, own_high)
        rest_low[feature], rest_high[feature] = low[feature], high[feature]


def cells(rules: Sequence[Sequence[Condition]], box: Box, start: Region | None = None) -> list[list[Region]]:
    """Where each rule is the first that fits, as regions that do not overlap; none of them where it never is.

    Args:
        rules: the conditions of each.
        box: of the features by which they count.
        start: what is looked at; all of the box unless told.

    Raises:
        TooManyCells: there are more than `MOST_CELLS`.
    """
    left, found = [start or whole_region(box)], []
    for conditions in rules:
        fits = [part for region in left if (part := within(region, conditions, box)) is not None]
        found.append(fits)
        if fits:
            everywhere = Region(np.full(len(box.low), -np.inf), np.full(len(box.low), np.inf))
            own = within(everywhere, conditions, box)
            left = [rest for region in left for rest in minus(region, own)] if own is not None else left
        if sum(map(len, found)) + len(left) > MOST_CELLS:
            raise TooManyCells
    return found


def a_row(region: Region, box: Box) -> np.ndarray:
    """float32[F]: a row of a region, as usual as it may be."""
    high = np.array([box.before(f, high) if np.isfinite(high) else high for f, high in enumerate(region.high.tolist())])
    row: np.ndarray = np.clip(box.usual, region.low, high).astype(np.float32)
    return row
