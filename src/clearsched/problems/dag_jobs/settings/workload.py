"""What a user may choose of the cluster and of the jobs that arrive: the section `workload` of params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clearsched.section import Section

Count = Annotated[int, Field(ge=1, le=1_000_000)]

SafetyCase = Literal["stragglers", "executors_lost", "estimates_off", "estimates_missing"]
"""Edge cases that change what becomes of jobs, and not which jobs come, or when."""


class EpisodesParams(Section):
    """How many episodes each split holds; the splits share no random numbers."""

    train: Count = Field(512, description="episodes that teachers and students learn from")
    validation: Count = Field(32, description="episodes that heuristics are tuned and checkpoints are chosen on")
    test: Count = Field(64, description="episodes that only the evaluation sees")


class CorrectionsParams(Section):
    """Corrections of known flaws of the published simulator; without them results compare with the literature."""

    work_conserving: bool = Field(
        False, description="offer idle executors after every event, not only when a job arrives"
    )
    offer_at_completion: bool = Field(
        False, description="offer idle executors when a job is complete or an executor fails too, not only at arrivals"
    )
    right_interpolation: bool = Field(
        False, description="between two measured numbers of executors, draw from the nearer one more often, not less"
    )
    spark_fifo: bool = Field(
        False, description="FIFO as in Spark: a job keeps its executors until it has no task left to start"
    )
    offer_parked: bool = Field(
        False, description="offer executors that are parked in a job again while a stage of that job is ready and waits"
    )
    spark_offers: bool = Field(
        False,
        description="offers as in Spark: an executor is decided on when it is idle, not ahead of time, and only stages "
        "whose parents are complete can have it",
    )
    ask_each_task: bool = Field(
        False,
        description="an executor is decided on after every task, as in Spark, not only when its stage has no other "
        "task to start",
    )
    back_up_parked: bool = Field(
        False,
        description="an executor that would be parked in a job starts a task of a stage of it that is ready and waits",
    )


class FaultsParams(Section):
    """Executors that fail and tasks that straggle, to study robustness; none by default."""

    failures_per_hour: float = Field(0.0, ge=0, le=3600, description="failures of an executor per hour that it runs")
    recovery_s: float = Field(
        10.0, ge=0, le=86_400, description="time from the failure of an executor to its return, in seconds"
    )
    straggler_probability: float = Field(0.0, ge=0, le=1, description="share of tasks that straggle")
    straggler_slowdown: float = Field(1.0, ge=1, le=1000, description="how many times longer a straggler runs")


class EstimatesParams(Section):
    """How wrong the task durations are that policies see; what happens stays what it is. Exact by default."""

    error: float = Field(
        1.0,
        ge=1,
        le=1000,
        description="typical factor by which the estimate of a stage is off, up or down; 1: policies know the mean "
        "duration of every stage",
    )
    missing: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of the jobs without estimates: their tasks count with the mean of all tasks of the trace",
    )


class SurgeParams(Section):
    """Some jobs that arrive faster than the others, whatever the kind of random arrivals; none by default."""

    jobs: int = Field(0, ge=0, le=100_000, description="jobs that arrive at another load; 0: none")
    after_job: int = Field(10, ge=1, le=100_000, description="jobs that arrive before the first of them")
    load: float = Field(1.2, gt=0, le=100, description="load that they arrive at")


class GiantParams(Section):
    """A giant among the jobs; none by default."""

    tasks: float = Field(1.0, ge=1, le=10_000, description="how many times its tasks one job has; 1: no giant")
    after_job: int = Field(10, ge=0, le=100_000, description="jobs that arrive before it")


class SwarmParams(Section):
    """Tiny jobs that arrive together, beside the other jobs; none by default."""

    jobs: int = Field(0, ge=0, le=100_000, description="jobs in the swarm; 0: none")
    after_job: int = Field(10, ge=1, le=100_000, description="other jobs before it: it arrives with the last of them")
    smallest: float = Field(
        0.1, gt=0, le=1, description="share of the job profiles, the smallest by executor time, that it is drawn from"
    )


class OutageParams(Section):
    """Executors that are lost for a while; none by default. Counted in mean times between arrivals."""

    share: float = Field(0.0, ge=0, le=1, description="share of the executors that is lost; 0: none")
    after_job: int = Field(10, ge=0, le=100_000, description="mean times between arrivals before the outage")
    jobs: int = Field(20, ge=1, le=100_000, description="mean times between arrivals that it lasts")


class MixedRatesParams(Section):
    """Episodes of several arrival rates, each with one of its own; all have the same by default."""

    least: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="mean time between an episode's arrivals, at least, in times of the one above; each draws its own, "
        "all between are alike",
    )
    most: float = Field(1.0, gt=0, le=1000, description="the same, at most")

    @property
    def are_mixed(self) -> bool:
        """Whether episodes draw a rate each."""
        return self.least < self.most or self.least != 1.0


class BurstyParams(Section):
    """Arrivals `bursty`: a Markov-modulated Poisson process of two states, calm and burst."""

    factor: float = Field(5.0, gt=1, le=10_000, description="how many times more jobs arrive in a burst than in a calm")
    burst_s: float = Field(20.0, gt=0, le=1e7, description="mean length of a burst in seconds")
    calm_s: float = Field(60.0, gt=0, le=1e7, description="mean length of a calm in seconds")


class DiurnalParams(Section):
    """Arrivals `diurnal`: a Poisson process whose rate follows the time of day as a sine."""

    peak_to_trough: float = Field(4.0, ge=1, le=10_000, description="rate at the busiest hour to that at the quietest")
    peak_hour: float = Field(14.0, ge=0, le=24, description="busiest time of the day, in hours")
    start_hour: float | None = Field(
        None, ge=0, le=24, description="time of the day at which an episode starts, in hours; empty: at random"
    )
    day_s: float = Field(
        86_400.0, gt=0, le=1e7, description="length of a day in seconds; a short day lets few jobs see all of it"
    )


class ReplayParams(Section):
    """Arrivals `replay`: jobs arrive as they did in the trace, an episode is a run of jobs that followed each other."""

    start_s: float = Field(0.0, ge=0, le=1e9, description="start of the window that episodes are cut from, in seconds")
    window_s: float | None = Field(
        None, gt=0, le=1e9, description="length of that window in seconds; empty: to the end"
    )
    speed: float | None = Field(
        1.0,
        gt=0,
        le=1e9,
        description="how many times faster time runs than in the trace; empty: so that `load` results",
    )


class SplitFractionsParams(Section):
    """Shares of the templates (or of the time) that each split gets, where `split` is not seed."""

    train: float = Field(0.6, gt=0, le=1, description="share of the training episodes, relative to the others")
    validation: float = Field(0.2, gt=0, le=1, description="share of the validation episodes, relative to the others")
    test: float = Field(0.2, gt=0, le=1, description="share of the test episodes, relative to the others")


class WorkloadParams(Section):
    """The cluster, and the jobs that arrive at it."""

    objective: Literal["jct_s", "jct_p95_s", "slowdown", "makespan_s"] = Field(
        "jct_s",
        description="what policies are tuned, trained and compared for: the mean job completion time (JCT), its 95th "
        "percentile, the mean of JCT relative to the job's ideal time, or the completion of the last job",
    )
    executors: int = Field(10, ge=1, le=10_000, description="executors of the cluster")
    arrivals: Literal["poisson", "batch", "bursty", "diurnal", "replay"] = Field(
        "poisson",
        description="poisson: one job after another at random; batch: all jobs at time 0; bursty: bursts and calms; "
        "diurnal: the rate follows the time of day; replay: as in the trace",
    )
    jobs: int = Field(40, ge=1, le=100_000, description="jobs in an episode")
    load: float = Field(
        0.85,
        gt=0,
        lt=2,
        description="offered load of the arrivals: executor time that jobs ask for per executor time there is",
    )
    mean_interarrival_s: float | None = Field(
        None, gt=0, le=1e9, description="mean time between arrivals in seconds; empty: computed from `load`"
    )
    mixed_rates: MixedRatesParams = MixedRatesParams()
    bursty: BurstyParams = BurstyParams()
    diurnal: DiurnalParams = DiurnalParams()
    replay: ReplayParams = ReplayParams()
    split: Literal["seed", "template", "time"] = Field(
        "seed",
        description="seed: all splits draw from all jobs; template: from disjoint sets of queries, so that the test's "
        "are unseen; time: training from the trace's first jobs, the test from its last",
    )
    split_fractions: SplitFractionsParams = SplitFractionsParams()
    moving_delay_s: float = Field(2.0, ge=0, le=3600, description="time an executor takes to change jobs, in seconds")
    warmup_delay_s: float = Field(
        1.0,
        ge=0,
        le=3600,
        description="time a first task lasts longer where none was measured on a fresh executor, in seconds",
    )
    durations: Literal["sampled", "mean"] = Field(
        "sampled", description="task durations: drawn from the measured ones, or their mean"
    )
    idling: bool = Field(
        True, description="whether learned policies may leave executors idle, or answer none; heuristics always may"
    )
    help_first: bool = Field(
        False,
        description="what policies that are made here mean by none: whom they leave idle first starts a task of a "
        "stage of its job that is ready and waits, and idles only where there is none; their files say so, and it "
        "holds wherever they schedule",
    )
    episodes: EpisodesParams = EpisodesParams()
    stress: float = Field(
        1.0,
        gt=0,
        le=1,
        description="share of the stress that a policy must pass to be chosen, of the streams of each kind and of "
        "their jobs; 1: all of it, less only to try something out",
    )
    safety_bound: float | None = Field(
        None,
        gt=1,
        le=1.2,
        description="so many times what fair takes a policy may take on any episode of the safety check that has no "
        "giant, to be chosen: a margin for jobs that nothing was made from; null: 1.2",
    )
    giant_bound: float | None = Field(
        None,
        gt=1,
        le=1.5,
        description="so many times what fair takes a policy may take on any episode of the safety check that has a "
        "giant: less where somebody good is nearer; null: 1.5",
    )
    safety_cases: tuple[SafetyCase, ...] = Field(
        (),
        description="edge cases of which the safety check has streams, or batches, of training jobs besides: whoever "
        "is chosen is near to fair there too",
    )
    corrections: CorrectionsParams = CorrectionsParams()
    faults: FaultsParams = FaultsParams()
    estimates: EstimatesParams = EstimatesParams()
    surge: SurgeParams = SurgeParams()
    giant: GiantParams = GiantParams()
    swarm: SwarmParams = SwarmParams()
    outage: OutageParams = OutageParams()

    @model_validator(mode="after")
    def _fits(self) -> WorkloadParams:
        if self.surge.jobs and self.arrivals in ("batch", "replay"):
            raise ValueError(f"surge.jobs must be 0 where arrivals are {self.arrivals}: they have no rate to raise")
        mixed = self.mixed_rates
        if mixed.least > mixed.most:
            raise ValueError(f"mixed_rates.least is {mixed.least:g}: it must not be above most, {mixed.most:g}")
        if mixed.are_mixed and self.arrivals in ("batch", "replay"):
            raise ValueError(f"mixed_rates must be 1 to 1 where arrivals are {self.arrivals}: they have no rate to mix")
        if self.outage.share and self.arrivals == "batch":
            raise ValueError("outage.share must be 0 where arrivals are batch: there is no time between them")
        if len(set(self.safety_cases)) < len(self.safety_cases):
            raise ValueError(f"safety_cases names one twice: {', '.join(self.safety_cases)}")
        if "executors_lost" in self.safety_cases and self.arrivals == "batch":
            raise ValueError("safety_cases: executors_lost: there is no time between arrivals where they are batch")
        self._check_giant_bound()
        last = self.surge.after_job + self.surge.jobs
        if self.surge.jobs and last > self.jobs:
            raise ValueError(f"surge ends with job {last}: jobs must be {last} or more, it is {self.jobs}")
        for name, part, on in (("giant", self.giant, self.giant.tasks > 1), ("swarm", self.swarm, self.swarm.jobs > 0)):
            least = part.after_job + (name == "giant")
            if on and least > self.jobs:
                raise ValueError(
                    f"{name}.after_job is {part.after_job}: jobs must be {least} or more, it is {self.jobs}"
                )
        return self

    def _check_giant_bound(self) -> None:
        """Beside a giant no less is allowed than elsewhere; of a batch the last job's end would be held to it too."""
        if self.giant_bound is None:
            return
        least = self.safety_bound or 1.2
        if self.giant_bound < least:
            raise ValueError(f"giant_bound is {self.giant_bound:g}: it must be {least:g} or more, as without a giant")
        if self.arrivals == "batch":
            raise ValueError(
                "giant_bound must be null where arrivals are batch: until their last job ends 1.5 is allowed"
            )
