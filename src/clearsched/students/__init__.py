"""Students: policies that a person can read, fitted on the teacher's decisions; load, print and patch them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.students.policy import Student

__all__ = ["fit", "load_policy", "show"]


def fit(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    teacher: str | Path,
    decisions: Path,
    out_dir: Path,
) -> dict[str, Path]:
    """Fit the students that `params.students` names; write <name>.json and <name>.txt to `out_dir`.

    Returns:
        The JSON file of each student.

    Raises:
        ClearschedError: an input is missing or broken, or does not fit the others.
    """
    from clearsched.students.fitting import fit_all

    return fit_all(params, trace, workloads, tuned, teacher, decisions, out_dir)


def show(path: str | Path) -> str:
    """A student's file as readable rules with units.

    Raises:
        ClearschedError: see `load_policy`.
    """
    from clearsched.students.text import render

    return render(load_policy(path))


def load_policy(path: str | Path) -> Student:
    """The student of a `.json` file; see `policy.load_policy`."""
    from clearsched.students.policy import load_policy as load

    return load(path)
