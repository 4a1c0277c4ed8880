"""What students are fitted on: decisions with the expert's answers, from the log and from their own rollouts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clearsched.decisions.choices import PER_ROW, Choices, join, take
from clearsched.decisions.reader import count_decisions, evenly, read_all, read_metadata
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice
from clearsched.problems.problem import Problem


class Dataset(NamedTuple):
    """Decisions by the form of the choice."""

    rank: Choices  # which of the candidates, or none of them
    level: Choices | None  # which of the levels, for the candidate that the expert chose; None where there is none
    most: int  # the most that a level can be: the whole that its shares are of
    choices: tuple[Choice, ...]
    help_first: bool = False  # whether the expert means "help first" by "none of these"

    @property
    def none(self) -> bool:
        """Whether the expert ever could answer "none of these"."""
        return bool(self.rank.is_none.any())

    def with_decisions(self, decisions: Iterable[Any]) -> Dataset:
        """This set and further decisions, as `decisions.recording.record` gives them."""
        from clearsched.decisions.recording import collect  # it brings torch, which a fit without DAgger does not need

        count = self.rank.features.shape[1]
        rank, level = collect(decisions, count)
        joined = None if self.level is None else join([self.level, level], count)
        return self._replace(rank=join([self.rank, rank], count), level=joined)


def read_dataset(path: Path, problem: Problem, split: str, most: int, budget: int = 0) -> Dataset:
    """The decisions of a split of the log.

    Args:
        path: of the log.
        problem: whose log it must be.
        split: whose decisions are read.
        most: the most that a level can be.
        budget: decisions to read, at most, evenly taken from all, so that memory does not grow with the log; 0: all.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log, or has no decision of the split.
    """
    count = count_decisions(path, problem, problem.choices[0].name, split) if budget else 0
    share = budget / count if count > budget else 1.0
    found = read_all(path, problem, [choice.name for choice in problem.choices], split, share)
    read = {choice.form: found[choice.name] for choice in problem.choices}
    if not len(read["rank"].chosen):
        raise ClearschedError(f"{path}: no decision of the {split} episodes to learn from; log more of them")
    helps = read_metadata(path).get("help_first", False)
    return Dataset(read["rank"], read.get("level"), most, tuple(problem.choices), helps)


def best_rows(choices: Choices) -> np.ndarray:
    """int64[d]: the row of the highest score of each decision, the first of equals.

    What an expert thinks best; it differs from what it chose where it draws its choices.
    """
    return choices.starts[:-1] + _first_true(choices, ranks(choices) == 0)


def _first_true(choices: Choices, flags: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(flags)
    first: np.ndarray = rows[np.searchsorted(rows, choices.starts[:-1])] - choices.starts[:-1]
    return first


def ranks(choices: Choices) -> np.ndarray:
    """int64[n]: how many candidates of the row's decision have a higher score."""
    owner = choices.owner
    order = np.lexsort((-choices.score, owner))
    sorted_owner, sorted_score = owner[order], choices.score[order]
    new = np.ones(len(order), bool)
    new[1:] = (sorted_owner[1:] != sorted_owner[:-1]) | (sorted_score[1:] != sorted_score[:-1])
    place = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    result = np.empty(len(order), np.int64)
    result[order] = place - choices.starts[:-1][sorted_owner]
    return result


def subset(choices: Choices, keep: np.ndarray) -> Choices:
    """The decisions that bool[d] `keep` marks."""
    return take(choices, np.flatnonzero(keep))


def thinned(choices: Choices, most: int) -> Choices:
    """At most `most` of the decisions, evenly taken."""
    count = len(choices.chosen)
    return subset(choices, evenly(np.arange(count), most / count)) if count > most else choices


def without_none(choices: Choices) -> Choices:
    """The same decisions without the rows of "none of these", which have no features.

    Where none was chosen, `chosen` is the first candidate: ask the score what is best.
    """
    if not choices.is_none.any():
        return choices
    rows = ~choices.is_none
    place = np.cumsum(rows) - rows  # new place of each old row
    starts = np.concatenate([[0], np.cumsum(np.add.reduceat(rows.astype(np.int64), choices.starts[:-1]))])
    chosen = np.where(choices.is_none[choices.chosen], starts[:-1], place[choices.chosen])
    per_row = {name: getattr(choices, name)[rows] for name in PER_ROW}
    return choices._replace(starts=starts, chosen=chosen, **per_row)
