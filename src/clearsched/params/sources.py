"""What a user may choose of each source of jobs: a section of `traces` in params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearsched.params.section import Section


class SparkEventlogParams(Section):
    """Source spark-eventlog: the event logs of a Spark cluster."""

    job: Literal["sql-execution", "job-group", "application"] = Field(
        "sql-execution", description="what becomes one job: the Spark jobs of a SQL execution, job group or application"
    )


class Alibaba2018Params(Section):
    """Source alibaba-2018: the batch jobs of Alibaba's cluster-trace-v2018."""

    keep: Literal["finished", "all"] = Field(
        "finished", description="finished: jobs whose tasks are all of status Terminated; all: every job that started"
    )
    start_h: float = Field(0.0, ge=0, description="keep jobs that arrive from this hour of the trace on")
    end_h: float | None = Field(None, gt=0, description="keep jobs that arrive before this hour; empty: to the end")
    min_stages: int = Field(1, ge=1, description="smallest job to keep, in stages (the file calls a stage a task)")
    max_stages: int | None = Field(None, ge=1, description="largest job to keep, in stages; empty: any")
    dag_only: bool = Field(False, description="keep only jobs in whose task names one depends on another")
    sample: int | None = Field(None, ge=1, description="jobs to keep, drawn at random after all filters; empty: all")
    after_parents: bool = Field(
        False, description="count a duration from the end of the last parent, where the start is before that"
    )
    spread: float = Field(
        0.5, ge=0, le=1.5, description="coefficient of variation of the task durations within a stage (not in the file)"
    )


class AlibabaLikeParams(Section):
    """Source alibaba-like: generated jobs with the published marginals of cluster-trace-v2018."""

    jobs: int = Field(1000, ge=1, le=10_000_000, description="jobs to generate")
    min_stages: int = Field(1, ge=1, le=199, description="smallest job, in stages")
    max_stages: int = Field(199, ge=1, le=199, description="largest job, in stages")
    dag_only: bool = Field(False, description="only jobs with an edge")
    max_tasks: int | None = Field(None, ge=1, description="most tasks of a stage; empty: as published, up to 47,476")
    duration: Literal["stage", "task"] = Field(
        "stage",
        description="published durations to draw a stage's mean task duration from: of stages or of single tasks",
    )
    spread: float = Field(
        0.5, ge=0, le=1.5, description="coefficient of variation of the task durations within a stage (not published)"
    )


class SyntheticParams(Section):
    """Source synthetic: random DAGs of a chosen shape."""

    jobs: int = Field(100, ge=1, le=1_000_000, description="job profiles to generate")
