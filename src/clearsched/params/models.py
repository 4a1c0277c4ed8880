"""What a user may choose: one frozen model a section of params.yaml.

To add a choice, add a field here (default, bounds, a description with its unit) and run `make params`: params.yaml, its
JSON schema and the table in docs/params.md are written from these models. A section's docstring is its heading there.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import (
    Alibaba2018Params,
    AlibabaLikeParams,
    SparkEventlogParams,
    SyntheticParams,
)
from clearsched.section import Section

Source = Literal["tpch-spark", "tpch-decima", "spark-eventlog", "alibaba-2018", "alibaba-like", "synthetic"]
"""Where profiles come from."""
Heuristic = Literal["fifo", "sjf_cp", "fair", "weighted_fair", "wsjf", "capped_srpt", "local_srpt"]
Student = Literal["rule_list", "boosted_trees"]
Policy = Literal[
    "fifo",
    "sjf_cp",
    "fair",
    "weighted_fair",
    "wsjf",
    "capped_srpt",
    "local_srpt",
    "teacher",
    "rule_list",
    "boosted_trees",
]
Mode = Literal["argmax", "sampled"]

DEFAULT_SCENARIO = "default"
DEFAULT_SOURCE: Source = "tpch-spark"

Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Exponent = Annotated[float, Field(ge=-4, le=4)]
Factor = Annotated[float, Field(gt=0, le=100)]


class MixPart(Section):
    """One source of a mix."""

    source: Source = Field(description="data set")
    path: str | None = Field(None, description="file or folder of the data set; empty: the source's own place")
    weight: float = Field(1.0, gt=0, le=1e9, description="share of the jobs, relative to the other sources")
    name: str | None = Field(None, min_length=1, max_length=64, description="its name in the mix; empty: the source's")


class TracesParams(Section):
    """Which job profiles are scheduled."""

    source: Literal[Source, "mix"] = Field(
        DEFAULT_SOURCE,
        description="data set: tpch-spark is embedded; tpch-decima and alibaba-2018 are read from `path` or fetched; "
        "spark-eventlog is read from `path`; alibaba-like and synthetic are generated; mix is several of them",
    )
    path: str | None = Field(None, description="file or folder of the data set; empty: the source's own place")
    seed: int = Field(1, ge=0, description="seed of what a source draws at random: samples, generated jobs")
    mix: tuple[MixPart, ...] = Field((), description="sources of a mix, used if `source` is mix, with their weights")
    spark_eventlog: SparkEventlogParams = SparkEventlogParams()
    alibaba_2018: Alibaba2018Params = Alibaba2018Params()
    alibaba_like: AlibabaLikeParams = AlibabaLikeParams()
    synthetic: SyntheticParams = SyntheticParams()

    @model_validator(mode="after")
    def _mixed(self) -> TracesParams:
        if (self.source == "mix") != bool(self.mix):
            raise ValueError("mix lists the sources of a mix: give some if source is mix, and none if it is not")
        return self


class EpisodesParams(Section):
    """How many episodes each split holds; the splits share no random numbers."""

    train: Count = Field(64, description="episodes that teachers and students learn from")
    validation: Count = Field(32, description="episodes that heuristics are tuned and checkpoints are chosen on")
    test: Count = Field(64, description="episodes that only the evaluation sees")


class CorrectionsParams(Section):
    """Corrections of known flaws of the published simulator; without them results compare with the literature."""

    work_conserving: bool = Field(
        False, description="offer idle executors after every event, not only when a job arrives"
    )
    right_interpolation: bool = Field(
        False, description="between two measured numbers of executors, draw from the nearer one more often, not less"
    )
    spark_fifo: bool = Field(
        False, description="FIFO as in Spark: a job keeps its executors until it has no task left to start"
    )


class FaultsParams(Section):
    """Executors that fail and tasks that straggle, to study robustness; none by default."""

    failures_per_hour: float = Field(0.0, ge=0, le=3600, description="failures of an executor per hour that it runs")
    recovery_s: float = Field(
        10.0, ge=0, le=86_400, description="time from the failure of an executor to its return, in seconds"
    )
    straggler_probability: float = Field(0.0, ge=0, le=1, description="share of tasks that straggle")
    straggler_slowdown: float = Field(1.0, ge=1, le=1000, description="how many times longer a straggler runs")


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

    start_s: float = Field(0.0, ge=0, description="start of the window that episodes are cut from, in seconds")
    window_s: float | None = Field(None, gt=0, description="length of that window in seconds; empty: to the end")
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
        None, gt=0, description="mean time between arrivals in seconds; empty: computed from `load`"
    )
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
    episodes: EpisodesParams = EpisodesParams()
    corrections: CorrectionsParams = CorrectionsParams()
    faults: FaultsParams = FaultsParams()


class WeightedFairParams(Section):
    """Grid of weighted fair's exponent: a job's share goes with its work to the power of alpha."""

    alpha_min: Exponent = Field(-2.0, description="smallest alpha tried")
    alpha_max: Exponent = Field(2.0, description="largest alpha tried")
    alpha_step: float = Field(0.1, ge=0.001, le=4, description="step from one alpha to the next")

    @model_validator(mode="after")
    def _ordered(self) -> WeightedFairParams:
        if self.alpha_min > self.alpha_max:
            raise ValueError("alpha_min must not be above alpha_max")
        return self


class CappedSrptParams(Section):
    """Grid of the two settings of capped SRPT and of local SRPT."""

    p: tuple[Exponent, ...] = Field(
        (0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
        min_length=1,
        description="exponents tried: a job's cap goes with its remaining work to the power of p",
    )
    m: tuple[Factor, ...] = Field(
        (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0),
        min_length=1,
        description="factors tried: the caps of all jobs together are m times the executors",
    )


class HeuristicsParams(Section):
    """Settings that are tried on the validation episodes; the best of each heuristic is kept."""

    weighted_fair: WeightedFairParams = WeightedFairParams()
    capped_srpt: CappedSrptParams = CappedSrptParams()


class NetworkParams(Section):
    """Size of the graph network."""

    embedding: int = Field(16, ge=1, le=512, description="width of the stage, job and cluster embeddings")
    hidden: int = Field(32, ge=1, le=1024, description="width of hidden layers")
    rounds: int = Field(4, ge=1, le=64, description="rounds of message passing from children to parents")


class CloneParams(Section):
    """Imitation of a heuristic, before the network learns on its own."""

    heuristic: Literal["best"] | Heuristic = Field(
        "best", description="heuristic that is imitated; best: the one with the lowest mean JCT in the tuning"
    )
    episodes: Count = Field(16, description="training episodes whose decisions are imitated")
    dagger_rounds: int = Field(
        1, ge=0, le=20, description="rounds in which the clone schedules other episodes and the heuristic corrects it"
    )
    epochs: Count = Field(6, description="passes over the decisions in each round")
    learning_rate: Rate = Field(2e-3, description="step size of Adam")
    batch_size: Count = Field(128, description="decisions in a step")


class ImproveParams(Section):
    """Policy gradient; the baseline of a rollout is the mean over the rollouts of the same job sequence."""

    iterations: int = Field(16, ge=0, description="iterations; 0 keeps the clone")
    sequences: Count = Field(8, description="job sequences in an iteration")
    rollouts: int = Field(4, ge=2, description="rollouts of each job sequence")
    exploration: float = Field(
        0.25,
        gt=0,
        le=5,
        description="mean entropy of the stage choice at the start in nats: a clone that is sure of all tries nothing",
    )
    horizon: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="a decision is judged by what follows, discounted to 1/e after so many mean JCTs of the heuristic",
    )
    epochs: Count = Field(1, description="passes over the decisions of an iteration")
    batch_size: Count = Field(1024, description="decisions in a step")
    learning_rate: Rate = Field(1e-3, description="step size of Adam")
    entropy: float = Field(0.01, ge=0, le=10, description="weight of the entropy bonus, per nat")
    clip: Rate = Field(0.2, description="largest change of a decision's probability ratio that is rewarded")
    gradient_norm: float = Field(1.0, gt=0, le=1000, description="gradients are clipped to this norm")
    validate_every: Count = Field(4, description="iterations between two checks on the validation episodes")


class TeacherParams(Section):
    """The network that the students learn from."""

    network: NetworkParams = NetworkParams()
    clone: CloneParams = CloneParams()
    improve: ImproveParams = ImproveParams()


class DecisionsParams(Section):
    """The log of the teacher's decisions."""

    episodes: Count = Field(16, description="training episodes that are logged")
    held_out: Count = Field(8, description="validation episodes that are logged as well, to measure fidelity on")
    mode: Mode = Field("argmax", description="the teacher's choice: its best candidate, or drawn by its probabilities")


