"""What the doctor says: a line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

State = Literal["ok", "note", "problem"]
"""ok: as it should be; note: a run works, but one should know; problem: a run will fail, or be useless."""


class Finding(NamedTuple):
    """One line.

    Attributes:
        what: of what it tells, a word or two.
        state: see `State`.
        said: what was found.
        todo: what to do about it; empty where nothing is to be done.
    """

    what: str
    state: State
    said: str
    todo: str = ""


def as_text(findings: Sequence[Finding]) -> str:
    """A line each: state, what, what was found and what to do."""
    width = max(len(finding.what) for finding in findings)
    lines = [
        f"{finding.state:<7}  {finding.what:<{width}}  {finding.said}{f': {finding.todo}' if finding.todo else ''}"
        for finding in findings
    ]
    return "\n".join(" ".join(line.splitlines()).rstrip() for line in lines)


def as_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """An object each."""
    return [finding._asdict() for finding in findings]


def has_problem(findings: Sequence[Finding]) -> bool:
    """Whether one of them is a problem."""
    return any(finding.state == "problem" for finding in findings)
