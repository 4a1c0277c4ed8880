"""A handle on a worker process, which holds one Spark application."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.recorder.worker import ANSWER

STOP_TIMEOUT_S = 120


class Application:
    """Starts a worker in its own process, so that its Java virtual machine is new, and gives it queries.

    Use it in a `with` statement: leaving it stops Spark in order; an exception ends the process at once.
    """

    def __init__(self, settings: dict[str, Any], messages: Path) -> None:
        """Start the process. What Spark and Python say goes to the file `messages`."""
        self.messages = messages
        command = [sys.executable, "-m", "clearsched.problems.dag_jobs.traces.recorder.worker", json.dumps(settings)]
        with open(messages, "ab") as stream:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                encoding="utf-8",
            )

    def __enter__(self) -> Application:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _pipe(self.process.stdin).close()
        if kind is not None:
            self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        _pipe(self.process.stdout).close()

    def run(self, query: int, repetitions: int) -> dict[str, Any]:
        """Run a query once cold and `repetitions` times timed; return the worker's answer.

        Raises:
            ClearschedError: the process ended without an answer.
        """
        try:
            stdin = _pipe(self.process.stdin)
            stdin.write(json.dumps({"query": query, "repetitions": repetitions}) + "\n")
            stdin.flush()
        except OSError:
            pass  # the process has ended: reading below finds no answer and tells why
        for line in _pipe(self.process.stdout):
            if line.startswith(ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                return answer
        said = self.messages.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise ClearschedError(f"query {query}: Spark ended: {said[-1] if said else 'no message'}; see {self.messages}")


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
