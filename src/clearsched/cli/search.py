"""`clearsched search`: find the numbers of a family of policies, print what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import App
from clearsched.cli.options import OutFolder, ParamsFile, TraceFile, TunedFile, WorkloadsFile

app = App(name="search", help="Policies of a few numbers, found in the simulator.", no_args_is_help=True)


@app.command()
def run(
    family: Annotated[str, typer.Argument(help="The family of policies: `clearsched problems` lists them.")],
    params: ParamsFile,
    trace: TraceFile,
    workloads: WorkloadsFile,
    tuned: TunedFile,
    out: OutFolder,
) -> None:
    """Search for the numbers of a family; writes its JSON, its text and its learning curve."""
    from clearsched import search
    from clearsched.params import load_stage

    search.run(load_stage(params, "search"), family, trace, workloads, tuned, out)


@app.command()
def show(path: Annotated[Path, typer.Argument(help="A searched policy's JSON file.")]) -> None:
    """Print a searched policy with units."""
    from clearsched import search

    typer.echo(search.show(path))
