"""Fidelity: how often a student, asked in the teacher's place, answers as the teacher did.

It is measured on logged held-out decisions and is another axis than quality: candidates of one group are near ties, so
*same group* is reported beside *first choice*, and trivial decisions (one answer) are left out, since everybody gets
them right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from clearsched.problems.problem import Choice, Problem, level_of
from clearsched.schemas import FIDELITY

if TYPE_CHECKING:
    from clearsched.decisions.choices import Choices


class Student(Protocol):
    """What is asked for: scores of candidates and shares of the most, from rows of features."""

    @property
    def name(self) -> str: ...
    @property
    def may_idle(self) -> bool: ...  # whether it may answer "none of these", which scores 0
    def scores(self, features: np.ndarray) -> np.ndarray: ...  # float32[n, F] -> float64[n]; a row of none: 0
    @property
    def rounds_up(self) -> bool: ...
    def level_share(self, features: np.ndarray) -> np.ndarray: ...  # float32[n, F] -> float64[n]


def fidelity_table(problem: Problem, students: Sequence[Any], decisions: Path, split: str, most: int) -> pa.Table:
    """One row a student, choice and subset of the decisions of `split`, of schema FIDELITY.

    Args:
        problem: what is scheduled.
        students: each a `Student`.
        decisions: the decision log.
        split: of the log.
        most: the largest level, the whole that shares are of.
    """
    from clearsched.decisions.reader import read_choices

    logged = [(choice, read_choices(decisions, problem, choice.name, split)) for choice in problem.choices]
    rank = problem.choices[0]
    rows = []
    for student in students:
        for choice, choices in logged:
            if not len(choices.chosen):
                continue
            if choice.form == "rank":
                rows += rank_rows(student, rank, choices)
            else:
                rows += level_rows(student, rank, choice, choices, most)
    return pa.Table.from_pylist(rows, schema=FIDELITY)


def subsets(rank: Choice, choice: Choice, choices: Choices) -> dict[str, np.ndarray]:
    """bool[d] of the non-trivial decisions: all, and where the problem has such ones those that kept what there was,
    those that took none of the candidates, and the real choices, which are the others.
    """
    matters = ~choices.trivial
    none = np.zeros(len(matters), bool)
    if choice.form == "rank":
        none = matters & choices.is_none[choices.chosen]
    found = {"all": matters}
    names = [feature.name for feature in choice.features]
    if rank.keeps in names:
        kept = matters & (choices.features[choices.chosen, names.index(rank.keeps)] > 0)
        found |= {kept_name(rank): kept, "real": matters & ~kept & ~none}
    return found | ({"none": none} if none.any() else {})


def kept_name(rank: Choice) -> str:
    """What the table calls decisions that kept what there was: the name before the colon of `Choice.kept`."""
    return (rank.kept.partition(":")[0] or "kept").replace(" ", "_")


def rank_answers(student: Student, choices: Choices) -> np.ndarray:
    """int64[d]: the row that the student answers, that of "none of these" where it is one and no score is above 0."""
    scores = np.array(student.scores(choices.features), np.float64)
    is_none = choices.is_none
    may = np.bincount(choices.owner[is_none], minlength=len(choices.chosen))[choices.owner] > 0
    if student.may_idle:
        scores[may & ~is_none & ~(scores > 0.0)] = -np.inf
    else:
        scores[is_none] = -np.inf
    return first_best(scores, choices.starts)


def first_best(scores: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """int64[d]: row of the highest score of each decision, the first one among equals.

    Args:
        scores: float64[n], decision after decision.
        starts: int64[d + 1], first row of each decision, then n.
    """
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    best = np.maximum.reduceat(scores, starts[:-1])
    rows = np.flatnonzero(scores == best[owner])
    _, first = np.unique(owner[rows], return_index=True)
    return rows[first]


def rank_rows(student: Student, rank: Choice, choices: Choices) -> list[dict[str, Any]]:
    """The rows of a rank choice, a subset each."""
    answer = rank_answers(student, choices)
    same = answer == choices.chosen
    same_group = choices.group[answer] == choices.group[choices.chosen]

    def told(of: np.ndarray) -> dict[str, Any]:
        return {"top1": _mean(same[of]), "same_group": _mean(same_group[of]) if rank.group else None}

    return _rows(student, rank.name, subsets(rank, rank, choices), told)


def level_rows(student: Student, rank: Choice, level: Choice, choices: Choices, most: int) -> list[dict[str, Any]]:
    """The rows of a level choice; the candidates of its decisions are the levels from the first to the last allowed."""
    first, last = choices.candidate[choices.starts[:-1]], choices.candidate[choices.starts[1:] - 1]
    shares = student.level_share(choices.features[choices.starts[:-1]])
    up = student.rounds_up
    answers = [level_of(float(share), int(least), most, up=up) for share, least in zip(shares, first, strict=True)]
    level_answered = np.minimum(np.array(answers, np.int64), last)
    wanted = choices.candidate[choices.chosen]

    def told(of: np.ndarray) -> dict[str, Any]:
        distance = np.abs(level_answered - wanted)[of]
        return {"top1": _mean((level_answered == wanted)[of]), "level_error": _mean(distance)}

    return _rows(student, level.name, subsets(rank, level, choices), told)


def _rows(
    student: Student, choice: str, of: dict[str, np.ndarray], told: Callable[[np.ndarray], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {"policy": student.name, "choice": choice, "decisions_of": name, "decisions": int(chosen.sum())}
        | {"top1": None, "same_group": None, "level_error": None}
        | told(chosen)
        for name, chosen in of.items()
    ]


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None
