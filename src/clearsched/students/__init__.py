"""Students: policies that a person can read, fitted on the teacher's decisions; load, print and patch them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearsched.problems.problem import Problem
    from clearsched.scorers.policy import ScoredPolicy

__all__ = ["fit", "load_policy", "show"]


def fit(
    params: Any,
    kind: str,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    teacher: str | Path,
    decisions: Path,
    out_dir: Path,
) -> Path:
    """Fit the student of a kind; write <kind>.json and <kind>.txt to `out_dir`.

    Returns:
        The JSON file.

    Raises:
        ClearschedError: no such kind, or an input is missing or broken, or does not fit the others.
    """
    from clearsched.students.fitting import fit_one

    return fit_one(params, kind, trace, workloads, tuned, teacher, decisions, out_dir)


def load_policy(path: str | Path, problem: Problem | None = None) -> ScoredPolicy:
    """Read a student's JSON, of any problem unless one is given.

    Raises:
        ClearschedError: see `scorers.policy.load_policy`.
    """
    from clearsched.scorers import policy

    return policy.load_policy(path, problem)


def show(path: str | Path) -> str:
    """A student's file as readable text with units.

    Raises:
        ClearschedError: see `load_policy`.
    """
    from clearsched.scorers.text import render

    return render(load_policy(path))
