"""Reading a student: what each of its pieces is worth, why it answered as it did, what can be proved, its model card.

Nothing here takes part in a fit, so that a change of how a student is read refits none.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["card", "explain", "show", "verify"]


def show(
    path: str | Path,
    decisions: Path | None = None,
    trace: Path | None = None,
    workloads: Path | None = None,
    whole: bool = False,
) -> str:
    """A student's file as readable text with units, and what each of its pieces is worth.

    Args:
        path: the student.
        decisions: a log, to tell how often each rule fires; without one that is left out.
        trace, workloads: whose validation episodes tell the cost without it; without them that is left out.
        whole: with every tree of large sums.

    Raises:
        ClearschedError: see `scorers.policy.load_policy`; a log or data of another problem; one of trace and workloads
            alone.
    """
    from clearsched.scorers.policy import load_policy
    from clearsched.scorers.text import render

    policy = load_policy(path)
    text = render(policy, whole)
    if decisions is None and trace is None and workloads is None:
        return text
    from clearsched.reading.files import worth

    return text + "\n" + worth(policy, decisions, trace, workloads)


def explain(path: str | Path, decisions: Path, episode: int, decision: int, split: str = "validation") -> str:
    """A logged decision in words: why the student answers A and not B, what the teacher chose, what would flip it.

    Raises:
        ClearschedError: see `show`; a log of another problem or version, or without that decision.
    """
    from clearsched.reading.explaining import explain as tell
    from clearsched.scorers.policy import load_policy

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
    from clearsched.reading.verification.verify import verify as tell
    from clearsched.scorers.policy import load_policy

    return tell(load_policy(path), decisions, trace, workloads)


def card(path: Path, results: Path, out: Path | None = None) -> Path:
    """Write the model card of a fitted student, Markdown; beside its file unless `out` says where.

    Args:
        path: the student.
        results: folder of its scenario, results/<scenario>, complete with the evaluation.
        out: file to write.

    Raises:
        ClearschedError: see `show`; a file is missing, or was made from other data than the student.
    """
    from clearsched.reading.cards import write_card

    return write_card(path, results, out)