class RuleListParams(Section):
    """The rule list."""

    max_rules: int = Field(8, ge=1, le=100, description="rules in the list, at most")
    polish_rounds: int = Field(
        1, ge=0, le=20, description="passes that try small changes of the list on training episodes; 0: as distilled"
    )


class BoostedTreesParams(Section):
    """The boosted trees."""

    trees: int = Field(50, ge=1, le=1000, description="trees")
    depth: int = Field(3, ge=1, le=3, description="levels of questions in a tree")
    learning_rate: Rate = Field(0.3, description="share of each tree's answer that is added")
    monotone: bool = Field(
        False, description="hold the trees to the direction of each feature: for example, less work left is never worse"
    )


class LimitTreeParams(Section):
    """The tree that says how many executors a job may hold."""

    leaves: int = Field(8, ge=2, le=256, description="leaves, at most")


class StudentsParams(Section):
    """The policies that a person can read."""

    names: tuple[Student, ...] = Field(("rule_list", "boosted_trees"), min_length=1, description="students to fit")
    rule_list: RuleListParams = RuleListParams()
    boosted_trees: BoostedTreesParams = BoostedTreesParams()
    limit_tree: LimitTreeParams = LimitTreeParams()
    dagger_rounds: int = Field(
        1, ge=0, le=20, description="rounds in which students run, the teacher answers, and they are fitted again"
    )
    dagger_episodes: Count = Field(8, description="training episodes of a round")


