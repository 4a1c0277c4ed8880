"""`clearsched decisions`: write the teacher's decisions down, describe the log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import OutFile, ParamsFile, TeacherFile, TraceFile, TunedFile, WorkloadsFile

app = App(name="decisions", help="The log of a policy's decisions.", no_args_is_help=True)


@app.command()
def log(
    params: ParamsFile, trace: TraceFile, workloads: WorkloadsFile, tuned: TunedFile, teacher: TeacherFile, out: OutFile
) -> None:
    """Run the teacher on training episodes and write every candidate and the choice."""
    from clearsched import decisions
    from clearsched.params import load_stage

    decisions.log(load_stage(params, "decisions"), trace, workloads, tuned, teacher, out)


@app.command()
def describe(path: Annotated[Path, typer.Argument(help="Decision log, Parquet.")]) -> None:
    """Print counts, the share of trivial decisions, and the features' ranges."""
    from clearsched import decisions

    typer.echo(decisions.describe(path))
