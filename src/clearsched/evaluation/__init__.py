"""Evaluation: every policy in closed loop on the same held-out episodes, paired statistics, fidelity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.errors import ClearschedError

if TYPE_CHECKING:
    from clearsched.params import Params

TABLE = "comparison.txt"


def run(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    decisions: Path,
    out_dir: Path,
    searched: Sequence[Path] = (),
    teacher_seeds: Sequence[Path] = (),
) -> None:
    """Evaluate the policies of `params.evaluation` on the test episodes; write tables, metrics.json and comparison.txt.

    `teacher_seeds`: networks of other training seeds than the teacher's, for intervals that cover training too.

    Raises:
        ClearschedError: an input is missing or broken.
    """
    from clearsched.evaluation.evaluate import evaluate

    evaluate(params, trace, workloads, tuned, teacher, students, decisions, out_dir, searched, teacher_seeds)


def show(folder: Path) -> str:
    """The comparison table of an evaluation's folder.

    Raises:
        ClearschedError: the evaluation has not run.
    """
    path = Path(folder) / TABLE
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file; run the evaluation first: snakemake --cores 2")
    return path.read_text(encoding="utf-8").rstrip("\n")
