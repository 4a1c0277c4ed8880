"""From the Spark jobs of an application to the jobs of a trace: what belongs together, and the rows of its profile."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clearsched.problems.dag_jobs.schemas import WAVES
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import (
    FINISH,
    LAUNCH,
    PROCESSOR,
    USED,
    Application,
    SparkJob,
)
from clearsched.problems.dag_jobs.traces.spark_eventlog.dag import Dag, connect
from clearsched.problems.dag_jobs.traces.spark_eventlog.waves import split_waves

Kind = Literal["sql-execution", "job-group", "application"]
Clock = Literal["wall", "processor"]

PROPERTY = {"sql-execution": "spark.sql.execution.id", "job-group": "spark.jobGroup.id"}
"""The property of a Spark job that tells which job of the trace it is a part of."""

FAILED = "jobs that failed"
UNFINISHED = "jobs that the log's end cut off"
NO_STAGE = "jobs without a finished stage"

FAILED_PARTS = "Spark jobs left out of a job because they failed"
UNFINISHED_PARTS = "Spark jobs left out of a job because the log's end cut them off"
MISSING_TASKS = "tasks that a stage lists and that never succeeded (their output was there, or the log lacks them)"
ELSEWHERE = "stages whose input another job had computed (edge left out)"
IN_SEQUENCE = "stages with an edge from the order of Spark jobs only"
NO_PROCESSOR_TIME = "tasks without a processor time (wall clock taken)"
NO_SUBMISSION = "jobs without a time of submission (launch of the first task taken)"

LABEL_LENGTH = 60
MAX_MS = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Job:
    """A job of the trace.

    Attributes:
        arrived_ms: time of its arrival, in ms since the epoch.
        rows: one dict a stage: the fields of schema TRACE but for profile and arrival.
    """

    arrived_ms: int
    rows: list[dict[str, Any]]


def jobs_of(
    application: Application, kind: Kind, clock: Clock, sequence: bool, skipped: Counter[str], survived: Counter[str]
) -> Iterator[Job]:
    """The jobs of an application that can be used. The others are counted in `skipped`."""
    groups: dict[tuple[str, object], list[SparkJob]] = {}
    for job in application.jobs.values():
        groups.setdefault(_key(job, kind), []).append(job)
    for (part, name), jobs in groups.items():
        running = part == "sql-execution" and int(str(name)) in application.running
        reason = _unusable(jobs, running, kind)
        if reason is None:
            ran = _ran(application, jobs)
            dag = connect(jobs, application.stages, ran, sequence)
            reason = None if dag.stages else NO_STAGE
        if reason is not None:
            skipped[reason] += 1
            continue
        survived[FAILED_PARTS] += sum(job.ended is not None and not job.succeeded for job in jobs)
        survived[UNFINISHED_PARTS] += sum(job.ended is None for job in jobs)
        survived[ELSEWHERE] += len({stage for stage, _ in dag.elsewhere})
        survived[IN_SEQUENCE] += dag.in_sequence
        yield _job_of(application, jobs, dag, clock, survived)


def _key(job: SparkJob, kind: Kind) -> tuple[str, object]:
    """What tells the jobs of a trace apart. A Spark job that is part of nothing is a job of its own."""
    if kind == "application":
        return kind, ""
    name = job.properties.get(PROPERTY[kind])
    if name is None or (kind == "sql-execution" and not name.isdecimal()):
        return "spark-job", job.id
    return kind, name


def _unusable(jobs: list[SparkJob], running: bool, kind: Kind) -> str | None:
    """Why a job cannot be used: it did not come to its end, or nothing of it did.

    Spark itself cancels parts of a query that turn out not to be needed, and an application goes on after a failure:
    what succeeded is used if the last Spark job did (of an application: if any did).
    """
    if running and kind != "application":
        return UNFINISHED
    decisive = jobs if kind == "application" else jobs[-1:]
    if any(job.succeeded for job in decisive):
        return None
    return UNFINISHED if any(job.ended is None for job in decisive) else FAILED


def _ran(application: Application, jobs: list[SparkJob]) -> list[int]:
    """Ids of the stages to keep: those that ran for Spark jobs that succeeded, and those of other ones whose output is
    read.

    A stage that another job of the trace listed first is counted there.
    """
    stages = application.stages
    mine = {job.id for job in jobs}
    listed = {stage_id for job in jobs if job.succeeded for stage_id in job.stage_ids}
    read = {stages[stage_id].rdd for stage_id in listed if not stages[stage_id].done}
    every = {stage_id for job in jobs for stage_id in job.stage_ids}
    return [
        stage_id
        for stage_id in sorted(every)
        if (stage := stages[stage_id]).done
        and stage.job in mine
        and (stage_id in listed or (stage.rdd in read and len(stage.done) == stage.num_tasks))
    ]


def _job_of(application: Application, jobs: list[SparkJob], dag: Dag, clock: Clock, survived: Counter[str]) -> Job:
    cpu = _task_cpus(jobs[0])
    slots = {executor: int(cores // cpu) for executor, cores in application.cores.items()}
    tables = [stage.table() for stage in dag.stages]
    waves, level = split_waves(tables, slots)
    level = 1 << (level.bit_length() - 1)
    query, size = template_of(application, jobs, dag), size_of(sum(stage.input_bytes for stage in dag.stages))
    rows = []
    for number, (stage, parents, table, wave) in enumerate(zip(dag.stages, dag.parents, tables, waves, strict=True)):
        used = table[:, USED] == 1
        durations = durations_ms(table[used], clock, survived)
        wave = wave[used]
        survived[MISSING_TASKS] += stage.num_tasks - len(durations)
        rows.append(
            {
                "query": query,
                "size": size,
                "stage": number,
                "num_tasks": len(durations),
                "parents": parents,
                "durations": [
                    {"wave": name, "level": level, "duration_ms": np.sort(durations[wave == code])}
                    for code, name in enumerate(WAVES)
                ],
                "cpu": cpu,
            }
        )
    arrived_ms = jobs[0].submitted_ms
    if arrived_ms is None:
        survived[NO_SUBMISSION] += 1
        arrived_ms = min(int(table[:, LAUNCH].min()) for table in tables)
    return Job(arrived_ms, rows)


def durations_ms(attempts: np.ndarray, clock: Clock, survived: Counter[str]) -> np.ndarray:
    """int32[attempts]: durations in ms, at least 1, by the wall clock or the time that a processor was busy."""
    durations = attempts[:, FINISH] - attempts[:, LAUNCH]
    if clock == "processor":
        known = attempts[:, PROCESSOR] >= 0
        survived[NO_PROCESSOR_TIME] += int((~known).sum())
        durations = np.where(known, attempts[:, PROCESSOR], durations)
    return np.clip(durations, 1, MAX_MS).astype(np.int32)


def _task_cpus(job: SparkJob) -> float:
    """Cores that a task asks for (`spark.task.cpus`)."""
    try:
        return max(float(job.properties.get("spark.task.cpus") or 1), 1.0)
    except ValueError:
        return 1.0


def template_of(application: Application, jobs: list[SparkJob], dag: Dag) -> str:
    """A name that jobs of the same code share: what it is called, and a digest of that and of the shape of its DAG.

    It is called by the description that the user or Spark's SQL gave it, else by the call that submitted it, without
    numbers, so that the run, the date or the threshold does not matter. The digest covers the whole description, the
    edges, and of each stage its name and its operations, but not the numbers of tasks.
    """
    first = jobs[0].properties
    execution = first.get(PROPERTY["sql-execution"]) or ""
    described = application.descriptions.get(int(execution), "") if execution.isdecimal() else ""
    called = first.get("spark.job.description") or described or dag.stages[-1].shape.split(";")[0]
    called = re.sub(r"\d+", "#", " ".join(called.split()))
    # The digest of a stage covers its ancestors, so that the order of stages that run side by side does not matter.
    digests: list[str] = []
    for stage, parents in zip(dag.stages, dag.parents, strict=True):
        digests.append(_digest([stage.shape, *sorted(digests[parent] for parent in parents)]))
    digest = _digest([called, *sorted(digests)])
    return f"{called[:LABEL_LENGTH].strip()} {digest}"


def _digest(words: list[str]) -> str:
    return hashlib.sha256("\n".join(words).encode(errors="replace")).hexdigest()[:8]


def size_of(input_bytes: int) -> str:
    """The power of ten below the bytes read from files, such as `10m` for 10 to 100 MB; "" for nothing read."""
    if input_bytes < 1:
        return ""
    power = min(len(str(input_bytes)) - 1, 17)
    return f"{10 ** (power % 3)}{'bkmgtp'[power // 3]}"
