"""What a user may choose of each source of jobs: a section of `traces` in params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clearsched.section import Section


class TpchSparkParams(Section):
    """Source tpch-spark: the TPC-H queries recorded by this project, or by you."""

    sizes: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = Field(
        (),
        description="input sizes that jobs are drawn from, as [0.5g, 1g]; empty: 10g and 20g of the embedded file, or "
        "all of a recording of yours",
    )


class TpchReplayParams(Section):
    """Source tpch-replay: recorded jobs as jobs of sleeping tasks, for a real Spark (docs/engines-spark-runs.md)."""

    sizes: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = Field(
        ("5g", "10g", "20g"), description="input sizes that jobs are drawn from; empty: as in tpch_spark"
    )
    tasks: float = Field(
        0.1,
        gt=0,
        le=1,
        description="share of its tasks that a stage keeps, at least one; each takes as much longer as there are fewer",
    )
    seconds: float = Field(0.2, gt=0, le=1000, description="how many times their executor time the jobs have")


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

    keep: Literal["finished", "all"] = Field(
        "finished", description="finished: jobs whose tasks are all of status Terminated; all: every job that started"
    )
    start_h: float = Field(0.0, ge=0, le=1e7, description="keep jobs that arrive from this hour of the trace on")
    end_h: float | None = Field(
        None, gt=0, le=1e7, description="keep jobs that arrive before this hour; empty: to the end"
    )
    min_stages: int = Field(
        1, ge=1, le=1_000_000, description="smallest job to keep, in stages (the file calls a stage a task)"
    )
    max_stages: int | None = Field(None, ge=1, le=1_000_000, description="largest job to keep, in stages; empty: any")
    dag_only: bool = Field(False, description="keep only jobs in whose task names one depends on another")
    sample: int | None = Field(
        None, ge=1, le=1_000_000_000, description="jobs to keep, drawn at random after all filters; empty: all"
    )
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
    max_tasks: int | None = Field(
        None, ge=1, le=10_000_000, description="most tasks of a stage; empty: as published, up to 47,476"
    )
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
    templates: int | None = Field(
        None, ge=1, le=1_000_000, description="templates that jobs recur from; empty: each job has its own"
    )
    shape: Literal["layers", "map_reduce", "diamond", "chain", "mixed"] = Field(
        "mixed", description="DAGs; map_reduce: rounds of maps and a reduce; mixed: each template one of the others"
    )
    stages_min: int = Field(2, ge=1, le=10_000, description="stages of a job, at least")
    stages_max: int = Field(12, ge=1, le=10_000, description="stages of a job, at most; all numbers are alike")
    width: int = Field(3, ge=1, le=1000, description="mean number of stages in a layer")
    fan_in: int = Field(2, ge=1, le=1000, description="parents of a stage in a layer, or maps of a reduce, at most")
    tasks_median: float = Field(10.0, ge=1, le=100_000, description="median number of tasks of a stage")
    tasks_sigma: float = Field(
        1.0, ge=0, le=5, description="spread between stages: standard deviation of the logarithm of the number of tasks"
    )
    tasks_max: int = Field(10_000, ge=1, le=10_000_000, description="tasks of a stage, at most")
    duration_median_s: float = Field(2.0, ge=0.001, le=86_400, description="median task duration in seconds")
    duration_tail: Literal["lognormal", "pareto"] = Field(
        "lognormal", description="distribution of the task duration between stages"
    )
    duration_sigma: float = Field(
        1.0, ge=0, le=5, description="standard deviation of the logarithm of the task duration, if lognormal"
    )
    pareto_alpha: float = Field(
        1.5, gt=0, le=100, description="exponent of the tail if pareto; at 1 or below the mean is infinite"
    )
    task_spread: float = Field(
        0.3, ge=0, le=5, description="spread within a stage: standard deviation of the logarithm of the task duration"
    )
    size_sigma: float = Field(
        0.5, ge=0, le=5, description="spread between the jobs of a template: of the logarithm of the number of tasks"
    )
    samples: int = Field(8, ge=1, le=10_000, description="durations that a stage holds for each wave and level")
    first_wave: float = Field(
        1.2, ge=1, le=100, description="how many times longer an executor's first task of a stage lasts"
    )
    levels: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = Field(
        (1,), min_length=1, description="numbers of executors of a job that durations are given for, increasing"
    )
    contention: float = Field(
        0.0,
        ge=0,
        le=1,
        description="tasks last n^contention longer with n executors: the job speeds up n^(1 - contention) times",
    )
    interarrival_s: float = Field(10.0, gt=0, le=1e7, description="mean time between arrivals (poisson) in seconds")