class EvaluationParams(Section):
    """The comparison on the test episodes."""

    policies: tuple[Policy, ...] = Field(
        get_args(Policy),
        min_length=1,
        description="policies compared; a student that students.names does not fit is left out",
    )
    mode: Mode = Field("argmax", description="the teacher's choice: its best candidate, or drawn by its probabilities")
    bootstrap: int = Field(10_000, ge=100, le=10_000_000, description="bootstrap samples of an interval")
    confidence: float = Field(0.95, gt=0.5, lt=1, description="level of the confidence intervals")


class FiguresParams(Section):
    """The pictures (SVG and PNG)."""

    dpi: int = Field(150, ge=50, le=1200, description="resolution of PNG files in dots per inch")


class Params(Section):
    """All of params.yaml, or the sections of it that one stage may read."""

    scenario: str = Field(
        DEFAULT_SCENARIO,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        max_length=64,
        description="name of the run; its files are in results/<scenario>/; default stands for the name of the source "
        "if that is another than tpch-spark",
        json_schema_extra={"allowed": "letters, digits, _ . -, at most 64 characters, a letter or digit first"},
    )
    seed: int = Field(1, ge=0, lt=2**32, description="seed of every random number")
    traces: TracesParams = TracesParams()
    workload: WorkloadParams = WorkloadParams()
    heuristics: HeuristicsParams = HeuristicsParams()
    teacher: TeacherParams = TeacherParams()
    decisions: DecisionsParams = DecisionsParams()
    students: StudentsParams = StudentsParams()
    evaluation: EvaluationParams = EvaluationParams()
    figures: FiguresParams = FiguresParams()

    def __getattr__(self, name: str) -> object:
        """Called for what is not there: a section that the stage did not declare in `STAGES`.

        Raises:
            ClearschedError: `name` is a section that this stage's file does not hold.
        """
        if name in type(self).model_fields:
            raise ClearschedError(
                f"params: this stage reads the section {name!r}, which STAGES in clearsched.params does not list for it"
            )
        return super().__getattr__(name)  # type: ignore[misc]

    def limited_to(self, sections: tuple[str, ...]) -> Params:
        """A copy that holds only `sections`; touching another raises ClearschedError."""
        held = {name: getattr(self, name) for name in type(self).model_fields if name in sections}
        limited = type(self).model_construct(**held)
        for name in type(self).model_fields:
            if name not in held:
                limited.__dict__.pop(name, None)
        return limited

    def named(self) -> Params:
        """A copy in which the scenario has its final name, so that results of two data sets never share a folder."""
        if self.scenario != DEFAULT_SCENARIO or self.traces.source == DEFAULT_SOURCE:
            return self
        return self.model_copy(update={"scenario": self.traces.source})

    def inconsistency(self) -> tuple[str, object, str] | None:
        """What two sections contradict each other in: the key's path, its value, what is allowed."""
        for path, episodes, split in (
            ("teacher.clone.episodes", self.teacher.clone.episodes, "train"),
            ("teacher.improve.sequences", self.teacher.improve.sequences, "train"),
            ("decisions.episodes", self.decisions.episodes, "train"),
            ("decisions.held_out", self.decisions.held_out, "validation"),
            ("students.dagger_episodes", self.students.dagger_episodes, "train"),
        ):
            most = getattr(self.workload.episodes, split)
            if episodes > most:
                return path, episodes, f"at most workload.episodes.{split}, which is {most}"
        for path, names in (
            ("students.names", self.students.names),
            ("evaluation.policies", self.evaluation.policies),
        ):
            if len(set(names)) < len(names):
                return path, list(names), "each name once"
        return None
