"""What a log says of one application: its Spark jobs, their stages, every attempt at a task."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import UNSET

from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import MAX_CORES, MAX_LONG, check
from clearsched.problems.dag_jobs.traces.spark_eventlog.blanking import shape_of
from clearsched.problems.dag_jobs.traces.spark_eventlog.checks import check_job, check_task, processor_ms
from clearsched.problems.dag_jobs.traces.spark_eventlog.events import (
    ApplicationStart,
    EnvironmentUpdate,
    Event,
    ExecutionEnd,
    ExecutionStart,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    ProfileAdded,
    TaskEnd,
)
from clearsched.problems.dag_jobs.traces.spark_eventlog.parents import derive_parents
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import EXECUTION, KEPT, ROOT, TASK_CPUS, SparkJob, Stage

SPECULATIVE = "speculative copies of tasks"
KILLED = "attempts at tasks that were killed"
LOST_TASKS = "attempts at tasks lost with their executor"
FAILED = "attempts at tasks that failed"
RESUBMITTED = "outputs of tasks lost with their executor"
DUPLICATE = "tasks that succeeded again, in a copy or another attempt at their stage"
RETRIED = "attempts at stages after the first"
LOST_EXECUTORS = "executors lost"
STRAY = "tasks of stages that no Spark job listed"
DERIVED = "stages whose parents were derived, since the log lacks them (Spark before 1.5)"

GIVEN_BACK = re.compile(
    r"\bidle\b|killed by driver|decommission|\bfinished\b|\bshut|explicit termination request"
    r"|deleted by a user or the framework|exit(ed)?( with)?( exit)? (code|status):? 0\b",
    re.IGNORECASE,
)
"""Reasons of Spark and its cluster managers for the removal of an executor that is not a loss. Being killed by YARN,
for its memory or by a signal, is one."""


class Application:
    """Collects the events of one application. What was mended on the way is counted in `survived`.

    Attributes:
        id, attempt, started_ms: tell it from others; None, None, 0 until its start was read.
        absurd: what in its log cannot be, None if there is nothing (`absurd.AbsurdError`).
        cores: executor -> cores, where the log says so.
        profiles: resource profile -> cores that its tasks ask for; `task_cpus` is what the configuration says.
        running: SQL executions that have not ended.
        descriptions: of SQL executions.
        roots: SQL execution -> the one that it is a part of.
    """

    def __init__(self) -> None:
        self.id: str | None = None
        self.attempt: str | int | None = None
        self.started_ms = 0
        self.absurd: str | None = None
        self.jobs: dict[int, SparkJob] = {}
        self.stages: dict[int, Stage] = {}
        self.cores: dict[int, int] = {}
        self.profiles: dict[int, float] = {}
        self.task_cpus: str | None = None
        self.running: set[int] = set()
        self.descriptions: dict[int, str] = {}
        self.roots: dict[int, int] = {}
        self.survived: Counter[str] = Counter()
        self._executors: dict[str, int] = {}
        self._lost: set[str] = set()
        self._position = 0

    def add(self, event: Event) -> None:
        """Take in the next event.

        Raises:
            AbsurdError: it says what cannot be.
        """
        if isinstance(event, TaskEnd):
            self._end_task(event)
        elif isinstance(event, JobStart):
            self._start_job(event)
        elif isinstance(event, JobEnd):
            self._end_job(event)
        elif isinstance(event, ExecutorAdded):
            check("an executor whose number of cores is", event.info.cores, 0, MAX_CORES)
            self.cores[self._executor(event.id)] = event.info.cores
        elif isinstance(event, ExecutorRemoved):
            if event.id not in self._lost and not GIVEN_BACK.search(event.reason):
                self._lose(event.id)
        elif isinstance(event, ExecutionStart):
            self._start_execution(event)
        elif isinstance(event, ExecutionEnd):
            self.running.discard(event.id)
        elif isinstance(event, ProfileAdded):
            if "cpus" in event.task:
                self.profiles[event.id] = event.task["cpus"].amount
        elif isinstance(event, EnvironmentUpdate):
            self.task_cpus = event.get(TASK_CPUS)
        elif isinstance(event, ApplicationStart):
            self.id, self.attempt, self.started_ms = event.id, event.attempt, event.started_ms

    @property
    def identity(self) -> tuple[str | None, str | int | None, int]:
        """What two logs of the same run of an application have in common."""
        return self.id, self.attempt, self.started_ms

    def execution_of(self, job: SparkJob) -> int | None:
        """The SQL execution that a Spark job is a part of: the outermost, where they are nested."""
        execution = _number(job.properties.get(ROOT))
        execution = _number(job.properties.get(EXECUTION)) if execution is None else execution
        passed: list[int] = []
        while execution is not None and execution not in passed:
            passed.append(execution)
            execution = self.roots.get(execution)
        if execution is None:
            return passed[-1] if passed else None
        return min(passed[passed.index(execution) :])  # a root is its own root, or two are each other's

    def _start_execution(self, event: ExecutionStart) -> None:
        check("a SQL execution of id", event.id, -MAX_LONG, MAX_LONG)
        self.running.add(event.id)
        self.descriptions[event.id] = event.description or ""
        if event.root is not None and event.root >= 0:
            check("a SQL execution whose root is", event.root, 0, MAX_LONG)
            self.roots[event.id] = event.root

    def _executor(self, name: str) -> int:
        return self._executors.setdefault(name, len(self._executors))

    def _lose(self, executor: str) -> None:
        self._lost.add(executor)
        self.survived[LOST_EXECUTORS] += 1

    def _start_job(self, event: JobStart) -> None:
        check_job(event)
        self._position += 1
        submitted_ms = None if event.submitted_ms is UNSET or event.submitted_ms == -1 else event.submitted_ms
        stage_ids = sorted(info.id for info in event.stages)
        properties = {name: value for name in KEPT if (value := (event.properties or {}).get(name)) is not None}
        self.jobs[event.id] = SparkJob(event.id, submitted_ms, self._position, stage_ids, properties)
        told = all(info.parent_ids is not None for info in event.stages)
        derived = None if told else derive_parents(event.stages)
        for info in event.stages:
            if info.id not in self.stages:
                parents = info.parent_ids
                if parents is None:
                    parents = (derived or {}).get(info.id, [])
                    self.survived[DERIVED] += bool(parents)
                # The first of the listed datasets is the one that the stage puts out.
                rdd = info.rdds[0].id if info.rdds else -1 - info.id
                stage = Stage(info.id, event.id, rdd, info.num_tasks, parents, shape_of(info), info.profile)
                stage.parents_known = info.parent_ids is not None or derived is not None
                self.stages[info.id] = stage

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
        check_task(event)
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
        if used and metrics is not None and metrics.input is not None:
            stage.input_bytes += max(metrics.input.bytes_read, 0)
        partition = task.index if task.partition < 0 else task.partition
        executor = self._executor(task.executor)
        stage.attempts.extend((task.launch_ms, task.finish_ms, processor_ms(metrics), executor, partition, used))

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


def _number(text: str | None) -> int | None:
    """A number that stands in a property; None if it is none, or one of more digits than Spark counts."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 19 else None
