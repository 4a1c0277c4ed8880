"""A student as a service: decisions over HTTP, with the reason for each.

FastAPI, uvicorn and the client of Prometheus are the extra `serve`; nothing here is imported by any other stage.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["Settings", "serve"]


class Settings(NamedTuple):
    """Where a service answers, and what it takes."""

    host: str
    port: int  # 0: any that is free
    decisions: Path | None  # a log, which tells how far features reach; None: the candidates of a request do
    problem: str  # whose students are taken; empty: that of the file
    most_candidates: int  # of a request
    most_bytes: int  # of the body of a request
    every_s: float  # between two looks at the file


def serve(student: Path, settings: Settings, say: Callable[[str], None]) -> None:
    """Answer requests until the process is told to end; see `clearsched serve --help`.

    Args:
        student: file of a student, searched policy or formula.
        settings: address and limits.
        say: takes a line for who runs the service.

    Raises:
        ClearschedError: a package is missing, the file is no student or of another problem, the address cannot be
            listened on, or the log is of another problem.
    """
    from clearsched.serving.packages import check_packages

    check_packages()
    from clearsched.serving.running import run

    run(student, settings, say)
