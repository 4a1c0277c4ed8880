"""Decisions of one kind of choice as arrays: what students learn from, from the log or from their own rollouts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import NONE

PER_ROW = ("features", "candidate", "group", "score", "probability")
"""The fields of `Choices` that have an entry a row."""


class Rows(NamedTuple):
    """The rows of one choice of a decision: n of them, one chosen."""

    features: np.ndarray  # float32[n, F]
    candidate: np.ndarray  # int64[n]
    group: np.ndarray  # int64[n]
    score: np.ndarray  # float64[n]
    probability: np.ndarray  # float64[n]
    chosen: int  # position among the n


class Decision(NamedTuple):
    """One decision and the expert's answer: the rows of its rank choice, and of its level choice if it was asked."""

    split: str
    episode: int
    decision: int
    time_s: float
    rank: Rows
    level: Rows | None


class Choices(NamedTuple):
    """d decisions with n rows in all: the candidates, and where it was an answer "none of these" as the last row."""

    features: np.ndarray  # float32[n, F], of the choice; all NaN in the row of none
    starts: np.ndarray  # int64[d + 1]: decision i has the rows starts[i] to starts[i + 1]
    chosen: np.ndarray  # int64[d]: the row that was chosen
    candidate: np.ndarray  # int64[n]: rank: what the log calls the candidate, NONE for none; level: the level
    group: np.ndarray  # int64[n]: candidates of a group are near ties; NONE for none; of a level: the candidate's
    score: np.ndarray  # float64[n]
    probability: np.ndarray  # float64[n]
    episode: np.ndarray  # int64[d]
    decision: np.ndarray  # int64[d]
    time_s: np.ndarray  # float64[d]

    @property
    def sizes(self) -> np.ndarray:
        """int64[d]: number of rows of each decision."""
        return np.diff(self.starts)

    @property
    def trivial(self) -> np.ndarray:
        """bool[d]: the decision has one row only."""
        return self.sizes == 1

    @property
    def owner(self) -> np.ndarray:
        """int64[n]: decision of each row."""
        return np.repeat(np.arange(len(self.chosen)), self.sizes)

    @property
    def is_none(self) -> np.ndarray:
        """bool[n]: the row is "none of these"."""
        return self.candidate == NONE

    def kept(self, choice: Choice) -> np.ndarray:
        """bool[d]: the candidate was chosen that changes nothing (`Choice.keeps`); False where the problem has none."""
        if not choice.keeps:
            return np.zeros(len(self.chosen), bool)
        column = [feature.name for feature in choice.features].index(choice.keeps)
        kept: np.ndarray = self.features[self.chosen, column] > 0
        return kept


def take(choices: Choices, decisions: np.ndarray) -> Choices:
    """The decisions int64[n] in this order; one may come several times."""
    sizes = choices.sizes[decisions]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    moved = np.repeat(choices.starts[decisions] - starts[:-1], sizes)  # from its new place to the old one, of each row
    rows = np.arange(starts[-1]) + moved
    per_row = {name: getattr(choices, name)[rows] for name in PER_ROW}
    per_decision = {name: getattr(choices, name)[decisions] for name in ("episode", "decision", "time_s")}
    chosen = starts[:-1] + choices.chosen[decisions] - choices.starts[decisions]
    return Choices(starts=starts, chosen=chosen, **per_row, **per_decision)


def join(parts: Iterable[Choices], num_features: int) -> Choices:
    """Several sets of decisions of the same kind as one."""
    kept = [part for part in parts if len(part.chosen)] or [empty(num_features)]
    offsets = np.cumsum([0, *(len(part.features) for part in kept)])
    whole = {name: np.concatenate([getattr(part, name) for part in kept]) for name in Choices._fields}
    whole["starts"] = np.concatenate([[0], *(part.starts[1:] + at for part, at in zip(kept, offsets, strict=False))])
    whole["chosen"] = np.concatenate([part.chosen + at for part, at in zip(kept, offsets, strict=False)])
    return Choices(**whole)


def empty(num_features: int) -> Choices:
    """No decision."""
    none, real = np.zeros(0, np.int64), np.zeros(0)
    rows = np.zeros((0, num_features), np.float32)
    return Choices(rows, np.zeros(1, np.int64), none, none, none, real, real, none, none, real)
