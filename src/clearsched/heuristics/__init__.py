"""Heuristics: the hand-written policies of a problem, tuned on its validation episodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.problems.problem import Problem

__all__ = ["docs_table", "tune"]


def tune(params: Params, trace: Path, workloads: Path, out_tuning: Path, out_tuned: Path) -> dict[str, Any]:
    """Run every setting of the grids on the validation episodes and keep the best of each heuristic.

    Raises:
        ClearschedError: an input is missing or broken.
    """
    from clearsched.heuristics.tuning import tune_all

    return tune_all(params, trace, workloads, out_tuning, out_tuned)


def docs_table(problem: Problem) -> str:
    """The heuristics of a problem as the Markdown table of its docs page."""
    lines = ["| name | rule | parameters | source |", "|---|---|---|---|"]
    for name, entry in problem.heuristics.items():
        parameters = ", ".join(entry.parameters) if entry.shown else ""
        lines.append(f"| `{name}` | {entry.summary} | {parameters or '–'} | {entry.source} |")
    return "\n".join(lines) + "\n"
