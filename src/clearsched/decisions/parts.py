"""Decisions split as people think of them: none of these or not, keep or change, which group, which one of it.

Each part is asked with the expert's answers to the parts before it given, so that one mistake counts once. A part's
*alternatives* are sets of rows: all candidates of a job are one answer to "which job".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice

WHOLE = "whole"
"""The decision as it is asked: every row is an alternative."""

PARTS = ("none", "keep", "group", "one")
"""The parts of a rank choice, in the order in which they are asked."""

BINARY = ("none", "keep")
"""Parts of two answers."""


class Part(NamedTuple):
    """A part of d decisions, those of them in which it has two alternatives or more; a alternatives, n rows.

    Attributes:
        name: `WHOLE`, or one of `PARTS`.
        of: int64[n]: the alternative of each row; -1 where the row is none.
        starts: int64[d + 1]: decision i has the alternatives starts[i] to starts[i + 1].
        chosen: int64[d]: the expert's alternative.
        decision: int64[d]: the position of each decision among all.
        trivial: how many decisions pose the part and have one alternative.
    """

    name: str
    of: np.ndarray
    starts: np.ndarray
    chosen: np.ndarray
    decision: np.ndarray
    trivial: int


def whole(choices: Choices, keep: np.ndarray) -> Part:
    """The decisions that bool[d] `keep` marks as they are asked; those of one row are the trivial ones."""
    return _part(WHOLE, choices, keep[choices.owner], np.arange(len(choices.features)))


def parts(rank: Choice, choices: Choices) -> Iterator[Part]:
    """Each part that the rank choice of a problem has, as `PARTS` has them in order."""
    none, kind = choices.is_none, _kinds(rank, choices)
    some = ~none[choices.chosen]  # bool[d]: the expert did not answer none
    if none.any():
        yield _part("none", choices, np.ones(len(none), bool), none.astype(np.int64))
    if rank.keeps:
        yield _part("keep", choices, ~none & some[choices.owner], kind)
    alike = ~none & some[choices.owner] & (kind == kind[choices.chosen][choices.owner])
    if rank.group:
        yield _part("group", choices, alike, choices.group)
        alike &= choices.group == choices.group[choices.chosen][choices.owner]
    yield _part("one", choices, alike, np.arange(len(none)))


def question(part: str, rank: Choice) -> str:
    """A part in words: "which job"."""
    if part == "none":
        return "none or not"
    if part == "keep":
        return f"{rank.kept.partition(':')[0] or 'kept'} or not"
    if part == "group":
        return f"which {rank.group}"
    return f"which {rank.name} of it" if rank.group else "which one"


def _kinds(rank: Choice, choices: Choices) -> np.ndarray:
    """int64[n]: 1 for the rows that change nothing, 0 for the others."""
    if not rank.keeps:
        return np.zeros(len(choices.features), np.int64)
    column = [feature.name for feature in rank.features].index(rank.keeps)
    return (choices.features[:, column] > 0).astype(np.int64)


def _part(name: str, choices: Choices, rows: np.ndarray, key: np.ndarray) -> Part:
    """The part whose alternatives are the rows bool[n] with equal int64[n] `key`; posed where the chosen row is one."""
    rows = rows & rows[choices.chosen][choices.owner]
    at = np.flatnonzero(rows)
    pairs = np.stack([choices.owner[at], key[at]], axis=1)
    found, index = np.unique(pairs, axis=0, return_inverse=True)
    counts = np.bincount(found[:, 0], minlength=len(choices.chosen))
    asked = counts > 1
    kept = asked[found[:, 0]]  # bool: of the alternatives
    place = np.where(kept, np.cumsum(kept) - 1, -1)
    of = np.full(len(rows), -1)
    of[at] = place[index.reshape(-1)]
    return Part(
        name,
        of,
        np.concatenate([[0], np.cumsum(counts[asked])]).astype(np.int64),
        of[choices.chosen[asked]],
        np.flatnonzero(asked),
        int((counts == 1).sum()),
    )


def varying(part: Part, choices: Choices) -> np.ndarray:
    """bool[F]: the features that differ between rows of a decision somewhere, so that they can tell its answers apart.

    None of these has no features: where it is an alternative, every feature can tell whether the others are better.
    """
    if part.name == "none":
        return np.ones(choices.features.shape[1], bool)
    rows = np.flatnonzero((part.of >= 0) & ~choices.is_none)
    if not len(rows):
        return np.zeros(choices.features.shape[1], bool)
    first = np.flatnonzero(np.diff(choices.owner[rows], prepend=-1))
    values = choices.features[rows]
    differ = np.maximum.reduceat(values, first) > np.minimum.reduceat(values, first)
    return np.array(differ.any(axis=0), bool)
