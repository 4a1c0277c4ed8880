"""Students: policies that a person can read, fitted on the teacher's decisions; load and patch them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearsched.problems.problem import Problem
    from clearsched.scorers.policy import ScoredPolicy

__all__ = ["fit", "guard", "load_policy"]


def fit(
    params: Any,
    kind: str,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    teacher: str | Path,
    decisions: Path,
    out_dir: Path,
    others: Sequence[Path] = (),
    size: int | None = None,
    by: str = "",
) -> Path:
    """Fit the student of a kind; write <kind>.json and <kind>.txt to `out_dir`, and the decisions of its own rollouts.

    `others`: students that are fitted already, for a kind that is made of them. `size`: in place of that of params, of
    the setting `by`, or of the usual one of the kind.

    Returns:
        The JSON file.

    Raises:
        ClearschedError: no such kind, or an input is missing or broken, or does not fit the others; or the student
            strays from the baseline with the patches of params: then it is kept without them in <kind>_unpatched.
    """
    from clearsched.students.fitting import fit_one

    return fit_one(params, kind, trace, workloads, tuned, teacher, decisions, out_dir, others, size, by)


def load_policy(path: str | Path, problem: Problem | None = None) -> ScoredPolicy:
    """Read a student's JSON, of any problem unless one is given.

    Raises:
        ClearschedError: see `scorers.policy.load_policy`.
    """
    from clearsched.scorers import policy

    return policy.load_policy(path, problem)


def guard(
    path: Path,
    settings: Any,
    trace: Path,
    workloads: Path,
    tuned: Path | None,
    out_dir: Path,
    tell: Callable[[str], None] = print,
) -> list[Path]:
    """Give a policy a guard, with bounds from its own training and validation episodes; write JSON and text.

    Args:
        path: a student, a searched policy or a formula, JSON; a guard that it has is replaced.
        settings: heuristic, its parameters, gauges, margin, clear (`scorers.settings.GuardParams`).
        trace: job profiles.
        workloads: the episodes.
        tuned: parameters of the heuristic; its defaults without.
        out_dir: of the guarded policy, which keeps its file's name.
        tell: called with the guard in words.

    Returns:
        The files written.

    Raises:
        ClearschedError: an input is missing or broken, the heuristic is unknown, or the policy strays from the baseline
            with the guard and not without it (`search.safety`); then nothing is written.
    """
    from clearsched.search import guarding

    return guarding.guard_file(path, settings, trace, workloads, tuned, out_dir, tell)
