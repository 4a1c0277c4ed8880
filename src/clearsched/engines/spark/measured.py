"""What a real Spark did, out of its event log, which the project's own reader reads (`traces.spark_eventlog`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clearsched.engines.spark.applications import job_name
from clearsched.engines.spark.replaying import ReplayJob
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.logs import find_logs
from clearsched.problems.dag_jobs.traces.spark_eventlog.reading import Account, read_applications
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import (
    EXECUTOR,
    FINISH,
    GROUP,
    LAUNCH,
    PARTITION,
    USED,
    SparkJob,
)

JOB, STAGE, TASK, EXECUTED_BY, START, END = range(6)
"""Columns of the tasks of an episode: job, stage of the job, task of the stage, executor, and times in ms since the
first job arrived."""


@dataclass(frozen=True)
class MeasuredEpisode:
    """An episode as Spark ran it.

    Attributes:
        arrival_ms: int64[jobs], when Spark was given each job, since the first one.
        completion_ms: int64[jobs], when the last task of each ended.
        tasks: int64[tasks, 6], see the columns above, by start.
        attempts: attempts at tasks beyond the first success of each: lost, failed or run again.
    """

    arrival_ms: np.ndarray
    completion_ms: np.ndarray
    tasks: np.ndarray
    attempts: int = 0

    @property
    def jct_s(self) -> np.ndarray:
        """float64[jobs]: job completion times, s."""
        return (self.completion_ms - self.arrival_ms) / 1000


def read_log(path: Path) -> Application:
    """The one application of an event log.

    Raises:
        ClearschedError: the log cannot be read, holds no jobs, or what it says cannot be.
    """
    found = [each for log in find_logs(path) for each in read_applications(log, Account())]
    if len(found) != 1:
        raise ClearschedError(f"{path}: {len(found)} applications with jobs: the event log of one expected")
    if found[0].absurd:
        raise ClearschedError(f"{path}: {found[0].absurd}")
    return found[0]


def measured_episodes(
    application: Application, episodes: Mapping[str, Sequence[ReplayJob]], where: str
) -> dict[str, MeasuredEpisode]:
    """The episodes of a plan as its log tells them, by name.

    Raises:
        ClearschedError: a job of the plan is not in the log, failed, or had other stages than the plan says.
    """
    by_group = {job.properties[GROUP]: job for job in application.jobs.values() if GROUP in job.properties}
    return {name: _episode(application, by_group, name, jobs, where) for name, jobs in episodes.items()}


def _episode(
    application: Application, by_group: Mapping[str, SparkJob], name: str, jobs: Sequence[ReplayJob], where: str
) -> MeasuredEpisode:
    arrival, completion, tables, attempts = [], [], [], 0
    for number, job in enumerate(jobs):
        ran = by_group.get(job_name(name, number))
        if ran is None or not ran.succeeded or ran.submitted_ms is None:
            raise ClearschedError(f"{where}: {job_name(name, number)}: is not there or did not succeed; run it again")
        table, more = _tasks(application, ran, job, number, f"{where}: {job_name(name, number)}")
        arrival.append(ran.submitted_ms)
        completion.append(int(table[:, END].max()))
        tables.append(table)
        attempts += more
    first = min(arrival)
    tasks = np.concatenate(tables)
    tasks[:, [START, END]] -= first
    tasks = tasks[np.lexsort((tasks[:, TASK], tasks[:, STAGE], tasks[:, JOB], tasks[:, START]))]
    return MeasuredEpisode(np.array(arrival) - first, np.array(completion) - first, tasks, attempts)


def _tasks(application: Application, ran: SparkJob, job: ReplayJob, number: int, where: str) -> tuple[np.ndarray, int]:
    """The tasks of a job, and its attempts beyond their successes. Stages are in the order of the datasets that they
    put out, which is the order in which the driver made them: that of the plan.
    """
    stages = sorted((application.stages[stage] for stage in ran.stage_ids), key=lambda stage: stage.rdd)
    if [stage.num_tasks for stage in stages] != [len(stage.duration_ms) for stage in job.stages]:
        raise ClearschedError(f"{where}: its stages are not those of the plan")
    rows, more = [], 0
    for place, stage in enumerate(stages):
        table = stage.table()
        used = table[table[:, USED] == 1]
        if len(used) != stage.num_tasks:
            raise ClearschedError(f"{where}: stage {place}: {len(used)} of {stage.num_tasks} tasks succeeded")
        more += len(table) - len(used)
        same = np.full(len(used), number), np.full(len(used), place)
        rows.append(np.stack([*same, *used[:, [PARTITION, EXECUTOR, LAUNCH, FINISH]].T], axis=1))
    return np.concatenate(rows), more
