"""What a reading begins with, from files: the logged decisions, and the worth of a student's pieces."""

from __future__ import annotations

from pathlib import Path

from clearsched.decisions.choices import Choices
from clearsched.decisions.reader import count_decisions, read_choices, read_metadata
from clearsched.errors import ClearschedError
from clearsched.problems.problem import SPLITS
from clearsched.reading.worth import Bench, table, worth_of
from clearsched.scorers.policy import ScoredPolicy

SPLIT = "validation"
"""Of the log and of the episodes: nothing was fitted on them."""


def worth(policy: ScoredPolicy, decisions: Path | None, trace: Path | None, workloads: Path | None) -> str:
    """See `clearsched.reading.show`."""
    if (trace is None) != (workloads is None):
        raise ClearschedError("students: give --trace and --workloads together, or neither")
    logged, most = read_log(policy, decisions, SPLIT) if decisions else ({}, 0)
    bench = None
    if trace and workloads:
        instance = policy.problem.open(trace, workloads)
        bench = Bench(instance, instance.split(SPLIT))
    lines = table(policy, worth_of(policy, logged, most, bench), bench)
    return "\n".join(lines or ["No piece of it can be told apart from the rest."]) + "\n"


def read_log(policy: ScoredPolicy, decisions: Path, split: str) -> tuple[dict[str, Choices], int]:
    """The logged decisions of a split by the name of the choice, and the largest level.

    Raises:
        ClearschedError: the log is missing or broken, of another problem or version, or has no decision of the split.
    """
    found = {
        choice.name: read_choices(decisions, policy.problem, choice.name, split) for choice in policy.problem.choices
    }
    if not len(found[policy.rank.name].chosen):
        counts = {name: count_decisions(decisions, policy.problem, policy.rank.name, name) for name in SPLITS}
        known = ", ".join(name for name, count in counts.items() if count)
        raise ClearschedError(f"{decisions}: no decision of the split {split!r}: it has {known or 'none at all'}")
    return found, int(read_metadata(decisions).get("most") or 0)
