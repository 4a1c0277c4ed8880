"""`clearsched simulate`: one episode under one policy; `evaluation optimum`: policies against the optimum."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import output_file, output_folder
from clearsched.cli.options import MOST_SEED, OutFolder, print_json


class Durations(StrEnum):
    """Where task durations come from."""

    sampled = "sampled"
    mean = "mean"


def simulate(
    workload: Annotated[
        Path,
        typer.Argument(
            help="Workload, JSON: num_executors, moving_delay_ms, warmup_delay_ms, jobs (query, size, arrival_ms)."
        ),
    ],
    profiles: Annotated[Path, typer.Option(help="Job profiles: a trace (Parquet) or a folder of tpch-decima files.")],
    policy: Annotated[str, typer.Option(help="fifo, sjf_cp, fair, ..., or the file of a student or teacher.")],
    durations: Annotated[Durations, typer.Option(help="Draw task durations, or take their mean.")] = Durations.sampled,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the drawn durations.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(parser=output_file, metavar="FILE", help="File to write the answer to, JSON; else it is printed."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            parser=output_folder, metavar="FOLDER", help="Folder to write every task, decision and job to, Parquet."
        ),
    ] = None,
    chrome: Annotated[
        Path | None,
        typer.Option(
            parser=output_file,
            metavar="FILE",
            help="File to write a Chrome trace to, JSON: open it at ui.perfetto.dev.",
        ),
    ] = None,
) -> None:
    """Simulate one episode; the answer has completion_ms, makespan_ms, avg_jct_ms, num_decisions and num_tasks."""
    from clearsched.evaluation.policies import load_policy
    from clearsched.files import write_json
    from clearsched.problems import find_problem
    from clearsched.problems.dag_jobs import command

    loaded = load_policy(find_problem("dag_jobs"), policy, tuned=None, mode="argmax")
    answer = command.simulate_file(workload, profiles, loaded, durations.value, seed, record, chrome)
    if out is None:
        print_json(answer)
    else:
        write_json(out, answer)


def optimum(
    policy: Annotated[list[str], typer.Argument(help="Heuristics by name, and files of students or teachers.")],
    out: OutFolder,
    tuned: Annotated[Path | None, typer.Option(help="Tuned heuristics, JSON; defaults without.")] = None,
    instances: Annotated[int, typer.Option(min=1, max=100_000, help="Small instances, of 4 to 8 DAG jobs each.")] = 30,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the instances.")] = 1,
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
