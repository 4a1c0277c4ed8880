"""How much of a student there is to read, against what it is worth: one kind in several sizes (docs/students.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearsched.params import Params


def compare(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    decisions: Path,
    students: Sequence[Path],
    out_dir: Path,
) -> str:
    """Hold students of several sizes against the teacher; write `students_pareto` as Parquet, text and figure.

    Returns:
        The text.

    Raises:
        ClearschedError: an input is missing or broken, or a student tells no size.
    """
    from clearsched.pareto.comparing import compare_sizes

    return compare_sizes(params, trace, workloads, tuned, teacher, decisions, students, out_dir)
