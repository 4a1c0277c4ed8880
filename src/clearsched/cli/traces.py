"""`clearsched traces`: build, describe, check and record job profiles, and draw the episodes made of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from clearsched.cli.commands import App, Command, output_folder
from clearsched.cli.options import (
    MOST_EXECUTORS,
    MOST_SEED,
    OutFile,
    OutFolder,
    ParamsFile,
    TraceFile,
    print_json,
    print_table,
)
from clearsched.errors import ClearschedError

app = App(name="traces", help="Where jobs come from.", no_args_is_help=True)


class Clock(StrEnum):
    """What a task's duration is measured by."""

    processor = "processor"
    wall = "wall"


SOURCES = "SOURCES"
"""Stands for the names of the sources in a help text until somebody asks for it (`NamesSources`)."""


class NamesSources(Command):
    """A command whose help names the sources; they are not imported before, so that every command starts fast."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the names."""
        from clearsched.problems.dag_jobs.sources import SOURCES as ENTRIES

        for parameter in self.params:
            told = getattr(parameter, "help", None)
            if told:
                parameter.help = told.replace(SOURCES, ", ".join(ENTRIES))  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


Profiles = Annotated[Path, typer.Argument(metavar="FILE", help="A trace, Parquet.")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="An option of the source, as in params.yaml; repeat for more."),
]


@app.command(cls=NamesSources)
def build(
    out: OutFile,
    params: Annotated[Path | None, typer.Option(help="The stage's own params file; or give --source.")] = None,
    source: Annotated[str | None, typer.Option(help=f"Where jobs come from: {SOURCES}.")] = None,
    path: Annotated[Path | None, typer.Option(help="File or folder of the source; default: its own place.")] = None,
    setting: Setting = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of what the source draws.")] = 1,
) -> None:
    """Read a source of jobs, write it as a trace, and tell what was read and what was left out."""
    if (params is None) == (source is None):
        raise ClearschedError("traces build: give either --params or --source")
    if params is not None:
        if path is not None or setting:
            raise ClearschedError("traces build: --path and --set go with --source; of --params they are part")
        source, lines = _build(params, out)
    else:
        from clearsched.problems.dag_jobs import traces
        from clearsched.problems.dag_jobs.traces.sources import options_of, parse_settings

        assert source is not None
        summary = traces.write(source, path, out, options_of(source, parse_settings(setting or [])), seed)
        lines = summary.lines()
    print_table(f"{out}: jobs of {source}", lines)


def _build(params: Path, out: Path) -> tuple[str, list[tuple[str, str]]]:
    """Let the problem of a params file build its trace: the source, and the account of what was read."""
    from clearsched.params import load_stage
    from clearsched.problems import find_problem

    values = load_stage(params, "traces")
    return values.traces.source, find_problem(values.problem).build(values, out)


@app.command()
def workloads(params: ParamsFile, trace: TraceFile, out: OutFile) -> None:
    """Draw the training, validation and test episodes."""
    from clearsched.params import load_stage
    from clearsched.problems import find_problem

    values = load_stage(params, "workloads")
    find_problem(values.problem).draw(values, trace, out)


@app.command(cls=NamesSources)
def describe(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE_OR_FILE", help=f"A trace (Parquet), a folder, or {SOURCES}.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    executors: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_EXECUTORS, help="Executors of a cluster, to tell the load that the arrivals are for it."
        ),
    ] = None,
    setting: Setting = None,
) -> None:
    """Print what a trace holds: counts, quantiles, load, what its source left out or mended."""
    from clearsched.problems.dag_jobs.traces.describe import describe, print_description
    from clearsched.problems.dag_jobs.traces.sources import parse_settings

    values = describe(source, executors, parse_settings(setting or []))
    if as_json:
        print_json(values)
    else:
        print_description(values, source)


@app.command()
def validate(path: Profiles) -> None:
    """Check a trace: schema, DAGs, tasks, durations; the first fault is told with its row."""
    from clearsched.problems.dag_jobs import traces

    traces.check_file(path)
    typer.echo(f"{path}: all right")


@app.command()
def convert(path: Profiles, out: OutFile) -> None:
    """Copy a trace into the other format, told by the name: Parquet is small, Arrow (.arrow) opens at once."""
    from clearsched.problems.dag_jobs.traces import storage

    storage.convert(path, out)
    typer.echo(str(out))


