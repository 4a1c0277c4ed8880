"""The service as a reader: a request's bytes come over a real connection, as a client or an attacker sends them."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

PATIENCE_S = 0.5
"""For an answer; a request that is not whole gets none, and who sent it goes."""

ALIVE_S = 60
"""For an answer to a sound question; generous, since others may use the machine."""

MOST_CANDIDATES, MOST_BYTES = 64, 100_000

LONGEST = 2000
"""Characters of the body that says what is wrong with a request."""

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)\r\n")


def request(student: Path) -> bytes:
    """A sound request to decide between three candidates, for the rules of a file."""
    from clearsched.scorers.policy import load_policy, names_of

    names = names_of(load_policy(student).rank)
    rows = [{"id": f"{n}", "group": f"{n % 2}", "least": 1, "features": dict.fromkeys(names, n)} for n in range(3)]
    body = json.dumps({"candidates": rows, "most": 10}, indent=1).encode()
    head = f"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def ask(path: Path, student: Path) -> None:
    """Send a file's bytes to the service of a student.

    Raises:
        ClearschedError: they are refused, with a status of 400 to 499 or by hanging up, or are no whole request.
        RuntimeError: the answer is a fault of the service, or it answers nobody any more.
    """
    from clearsched.errors import ClearschedError

    address = serve(student)
    answer = exchange(address, path.read_bytes(), PATIENCE_S)
    if STATUS.match(exchange(address, HEALTH, ALIVE_S)) is None:
        raise RuntimeError("the service answers no more")
    status = STATUS.match(answer)
    if status is None:
        raise ClearschedError("no answer")
    body = answer.partition(b"\r\n\r\n")[2].decode()
    if int(status[1]) >= 500:
        raise RuntimeError(f"status {status[1].decode()}: {body}")
    if int(status[1]) >= 400:
        if len(body) > LONGEST or "\n" in body.strip():
            raise RuntimeError(f"more than a line is said of a request: {body[:LONGEST]}")
        raise ClearschedError(f"{status[1].decode()}: {body.strip()}")


@cache
def serve(student: Path) -> tuple[str, int]:
    """Where a service answers, in a thread of this process until it ends."""
    import uvicorn

    from clearsched.serving.reloading import Keeper
    from clearsched.serving.running import listen
    from clearsched.serving.service import create_app

    listening = listen("127.0.0.1", 0)
    app = create_app(Keeper(student, MOST_CANDIDATES), MOST_BYTES)
    # What it says of a request in its log is one line each, and not what the command line says.
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, ws="none"))
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    host, port = listening.getsockname()
    return host, port


def exchange(address: tuple[str, int], data: bytes, patience_s: float) -> bytes:
    """The first answer to some bytes; empty if there is none, cut off if it does not come in time."""
    found = b""
    with socket.create_connection(address, ALIVE_S) as connection:
        connection.settimeout(patience_s)
        with suppress(OSError):  # it hung up before all was said, and may have said why
            connection.sendall(data)
        with suppress(OSError):
            while not whole(found) and (more := connection.recv(65536)):
                found += more
    return found


def whole(answer: bytes) -> bool:
    """Whether an answer has all the bytes that it tells of."""
    head, end, body = answer.partition(b"\r\n\r\n")
    length = LENGTH.search(head + b"\r\n")
    return bool(end) and length is not None and len(body) >= int(length[1])
