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
    clock: Literal["wall", "processor"] = Field(
        "wall", description="duration of a task: its finish minus its launch, or the processor time that it used"
    )
    sequence: bool = Field(
        True,
        description="whether a Spark job of a job that was submitted after another one had ended waits for it, also "
        "where no stage of it reads that one's output",
    )


class Alibaba2018Params(Section):
    """Source alibaba-2018: the batch jobs of Alibaba's cluster-trace-v2018."""

    sample: int | None = Field(None, ge=1, description="jobs to keep, drawn at random; empty: all")


class AlibabaLikeParams(Section):
    """Source alibaba-like: generated jobs with the published marginals of cluster-trace-v2018."""

    jobs: int = Field(1000, ge=1, le=10_000_000, description="jobs to generate")


class SyntheticParams(Section):
    """Source synthetic: random DAGs of a chosen shape."""

    jobs: int = Field(100, ge=1, le=1_000_000, description="job profiles to generate")
