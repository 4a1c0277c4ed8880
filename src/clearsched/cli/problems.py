"""`clearsched problems`: what can be scheduled, and by what."""

from __future__ import annotations

from typing import Annotated

import typer


def problems(name: Annotated[str | None, typer.Argument(help="One of them; default: all.")] = None) -> None:
    """List the problems: choices, measures, heuristics, sources of jobs, students, figures."""
    from clearsched.problems import PROBLEMS, find_problem
    from clearsched.workflow.listing import lines_of

    for problem in [name] if name else PROBLEMS:
        typer.echo("\n".join(lines_of(find_problem(problem))))


def prepare(name: Annotated[str | None, typer.Argument(help="The problem; default: the first.")] = None) -> None:
    """Compile a problem's simulator for this machine (two minutes), so that its first run does not wait for it."""
    from clearsched.problems import DEFAULT
    from clearsched.workflow import preparing

    preparing.prepare(name or DEFAULT)
