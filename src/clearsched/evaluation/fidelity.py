"""Fidelity: how often a student, asked in the teacher's place, answers as the teacher did.

It is measured on logged held-out decisions and is another axis than quality: stages of one job are near ties, so
*same job* is reported beside *first choice*, and trivial decisions (one candidate) are left out, since everybody
gets them right.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from clearsched.decisions.reader import Choices, read_choices
from clearsched.problems.dag_jobs.simulator.loop import limit_executors
from clearsched.schemas import FIDELITY


class Student(Protocol):
    """What is asked for: scores of candidates and shares of the executors, from rows of features."""

    @property
    def name(self) -> str: ...
    def scores(self, features: np.ndarray) -> np.ndarray: ...  # float32[n, F] -> float64[n]
    def limit_share(self, features: np.ndarray) -> np.ndarray: ...  # float32[n, F] -> float64[n]


def fidelity_table(students: list[Student], decisions: Path, split: str, num_executors: int) -> pa.Table:
    """One row a student, kind of choice and subset of the decisions of `split`, of schema FIDELITY."""
    stage, limit = (read_choices(decisions, choice, split) for choice in ("stage", "limit"))
    rows = []
    for student in students:
        rows += _stage_rows(student, stage)
        rows += _limit_rows(student, limit, num_executors)
    return pa.Table.from_pylist(rows, schema=FIDELITY)


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


def subsets(choices: Choices) -> dict[str, np.ndarray]:
    """bool[d] of the non-trivial decisions: all, those that kept executors in their job, and the real choices."""
    kept = choices.kept_local
    matters = ~choices.trivial
    return {"all": matters, "kept_local": matters & kept, "real": matters & ~kept}


def _stage_rows(student: Student, choices: Choices) -> list[dict[str, object]]:
    if not len(choices.chosen):
        return []
    answer = first_best(student.scores(choices.features), choices.starts)
    same = answer == choices.chosen
    same_job = choices.job[answer] == choices.job[choices.chosen]
    return [
        {
            "policy": student.name,
            "choice": "stage",
            "decisions_of": name,
            "decisions": int(chosen.sum()),
            "top1": _share(same[chosen]),
            "same_job": _share(same_job[chosen]),
            "limit_error": None,
        }
        for name, chosen in subsets(choices).items()
    ]


def _limit_rows(student: Student, choices: Choices, num_executors: int) -> list[dict[str, object]]:
    """The rows of a limit decision are the limits held + 1 to N, so its first candidate tells what the job holds."""
    if not len(choices.chosen):
        return []
    first = choices.starts[:-1]
    shares = student.limit_share(choices.features[first])
    held = choices.candidate[first] - 1
    answers = zip(shares, held, strict=True)
    limit = np.array([limit_executors(share, num_executors, int(count)) for share, count in answers])
    wanted = choices.candidate[choices.chosen]
    return [
        {
            "policy": student.name,
            "choice": "limit",
            "decisions_of": name,
            "decisions": int(chosen.sum()),
            "top1": _share((limit == wanted)[chosen]),
            "same_job": None,
            "limit_error": float(np.abs(limit - wanted)[chosen].mean()) if chosen.any() else None,
        }
        for name, chosen in subsets(choices).items()
    ]


def _share(hits: np.ndarray) -> float | None:
    return float(hits.mean()) if len(hits) else None
