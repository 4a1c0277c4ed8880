"""Which Spark jobs are one job of the trace."""

from __future__ import annotations

from typing import Literal

from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.blanking import is_broadcast
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import DESCRIPTION, GROUP, SparkJob

Kind = Literal["sql-execution", "job-group", "application"]
Key = tuple[str, int | str]


def group_jobs(application: Application, kind: Kind) -> dict[Key, list[SparkJob]]:
    """The Spark jobs of an application by what they are a part of, in the order of their first submission."""
    groups: dict[Key, list[SparkJob]] = {}
    groups_of = _groups_of_executions(application) if kind == "job-group" else {}
    for job in application.jobs.values():
        groups.setdefault(_key(application, job, kind, groups_of), []).append(job)
    return groups


def _key(application: Application, job: SparkJob, kind: Kind, groups_of: dict[int, str]) -> Key:
    """What tells the jobs of a trace apart. A Spark job that is part of nothing is a job of its own.

    A job that collects a table to broadcast it is in a group of Spark's making: it belongs to that of its query. In job
    groups, a query that is in none is a job of its own, with all its Spark jobs.
    """
    if kind == "application":
        return kind, ""
    execution = application.execution_of(job)
    if kind == "job-group":
        group = job.properties.get(GROUP)
        if is_broadcast(job.properties.get(DESCRIPTION)):
            group = None if execution is None else groups_of.get(execution)
        if group is not None:
            return kind, group
    return ("spark-job", job.id) if execution is None else ("sql-execution", execution)


def _groups_of_executions(application: Application) -> dict[int, str]:
    """SQL execution -> the job group of its Spark jobs, those of broadcasts left aside."""
    found: dict[int, str] = {}
    for job in application.jobs.values():
        group, execution = job.properties.get(GROUP), application.execution_of(job)
        if group is not None and execution is not None and not is_broadcast(job.properties.get(DESCRIPTION)):
            found.setdefault(execution, group)
    return found
