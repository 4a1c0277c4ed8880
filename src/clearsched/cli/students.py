"""`clearsched students`: fit them, print their rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.options import (
    DecisionsFile,
    OutFolder,
    ParamsFile,
    TeacherFile,
    TraceFile,
    TunedFile,
    WorkloadsFile,
)

app = typer.Typer(name="students", help="Policies that a person can read.", no_args_is_help=True)


@app.command()
def fit(
    kind: Annotated[str, typer.Argument(help="The kind of student: `clearsched problems` lists them.")],
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    decisions: DecisionsFile,
    out: OutFolder,
    student: Annotated[
        list[Path] | None, typer.Option(help="A student that is fitted already, for a kind made of several: repeat it.")
    ] = None,
) -> None:
    """Fit a student on the decision log; writes its JSON and its text."""
    from clearsched import students
    from clearsched.params import load_stage

    settings = load_stage(params, "students")
    students.fit(settings, kind, trace, workloads, tuned, teacher, decisions, out, student or ())


@app.command()
def show(path: Annotated[Path, typer.Argument(help="A student's JSON file.")]) -> None:
    """Print a student as rules with units."""
    from clearsched import students

    typer.echo(students.show(path))
