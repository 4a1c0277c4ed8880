"""`clearsched export`: a student's rules for other programs, and networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clearsched.cli.commands import output_file
from clearsched.export.kinds import FORMATS


def export(
    student: Annotated[
        Path,
        typer.Argument(
            help="The JSON file of a student, a searched policy or a formula, or the .safetensors file of a teacher."
        ),
    ],
    format: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=output_file, metavar="FILE", help="File to write; without it beside the student, with its name."
        ),
    ] = None,
    decisions: Annotated[
        Path | None, typer.Option(help="Decision log that the test vectors are taken from; else they are drawn.")
    ] = None,
    vectors: Annotated[int, typer.Option(min=1, max=100_000, help="Decisions of the test vectors.")] = 200,
) -> None:
    """Write a student's rules as source code of another language, and test vectors beside it.

    A teacher, the network, is written as a graph (onnx), without test vectors.
    """
    from clearsched import export as room

    for path in room.export(student, format, out, decisions, vectors):
        typer.echo(str(path))
