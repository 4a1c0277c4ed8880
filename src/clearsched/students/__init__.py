"""Students: policies that a person can read, fitted on the teacher's decisions; load, print and patch them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.problems.problem import Problem
    from clearsched.students.policy import Student

__all__ = ["fit", "load_policy", "show"]


def fit(
    params: Params,
    kind: str,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    teacher: str | Path,
    decisions: Path,
    out_dir: Path,
) -> Any:
    """Fit the student of a kind; write <kind>.json and <kind>.txt to `out_dir`.

    Raises:
        ClearschedError: an input is missing or broken, or does not fit the others.
    """
    from clearsched.students import fitting

    return fitting.fit(params, kind, trace, workloads, tuned, teacher, decisions, out_dir)  # type: ignore[attr-defined]


def load_policy(path: str | Path, problem: Problem | None = None) -> Student:
    """The student of a file; see `students.policy.load_policy`."""
    from clearsched.students import policy

    return policy.load_policy(path)


def show(path: str | Path) -> str:
    """A student's file as readable rules with units.

    Raises:
        ClearschedError: see `load_policy`.
    """
    from clearsched.students.text import render

    return render(load_policy(path))
