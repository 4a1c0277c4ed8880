"""Slurm's commands: what is in the queue, a stage more, another priority. Nothing of Slurm is linked or patched."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from clearsched.engines.slurm.jobs import StageFacts, read_comment
from clearsched.errors import ClearschedError

PATIENCE_S = 60.0
"""For which a command may take to answer."""

DONE = ("No error", "Job has already finished")
"""What Slurm says of parts of an array to which an update does not matter."""

RUNNING = ("R", "S")
"""States of a task that holds a core."""


@dataclass
class Queued:
    """An array job of ours in the queue.

    Attributes:
        id: of the array.
        facts: what its comment tells.
        pending: tasks that have not started.
        running: tasks that run.
        priority: of the pending ones; 0 where it is held.
    """

    id: int
    facts: StageFacts
    pending: int = 0
    running: int = 0
    priority: int = 0


class Slurm:
    """The commands of a Slurm that answers."""

    def cores(self) -> int:
        """Cores of all nodes that are up.

        Raises:
            ClearschedError: there is no Slurm, or it does not answer.
        """
        answer = call(["sinfo", "-h", "-o", "%C"])
        if answer.returncode:
            raise ClearschedError(f"slurm: {said(answer)}: start one with engines/slurm/cluster.sh up")
        idle, used = (sum(int(line.split("/")[place]) for line in answer.stdout.split()) for place in (1, 0))
        if not idle + used:
            raise ClearschedError("slurm: no node is up: see sinfo")
        return idle + used

    def queue(self) -> list[Queued]:
        """The stages of ours that are not complete, by array.

        Raises:
            ClearschedError: Slurm does not answer.
        """
        answer = call(["squeue", "-h", "-r", "-t", "PD,CF,R,S,CG", "-o", "%F|%t|%Q|%k"])
        if answer.returncode:
            raise ClearschedError(f"slurm: squeue: {said(answer)}")
        return read_queue(answer.stdout)

    def submit(self, facts: StageFacts, command: Sequence[str], after: Sequence[int], comment: str) -> int:
        """Submit a stage; its array's id.

        Args:
            facts: of the stage.
            command: the words that each task runs.
            after: arrays that must end well before it starts.
            comment: `StageFacts.comment`.

        Raises:
            ClearschedError: Slurm refuses it.
        """
        words = ["sbatch", "--parsable", "--ntasks=1", "--output=/dev/null", f"--comment={comment}"]
        words += [f"--job-name={facts.job}.{facts.stage}", f"--array=0-{facts.tasks - 1}"]
        if after:
            words += [f"--dependency=afterok:{':'.join(map(str, after))}", "--kill-on-invalid-dep=yes"]
        answer = call([*words, f"--wrap=exec {shlex.join(command)}"])
        if answer.returncode or not re.match(r"\d+", answer.stdout):
            raise ClearschedError(f"slurm: stage {facts.stage} of job {facts.job}: sbatch: {said(answer)}")
        return int(answer.stdout.split(";")[0])

    def update(self, array: int, settings: Sequence[str]) -> str:
        """Change a pending array job; why Slurm refused it, or nothing."""
        answer = call(["scontrol", "update", f"JobId={array}", *settings])
        return refusal_of(answer.returncode, answer.stdout + answer.stderr)

    def release(self, array: int) -> str:
        """Let a held array job go; why Slurm refused it, or nothing."""
        answer = call(["scontrol", "release", str(array)])
        return said(answer) if answer.returncode else ""

    def cancel(self, arrays: Sequence[int]) -> None:
        """End array jobs; those that have ended already count for nothing."""
        if arrays:
            call(["scancel", *map(str, arrays)])

    def submits_by_lua(self) -> bool:
        """Whether a job_submit.lua is loaded."""
        return bool(re.search(r"^JobSubmitPlugins\s*=.*\blua\b", call(["scontrol", "show", "config"]).stdout, re.M))


def refusal_of(code: int, text: str) -> str:
    """Why `scontrol` refused an update; nothing where it did it.

    Of an array it tells each part of which it did not change all, and its exit code is 1, also where the part that is
    pending was changed: "12_3-5: No error".
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.endswith(DONE)]
    return (told[-1][:300] if told else "" if lines else f"exit code {code}") if code else ""


def read_queue(text: str) -> list[Queued]:
    """What `squeue` printed, a line a task: array, state, priority, comment."""
    found: dict[int, Queued] = {}
    for line in text.splitlines():
        array, state, priority, comment = line.split("|", 3)
        facts = read_comment(comment)
        if facts is None or not array.isdigit():
            continue
        queued = found.setdefault(int(array), Queued(int(array), facts))
        if state == "PD":
            queued.pending += 1
            queued.priority = int(priority) if priority.isdigit() else 0
        elif state in RUNNING or state == "CF":
            queued.running += 1
    return [queued for queued in found.values() if queued.pending or queued.running]


def call(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of Slurm.

    Raises:
        ClearschedError: it is not there, or does not come back.
    """
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise ClearschedError(
            f"slurm: {words[0]}: not found: install Slurm's commands (Debian: slurm-client), "
            "or start a Slurm with engines/slurm/cluster.sh up"
        ) from None
    except subprocess.TimeoutExpired:
        raise ClearschedError(f"slurm: {words[0]}: no answer for {PATIENCE_S:g} s") from None


def said(answer: subprocess.CompletedProcess[str]) -> str:
    """The last line of what a command said of its failure."""
    lines = (answer.stderr or answer.stdout).strip().splitlines()
    return lines[-1][:300] if lines else f"exit code {answer.returncode}"
