"""Students: policies that a person can read, fitted on the teacher's decisions; load, print and patch them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearsched.problems.problem import Problem
    from clearsched.scorers.policy import ScoredPolicy

__all__ = ["explain", "fit", "load_policy", "patch", "show", "verify"]


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
) -> Path:
    """Fit the student of a kind; write <kind>.json and <kind>.txt to `out_dir`, and the decisions of its own rollouts.

    `others`: students that are fitted already, for a kind that is made of them. `size`: in place of that of
    params.

    Returns:
        The JSON file.

    Raises:
        ClearschedError: no such kind, or an input is missing or broken, or does not fit the others.
    """
    from clearsched.students.fitting import fit_one

    return fit_one(params, kind, trace, workloads, tuned, teacher, decisions, out_dir, others, size)


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


def patch(
    path: Path,
    patches: Path,
    traces: Sequence[Path],
    workloads: Sequence[Path],
    split: str,
    out_dir: Path,
    tell: Callable[[str], None] = print,
) -> list[Path]:
    """Lay the patches of a file on a policy in place of those it has; tell before and after; write JSON and text.

    Args:
        path: a student, a searched policy or a formula, JSON.
        patches: YAML or JSON.
        traces: one for all workloads, or one for each.
        workloads: the normal load first, then edge cases.
        split: whose episodes are compared.
        out_dir: of the patched policy, which keeps its file's name.
        tell: called with each load's comparison as soon as it is there.

    Returns:
        The files written.

    Raises:
        ClearschedError: an input is missing or broken, or the patched policy strays from the baseline
            (`search.safety`); then nothing is written.
    """
    from clearsched.students import patching

    return patching.patch_file(path, patches, traces, workloads, split, out_dir, tell)
