"""DAG jobs as Slurm has them: a stage is an array job, and its comment tells what Slurm does not know of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from clearsched.documents import is_number
from clearsched.errors import ClearschedError
from clearsched.files import read_json

MARK = "clearsched"
"""The first word of the comment of a stage: other jobs are nobody's business."""

MOST_STAGES, MOST_TASKS = 1000, 10_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class StageFacts(NamedTuple):
    """What the comment of a stage tells.

    Attributes:
        job: name of its job, unique in the queue.
        stage: its number in the job.
        parents: numbers of the stages that it waits for.
        tasks: all its tasks.
        task_s: mean duration of one of them, s, as its own profile or its owner knows it.
        arrived: when the job was submitted, seconds of Unix time.
        job_work_s: work of the whole job, executor-seconds.
    """

    job: str
    stage: int
    parents: tuple[int, ...]
    tasks: int
    task_s: float
    arrived: float
    job_work_s: float

    def comment(self, static: Mapping[str, float] | None = None) -> str:
        """The text for `sbatch --comment`; `static`: features as they are at submission, for job_submit.lua."""
        after = ",".join(map(str, self.parents)) or "-"
        told = (
            f"{MARK} job={self.job} stage={self.stage} after={after} tasks={self.tasks} task_s={self.task_s:.6g}"
            f" arrived={self.arrived:.3f} job_work_s={self.job_work_s:.6g}"
        )
        return " ".join([told, *(f"{name}={value:.9g}" for name, value in (static or {}).items())])


def read_comment(text: str) -> StageFacts | None:
    """The facts in a comment; None where it is not one of ours, or is damaged: such a job is left alone."""
    mark, *pairs = text.split()[:64] or [""]
    if mark != MARK:
        return None
    told = dict(pair.partition("=")[::2] for pair in pairs)
    try:
        parents = () if told["after"] == "-" else tuple(int(number) for number in told["after"].split(","))
        numbers = [float(told[name]) for name in ("task_s", "arrived", "job_work_s")]
        facts = StageFacts(told["job"], int(told["stage"]), parents, int(told["tasks"]), *numbers)
    except (KeyError, ValueError):
        return None
    return facts if all(math.isfinite(number) for number in numbers) and facts.tasks > 0 else None


@dataclass(frozen=True)
class Stage:
    """A stage that is to be submitted.

    Attributes:
        tasks: how many.
        task_s: mean duration of one of them, s.
        parents: numbers of stages before it.
        command: the words that a task runs; SLURM_ARRAY_TASK_ID tells which task it is.
    """

    tasks: int
    task_s: float
    parents: tuple[int, ...] = ()
    command: tuple[str, ...] = ("true",)


@dataclass(frozen=True)
class DagJob:
    """A job that is to be submitted; parents stand before their children."""

    name: str
    stages: tuple[Stage, ...]
    work_s: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "work_s", sum(stage.tasks * stage.task_s for stage in self.stages))

    def facts(self, arrived: float) -> list[StageFacts]:
        """What the comments of its stages tell."""
        return [
            StageFacts(self.name, number, stage.parents, stage.tasks, stage.task_s, arrived, self.work_s)
            for number, stage in enumerate(self.stages)
        ]


def levels_below(parents: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Stages on the longest path below each stage; parents that are not among the keys are done."""
    below = dict.fromkeys(parents, 0)
    for number in sorted(parents, reverse=True):
        for parent in parents[number]:
            if parent in below:
                below[parent] = max(below[parent], below[number] + 1)
    return below


def longest_work(parents: Mapping[int, Sequence[int]], work: Mapping[int, float]) -> dict[int, float]:
    """The largest sum of work on a path from each stage downwards, its own included."""
    longest = dict(work)
    for number in sorted(parents, reverse=True):
        for parent in parents[number]:
            if parent in longest:
                longest[parent] = max(longest[parent], work[parent] + longest[number])
    return longest


def read_job(path: Path) -> DagJob:
    """A job from a JSON file: `name`, and `stages`, each with tasks, task_s, parents, command.

    Raises:
        ClearschedError: the file is missing or malformed; the line tells where.
    """
    content = read_json(path)
    if not isinstance(content, dict) or set(content) != {"name", "stages"}:
        raise ClearschedError(f"{path}: an object with `name` and `stages` expected")
    name, stages = content["name"], content["stages"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ClearschedError(f"{path}: name: letters, digits, _ . - expected, at most 64, not {name!r}")
    if not isinstance(stages, list) or not 1 <= len(stages) <= MOST_STAGES:
        raise ClearschedError(f"{path}: stages: a list of 1 to {MOST_STAGES} stages expected")
    return DagJob(
        name, tuple(_stage(entry, number, f"{path}: stages[{number}]") for number, entry in enumerate(stages))
    )


def _stage(entry: Any, number: int, where: str) -> Stage:
    """A stage of a file, checked."""
    if not isinstance(entry, dict):
        raise ClearschedError(f"{where}: an object with tasks, task_s, parents, command expected")
    unknown = sorted(set(entry) - {"tasks", "task_s", "parents", "command"})
    if unknown:
        raise ClearschedError(f"{where}: unknown key {unknown[0]!r}: a stage has tasks, task_s, parents, command")
    tasks, task_s, parents = entry.get("tasks"), entry.get("task_s"), entry.get("parents", [])
    command = entry.get("command")
    if isinstance(tasks, bool) or not isinstance(tasks, int) or not 1 <= tasks <= MOST_TASKS:
        raise ClearschedError(f"{where}.tasks: a whole number from 1 to {MOST_TASKS} expected, not {tasks!r}")
    if not is_number(task_s) or not 0 < task_s < 1e9:
        raise ClearschedError(f"{where}.task_s: mean seconds of a task expected, above 0, not {task_s!r}")
    if not isinstance(parents, list) or not all(type(each) is int and 0 <= each < number for each in parents):
        raise ClearschedError(f"{where}.parents: numbers of stages that stand before it expected, not {parents!r}")
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        raise ClearschedError(f"{where}.command: a list of words expected, the program first")
    return Stage(tasks, float(task_s), tuple(dict.fromkeys(parents)), tuple(command))
