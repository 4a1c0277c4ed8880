"""`clearsched evaluation`: compare the policies, print the table."""

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

app = typer.Typer(name="evaluation", help="Compare policies on the same held-out episodes.", no_args_is_help=True)


@app.command()
def run(
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    teacher: TeacherFile,
    student: Annotated[list[Path], typer.Option(help="A student's JSON file; give it once for each student.")],
    decisions: DecisionsFile,
    out: OutFolder,
    searched: Annotated[
        list[Path] | None, typer.Option(help="A searched policy's JSON file; give it once for each one.")
    ] = None,
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


@app.command()
def optimum(
    policy: Annotated[list[str], typer.Argument(help="Heuristics by name, and files of students or teachers.")],
    out: OutFolder,
    tuned: Annotated[Path | None, typer.Option(help="Tuned heuristics, JSON; defaults without.")] = None,
    instances: Annotated[int, typer.Option(min=1, help="Small instances, of 4 to 8 DAG jobs each.")] = 30,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the instances.")] = 1,
    effort: Annotated[float, typer.Option(min=0.01, help="The solver's deterministic time for an instance.")] = 3.0,
) -> None:
    """Hold policies against the optimum of small instances (extra: optimum); table, figure and its data."""
    from rich.console import Console

    from clearsched import figures
    from clearsched.evaluation.policies import load_policy
    from clearsched.files import read_json
    from clearsched.problems import find_problem
    from clearsched.problems.dag_jobs.optimality import write_optimality

    problem, settings = find_problem("dag_jobs"), read_json(tuned) if tuned else None
    loaded = [load_policy(problem, name, settings) for name in policy]
    with Console(stderr=True).status("") as status:
        write_optimality(
            loaded, out, instances, seed, effort, lambda solved: status.update(f"optimum: {solved} of {instances}")
        )
    module = "clearsched.problems.dag_jobs.figures.optimality_gap"
    for path in figures.draw_module(module, "how far from the optimum", problem, out, out / "optimality_gap"):
        typer.echo(str(path))
