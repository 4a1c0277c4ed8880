"""`clearsched <stage> <verb>`: each command parses its options, calls one function of the package and prints.

The modules here import nothing heavy at the top, so `--help` answers in well under a second; a command's body imports
the package it calls.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import typer

from clearsched import __version__, arithmetic
from clearsched.cli import (
    decisions,
    doctor,
    edge_cases,
    engine,
    evaluation,
    export,
    figures,
    heuristics,
    paper,
    params,
    problems,
    report,
    search,
    serve,
    shipped,
    simulate,
    students,
    teacher,
    traces,
)
from clearsched.cli.commands import App, Command, one_line, open_streams, unwritten
from clearsched.cli.usage import UsageFault, usage_line
from clearsched.errors import ClearschedError

app = App(
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
app.command("doctor")(doctor.doctor)
app.command("export", cls=Command)(export.export)
app.command("serve")(serve.serve)
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
    paper,
    report,
    shipped,
    engine,
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
    """Run the command line; a user's mistake is one line on stderr and exit code 2, and so is what the machine lacks.

    Who reads standard output may stop when it has enough (`| head`): that is no fault.
    """
    open_streams()
    code: Any = 0
    failed: OSError | None = None
    try:
        if not {"-h", "--help", "--version"} & set(sys.argv):
            arithmetic.settle()
        code = app(prog_name="clearsched", standalone_mode=False)
    except SystemExit as stop:
        code = 0 if isinstance(stop.__context__, BrokenPipeError) else stop.code  # typer makes it 1
    except UsageFault as fault:
        code = _fail(usage_line(fault))
    except ClearschedError as error:
        code = _fail(str(error))
    except MemoryError:
        code = _fail("not enough memory for this input")
    except OSError as error:
        failed = error
    failed = unwritten() or failed
    if failed is not None and not isinstance(failed, BrokenPipeError):
        code = _fail(f"{failed.filename or 'standard output'}: {failed.strerror or failed}")
    sys.exit(code)


def _fail(reason: str) -> int:
    """Say what is wrong, as far as somebody listens."""
    with contextlib.suppress(OSError):
        print(f"clearsched: {one_line(reason)}", file=sys.stderr, flush=True)
    return 2
