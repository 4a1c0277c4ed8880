"""The process that runs commands, many in one, under limits, and tells what became of each."""

from __future__ import annotations

import gc
import os
import resource
import sys
import tempfile
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

MEMORY_MB = 1024
"""What a command may hold, with all that it imports."""

HEADROOM_MB = 2048
"""Address space above what a warm process has: what asks for more gets none, whatever the machine has."""


class Ended(NamedTuple):
    """What became of a command.

    Attributes:
        code: exit status; 70 for an exception that nobody caught.
        error: what it wrote to stderr.
        trace: where the exception came from, innermost call last; empty without one.
        seconds: of processor time.
        megabytes: most memory held at once.
    """

    code: int
    error: str
    trace: str
    seconds: float
    megabytes: float


def serve(connection: Connection, sound: list[tuple[Path, tuple[str, ...]]]) -> None:
    """Run what comes over the connection, (folder, command), until nothing comes any more.

    Args:
        connection: to the process that asks.
        sound: folders and commands that succeed, to be run before the limit is set: they import, compile and fill
            caches.
    """
    for folder, command in sound:
        run(folder, command)
    limit = _status("VmSize") + HEADROOM_MB * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    connection.send("ready")
    while True:
        try:
            folder, command = connection.recv()
        except EOFError:
            return
        connection.send(run(folder, command))
        gc.collect()


def run(folder: Path, command: tuple[str, ...]) -> Ended:
    """Run one command as the command line would, in `folder`, with its own folder for temporary files."""
    os.chdir(folder)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder / "temporary")
    trace = ""
    with _Streams(folder) as streams, warnings.catch_warnings():
        _forget_peak()
        before = os.times()
        try:
            code = _call(command)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException as error:
            code, trace = 70, _shown(error)
        after = os.times()
        seconds = after.user + after.system - before.user - before.system
    return Ended(code, streams.error, trace, seconds, _status("VmHWM") / 2**20)


def _call(command: tuple[str, ...]) -> int:
    from clearsched.cli import main
    from clearsched.cli.commands import one_line
    from clearsched.errors import ClearschedError

    from .readers import CALLS

    if command[0] == "call":
        try:
            CALLS[command[1]](*map(Path, command[2:]))
        except ClearschedError as error:
            print(f"clearsched: {one_line(str(error))}", file=sys.stderr)
            return 2
        return 0
    sys.argv = ["clearsched", *command]
    main()
    return 0


def _shown(error: BaseException) -> str:
    """An exception with its last calls, cut."""
    lines = "".join(traceback.format_exception(error, limit=-8))
    return lines if len(lines) < 4000 else f"{lines[:2000]}\n...\n{lines[-2000:]}"


def _status(key: str) -> int:
    """A figure of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0


def _forget_peak() -> None:
    """Let the highest memory be measured from here on."""
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")


class _Streams:
    """Stdout and stderr of the process, C code's as well, in files for as long as it lasts."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "streams"
        self.error = ""

    def __enter__(self) -> _Streams:
        sys.stdout.flush()
        sys.stderr.flush()
        self.kept = [os.dup(1), os.dup(2)]
        self.path.mkdir(exist_ok=True)
        for number, name in ((1, "stdout"), (2, "stderr")):
            file = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for number, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, number)
            os.close(kept)
        self.error = (self.path / "stderr").read_text("utf-8", "replace")
