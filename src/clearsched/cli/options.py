"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearsched.cli.commands import output_file, output_folder
from clearsched.errors import ClearschedError

if TYPE_CHECKING:
    from clearsched.scorers.settings import GuardParams

MOST_SEED = 2**63 - 1
MOST_EXECUTORS = 1_000_000
"""As the simulator's: each takes memory."""

ParamsFile = Annotated[
    Path, typer.Option("--params", help="The stage's own params file, results/<scenario>/params/<stage>.json.")
]
TraceFile = Annotated[Path, typer.Option("--trace", help="Job profiles, Parquet.")]
WorkloadsFile = Annotated[Path, typer.Option("--workloads", help="Episodes of all splits, Parquet.")]
TunedFile = Annotated[Path, typer.Option("--tuned", help="Tuned heuristics, JSON.")]
TeacherFile = Annotated[Path, typer.Option("--teacher", help="Teacher, safetensors with its JSON beside it.")]
GuardHeuristic = Annotated[str, typer.Option("--heuristic", help="The heuristic that takes over, for example fair.")]
GuardMargin = Annotated[
    float,
    typer.Option("--margin", min=1, max=1000, help="How many times the most that its own training episodes came to."),
]
GuardClear = Annotated[
    float, typer.Option("--clear", min=0.001, max=1, help="Share of the bound below which the policy schedules again.")
]
GuardGauges = Annotated[
    list[str] | None,
    typer.Option("--gauge", help="A gauge to watch, once for each; without, all but those that must be named."),
]
GuardSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--setting", metavar="NAME=NUMBER", help="A parameter of the heuristic, once for each; else as tuned."
    ),
]
DecisionsFile = Annotated[Path, typer.Option("--decisions", help="Decision log, Parquet.")]
_STUDENT = typer.Option("--student", help="A student's JSON file; give it once for each student.")
StudentFiles = Annotated[list[Path], _STUDENT]
AnyStudentFiles = Annotated[list[Path] | None, _STUDENT]
"""Where there may be none: a run may fit no student."""
SearchedFiles = Annotated[
    list[Path] | None, typer.Option("--searched", help="A searched policy's JSON file; give it once for each one.")
]
OutFile = Annotated[Path, typer.Option("--out", parser=output_file, metavar="FILE", help="File to write.")]
OutFolder = Annotated[Path, typer.Option("--out", parser=output_folder, metavar="FOLDER", help="Folder to write to.")]


def print_json(values: object) -> None:
    """Print a command's answer as JSON."""
    import json

    typer.echo(json.dumps(values, indent=2, ensure_ascii=False))


def guard_params(
    heuristic: str, margin: float, clear: float, gauges: list[str] | None, settings: list[str] | None
) -> GuardParams:
    """The guard that the options of a command ask for.

    Raises:
        ClearschedError: a parameter of the heuristic is not of the form NAME=NUMBER, or its number is too large.
    """
    from clearsched.scorers.settings import LARGEST, GuardParams

    numbers = {}
    for setting in settings or ():
        name, _, text = setting.partition("=")
        try:
            numbers[name] = float(text)
        except ValueError:
            raise ClearschedError(f"--setting {setting}: expected NAME=NUMBER, for example p=0.3") from None
        if not abs(numbers[name]) <= LARGEST:
            raise ClearschedError(f"--setting {setting}: expected a number from {-LARGEST:g} to {LARGEST:g}")
    return GuardParams(heuristic=heuristic, settings=numbers, gauges=tuple(gauges or ()), margin=margin, clear=clear)


def print_table(title: str, lines: list[tuple[str, str]]) -> None:
    """Print (what, how much) lines as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for what, value in lines:
        table.add_row(what, value)
    # A path may hold what rich takes for markup, such as [/x].
    console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
    console.print(title)
    console.print(table)
