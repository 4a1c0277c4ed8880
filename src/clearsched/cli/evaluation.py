"""`clearsched evaluation`: compare the policies, print the table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import (
    DecisionsFile,
    OutFolder,
    ParamsFile,
    SearchedFiles,
    StudentFiles,
    TeacherFile,
    TraceFile,
    TunedFile,
    WorkloadsFile,
)

app = App(name="evaluation", help="Compare policies on the same held-out episodes.", no_args_is_help=True)


@app.command()
def run(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    student: StudentFiles,
    decisions: DecisionsFile,
    out: OutFolder,
    searched: SearchedFiles = None,
    teacher_seed: Annotated[
        list[Path] | None,
        typer.Option(help="A teacher of another training seed, safetensors; give it once for each of them."),
    ] = None,
) -> None:
    """Run every policy on the test episodes; write means, intervals, paired differences and fidelity."""
    from clearsched import evaluation
    from clearsched.params import load_stage

    loaded, others = load_stage(params, "evaluation"), teacher_seed or []
    evaluation.run(loaded, trace, workloads, tuned, teacher, student, decisions, out, searched or (), others)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder of the evaluation, results/<scenario>/evaluation.")],
) -> None:
    """Print the comparison table."""
    from clearsched import evaluation

    typer.echo(evaluation.show(folder))
