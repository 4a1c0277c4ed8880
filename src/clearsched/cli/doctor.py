"""`clearsched doctor`: what is wrong with this machine, and what a run will cost on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.options import print_json


def doctor(
    params: Annotated[Path, typer.Option("--params", help="The params.yaml whose run is asked about.")] = Path(
        "params.yaml"
    ),
    results: Annotated[Path, typer.Option("--results", help="The folder below which results go.")] = Path("results"),
    paper: Annotated[bool, typer.Option("--paper", help="Also what all figures of the papers would cost.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """What is wrong with this machine, and what a run will cost on it, a line each. Exit code 1: there is a problem."""
    from clearsched import doctor as room

    found = room.examine(params, results, paper)
    if as_json:
        print_json(room.as_json(found))
    else:
        typer.echo(room.as_text(found))
    if room.has_problem(found):
        raise typer.Exit(1)
