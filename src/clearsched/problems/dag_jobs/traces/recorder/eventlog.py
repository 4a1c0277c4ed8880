"""Read an event log that the recorder's own Spark wrote: the runs of each query, stages, dependencies, tasks.

A query is told from the next by its job group; its Spark jobs may be several (a sort first samples its input in a job
of its own, a scalar subquery is one). The log is read as those of any other Spark are (`traces.spark_eventlog`), but
here a run that is not whole is left out, and a damaged log is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.dag import connect
from clearsched.problems.dag_jobs.traces.spark_eventlog.events import Event
from clearsched.problems.dag_jobs.traces.spark_eventlog.lines import NotAnEventError, from_dict, parse_line
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import (
    FINISH,
    GROUP,
    LAUNCH,
    PARTITION,
    PROCESSOR,
    USED,
    SparkJob,
    Stage,
)


class TaskRun(NamedTuple):
    """One successful task: launch and finish in ms since the epoch, and the processor time that it used, in ms."""

    launch_ms: int
    finish_ms: int
    processor_ms: int


@dataclass(frozen=True)
class StageRun:
    """One stage as it ran.

    Attributes:
        parents: indices of the stages of the same run that had to finish before it.
        tasks: its tasks, by partition.
    """

    parents: tuple[int, ...]
    tasks: tuple[TaskRun, ...]

    @property
    def num_tasks(self) -> int:
        """Number of tasks of the stage."""
        return len(self.tasks)


Run = tuple[StageRun, ...]
"""One run of a query: its stages, every stage after its parents."""


def read_events(path: Path) -> Iterator[Event]:
    """The events of a log that are needed; a last line that was cut off by an interruption is left out.

    Raises:
        ClearschedError: the file cannot be read, or a line other than the last is not JSON.
    """
    broken = 0
    try:
        with open(path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                if broken:
                    raise ClearschedError(f"{path}: line {broken}: not a JSON event; record the query again")
                try:
                    event = parse_line(line)
                except NotAnEventError:
                    broken = number
                else:
                    if event is not None:
                        yield event
    except OSError as error:
        raise ClearschedError(f"{path}: cannot be read: {error}") from None


def read_runs(events: Iterable[Event | Mapping[str, Any]]) -> dict[str, Run]:
    """The completed run of every job group of a log. Groups that failed or were cut off are left out.

    Raises:
        ClearschedError: a stage reads the output of a stage that the same group never ran.
    """
    application = Application()
    for item in events:
        event = item if isinstance(item, Event) else from_dict(item)
        if event is not None:
            application.add(event)
    groups: dict[str, list[SparkJob]] = {}
    for job in application.jobs.values():
        name = job.properties.get(GROUP)
        if name is not None:
            groups.setdefault(name, []).append(job)
    runs = {}
    for name, jobs in groups.items():
        stages = {stage_id: application.stages[stage_id] for job in jobs for stage_id in job.stage_ids}
        if all(job.succeeded for job in jobs) and not any(_is_partial(stage) for stage in stages.values()):
            runs[name] = _run_of(name, jobs, stages)
    return runs


def _is_partial(stage: Stage) -> bool:
    return 0 < len(stage.done) < stage.num_tasks


def _run_of(name: str, jobs: list[SparkJob], stages: Mapping[int, Stage]) -> Run:
    dag = connect(jobs, stages, [stage.id for stage in stages.values() if stage.done], sequence=False)
    if dag.elsewhere:
        stage, parent = dag.elsewhere[0]
        raise ClearschedError(f"job group {name}: stage {stage} reads stage {parent}, which the group never ran")
    return tuple(StageRun(parents, _tasks(stage)) for stage, parents in zip(dag.stages, dag.parents, strict=True))


def _tasks(stage: Stage) -> tuple[TaskRun, ...]:
    table = stage.table()
    table = table[table[:, USED] == 1]
    columns = table[table[:, PARTITION].argsort(kind="stable")][:, [LAUNCH, FINISH, PROCESSOR]]
    return tuple(TaskRun(*row) for row in columns.tolist())
