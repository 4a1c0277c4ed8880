"""The events of a log that matter to a scheduler, and of each the fields that are read.

The names and meanings of the fields are those of Spark's `JsonProtocol`, versions 1.2 to 4.x; what some of them do not
write has a default.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType, field

SQL = "org.apache.spark.sql.execution.ui."


class Event(msgspec.Struct, gc=False):
    """Any event."""


class RddInfo(msgspec.Struct, gc=False):
    """A resilient distributed dataset (RDD); `scope` is the operation that made it, as JSON in a string.

    `parent_ids`, the datasets that it is computed from, is written since Spark 1.4.
    """

    id: int = field(name="RDD ID")
    name: str = field(name="Name", default="")
    scope: str | None = field(name="Scope", default=None)
    parent_ids: list[int] | None = field(name="Parent IDs", default=None)


class StageInfo(msgspec.Struct):
    """A stage as a Spark job lists it. The first dataset is the one that the stage puts out.

    `parent_ids` is written since Spark 1.5, `profile` (of the resources that its tasks ask for) since 3.1.
    """

    id: int = field(name="Stage ID")
    num_tasks: int = field(name="Number of Tasks")
    name: str = field(name="Stage Name", default="")
    rdds: list[RddInfo] = field(name="RDD Info", default_factory=list)
    parent_ids: list[int] | None = field(name="Parent IDs", default=None)
    profile: int = field(name="Resource Profile Id", default=0)


class LogStart(Event):
    """The first event of a log, but for those of Databricks."""


class ApplicationStart(Event):
    """An application begins, or another attempt at it (YARN)."""

    id: str | None = field(name="App ID", default=None)
    attempt: str | int | None = field(name="App Attempt ID", default=None)
    started_ms: int = field(name="Timestamp", default=0)


class EnvironmentUpdate(Event):
    """The configuration of an application: names and values, as an object or as pairs."""

    spark: dict[str, Any] | list[Any] | None = field(name="Spark Properties", default=None)

    def get(self, name: str) -> str | None:
        """The value of a property, None if it is not set."""
        pairs = self.spark.items() if isinstance(self.spark, dict) else self.spark or ()
        for pair in pairs:
            if isinstance(pair, list | tuple) and len(pair) == 2 and pair[0] == name:
                return str(pair[1]) if isinstance(pair[1], str | float) else None
        return None


class Request(msgspec.Struct, gc=False):
    """How much of a resource is asked for."""

    amount: float = field(name="Amount", default=1.0)


class ProfileAdded(Event):
    """Resources that tasks of some stages ask for (Spark 3.1 and later); profile 0 is that of the configuration."""

    id: int = field(name="Resource Profile Id")
    task: dict[str, Request] = field(name="Task Resource Requests", default_factory=dict)


class ExecutorInfo(msgspec.Struct, gc=False):
    """What an executor has."""

    cores: int = field(name="Total Cores", default=0)


class ExecutorAdded(Event):
    """An executor has joined."""

    id: str = field(name="Executor ID")
    info: ExecutorInfo = field(name="Executor Info", default_factory=ExecutorInfo)


class ExecutorRemoved(Event):
    """An executor has left: lost, or given back."""

    id: str = field(name="Executor ID")
    reason: str = field(name="Removed Reason", default="")


class JobStart(Event):
    """A Spark job was submitted; it lists every stage that it may need, also those that it will skip."""

    id: int = field(name="Job ID")
    submitted_ms: int | UnsetType = field(name="Submission Time", default=UNSET)
    stages: list[StageInfo] = field(name="Stage Infos", default_factory=list)
    properties: dict[str, str | None] | None = field(name="Properties", default=None)


class Result(msgspec.Struct, gc=False):
    """How a Spark job ended."""

    result: str = field(name="Result", default="")


class JobEnd(Event):
    """A Spark job ended."""

    id: int = field(name="Job ID")
    result: Result = field(name="Job Result", default_factory=Result)


class EndReason(msgspec.Struct, gc=False):
    """How an attempt at a task ended."""

    reason: str = field(name="Reason", default="")


class TaskInfo(msgspec.Struct, gc=False):
    """An attempt at a task. `index` counts within the attempt at its stage; only newer versions note the partition."""

    index: int = field(name="Index")
    launch_ms: int = field(name="Launch Time")
    finish_ms: int = field(name="Finish Time")
    partition: int = field(name="Partition ID", default=-1)
    executor: str = field(name="Executor ID", default="")
    speculative: bool = field(name="Speculative", default=False)
    failed: bool = field(name="Failed", default=False)
    killed: bool = field(name="Killed", default=False)


class InputMetrics(msgspec.Struct, gc=False):
    """What a task read from files."""

    bytes_read: int = field(name="Bytes Read", default=0)


class TaskMetrics(msgspec.Struct, gc=False):
    """What an attempt used; the processor times (ns) are written since Spark 2.1."""

    deserialize_ns: int = field(name="Executor Deserialize CPU Time", default=0)
    run_ns: int | UnsetType = field(name="Executor CPU Time", default=UNSET)
    input: InputMetrics | None = field(name="Input Metrics", default=None)


class TaskEnd(Event):
    """An attempt at a task ended."""

    stage: int = field(name="Stage ID")
    info: TaskInfo = field(name="Task Info")
    attempt: int = field(name="Stage Attempt ID", default=0)
    kind: str = field(name="Task Type", default="")
    reason: EndReason = field(name="Task End Reason", default_factory=EndReason)
    metrics: TaskMetrics | None = field(name="Task Metrics", default=None)


class ExecutionStart(Event):
    """The execution of a SQL query (or of an operation on data frames) begins.

    A command that runs further queries is the root of their executions; Spark 3.4 and Databricks note it.
    """

    id: int = field(name="executionId")
    root: int | None = field(name="rootExecutionId", default=None)
    description: str | None = field(name="description", default=None)


class ExecutionEnd(Event):
    """It ends."""

    id: int = field(name="executionId")


KINDS: dict[str, type[Event]] = {
    "SparkListenerLogStart": LogStart,
    "SparkListenerApplicationStart": ApplicationStart,
    "SparkListenerEnvironmentUpdate": EnvironmentUpdate,
    "SparkListenerResourceProfileAdded": ProfileAdded,
    "SparkListenerExecutorAdded": ExecutorAdded,
    "SparkListenerExecutorRemoved": ExecutorRemoved,
    "SparkListenerJobStart": JobStart,
    "SparkListenerJobEnd": JobEnd,
    "SparkListenerTaskEnd": TaskEnd,
    SQL + "SparkListenerSQLExecutionStart": ExecutionStart,
    SQL + "SparkListenerSQLExecutionEnd": ExecutionEnd,
}
"""By the name that a line has for it."""
