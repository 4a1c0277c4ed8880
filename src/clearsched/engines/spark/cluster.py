"""A standalone Spark on this machine: a master and workers of one core each, all taken down in the end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from clearsched.engines.spark.requirements import Software, check_port, free_port
from clearsched.errors import ClearschedError

START_S = 120
STOP_S = 10
POLL_S = 0.1
PR_SET_PDEATHSIG = 1
HOST = "127.0.0.1"

JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For all virtual machines: a cluster on one machine starts a dozen, whose own threads must not keep it busy."""

MASTER = ("org.apache.spark.deploy.master.Master", "Starting Spark master")
WORKER = ("org.apache.spark.deploy.worker.Worker", "Successfully registered")
"""The class of a daemon, and what it says when it is there."""


@contextlib.contextmanager
def running(software: Software, executors: int, logs: Path, port: int | None = None) -> Iterator[str]:
    """A cluster as long as the block runs; yields the master's "host:port".

    Its processes also end when this one does, even if it is killed.

    Raises:
        ClearschedError: the port is taken, or a daemon did not start; the file of what it said is named.
    """
    if port is not None:
        check_port(port)
    address = f"{HOST}:{port or free_port()}"
    started: list[subprocess.Popen[bytes]] = []
    try:
        with interrupted_by(signal.SIGTERM):
            started.append(
                _daemon(software, MASTER, ["--host", HOST, "--port", address.split(":")[1]], logs / "master.log")
            )
            _wait([(started[0], MASTER[1], logs / "master.log")])
            workers = []
            for number in range(executors):
                log, work = logs / f"worker{number}.log", logs / "work" / str(number)
                options = [
                    "--host",
                    HOST,
                    "--cores",
                    "1",
                    "--memory",
                    "1g",
                    "--work-dir",
                    str(work),
                    f"spark://{address}",
                ]
                started.append(_daemon(software, WORKER, options, log))
                workers.append((started[-1], WORKER[1], log))
            _wait(workers)
            yield address
    finally:
        stop(started[::-1])


def _daemon(software: Software, what: tuple[str, str], options: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    command = [str(software.home / "bin" / "spark-class"), what[0], "--webui-port", "0", *options]
    return start(command, log, environment(software) | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": JVM})


def environment(software: Software) -> dict[str, str]:
    """Of a process of Spark. Settings of another Spark on this machine are kept out."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {
        "SPARK_HOME": str(software.home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_CONF_DIR": os.devnull,
        "PYSPARK_PYTHON": sys.executable,
    }


def start(command: Sequence[str], log: Path, env: dict[str, str], **pipes: int) -> subprocess.Popen[bytes]:
    """A process in a group of its own that ends with this one; what it says goes to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as stream:
        return subprocess.Popen(
            command,
            stdout=pipes.get("stdout", stream),
            stderr=stream,
            stdin=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait(daemons: Sequence[tuple[subprocess.Popen[bytes], str, Path]]) -> None:
    """Until every daemon has said that it is there."""
    until = time.monotonic() + START_S
    for process, sign, log in daemons:
        while sign not in log.read_text(encoding="utf-8", errors="replace"):
            if process.poll() is not None:
                raise ClearschedError(f"Spark's {log.stem} ended at its start: {last_line(log)}; see {log}")
            if time.monotonic() > until:
                raise ClearschedError(f"Spark's {log.stem} did not start within {START_S} s; see {log}")
            time.sleep(POLL_S)


def last_line(log: Path) -> str:
    """The last line that a process said of an error, else the last of all."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line) or " ERROR " in line]
    return (telling or lines or ["no message"])[-1]


def stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes and all that they have started, in order if they do so within `STOP_S`."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    until = time.monotonic() + STOP_S
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.1, until - time.monotonic()))
        _signal(process, signal.SIGKILL)  # what is left of its group
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@contextlib.contextmanager
def interrupted_by(number: int) -> Iterator[None]:
    """A signal that would end this process at once is an interruption in the block, so that it is left in order."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before: Callable[..., object] | int | None
    try:
        before = signal.signal(number, interrupt)
    except ValueError:  # not the main thread: who started it must see to it
        yield
        return
    try:
        yield
    finally:
        signal.signal(number, before)
