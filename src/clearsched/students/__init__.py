"""Students: policies that a person can read, fitted on the teacher's decisions; load, print and patch them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearsched.problems.problem import Problem
    from clearsched.scorers.policy import ScoredPolicy

__all__ = ["card", "explain", "fit", "load_policy", "show", "verify"]


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


def show(
    path: str | Path, decisions: Path | None = None, trace: Path | None = None, workloads: Path | None = None
) -> str:
    """A student's file as readable text with units, and what each of its pieces is worth.

    Args:
        path: the student.
        decisions: a log, to tell how often each rule fires; without one that is left out.
        trace, workloads: whose validation episodes tell the cost without it; without them that is left out.

    Raises:
        ClearschedError: see `load_policy`; a log or data of another problem; one of trace and workloads alone.
    """
    from clearsched.scorers.text import render

    policy = load_policy(path)
    text = render(policy)
    if decisions is None and trace is None and workloads is None:
        return text
    from clearsched.students.reading.show import worth

    return text + "\n" + worth(policy, decisions, trace, workloads)


def explain(path: str | Path, decisions: Path, episode: int, decision: int, split: str = "validation") -> str:
    """A logged decision in words: why the student answers A and not B, what the teacher chose, what would flip it.

    Raises:
        ClearschedError: see `load_policy`; a log of another problem or version, or without that decision.
    """
    from clearsched.students.reading.explaining import explain as tell

    return tell(load_policy(path), decisions, split, episode, decision)


def verify(
    path: str | Path, decisions: Path | None = None, trace: Path | None = None, workloads: Path | None = None
) -> str:
    """What can be proved of a student: dead rules, contradictions, which way scores go, how long a candidate may wait.

    Args:
        path: the student.
        decisions: a log, which tells what features can be; without one all numbers count.
        trace, workloads: whose validation episodes tell the longest wait; without them it is not measured.

    Raises:
        ClearschedError: see `show`.
    """
    from clearsched.students.verification.verify import verify as tell

    return tell(load_policy(path), decisions, trace, workloads)


def card(path: Path, results: Path, out: Path | None = None) -> Path:
    """Write the model card of a fitted student, Markdown; beside its file unless `out` says where.

    Args:
        path: the student.
        results: folder of its scenario, results/<scenario>, complete with the evaluation.
        out: file to write.

    Raises:
        ClearschedError: see `load_policy`; a file is missing, or was made from other data than the student.
    """
    from clearsched.students.reading.cards import write_card

    return write_card(path, results, out)
