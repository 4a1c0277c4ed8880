"""The decision log: a policy runs, every candidate and its choice are written down, students learn from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearsched.params import Params

__all__ = ["describe", "log"]


def log(
    params: Params, trace: Path, workloads: Path, tuned: Path | None, teacher: str | Path, out: Path
) -> dict[str, int]:
    """Run a teacher (or a heuristic of that name) on training and held-out episodes and write its log to `out`.

    Returns:
        Number of episodes logged by split.

    Raises:
        ClearschedError: an input is missing or broken, or there are fewer episodes than asked for.
    """
    from clearsched.decisions.recording import log as write

    return write(params, trace, workloads, tuned, teacher, out)


def describe(path: str | Path) -> str:
    """What is in a log, as tables of text.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    from clearsched.decisions.summary import describe as tell

    return tell(path)
