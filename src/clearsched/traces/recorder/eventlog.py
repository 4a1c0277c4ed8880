"""Read an Apache Spark event log: the stages that a query ran, their dependencies, and when their tasks ran.

An event log is a text file, one JSON event a line. A query is told from the next by its job group; its Spark
jobs may be several (a sort first samples its input in a job of its own, a scalar subquery is one). A later
job lists the stages of an earlier one again when it reads their output; Spark then skips them, and this
module maps them to the stage that ran, by the id of the resilient distributed dataset (RDD) that both put
out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from clearsched.errors import ClearschedError

NS_PER_MS = 1_000_000
NEEDED = ("SparkListenerJobStart", "SparkListenerJobEnd", "SparkListenerTaskEnd")


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


@dataclass
class _Stage:
    """A stage as a job listed it; `job` is the job that listed it first."""

    job: int
    rdd: int
    num_tasks: int
    parent_ids: list[int]
    tasks: dict[int, TaskRun] = field(default_factory=dict)


@dataclass
class _Group:
    """What the log says of one job group."""

    stages: dict[int, _Stage] = field(default_factory=dict)
    listed: dict[int, list[int]] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    failed: bool = False


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The job and task events of a log; a last line that was cut off by an interruption is left out.

    Raises:
        ClearschedError: the file cannot be read, or a line other than the last is not JSON.
    """
    broken = 0
    try:
        with open(path, encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                # Most of a log is events that are not needed here; looking at the line's beginning spares
                # parsing them.
                if not any(name in line[:60] for name in NEEDED):
                    continue
                if broken:
                    raise ClearschedError(f"{path}: line {broken}: not a JSON event; record the query again")
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:
                    broken = number
    except (OSError, UnicodeDecodeError) as error:
        raise ClearschedError(f"{path}: cannot be read: {error}") from None


def read_runs(events: Iterable[dict[str, Any]]) -> dict[str, Run]:
    """The completed run of every job group of a log. Groups that failed or were cut off are left out.

    Raises:
        ClearschedError: a stage reads the output of a stage that the same group never ran.
    """
    groups: dict[str, _Group] = {}
    group_of_job: dict[int, _Group] = {}
    group_of_stage: dict[int, _Group] = {}
    for event in events:
        kind = event["Event"]
        if kind == "SparkListenerJobStart":
            name = (event.get("Properties") or {}).get("spark.jobGroup.id")
            if name is not None:
                group = groups.setdefault(name, _Group())
                group_of_job[event["Job ID"]] = group
                _start_job(event, group)
                group_of_stage.update(dict.fromkeys(group.stages, group))
        elif kind == "SparkListenerJobEnd" and event["Job ID"] in group_of_job:
            group = group_of_job[event["Job ID"]]
            group.running.discard(event["Job ID"])
            group.failed |= event["Job Result"]["Result"] != "JobSucceeded"
        elif kind == "SparkListenerTaskEnd" and event["Stage ID"] in group_of_stage:
            _end_task(event, group_of_stage[event["Stage ID"]].stages[event["Stage ID"]])
    return {name: _run_of(name, group) for name, group in groups.items() if _is_complete(group)}


def _start_job(event: dict[str, Any], group: _Group) -> None:
    job = event["Job ID"]
    group.running.add(job)
    group.listed[job] = sorted(info["Stage ID"] for info in event["Stage Infos"])
    for info in event["Stage Infos"]:
        # The first of the listed datasets is the one that the stage puts out.
        stage = _Stage(job, info["RDD Info"][0]["RDD ID"], info["Number of Tasks"], info["Parent IDs"])
        group.stages.setdefault(info["Stage ID"], stage)


def _end_task(event: dict[str, Any], stage: _Stage) -> None:
    task = event["Task Info"]
    if event["Task End Reason"]["Reason"] == "Success" and not task["Failed"] and not task["Killed"]:
        metrics = event["Task Metrics"]
        processor_ns = metrics["Executor Deserialize CPU Time"] + metrics["Executor CPU Time"]
        run = TaskRun(task["Launch Time"], task["Finish Time"], round(processor_ns / NS_PER_MS))
        stage.tasks.setdefault(task["Index"], run)


def _is_complete(group: _Group) -> bool:
    partly = any(stage.tasks and len(stage.tasks) < stage.num_tasks for stage in group.stages.values())
    return not (group.running or group.failed or partly)


def _run_of(name: str, group: _Group) -> Run:
    """Number the stages that ran, parents first, and find the parents of each among them.

    Spark numbers stages in an order that differs from run to run (that of a hash set). The datasets are made
    in the order of the query's plan, so their ids, job by job, give the same order in every run.
    """
    order = sorted(group.stages, key=lambda stage_id: (group.stages[stage_id].job, group.stages[stage_id].rdd))
    ran = [stage_id for stage_id in order if group.stages[stage_id].tasks]
    index = {stage_id: position for position, stage_id in enumerate(ran)}
    by_rdd = {group.stages[stage_id].rdd: stage_id for stage_id in reversed(ran)}
    results = {job: max(set(listed) & index.keys(), default=None) for job, listed in group.listed.items()}
    jobs_of: defaultdict[int, set[int]] = defaultdict(set)
    for job, listed in group.listed.items():
        for stage_id in listed:
            jobs_of[group.stages[stage_id].rdd].add(job)
    run = []
    for stage_id in ran:
        stage = group.stages[stage_id]
        parents = set()
        for listed_id in stage.parent_ids:
            parent_id = listed_id if listed_id in index else by_rdd.get(group.stages[listed_id].rdd)
            if parent_id is None:
                raise ClearschedError(
                    f"job group {name}: stage {stage_id} reads stage {listed_id}, which the group never ran"
                )
            parents.add(index[parent_id])
            # A job that reads what earlier jobs read or left behind was submitted when those had their results (a
            # sort waits for the samples of its input), so the stage waits for their last stages too.
            earlier = [job for job in jobs_of[group.stages[parent_id].rdd] if job < stage.job]
            parents.update(index[result] for job in earlier if (result := results[job]) is not None)
        run.append(StageRun(tuple(sorted(parents)), tuple(stage.tasks[key] for key in sorted(stage.tasks))))
    return tuple(run)
