"""`clearsched engine spark`: a real standalone Spark on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import OutFile, OutFolder, TraceFile, TunedFile, WorkloadsFile
from clearsched.engines.spark import JAR

app = App(name="spark", help="A real standalone Spark on this machine.", no_args_is_help=True)

MOST_PORT = 65535


@app.command()
def run(
    trace: TraceFile,
    workloads: WorkloadsFile,
    out: OutFolder,
    policy: Annotated[
        list[str] | None, typer.Option(help="One of Spark's own, fifo or fair; repeat for both; default: both.")
    ] = None,
    student: Annotated[
        list[Path] | None,
        typer.Option(help="JSON file of a student, a searched policy or a formula, run by its rules; repeat for more."),
    ] = None,
    split: Annotated[str, typer.Option(help="Split that the episodes are of.")] = "test",
    episodes: Annotated[int, typer.Option(min=1, max=1000, help="Episodes, the first of the split.")] = 5,
    replay: Annotated[
        bool, typer.Option("--replay/--no-replay", help="Tasks sleep what the trace says; the one kind there is.")
    ] = True,
    jar: Annotated[Path, typer.Option(help="The jar of this project.")] = JAR,
    port: Annotated[
        int | None, typer.Option(min=1, max=MOST_PORT, help="Port of the master; default: any that is free.")
    ] = None,
) -> None:
    """Run episodes on a real Spark under every policy, and in the simulator; tables and figures go to a folder."""
    from clearsched.engines.spark import command

    own = policy if policy is not None else ([] if student else ["fifo", "fair"])
    asked = command.Asked(trace, workloads, tuple(own), tuple(student or ()), split, episodes, replay, jar, port)
    typer.echo(command.run(asked, out, lambda line: typer.echo(line, err=True)), nl=False)


@app.command("capped-srpt")
def capped_srpt(
    tuned: TunedFile,
    out: OutFile,
    executors: Annotated[int, typer.Option(min=1, max=1_000_000, help="Executors of the cluster.")] = 4,
) -> None:
    """Write tuned capped SRPT as rules, which can be shown, exported and run as a student's."""
    from clearsched.engines.spark.capped_srpt import write

    write(tuned, executors, out)
