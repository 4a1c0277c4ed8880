"""`clearsched students`: fit them, print their rules."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App, output_file
from clearsched.cli.options import (
    DecisionsFile,
    GuardClear,
    GuardGauges,
    GuardHeuristic,
    GuardMargin,
    GuardSettings,
    OutFolder,
    ParamsFile,
    TeacherFile,
    TraceFile,
    TunedFile,
    WorkloadsFile,
    guard_params,
)

StudentFile = Annotated[Path, typer.Argument(help="A student's JSON file.")]

app = App(name="students", help="Policies that a person can read.", no_args_is_help=True)


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
    size: Annotated[
        int | None, typer.Option(help="Rules, leaves or trees, as the kind counts; default: what params say.", min=1)
    ] = None,
    by: Annotated[str, typer.Option(help="The setting that says its size; default: the usual one of the kind.")] = "",
) -> None:
    """Fit a student on the decision log; writes its JSON and its text."""
    from clearsched import students
    from clearsched.params import load_stage

    settings = load_stage(params, "students")
    students.fit(settings, kind, trace, workloads, tuned, teacher, decisions, out, student or (), size, by)


@app.command()
def pareto(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    decisions: DecisionsFile,
    student: Annotated[list[Path], typer.Option(help="A student's JSON file, fitted with a size; repeat it.")],
    out: OutFolder,
) -> None:
    """Hold students of several sizes against the teacher: a table and a figure."""
    from clearsched import pareto as room
    from clearsched.params import load_stage

    settings = load_stage(params, "students_pareto")
    typer.echo(room.compare(settings, trace, workloads, tuned, teacher, decisions, student, out), nl=False)


@app.command()
def show(
    path: StudentFile,
    decisions: Annotated[Path | None, typer.Option(help="Decision log, to tell how often each rule fires.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Job profiles, to tell what it costs without each rule.")] = None,
    workloads: Annotated[Path | None, typer.Option(help="Episodes, of which the validation ones are run.")] = None,
    whole: Annotated[bool, typer.Option("--all", help="Print every tree, where there are many.")] = False,
) -> None:
    """Print a student as rules with units; with a log and data also what each rule is worth."""
    from clearsched import reading

    typer.echo(reading.show(path, decisions, trace, workloads, whole))


class Split(StrEnum):
    """Whose episodes are compared."""

    validation = "validation"
    test = "test"


@app.command()
def patch(
    path: Annotated[Path, typer.Argument(help="The JSON file of a student, a searched policy or a formula.")],
    patches: Annotated[Path, typer.Option(help="The patches, YAML or JSON: a list of `when` and `do` or `cap`.")],
    trace: Annotated[
        list[Path], typer.Option(help="Job profiles, Parquet; once for all workloads, or once for each of them.")
    ],
    workloads: Annotated[
        list[Path], typer.Option(help="Episodes, Parquet: first the normal load, then edge cases, one an option.")
    ],
    out: OutFolder,
    split: Annotated[Split, typer.Option(help="Whose episodes of the workloads are compared.")] = Split.validation,
    edge_cases: Annotated[
        Path | None,
        typer.Option(
            help="results/<scenario>/params/edge_cases.json: each edge case of the scenario is compared too, on "
            "validation episodes drawn for this by another seed, never on the test episodes of `edge-cases run`."
        ),
    ] = None,
    edge_episodes: Annotated[int, typer.Option(help="Episodes of each edge case.", min=1, max=100_000)] = 8,
) -> None:
    """Lay patches on a policy; print before and after on every load; write it and its changes unless it is refused."""
    from clearsched.edge_cases.patch_command import patch_file

    for file in patch_file(path, patches, trace, workloads, split.value, out, typer.echo, edge_cases, edge_episodes):
        typer.echo(str(file))


@app.command()
def guard(
    path: Annotated[Path, typer.Argument(help="The JSON file of a student, a searched policy or a formula.")],
    heuristic: GuardHeuristic,
    trace: TraceFile,
    workloads: WorkloadsFile,
    out: OutFolder,
    margin: GuardMargin = 1.5,
    clear: GuardClear = 0.5,
    gauge: GuardGauges = None,
    setting: GuardSettings = None,
    tuned: Annotated[Path | None, typer.Option(help="Tuned heuristics, JSON; defaults without.")] = None,
) -> None:
    """Give a policy a guard: a heuristic takes over when more has piled up than it ever saw in training."""
    from clearsched import students

    settings = guard_params(heuristic, margin, clear, gauge, setting)
    for file in students.guard(path, settings, trace, workloads, tuned, out, typer.echo):
        typer.echo(str(file))


@app.command()
def explain(
    path: StudentFile,
    decisions: DecisionsFile,
    episode: Annotated[int, typer.Option(help="Episode of the log.")],
    decision: Annotated[int, typer.Option(help="Decision of the episode.")],
    split: Annotated[str, typer.Option(help="Split of the log: train or validation.")] = "validation",
) -> None:
    """Say why a student decides as it does: why A and not B, the teacher's choice, what would flip it."""
    from clearsched import reading

    typer.echo(reading.explain(path, decisions, episode, decision, split), nl=False)


@app.command()
def verify(
    path: StudentFile,
    decisions: Annotated[Path | None, typer.Option(help="Decision log: what features can be.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Job profiles, to measure the longest wait.")] = None,
    workloads: Annotated[Path | None, typer.Option(help="Episodes, of which the validation ones are run.")] = None,
) -> None:
    """Look for dead rules and contradictions; prove which way scores go; tell how long a candidate may wait."""
    from clearsched import reading

    typer.echo(reading.verify(path, decisions, trace, workloads), nl=False)


@app.command()
def card(
    path: StudentFile,
    results: Annotated[Path, typer.Option(help="Folder of the scenario, results/<scenario>, with its evaluation.")],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=output_file, metavar="FILE", help="File to write; <student>.md beside the student without."
        ),
    ] = None,
) -> None:
    """Write a student's model card: rules, cost, fidelity, weaknesses, verification, how to make it anew."""
    from clearsched import reading

    typer.echo(str(reading.card(path, results, out)))
