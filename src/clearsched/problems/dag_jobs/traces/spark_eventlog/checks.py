"""Which events say what cannot be."""

from __future__ import annotations

from msgspec import UNSET

from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import (
    MAX_INT,
    MAX_LONG,
    MAX_STAGES,
    MAX_TIME_MS,
    AbsurdError,
    check,
)
from clearsched.problems.dag_jobs.traces.spark_eventlog.events import JobStart, TaskEnd, TaskMetrics

NS_PER_MS = 1_000_000


def check_job(event: JobStart) -> None:
    """Refuse the start of a Spark job with ids, numbers or times that cannot be.

    Raises:
        AbsurdError: the first of them.
    """
    check("a Spark job of id", event.id, -MAX_INT, MAX_INT)
    if event.submitted_ms is not UNSET:
        check("a Spark job submitted at (ms)", event.submitted_ms, -1, MAX_TIME_MS)
    if len(event.stages) > MAX_STAGES:
        raise AbsurdError(f"a Spark job of {len(event.stages)} stages")
    for info in event.stages:
        check("a stage of id", info.id, -MAX_INT, MAX_INT)
        check("a stage whose number of tasks is", info.num_tasks, 0, MAX_INT)
        for rdd in info.rdds[:1]:
            check("a dataset of id", rdd.id, -MAX_LONG, MAX_LONG)


def check_task(event: TaskEnd) -> None:
    """Refuse an attempt at a task with times or positions that cannot be; what is not kept is not looked at.

    Raises:
        AbsurdError: the first of them.
    """
    task = event.info
    if not (0 <= task.launch_ms <= MAX_TIME_MS and 0 <= task.finish_ms <= MAX_TIME_MS):
        check("a task launched at (ms)", task.launch_ms, 0, MAX_TIME_MS)
        check("a task finished at (ms)", task.finish_ms, 0, MAX_TIME_MS)
    if not (0 <= task.index <= MAX_INT and -1 <= task.partition <= MAX_INT and -1 <= event.attempt <= MAX_INT):
        check("a task of index", task.index, 0, MAX_INT)
        check("a task of partition", task.partition, -1, MAX_INT)
        check("an attempt at a stage of number", event.attempt, -1, MAX_INT)
    if event.metrics is not None and event.metrics.input is not None:
        check("a task whose bytes read are", event.metrics.input.bytes_read, -MAX_LONG, MAX_LONG)


def processor_ms(metrics: TaskMetrics | None) -> int:
    """The processor time of a task in ms; -1 if the log or the Java machine does not tell it.

    Raises:
        AbsurdError: it is more than 292 years.
    """
    if metrics is None or metrics.run_ns is UNSET or metrics.run_ns < 0 or metrics.deserialize_ns < 0:
        return -1
    used_ns = metrics.deserialize_ns + metrics.run_ns
    check("a task whose processor time is (ns)", used_ns, 0, MAX_LONG)
    return round(used_ns / NS_PER_MS)
