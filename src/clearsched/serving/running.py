"""The service as a process: the address, the server, its end."""

from __future__ import annotations

import errno
import gc
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.serving import Settings
from clearsched.serving.reloading import Keeper
from clearsched.serving.service import create_app

if TYPE_CHECKING:
    from clearsched.problems.problem import Problem
    from clearsched.reading.flipping import Spread

SPLIT = "validation"
"""Of the log: what `clearsched students explain` takes."""

END_S = 10
"""For which requests that are being answered may take when the process is told to end."""

TURN_S = 0.0005
"""After which decisions get their turn while another thread puts an answer in words; Python's own is 5 ms."""


def run(student: Path, settings: Settings, say: Callable[[str], None]) -> None:
    """See `clearsched.serving.serve`."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the service takes it, it must not end the process
    listening = listen(settings.host, settings.port)
    with listening:
        problem = find_problem(settings.problem) if settings.problem else None
        keeper = Keeper(student, settings.most_candidates, say, problem, settings.every_s)
        policy = keeper.now.policy
        spread = spread_of_log(settings.decisions, policy.problem) if settings.decisions else None
        app = create_app(keeper, settings.most_bytes, spread)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=END_S,
        )
        address = listening.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        say(f"{policy.name} ({policy.problem.name}, {keeper.now.digest}) answers at http://{shown}:{address[1]}")
        if not ip_address(address[0]).is_loopback:
            say(f"whoever reaches {shown}:{address[1]} may ask: there are no passwords; use a proxy or a firewall")
        sys.setswitchinterval(TURN_S)
        gc.collect()
        gc.freeze()  # what was imported stays: the collector need not look at it while requests wait
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
        say("ended")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; taken before anything is read, so that a port in use is told at once.

    Raises:
        ClearschedError: the address is not this machine's, or is in use.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise ClearschedError(f"--host {host}: no such address: {_reason(error)}") from None
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(address)
        found.listen(socket.SOMAXCONN)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise ClearschedError(f"--port {port}: in use on {host}: end what listens there, or give another") from None
        raise ClearschedError(f"--host {host} --port {port}: {_reason(error)}") from None
    return found


def spread_of_log(decisions: Path, problem: Problem) -> Spread:
    """How far the features of a problem reach in a log.

    Raises:
        ClearschedError: it is broken, of another problem or version, or has no decision of the split.
    """
    from clearsched.decisions.reader import read_choices
    from clearsched.problems.declarations import rank_choice
    from clearsched.reading.flipping import spread_of

    choices = read_choices(decisions, problem, rank_choice(problem.choices).name, SPLIT)
    if not len(choices.chosen):
        raise ClearschedError(f"{decisions}: no decision of the split {SPLIT!r}")
    return spread_of(choices)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
