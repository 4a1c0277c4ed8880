"""`clearsched engine slurm`: a real, unchanged Slurm under a student."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App, output_file, output_folder
from clearsched.cli.options import MOST_SEED

app = App(name="slurm", help="An unchanged Slurm that obeys a student: docs/engines-slurm.md.", no_args_is_help=True)

Student = Annotated[Path, typer.Argument(help="The JSON file of a student, a searched policy or a formula.")]
Every = Annotated[float, typer.Option(min=0.05, max=3600, help="Seconds between two looks at the queue.")]
Cores = Annotated[int | None, typer.Option(min=1, help="Cores that the jobs may use; without it all that are up.")]


@app.command("submit")
def submit(
    job: Annotated[Path, typer.Argument(help="The job: JSON with name and stages (tasks, task_s, parents, command).")],
    static: Annotated[
        Path | None,
        typer.Option("--static", help="Student that the cluster's job_submit.lua was exported from, if it has one."),
    ] = None,
) -> None:
    """Submit a DAG job: each stage an array job that waits for its parents; prints the array of each stage."""
    import time

    from clearsched.engines.slurm.client import Slurm
    from clearsched.engines.slurm.features import check_at_submission, used_features
    from clearsched.engines.slurm.jobs import read_job
    from clearsched.engines.slurm.submitting import submit as send
    from clearsched.problems import find_problem
    from clearsched.scorers.policy import load_policy

    slurm, names = Slurm(), []
    dag = read_job(job)
    if static is not None:
        policy = load_policy(static, find_problem("dag_jobs"))
        check_at_submission(policy)
        names = used_features(policy, level=False)
    for stage, array in enumerate(send(slurm, dag, time.time(), slurm.cores(), names)):
        typer.echo(f"{stage}\t{array}")


@app.command("obey")
def obey(
    student: Student,
    every: Every = 0.5,
    cores: Cores = None,
    limits: Annotated[bool, typer.Option(help="Whether the student's limits become throttles.")] = True,
    until_empty: Annotated[bool, typer.Option(help="End when no DAG job is in the queue.")] = False,
    log: Annotated[
        Path | None,
        typer.Option(parser=output_file, metavar="FILE", help="File to write every change to, a JSON object a line."),
    ] = None,
) -> None:
    """Keep the priorities and throttles of all DAG jobs in the queue as the student wants them, until interrupted."""
    import contextlib
    import json

    from clearsched.engines.slurm.client import Slurm
    from clearsched.engines.slurm.obeying import Keeper
    from clearsched.engines.slurm.obeying import obey as keep
    from clearsched.engines.slurm.planning import Planner
    from clearsched.problems import find_problem
    from clearsched.scorers.policy import load_policy

    policy, slurm = load_policy(student, find_problem("dag_jobs")), Slurm()
    planner = Planner(policy, cores or slurm.cores(), limits)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(log, "w", encoding="utf-8")) if log else None

        def write(row: dict[str, object]) -> None:
            if file:
                print(json.dumps(row), file=file, flush=True)

        keeper = Keeper(slurm, planner, lambda line: print(line, file=sys.stderr, flush=True), write)
        with contextlib.suppress(KeyboardInterrupt):
            keep(keeper, every, until_empty)
    counts = keeper.counts
    typer.echo(f"{counts.looks} looks, {counts.changes} changes, {counts.refused} refused")


@app.command("run")
def run(
    student: Student,
    trace: Annotated[Path, typer.Option(help="Job profiles, Parquet: their durations are slept.")],
    out: Annotated[
        Path, typer.Option(parser=output_folder, metavar="FOLDER", help="Folder to write to; goes on where it was.")
    ],
    sequences: Annotated[int, typer.Option(min=1, max=1000, help="Sequences of arrivals.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, max=1000, help="Jobs of a sequence.")] = 8,
    gap: Annotated[float, typer.Option(min=0, max=1e6, help="Mean seconds between arrivals; 0: all at once.")] = 4.0,
    bundle: Annotated[int, typer.Option(min=1, max=100_000, help="Recorded tasks that are slept as one.")] = 16,
    slower: Annotated[float, typer.Option(min=0.001, max=1000, help="How many times as long a task sleeps.")] = 1.5,
    every: Every = 0.3,
    policy: Annotated[
        list[str] | None, typer.Option(help="fifo, static, live, live_limits; once for each. Without it all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of jobs, arrivals and durations.")] = 1,
) -> None:
    """Replay recorded jobs on Slurm, in its own order and the student's, static and live; against the simulator."""
    from clearsched.engines.slurm.running import Setting, compare
    from clearsched.engines.slurm.stand_ins import POLICIES
    from clearsched.errors import ClearschedError

    for name in policy or ():
        if name not in POLICIES:
            raise ClearschedError(f"--policy {name}: expected one of {', '.join(POLICIES)}")
    setting = Setting(sequences, jobs, gap, bundle, slower, every, seed)
    asked = [name for name in POLICIES if not policy or name in policy]
    typer.echo(compare(student, trace, out, setting, asked), nl=False)
