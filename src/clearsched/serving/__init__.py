"""A student as a service: decisions over HTTP, with the reason for each.

FastAPI, uvicorn and the client of Prometheus are the extra `serve`; nothing here is imported by any other stage.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

__all__ = ["serve"]


def serve(
    student: Path,
    host: str,
    port: int,
    decisions: Path | None,
    problem: str,
    most_candidates: int,
    most_bytes: int,
    every_s: float,
    say: Callable[[str], None],
) -> None:
    """Answer requests until the process is told to end; see `clearsched serve --help`.

    Args:
        student: file of a student, searched policy or formula.
        host, port: what to listen on; port 0: any that is free.
        decisions: a log, which tells how far features reach; without one the candidates of a request do.
        problem: whose students are taken; empty: that of the file.
        most_candidates, most_bytes: of a request.
        every_s: how often the file is looked at.
        say: takes a line for who runs the service.

    Raises:
        ClearschedError: a package is missing, the file is no student or of another problem, the address cannot be
            listened on, or the log is of another problem.
    """
    from clearsched.serving.packages import check_packages

    check_packages()
    from clearsched.serving.running import run

    run(student, host, port, decisions, problem, most_candidates, most_bytes, every_s, say)
