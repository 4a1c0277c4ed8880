"""`clearsched serve`: a student as an HTTP service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import one_line

MOST_BYTES = 1 << 30
MOST_CANDIDATES = 1_000_000


def serve(
    student: Annotated[Path, typer.Argument(help="The JSON file of a student, a searched policy or a formula.")],
    host: Annotated[str, typer.Option(help="Address to listen on; others than this machine's own reach it then.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any that is free.")] = 8000,
    decisions: Annotated[
        Path | None, typer.Option(help="Decision log: how far features reach, for what would change a decision.")
    ] = None,
    problem: Annotated[str, typer.Option(help="Take students of this problem only; default: the first file's.")] = "",
    max_candidates: Annotated[
        int, typer.Option(min=1, max=MOST_CANDIDATES, help="Candidates of a request, at most.")
    ] = 10_000,
    max_bytes: Annotated[int, typer.Option(min=1, max=MOST_BYTES, help="Bytes of the body of a request, at most.")] = 16
    * 2**20,
    every: Annotated[
        float, typer.Option(min=0.01, max=3600, help="Seconds between two looks at the student's file.")
    ] = 1.0,
) -> None:
    """Answer decisions over HTTP: what is chosen, which rule fired and why; the file is read again when it changes."""
    from clearsched import serving

    settings = serving.Settings(host, port, decisions, problem, max_candidates, max_bytes, every)
    serving.serve(student, settings, _say)


def _say(line: str) -> None:
    """A line with the time, on standard error, as services write them."""
    from datetime import datetime

    moment = datetime.now().astimezone().isoformat(timespec="seconds")
    typer.echo(f"{moment} clearsched: {one_line(line)}", err=True)
