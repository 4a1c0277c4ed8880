"""`clearsched report`: the interactive page of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import (
    AnyStudentFiles,
    DecisionsFile,
    OutFile,
    ParamsFile,
    SearchedFiles,
    TeacherFile,
    TraceFile,
    TunedFile,
    WorkloadsFile,
)

app = App(
    name="report", help="One interactive page of results: comparison, figures, rules, decisions.", no_args_is_help=True
)


@app.command()
def collect(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    decisions: DecisionsFile,
    out: OutFile,
    student: AnyStudentFiles = None,
    searched: SearchedFiles = None,
) -> None:
    """Write what the page tells beside the result files: the worth of each rule, the decisions of one episode."""
    from clearsched import report
    from clearsched.params import load_stage

    loaded = load_stage(params, "report")
    report.collect(loaded, trace, workloads, tuned, teacher, student or (), decisions, out, searched or ())


@app.command()
def build(
    results: Annotated[list[Path], typer.Argument(help="Folders of scenarios, results/<scenario> each.")],
    out: OutFile,
) -> None:
    """Write the page of some scenarios: one HTML file that needs no other file and no network."""
    from clearsched import report

    report.build(results, out)
