"""The rules that answer now, read again when their file changes or when a signal asks for it.

A request takes the rules once and keeps them, so none is lost when others take their place. A file that cannot be used
changes nothing: the rules before it go on answering, and one line says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clearsched.errors import ClearschedError, in_a_line
from clearsched.files import digest_file
from clearsched.problems.problem import Problem
from clearsched.scorers.policy import load_policy
from clearsched.search.safety import warnings_of
from clearsched.serving.deciding import Decider
from clearsched.serving.metrics import Metrics
from clearsched.serving.schema import Guarding

Signature = tuple[int, int, int]
"""Time of change, length and number of a file: what differs when it is another one."""


class Keeper:
    """The rules of a file.

    Attributes:
        path: the file.
        now: the rules that answer.
        refused: why the file, as it is by now, is not what answers; None: it is.
        metrics: of the service.
        asked: set when the file is to be read again at once.
    """

    def __init__(
        self,
        path: Path,
        most_candidates: int,
        say: Callable[[str], None] = lambda line: None,
        problem: Problem | None = None,
        every_s: float = 1.0,
    ) -> None:
        """Read the file for the first time.

        Args:
            path: the file.
            most_candidates: of a request.
            say: takes a line for who runs the service.
            problem: whose students are taken; None: any at first, then those of the same problem.
            every_s: how often the file is looked at.

        Raises:
            ClearschedError: it cannot be used (`load_policy`).
        """
        self.path, self.most_candidates, self._say, self._problem = path, most_candidates, say, problem
        self.every_s, self.metrics, self.asked = every_s, Metrics(), asyncio.Event()
        self.refused: str | None = None
        self._signature = self._look()
        self.now = self._read()
        self._problem = self.now.policy.problem
        self._tell()

    async def watch(self) -> None:
        """Read the file again whenever it changes or `asked` is set, without end."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.every_s):
                    await self.asked.wait()
            asked = self.asked.is_set()
            self.asked.clear()
            await asyncio.to_thread(self.look_again, asked)

    def look_again(self, asked: bool = False) -> None:
        """Read the file again if it is another one, or if that is `asked` for."""
        signature = self._look()
        if signature == self._signature and not asked:
            return
        try:
            found = self._read()
        except Exception as error:  # whatever is wrong with a file, the rules before it go on answering
            if self._look() != signature:  # it was changed meanwhile: the next look judges what it has become
                return
            self._signature = signature
            why = str(error) if isinstance(error, ClearschedError) else f"{self.path}: {in_a_line(error)}"
            self.refused = why
            self.metrics.refused.inc()
            self._say(f"the rules stay those of {self.now.digest}: {why}")
            return
        self._signature, self.now, self.refused = signature, found, None
        self.metrics.loaded.inc()
        self._tell()
        self._say(f"read {self.path} again: {found.policy.name}, {found.digest}")

    def note_guard(self, said: Guarding, was: bool) -> None:
        """Count what the guard says, with a line where it is another answer than before."""
        (self.metrics.by_heuristic if said.taken_over else self.metrics.by_rules).inc()
        if said.taken_over != was:
            self._say(f"{said.heuristic} is to schedule: {said.why}" if said.taken_over else "the rules schedule again")

    def _look(self) -> Signature | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> Decider:
        """The rules of the file as it is.

        Raises:
            ClearschedError: they cannot be used, or it changed meanwhile.
        """
        digest = digest_file(self.path) if self.path.is_file() else ""  # if not, the next line says so
        policy = load_policy(self.path, self._problem)
        if digest_file(self.path) != digest:
            raise ClearschedError(f"{self.path}: changed while it was read")
        return Decider(policy, digest, self.most_candidates)

    def _tell(self) -> None:
        policy = self.now.policy
        self.metrics.tell_student(policy.name, policy.problem.name, self.now.digest)
        for line in warnings_of(policy.name, policy.evidence):
            self._say(line)
        if self.now.watched:
            self._say(f"{policy.name} has a guard, asked where a request tells {' and '.join(self.now.watched)}")
