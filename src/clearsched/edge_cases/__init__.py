"""Edge cases: every policy of a run on episodes that are not like those it was made for (docs/edge-cases.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.errors import ClearschedError

if TYPE_CHECKING:
    from clearsched.params import Params

TABLE = "edge_cases.txt"


def run(
    params: Params,
    case: str,
    trace: Path,
    tuned: Path,
    teacher: Path,
    students: Sequence[Path],
    out_dir: Path,
    searched: Sequence[Path] = (),
) -> None:
    """Draw the episodes of one edge case, run every policy of `params.evaluation` on them, write what came of it.

    Raises:
        ClearschedError: there is no such edge case, the scenario cannot have it, or an input is missing or broken.
    """
    from clearsched.edge_cases.running import run_case

    run_case(params, case, trace, tuned, teacher, students, out_dir, searched)


def compare(params: Params, folders: Sequence[Path], out_dir: Path) -> None:
    """The tables of all edge cases, of the folders that `run` wrote, as one table, a text and a figure.

    Raises:
        ClearschedError: a table is missing or broken, or they are not of one problem.
    """
    from clearsched.edge_cases.comparing import compare_cases

    compare_cases(params, folders, out_dir)


def show(folder: Path) -> str:
    """The printed table of a folder of edge cases.

    Raises:
        ClearschedError: they have not run.
    """
    path = Path(folder) / TABLE
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file; run the edge cases first: snakemake --cores 2 edge_cases")
    return path.read_text(encoding="utf-8").rstrip("\n")
