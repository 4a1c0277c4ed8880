"""What a log says of one application: its Spark jobs, their stages, every attempt at a task."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from msgspec import UNSET

from clearsched.problems.dag_jobs.traces.spark_eventlog.events import (
    ApplicationStart,
    Event,
    ExecutionEnd,
    ExecutionStart,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    StageInfo,
    TaskEnd,
)

NS_PER_MS = 1_000_000

LAUNCH, FINISH, PROCESSOR, EXECUTOR, PARTITION, USED = range(6)
"""Columns of the attempts of a stage: times in ms since the epoch, processor time in ms (-1: unknown), the executor,
the partition, and whether it is the partition's first success, which is the one that counts."""

SPECULATIVE = "speculative copies of tasks"
KILLED = "attempts at tasks that were killed"
LOST_TASKS = "attempts at tasks lost with their executor"
FAILED = "attempts at tasks that failed"
RESUBMITTED = "outputs of tasks lost with their executor"
DUPLICATE = "tasks that succeeded again, in a copy or another attempt at their stage"
RETRIED = "attempts at stages after the first"
LOST_EXECUTORS = "executors lost"
STRAY = "tasks of stages that no Spark job listed"

GIVEN_BACK = re.compile("idle|killed by|decommission|finished|shut|command exited with code 0", re.IGNORECASE)
"""Reasons of Spark and its cluster managers for the removal of an executor that is not a loss."""


@dataclass(slots=True)
class Stage:
    """A stage as a Spark job listed it.

    Attributes:
        job: the Spark job that listed it first.
        rdd: id of the dataset that it puts out.
        num_tasks: its partitions.
        shape: name and operations of the stage, without what differs from run to run.
        attempts: six numbers an attempt at a task (`LAUNCH` and so on).
        done: partitions that have succeeded.
        to_driver: whether its output is known to go to the driver, not to another stage.
        last_attempt: number of the latest attempt at the stage that had a task.
        input_bytes: read from files, by the tasks that count.
    """

    id: int
    job: int
    rdd: int
    num_tasks: int
    parent_ids: list[int]
    shape: str = ""
    attempts: array[int] = field(default_factory=lambda: array("q"))
    done: set[int | tuple[int, int]] = field(default_factory=set)
    to_driver: bool = False
    last_attempt: int = 0
    input_bytes: int = 0

    def table(self) -> np.ndarray:
        """int64[attempts, 6]: all attempts at its tasks, in the order of their ends."""
        return np.frombuffer(self.attempts, np.int64).reshape(-1, 6) if self.attempts else np.zeros((0, 6), np.int64)


@dataclass(slots=True)
class SparkJob:
    """A Spark job: what one action, or one stage of an adaptive query, submitted.

    Attributes:
        started, ended: position of its events among the job events of the log; `ended` is None while it runs.
        stage_ids: every stage that it listed, in increasing order.
        properties: its local properties, which tell the SQL execution, the group and so on.
    """

    id: int
    submitted_ms: int | None
    started: int
    stage_ids: list[int]
    properties: dict[str, str | None]
    ended: int | None = None
    succeeded: bool = False


