"""From the Spark jobs of an application to the jobs of a trace: which can be used, and the rows of their profiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clearsched.problems.dag_jobs.schemas import WAVES
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.dag import Dag, connect
from clearsched.problems.dag_jobs.traces.spark_eventlog.grouping import Key, Kind, group_jobs
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import FINISH, LAUNCH, PROCESSOR, USED, SparkJob
from clearsched.problems.dag_jobs.traces.spark_eventlog.resources import task_cpus
from clearsched.problems.dag_jobs.traces.spark_eventlog.templates import template_of
from clearsched.problems.dag_jobs.traces.spark_eventlog.waves import split_waves

Clock = Literal["wall", "processor"]

FAILED = "jobs that failed"
UNFINISHED = "jobs that the log's end cut off"
NO_STAGE = "jobs without a finished stage"
NO_PARENTS = "jobs whose log does not tell what their stages wait for (Spark before 1.5)"

FAILED_PARTS = "Spark jobs left out of a job because they failed"
UNFINISHED_PARTS = "Spark jobs left out of a job because the log's end cut them off"
MISSING_TASKS = "tasks that a stage lists and that never succeeded (their output was there, or the log lacks them)"
ELSEWHERE = "stages whose input another job had computed (edge left out)"
IN_SEQUENCE = "stages with an edge from the order of Spark jobs only"
NO_PROCESSOR_TIME = "tasks without a processor time (wall clock taken)"
NO_SUBMISSION = "jobs without a time of submission (launch of the first task taken)"
BACKWARDS = "tasks that finish before their launch (1 ms taken)"
TOO_LONG = "tasks of more than 24.8 days (24.8 days taken)"

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
    """The jobs of an application that can be used. The others are counted in `skipped`.

    Raises:
        AbsurdError: the application says what cannot be.
    """
    slots: dict[float, dict[int, int]] = {}
    for key, jobs in group_jobs(application, kind).items():
        reason = _unusable(application, key, jobs)
        if reason is None:
            ran = _ran(application, jobs)
            dag = connect(jobs, application.stages, ran, sequence)
            reason = _unknown(dag)
        if reason is not None:
            skipped[reason] += 1
            continue
        survived[FAILED_PARTS] += sum(job.ended is not None and not job.succeeded for job in jobs)
        survived[UNFINISHED_PARTS] += sum(job.ended is None for job in jobs)
        survived[ELSEWHERE] += len({stage for stage, _ in dag.elsewhere})
        survived[IN_SEQUENCE] += dag.in_sequence
        yield _job_of(application, jobs, dag, clock, slots, survived)


def _unusable(application: Application, key: Key, jobs: list[SparkJob]) -> str | None:
    """Why a job cannot be used: it did not come to its end, or nothing of it did.

    Spark itself cancels parts of a query that turn out not to be needed, and an application goes on after a failure:
    what succeeded is used if the last Spark job did (of an application: if any did).
    """
    kind, name = key
    if kind == "sql-execution" and name in application.running:
        return UNFINISHED
    decisive = jobs if kind == "application" else jobs[-1:]
    if any(job.succeeded for job in decisive):
        return None
    return UNFINISHED if any(job.ended is None for job in decisive) else FAILED


def _unknown(dag: Dag) -> str | None:
    """Why the stages that ran are no job: there are none, or nobody knows what they wait for."""
    if not dag.stages:
        return NO_STAGE
    return NO_PARENTS if len(dag.stages) > 1 and not all(stage.parents_known for stage in dag.stages) else None


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


def _job_of(
    application: Application,
    jobs: list[SparkJob],
    dag: Dag,
    clock: Clock,
    slots: dict[float, dict[int, int]],
    survived: Counter[str],
) -> Job:
    """A job of the trace; `slots` (cores of a task -> executor -> tasks at once) is filled as cores are met."""
    cpus = [task_cpus(application, stage) for stage in dag.stages]
    for cpu in set(cpus) - slots.keys():
        slots[cpu] = {executor: int(cores // cpu) for executor, cores in application.cores.items()}
    tables = [stage.table() for stage in dag.stages]
    waves, level = split_waves(tables, [slots[cpu] for cpu in cpus])
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
                "cpu": cpus[number],
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
    survived[BACKWARDS] += int((durations < 0).sum())
    survived[TOO_LONG] += int((durations > MAX_MS).sum())
    return np.clip(durations, 1, MAX_MS).astype(np.int32)


def size_of(input_bytes: int) -> str:
    """The power of ten below the bytes read from files, such as `10m` for 10 to 100 MB; "" for nothing read."""
    if input_bytes < 1:
        return ""
    power = min(len(str(input_bytes)) - 1, 17)
    return f"{10 ** (power % 3)}{'bkmgtp'[power // 3]}"
