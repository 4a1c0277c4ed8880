"""`clearsched <stage> <verb>`: each command parses its options, calls one function of the package and prints.

The modules here import nothing heavy at the top, so `--help` answers in well under a second; a command's body imports
the package it calls.
"""

from __future__ import annotations

import sys

import typer

from clearsched import __version__, arithmetic
from clearsched.cli import (
    decisions,
    edge_cases,
    evaluation,
    figures,
    heuristics,
    params,
    problems,
    search,
    shipped,
    simulate,
    students,
    teacher,
    traces,
)
from clearsched.errors import ClearschedError

app = typer.Typer(
    name="clearsched",
    help="Learn a cluster scheduler, then read it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("simulate")(simulate.simulate)
app.command("problems")(problems.problems)
app.command("prepare")(problems.prepare)
evaluation.app.command("optimum")(simulate.optimum)
for module in (
    params,
    traces,
    heuristics,
    search,
    teacher,
    decisions,
    students,
    evaluation,
    edge_cases,
    figures,
    shipped,
):
    app.add_typer(module.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clearsched {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Learn a cluster scheduler, then read it."""


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    try:
        if not {"-h", "--help", "--version"} & set(sys.argv):
            arithmetic.settle()
        app()
    except ClearschedError as error:
        print(f"clearsched: {error}", file=sys.stderr)
        sys.exit(2)
