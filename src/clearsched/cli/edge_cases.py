"""`clearsched edge-cases`: every policy on episodes unlike those it was made for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import (
    OutFolder,
    ParamsFile,
    SearchedFiles,
    StudentFiles,
    TeacherFile,
    TraceFile,
    TunedFile,
)

app = App(name="edge-cases", help="Policies on episodes unlike those they were made for.", no_args_is_help=True)


@app.command()
def run(
    case: Annotated[str, typer.Argument(help="The edge case: `clearsched problems` lists them.")],
    params: ParamsFile,
    trace: TraceFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    student: StudentFiles,
    out: OutFolder,
    searched: SearchedFiles = None,
) -> None:
    """Draw the episodes of one edge case and run every policy on them."""
    from clearsched import edge_cases
    from clearsched.params import load_stage

    edge_cases.run(load_stage(params, "edge_cases"), case, trace, tuned, teacher, student, out, searched or ())


@app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders of edge cases that have run.")],
    params: ParamsFile,
    out: OutFolder,
) -> None:
    """Put edge cases that have run into one table, a text and a figure."""
    from clearsched import edge_cases
    from clearsched.params import load_stage

    edge_cases.compare(load_stage(params, "edge_cases"), folders, out)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder of the edge cases, results/<scenario>/edge_cases.")],
) -> None:
    """Print the table."""
    from clearsched import edge_cases

    typer.echo(edge_cases.show(folder))