@app.command("profiles")
def by_template(
    path: Profiles,
    out: OutFile,
    moving_delay: Annotated[
        float | None, typer.Option(min=0, max=3600, help="What a move costs in the eyes of the rules, s.")
    ] = None,
) -> None:
    """Write the stages of each template for a running engine: tasks, mean durations, parents."""
    from clearsched.problems.dag_jobs.traces.by_template import write_templates

    count = write_templates(path, out, moving_delay)
    typer.echo(f"{out}: {count} templates")


@app.command()
def figures(
    path: Profiles,
    out: OutFolder,
    name: Annotated[
        list[str] | None, typer.Option(help="The figure; repeat for more. Default: all that apply.")
    ] = None,
    dpi: Annotated[int, typer.Option(min=50, max=1200, help="Resolution of PNG files in dots per inch.")] = 150,
) -> None:
    """Draw a trace: DAG gallery, work and parallelism, arrivals, published quantiles; SVG, PNG and CSV each."""
    from clearsched.figures import draw_trace

    for drawn in draw_trace(path, out, name, dpi):
        typer.echo(drawn)


@app.command("record-tpch")
def record_tpch(
    out: OutFile,
    scale_factor: Annotated[
        list[float],
        typer.Option(min=0.01, help="Size of the data, about 1 GB of text each; give it once for each size."),
    ] = [0.5, 1.0, 2.0, 5.0, 10.0],  # noqa: B006 (typer reads the default, nobody changes it)
    level: Annotated[
        list[int], typer.Option(min=1, help="Executor cores to record at; give it once for each level.")
    ] = [1, 2],  # noqa: B006
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Timed runs of each query; by default fewer for larger data.")
    ] = None,
    work: Annotated[
        Path,
        typer.Option(
            parser=output_folder,
            metavar="FOLDER",
            help="Folder for generated data and event logs, several GB; kept, so that it can go on.",
        ),
    ] = Path("data/downloads/spark-work"),
    query: Annotated[
        list[int] | None, typer.Option(min=1, max=22, help="A query's number; give it once for each. Default: all 22.")
    ] = None,
    driver_memory: Annotated[str, typer.Option(help="Heap of each Spark application, in Java's notation.")] = "5g",
    clock: Annotated[
        Clock, typer.Option(help="Task durations by processor time, or finish minus launch.")
    ] = Clock.processor,
    note: Annotated[str, typer.Option(help="A sentence for the metadata, for example what else ran.")] = "",
    extend: Annotated[
        Path | None, typer.Option(help="A recording that lacks these sizes; --out holds its profiles as well.")
    ] = None,
) -> None:
    """Record the 22 TPC-H queries on Apache Spark; needs the extra `spark` and Java 17 or newer."""
    from clearsched.problems.dag_jobs.traces.recorder import record

    record.record_tpch(
        out,
        scale_factors=scale_factor,
        levels=level,
        repetitions=repetitions,
        work=work,
        queries=query,
        driver_memory=driver_memory,
        clock=clock.value,
        note=note,
        extend=extend,
    )


@app.command()
def replay(
    path: Profiles,
    executors: Annotated[int, typer.Option(min=1, max=MOST_EXECUTORS, help="Executors of the cluster.")],
    policy: Annotated[str, typer.Option(help="fifo, sjf_cp, fair, ..., or the file of a student.")] = "fair",
    speed: Annotated[float, typer.Option(help="How many times faster jobs arrive than in the trace.")] = 1.0,
    moving_delay_s: Annotated[float, typer.Option(min=0, help="Time an executor takes to change jobs.")] = 2.0,
    warmup_delay_s: Annotated[float, typer.Option(min=0, help="Added to unmeasured first tasks.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the drawn durations.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Schedule all jobs of a trace as they arrived, and print what became of them."""
    from clearsched.evaluation.policies import load_policy
    from clearsched.problems import find_problem
    from clearsched.problems.dag_jobs.command import replay_trace

    told = replay_trace(
        path,
        load_policy(find_problem("dag_jobs"), policy),
        executors,
        speed=speed,
        moving_delay_s=moving_delay_s,
        warmup_delay_s=warmup_delay_s,
        seed=seed,
    )
    if as_json:
        print_json(told)
    else:
        lines = [(name, value if isinstance(value, str) else f"{value:,.10g}") for name, value in told.items()]
        print_table(f"{path}: replayed", lines)
