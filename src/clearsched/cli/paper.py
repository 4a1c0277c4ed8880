"""`clearsched paper`: the papers' figures and claims, from our own runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import (
    AnyStudentFiles,
    DecisionsFile,
    OutFile,
    OutFolder,
    ParamsFile,
    SearchedFiles,
    StudentFiles,
    TeacherFile,
    TraceFile,
    TunedFile,
    WorkloadsFile,
)

app = App(name="paper", help="The papers' figures by name, and their claims.", no_args_is_help=True)


@app.command()
def figures() -> None:
    """List the figures, and which figure of which paper each answers."""
    from clearsched.cli.options import print_table
    from clearsched.paper.kinds import PAPER_FIGURES

    told = [(each.name, f"{each.label} ({each.paper}, {each.answers})") for each in PAPER_FIGURES.values()]
    print_table("figures of the papers", told)


@app.command()
def figure(
    names: Annotated[list[str], typer.Argument(help="The figures: `clearsched paper figures` lists them.")],
    params: Annotated[
        Path | None, typer.Option("--params", help="Params file of a base of the figures; default: params.yaml.")
    ] = None,
    scale: Annotated[str | None, typer.Option(help="smoke or paper; default: that of the params.")] = None,
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    out: OutFolder = Path("results/paper"),
) -> None:
    """Draw figures of the papers from what was run."""
    from clearsched import paper
    from clearsched.paper.drawing import params_for

    for path in (path for name in names for path in paper.figure(params_for(params, scale), name, results, out)):
        typer.echo(path)


@app.command()
def claims(
    params: ParamsFile,
    out: OutFolder,
    figures: Annotated[Path | None, typer.Option(help="Folder of the figures' CSVs; default: that of --out.")] = None,
) -> None:
    """Judge the papers' claims by the figures' CSVs: claims.md and claims.csv."""
    from clearsched import paper
    from clearsched.params import load_stage

    typer.echo(paper.claims(load_stage(params, "paper"), figures or out, out))


@app.command()
def episodes(
    experiment: Annotated[list[str], typer.Argument(help="Experiments of one base (docs/paper.md).")],
    params: ParamsFile,
    trace: TraceFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    out: OutFolder,
    student: AnyStudentFiles = None,
    searched: SearchedFiles = None,
    teacher_seed: Annotated[
        list[Path] | None,
        typer.Option("--teacher-seed", help="A teacher of another training seed; may be given several times."),
    ] = None,
) -> None:
    """Run every policy of a base on the episodes of experiments: a folder each in --out."""
    from clearsched import paper
    from clearsched.params import load_stage

    loaded, seeds = load_stage(params, "paper"), teacher_seed or ()
    paper.episodes(loaded, experiment, trace, tuned, teacher, student or (), out, searched or (), seeds)


@app.command()
def fidelity(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    decisions: DecisionsFile,
    student: StudentFiles,
    out: OutFile,
) -> None:
    """Tell how often students answer as the teacher did."""
    from clearsched import paper
    from clearsched.params import load_stage

    paper.fidelity(load_stage(params, "paper"), trace, workloads, decisions, student, out)


@app.command()
def optimum(
    params: ParamsFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    out: OutFile,
    student: AnyStudentFiles = None,
    searched: SearchedFiles = None,
) -> None:
    """Hold every policy of a base against the optimum of small instances (extra: optimum)."""
    from clearsched import paper
    from clearsched.params import load_stage

    paper.optimum(load_stage(params, "paper"), tuned, teacher, student or (), out, searched or ())


@app.command()
def latency(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    student: StudentFiles,
    out: OutFile,
) -> None:
    """Time decisions of network, students and a heuristic, one at a time."""
    from clearsched import paper
    from clearsched.params import load_stage

    paper.latency(load_stage(params, "paper"), trace, workloads, tuned, teacher, student, out)


@app.command()
def left(
    params: Annotated[
        Path | None, typer.Option("--params", help="Params file; default: as the last run had it, or params.yaml.")
    ] = None,
    results: Annotated[Path, typer.Option("--results", help="Folder of the results.")] = Path("results"),
    cores: Annotated[float | None, typer.Option(min=1, help="Cores of the run; default: all that may be used.")] = None,
    every: Annotated[
        float | None,
        typer.Option(min=0.01, help="Minutes: tell it time and again, until whoever started this has ended."),
    ] = None,
) -> None:
    """Tell how far `make paper` has come, and how long what is left will take: a projection."""
    from clearsched.doctor import machine, paper_left
    from clearsched.params import load

    for _ in paper_left.turns(60 * every) if every else range(1):
        own = load(params) if params else paper_left.params_of(results)
        told = paper_left.told(paper_left.of_paper(own, results), cores or machine.usable_cores())
        typer.echo("\n".join(told))