class Application:
    """Collects the events of one application. What was mended on the way is counted in `survived`."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.jobs: dict[int, SparkJob] = {}
        self.stages: dict[int, Stage] = {}
        self.cores: dict[int, int] = {}  # executor -> cores, where the log says so
        self.running: set[int] = set()  # SQL executions
        self.descriptions: dict[int, str] = {}  # of SQL executions
        self.survived: Counter[str] = Counter()
        self._executors: dict[str, int] = {}
        self._lost: set[str] = set()
        self._position = 0

    def add(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event, TaskEnd):
            self._end_task(event)
        elif isinstance(event, JobStart):
            self._start_job(event)
        elif isinstance(event, JobEnd):
            self._end_job(event)
        elif isinstance(event, ExecutorAdded):
            self.cores[self._executor(event.id)] = event.info.cores
        elif isinstance(event, ExecutorRemoved):
            if event.id not in self._lost and not GIVEN_BACK.search(event.reason):
                self._lose(event.id)
        elif isinstance(event, ExecutionStart):
            self.running.add(event.id)
            self.descriptions[event.id] = event.description or ""
        elif isinstance(event, ExecutionEnd):
            self.running.discard(event.id)
        elif isinstance(event, ApplicationStart):
            self.id = event.id

    def _executor(self, name: str) -> int:
        return self._executors.setdefault(name, len(self._executors))

    def _lose(self, executor: str) -> None:
        self._lost.add(executor)
        self.survived[LOST_EXECUTORS] += 1

    def _start_job(self, event: JobStart) -> None:
        self._position += 1
        submitted_ms = None if event.submitted_ms is UNSET else event.submitted_ms
        stage_ids = sorted(info.id for info in event.stages)
        self.jobs[event.id] = SparkJob(event.id, submitted_ms, self._position, stage_ids, event.properties or {})
        for info in event.stages:
            if info.id not in self.stages:
                # The first of the listed datasets is the one that the stage puts out.
                rdd = info.rdds[0].id if info.rdds else -1 - info.id
                self.stages[info.id] = Stage(info.id, event.id, rdd, info.num_tasks, info.parent_ids, shape_of(info))

    def _end_job(self, event: JobEnd) -> None:
        self._position += 1
        if (job := self.jobs.get(event.id)) is not None:
            job.ended = self._position
            job.succeeded = event.result.result == "JobSucceeded"

    def _end_task(self, event: TaskEnd) -> None:
        stage = self.stages.get(event.stage)
        if stage is None:
            self.survived[STRAY] += 1
            return
        task = event.info
        stage.to_driver = event.kind == "ResultTask"
        if event.attempt > stage.last_attempt:
            self.survived[RETRIED] += event.attempt - stage.last_attempt
            stage.last_attempt = event.attempt
        if task.speculative:
            self.survived[SPECULATIVE] += 1
        reason = event.reason.reason
        if reason == "Resubmitted":  # says again of a task that succeeded that its output is gone: no attempt
            self.survived[RESUBMITTED] += 1
            return
        used = False
        if reason == "Success" and not task.failed and not task.killed:
            used = self._succeed(stage, event)
        elif reason == "ExecutorLostFailure":
            self.survived[LOST_TASKS] += 1
            if task.executor not in self._lost:
                self._lose(task.executor)
        else:
            self.survived[KILLED if reason == "TaskKilled" or task.killed else FAILED] += 1
        metrics = event.metrics
        processor_ms = -1
        if metrics is not None:
            if metrics.run_ns is not UNSET:
                processor_ms = round((metrics.deserialize_ns + metrics.run_ns) / NS_PER_MS)
            if used and metrics.input is not None:
                stage.input_bytes += metrics.input.bytes_read
        partition = task.index if task.partition < 0 else task.partition
        stage.attempts.extend(
            (task.launch_ms, task.finish_ms, processor_ms, self._executor(task.executor), partition, used)
        )

    def _succeed(self, stage: Stage, event: TaskEnd) -> bool:
        """Whether a success is the first of its partition.

        Older versions do not note the partition of a task. In the first attempt at a stage that runs all partitions it
        is the index; later attempts run those that are missing or lost, in an order of their own. Their
        successes count until all partitions have one.
        """
        task = event.info
        key: int | tuple[int, int] = task.index if task.partition < 0 else task.partition
        if task.partition < 0 and event.attempt:
            key = (event.attempt, task.index)
        is_first = key not in stage.done and len(stage.done) < stage.num_tasks
        if is_first:
            stage.done.add(key)
        else:
            self.survived[DUPLICATE] += 1
        return is_first


def shape_of(info: StageInfo) -> str:
    """Name of a stage and the operations that made its datasets: the same in every run of the same code."""
    operations = set()
    for rdd in info.rdds:
        try:
            operations.add(str(json.loads(rdd.scope)["name"]) if rdd.scope else rdd.name)
        except (ValueError, KeyError, TypeError):
            operations.add(rdd.name)
    return re.sub(r"\d+", "#", "; ".join([info.name, *sorted(operations)]))
