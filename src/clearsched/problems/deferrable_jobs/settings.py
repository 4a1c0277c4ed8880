"""What a user may choose of this problem: its sections `traces`, `workload` and `heuristics` of params.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from clearsched.section import Section

Count = Annotated[int, Field(ge=1, le=1_000_000)]
Weight = Annotated[float, Field(ge=0, le=1000)]


class SyntheticParams(Section):
    """Source synthetic: jobs of random demand and duration."""

    jobs: int = Field(400, ge=1, le=1_000_000, description="jobs in the pool")
    cpu_median: float = Field(1.5, gt=0, le=10_000, description="median demand in cores")
    cpu_spread: float = Field(0.7, ge=0, le=3, description="standard deviation of the logarithm of the demand")
    cpu_max: float = Field(4.0, gt=0, le=10_000, description="largest demand in cores")
    duration_median_s: float = Field(3000.0, gt=0, le=1e7, description="median duration in seconds")
    duration_spread: float = Field(0.8, ge=0, le=3, description="standard deviation of the logarithm of the duration")
    duration_min_s: float = Field(600.0, gt=0, le=1e7, description="shortest duration in seconds")
    duration_max_s: float = Field(10_800.0, gt=0, le=1e7, description="longest duration in seconds")
    memory_per_core: float = Field(1.0, gt=0, le=100, description="memory for a core, in % of a machine's")

    @model_validator(mode="after")
    def _ordered(self) -> SyntheticParams:
        if self.duration_min_s > self.duration_max_s:
            raise ValueError("duration_min_s must not be above duration_max_s")
        return self


class AlibabaMarginalsParams(Section):
    """Source alibaba-marginals: demands, durations and arrivals as published of Alibaba's cluster-trace-v2018."""

    jobs: int = Field(1000, ge=1, le=1_000_000, description="jobs in the pool")
    duration_min_s: float = Field(
        600.0, ge=1, le=140_000, description="shorter stages, not worth deferring, are left out, in seconds"
    )
    duration_max_s: float = Field(10_800.0, gt=0, le=140_000, description="longer ones are left out, in seconds")
    tasks_max: int = Field(4, ge=1, le=47_476, description="larger ones are left out; demand is tasks x cpu of a task")

    @model_validator(mode="after")
    def _ordered(self) -> AlibabaMarginalsParams:
        if self.duration_min_s > self.duration_max_s:
            raise ValueError("duration_min_s must not be above duration_max_s")
        return self


class TracesParams(Section):
    """Which jobs may be deferred."""

    source: str  # one of the registry, with a section each (sections.py)
    path: str | None = Field(None, description="no source of this problem reads a file: leave it empty")
    seed: int = Field(1, ge=0, lt=2**32, description="seed of the generated jobs")


class EpisodesParams(Section):
    """How many episodes each split holds; the splits share no random numbers."""

    train: Count = Field(512, description="episodes that teachers and students learn from")
    validation: Count = Field(32, description="episodes that heuristics are tuned and checkpoints are chosen on")
    test: Count = Field(64, description="episodes that only the evaluation sees")


class CapacityParams(Section):
    """What on-demand work takes of the cluster, as shares of its cores, and how well that is foreseen."""

    on_demand: float = Field(0.4, ge=0, lt=1, description="share of the cores that on-demand work takes, bursts aside")
    day_swing: float = Field(0.15, ge=0, lt=1, description="how far its share swings up and down over a day")
    peak_hour: float = Field(14.0, ge=0, lt=24, description="busiest time of the day, in hours")
    noise: float = Field(0.04, ge=0, le=0.5, description="standard deviation of its slow wandering about that")
    bursts_per_day: float = Field(16.0, ge=0, le=1000, description="mean number of bursts in a day")
    burst_s: float = Field(1800.0, gt=0, le=1e6, description="mean length of a burst in seconds")
    burst_height: float = Field(0.3, ge=0, le=1, description="mean share of the cores that a burst takes")
    forecast_error: float = Field(
        0.015,
        ge=0,
        le=1,
        description="standard deviation of the forecast one slot ahead as a share of the cores; it grows with the "
        "square root of the reach",
    )


class WeightsParams(Section):
    """The cost: wait x mean relative wait + miss x share of deadlines missed + eviction x evictions a job."""

    wait: Weight = Field(1.0, description="for a wait as long as the job's duration")
    miss: Weight = Field(4.0, description="for a missed deadline")
    eviction: Weight = Field(1.0, description="for an eviction, beside the wait that it causes")


class WorkloadParams(Section):
    """The cluster, and the jobs that arrive at it."""

    objective: Literal["cost", "relative_wait", "missed_share"] = Field(
        "cost",
        description="what policies are tuned, trained and compared for: the cost by `weights`, the mean wait "
        "relative to the job's duration, or the share of deadlines missed",
    )
    slot_s: int = Field(300, ge=1, le=86_400, description="length of a slot in seconds; jobs start and end at slots")
    slots: int = Field(288, ge=2, le=100_000, description="slots in which jobs arrive; the capacity then repeats")
    jobs: int = Field(150, ge=1, le=100_000, description="jobs in an episode")
    day_s: int = Field(86_400, ge=1, le=10_000_000, description="length of a day in seconds")
    start_hour: float | None = Field(
        None, ge=0, lt=24, description="time of the day at which an episode starts, in hours; empty: at random"
    )
    arrivals: Literal["poisson", "trace"] = Field(
        "poisson", description="poisson: at random; trace: gaps as in the trace, stretched to the slots"
    )
    load: float = Field(
        0.7, gt=0, lt=2, description="CPU time that jobs ask for per CPU time that on-demand work leaves on average"
    )
    cores: float | None = Field(None, gt=0, le=1e7, description="cores of the cluster; empty: computed from `load`")
    slack_min: float = Field(0.5, ge=0, le=1000, description="smallest slack of a deadline, in durations of the job")
    slack_max: float = Field(6.0, ge=0, le=1000, description="largest slack of a deadline, in durations of the job")
    capacity: CapacityParams = CapacityParams()
    weights: WeightsParams = WeightsParams()
    episodes: EpisodesParams = EpisodesParams()

    @model_validator(mode="after")
    def _ordered(self) -> WorkloadParams:
        if self.slack_min > self.slack_max:
            raise ValueError("slack_min must not be above slack_max")
        return self


class ThresholdParams(Section):
    """Grid of the threshold rule's two settings."""

    safety: tuple[Annotated[float, Field(ge=-9, le=9)], ...] = Field(
        (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0),
        min_length=1,
        description="margins tried: the forecast must leave so many standard deviations beside a job that starts",
    )
    slack: tuple[Annotated[float, Field(ge=-1000, le=1000)], ...] = Field(
        (-1.0, 0.0, 0.25, 0.5, 1.0, 2.0),
        min_length=1,
        description="slacks tried: a job with less of it, in durations of the job, starts all the same",
    )

    def grid(self) -> Iterator[dict[str, float]]:
        """Every pair of the settings to try."""
        return ({"safety": safety, "slack": slack} for safety in self.safety for slack in self.slack)


class HeuristicsParams(Section):
    """Settings that are tried on the validation episodes; the best of each heuristic is kept."""  # sections.py
