"""What a user chooses of a Gymnasium environment, and how its episodes are drawn: as those of `workloads`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, get_args

import numpy as np
from pydantic import ValidationError

from clearsched.errors import ClearschedError, TraceError, WorkloadError
from clearsched.problems.dag_jobs import traces
from clearsched.problems.dag_jobs.gym.layout import Layout, make_layout
from clearsched.problems.dag_jobs.settings.workload import WorkloadParams
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.semantics import PUBLISHED, Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.sources import SOURCES
from clearsched.problems.dag_jobs.traces import Trace
from clearsched.problems.dag_jobs.workloads.pools import Draw, pools
from clearsched.problems.dag_jobs.workloads.sampling import estimates, needs_load, plan
from clearsched.problems.dag_jobs.workloads.survey import Load, Survey, survey_compiled

REWARDS = ("jct", "makespan")
ARRIVALS: tuple[str, ...] = get_args(WorkloadParams.model_fields["arrivals"].annotation)
OBSERVATIONS = ("candidates", "graph")
SECTIONS = ("bursty", "diurnal", "replay", "estimates", "surge", "swarm")


@dataclass(frozen=True)
class Settings:
    """The keyword arguments of `gymnasium.make` and `make_vec`.

    Attributes:
        trace: where job profiles come from: a source (`tpch-spark`, `alibaba-like`, ...), a Parquet file, a folder of
            the `tpch-decima` layout, a `Trace`, or compiled `Profiles`.
        num_executors: executors of the cluster, N.
        jobs: jobs of an episode, each of a profile drawn evenly (in a mix: of a source by its weight).
        arrivals: `poisson`, `batch` (all at time 0), `bursty`, `diurnal`, or `replay` (as in the trace).
        load: executor time that the arrivals ask for, relative to what there is.
        mean_interarrival_s: mean time between arrivals, s, instead of `load`.
        bursty, diurnal, replay: settings of these arrivals, as below `workload` in params.yaml.
        estimates: how wrong the durations are that observations tell; surge, swarm: jobs that arrive faster, or
            together; as below `workload` in params.yaml.
        moving_delay_s: time an executor takes to change jobs, s.
        warmup_delay_s: time a first task lasts longer where none was measured on a fresh executor, s; of no effect if
            `trace` is compiled already.
        semantics: corrections and faults (docs/simulator.md §10, §11); the published rules by default.
        idling: an action may leave the executors idle (§5).
        reward: `jct` or `makespan`.
        observation: `candidates`, or `graph` for the DAGs too.
        limit_levels: levels that the limit of an action can take, L.
        max_candidates: candidates that an observation can show, C; by default as many as there can be.
        max_decisions: truncate an episode after so many steps.

    Raises:
        TraceError: the trace has no profile.
        WorkloadError: there is no executor, no job, or a number is out of range.
        ClearschedError: an unknown name, or a size below 1.
    """

    trace: str | Path | Trace | Profiles = "tpch-spark"
    num_executors: int = 10
    jobs: int = 20
    arrivals: str = "poisson"
    load: float = 0.85
    mean_interarrival_s: float | None = None
    bursty: Mapping[str, Any] | None = None
    diurnal: Mapping[str, Any] | None = None
    replay: Mapping[str, Any] | None = None
    estimates: Mapping[str, Any] | None = None
    surge: Mapping[str, Any] | None = None
    swarm: Mapping[str, Any] | None = None
    moving_delay_s: float = 2.0
    warmup_delay_s: float = 1.0
    semantics: Semantics | None = None
    idling: bool = True
    reward: str = "jct"
    observation: str = "candidates"
    limit_levels: int = 10
    max_candidates: int | None = None
    max_decisions: int | None = None

    def __post_init__(self) -> None:
        for name, known in (("arrivals", ARRIVALS), ("reward", REWARDS), ("observation", OBSERVATIONS)):
            if getattr(self, name) not in known:
                raise ClearschedError(f"{name}: unknown value {getattr(self, name)!r}: known are {', '.join(known)}")
        for name in ("num_executors", "jobs"):
            check_at_least_1(name, getattr(self, name), WorkloadError)
        for name in ("limit_levels", "max_candidates", "max_decisions"):
            if name == "limit_levels" or getattr(self, name) is not None:
                check_at_least_1(name, getattr(self, name), ClearschedError)
        _ = self.options

    @cached_property
    def options(self) -> WorkloadParams:
        """The same as the section `workload` of params: both draw their episodes by it."""
        sections = {name: getattr(self, name) for name in SECTIONS}
        given = {
            "executors": int(self.num_executors),
            "jobs": int(self.jobs),
            **{name: getattr(self, name) for name in ("arrivals", "load", "mean_interarrival_s")},
            **{name: getattr(self, name) for name in ("moving_delay_s", "warmup_delay_s")},
            **{name: section for name, section in sections.items() if section is not None},
        }
        try:
            return WorkloadParams.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            if not first["loc"]:  # settings that do not fit together
                raise WorkloadError(str(first["msg"]).removeprefix("Value error, ")) from None
            name = ".".join(map(str, first["loc"]))
            name = "num_executors" if name == "executors" else name
            raise WorkloadError(f"{name} is {first['input']!r}: {first['msg']}") from None

    @cached_property
    def profiles(self) -> Profiles:
        """The compiled trace."""
        if isinstance(self.trace, Profiles):
            return self.trace
        trace = self.trace if isinstance(self.trace, Trace) else _load(self.trace)
        if len(trace.stages) == 0:
            raise TraceError("the trace is empty: it has no profile to draw jobs from")
        return compile_profiles(trace, round(self.warmup_delay_s * 1000))

    @cached_property
    def layout(self) -> Layout:
        """Sizes of observations and actions.

        Raises:
            ClearschedError: episodes cannot be drawn; told here, since an environment asks for it when it is made.
        """
        _ = self._plan
        return make_layout(
            self.profiles,
            self.jobs,
            max_candidates=self.max_candidates,
            limit_levels=self.limit_levels,
            idling=self.idling,
            graph=self.observation == "graph",
        )

    @cached_property
    def moving_delay_ms(self) -> int:
        """Time an executor takes to change jobs, ms."""
        return round(self.moving_delay_s * 1000)

    @property
    def mean_interarrival_ms(self) -> float:
        """Mean time between arrivals, ms; 0 for a batch."""
        return float(self._plan[1]["mean_interarrival_ms"])

    @cached_property
    def _known(self) -> Survey:
        """What drawing needs to know of the profiles."""
        load = Load(self.options.executors, self.moving_delay_ms, round(self.warmup_delay_s * 1000))
        return survey_compiled(self.profiles, load if needs_load(self.options) else None, self.arrivals == "replay")

    @cached_property
    def _plan(self) -> tuple[Draw, dict[str, Any]]:
        """How jobs and arrivals are drawn, and what is to be told of them."""
        return plan(self.options, pools(self.options, self._known)["train"], self._known)

    def draw(self, generator: np.random.Generator) -> Workload:
        """An episode from a random stream."""
        profile, arrival_ms = self._plan[0](generator)
        semantics = self.semantics or PUBLISHED
        return Workload(
            profile.astype(np.int64),
            arrival_ms,
            self.num_executors,
            self.moving_delay_ms,
            seed=int(generator.integers(2**63 - 1)),
            semantics=semantics if self.idling else replace(semantics, idling=False),
            estimates=estimates(self.options, self._known),
            interarrival_ms=self.mean_interarrival_ms,
        )

    def given(self, workload: Any) -> Workload:
        """A workload from the options of `reset`, if it fits."""
        if not isinstance(workload, Workload):
            raise WorkloadError(f"options['workload']: a Workload expected, not {type(workload).__name__}")
        if self.layout.has_graph and len(workload.profile) > self.layout.max_jobs:
            raise WorkloadError(
                f"workload: {len(workload.profile)} jobs, the graph was made for {self.layout.max_jobs}: "
                f"make the environment with jobs={len(workload.profile)}"
            )
        return workload


def check_at_least_1(name: str, value: Any, error: type[ClearschedError]) -> None:
    """Raise `error` unless `value` is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise error(f"{name} is {value!r}: a whole number of at least 1 expected")


def _load(source: str | Path) -> Trace:
    if isinstance(source, str) and source in SOURCES:
        return traces.load(source)
    return traces.load_profiles(source)
