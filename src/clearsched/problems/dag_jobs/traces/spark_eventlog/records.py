"""What is kept of the stages and Spark jobs of an application."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np

LAUNCH, FINISH, PROCESSOR, EXECUTOR, PARTITION, USED = range(6)
"""Columns of the attempts of a stage: times in ms since the epoch, processor time in ms (-1: unknown), the executor,
the partition, and whether it is the partition's first success, which is the one that counts."""

GROUP, EXECUTION, ROOT = "spark.jobGroup.id", "spark.sql.execution.id", "spark.sql.execution.root.id"
DESCRIPTION, TASK_CPUS = "spark.job.description", "spark.task.cpus"
KEPT = (GROUP, EXECUTION, ROOT, DESCRIPTION, TASK_CPUS)
"""The properties of a Spark job that are kept: there may be hundreds, of every job the same."""


@dataclass(slots=True)
class Stage:
    """A stage as a Spark job listed it.

    Attributes:
        job: the Spark job that listed it first.
        rdd: id of the dataset that it puts out.
        profile: id of the resources that its tasks ask for.
        parents_known: whether the log tells its parents, or they could be derived.
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
    profile: int = 0
    parents_known: bool = True
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
        properties: those of its local properties that tell the SQL execution, the group and so on (`KEPT`).
    """

    id: int
    submitted_ms: int | None
    started: int
    stage_ids: list[int]
    properties: dict[str, str]
    ended: int | None = None
    succeeded: bool = False
