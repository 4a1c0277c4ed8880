"""A trace and the episodes drawn from it, behind the seam."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.problems import find_problem
from clearsched.problems.dag_jobs import details
from clearsched.problems.dag_jobs.bounds import bounds
from clearsched.problems.dag_jobs.edge_cases import GIANT_TASKS
from clearsched.problems.dag_jobs.simulator.estimates import Estimates
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.loop import Compiled
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.semantics import RULES
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload, simulate
from clearsched.problems.dag_jobs.workloads import Workloads, load_inputs, streams, stress
from clearsched.problems.dag_jobs.workloads.giants import with_giants
from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import Timeline
from clearsched.problems.objectives import find_objective
from clearsched.problems.problem import Problem


class DagJobsInstance:
    """Compiled profiles, and the episodes of every split.

    Attributes:
        profiles: the trace.
        drawn: the episodes; None where episodes come from elsewhere (tests, a single file).
    """

    def __init__(self, profiles: Profiles, drawn: Workloads | None = None) -> None:
        self.profiles = profiles
        self.drawn = drawn

    @property
    def problem(self) -> Problem:
        """DAG jobs."""
        return find_problem("dag_jobs")

    @property
    def objective(self) -> Measure:
        """As the workloads tell; mean JCT where episodes come from elsewhere."""
        if self.drawn is None:
            return self.problem.measures[0]
        return find_objective(self.problem, self._settings["objective"], "workloads: objective")

    @property
    def facts(self) -> Mapping[str, Any]:
        """The executors of the cluster."""
        return {"num_executors": self.most}

    @property
    def most(self) -> int:
        """The executors of the cluster: a limit is a share of them."""
        return int(self._settings["num_executors"])

    @property
    def none(self) -> bool:
        """Whether learned policies may leave executors idle."""
        return self.drawn is None or bool(self._settings["semantics"]["idling"])

    @property
    def help_first(self) -> bool:
        """As the workloads tell."""
        return self.drawn is not None and bool(self._settings["semantics"].get("help_first"))

    def helping(self, episodes: Sequence[Workload]) -> list[Workload]:
        """The same, with `Semantics.help_first`."""
        return [replace(each, semantics=replace(each.semantics, help_first=True)) for each in episodes]

    def split(self, name: str, limit: int | None = None) -> list[Workload]:
        """The episodes of a split, or the first `limit` of them."""
        assert self.drawn is not None
        return self.drawn.split(name, limit)

    def simulate(self, policy: Compiled, episodes: Sequence[Workload], *, record: bool = False) -> list[EpisodeResult]:
        """Run a compiled policy; `record`: the results hold every task and decision."""
        logs = {"record_tasks": record, "record_decisions": record}
        return [simulate(self._profiles_of([episode]), episode, policy, **logs) for episode in episodes]

    def lockstep(self, episodes: Sequence[Workload], width: int | None = None, *, record: bool = False) -> Lockstep:
        """At most `width` episodes at a time."""
        return Lockstep(self._profiles_of(episodes), episodes, width, record_tasks=record, record_decisions=record)

    def seed(self, episode: Workload) -> int:
        """The seed of the task durations."""
        return episode.seed

    def joined(self, episodes: Sequence[Workload], count: int) -> list[Workload]:
        """Streams after one another, a mean gap between them; batches, and a stream that is left over, as they are.

        Fewer than `count`, or none, where a stream has many jobs itself (`streams.LONG`).
        """
        count = min(count, streams.short_of_long(episodes))
        if count == 1 or not streams.are_streams(episodes):
            return list(episodes)
        return [streams.join(episodes[begin : begin + count]) for begin in range(0, len(episodes), count)]

    def parted(self, episodes: Sequence[Workload]) -> list[Workload]:
        """Streams of many jobs (`streams.LONG`) as short ones; shorter ones, and batches, as they are."""
        return [part for each in episodes for part in (streams.cut(each) if streams.are_streams([each]) else [each])]

    @property
    def stress_share(self) -> float:
        """As the workloads tell; all of it where they tell none, or where episodes come from elsewhere."""
        return 1.0 if self.drawn is None else float(self._settings.get("stress", 1.0))

    @property
    def safety_bound(self) -> float | None:
        """As the workloads tell; none where they tell none, or where episodes come from elsewhere."""
        return None if self.drawn is None else self._settings.get("safety_bound")

    @property
    def hard_bound(self) -> float | None:
        """As the workloads tell; none where they tell none, or where episodes come from elsewhere."""
        return None if self.drawn is None else self._settings.get("giant_bound")

    @property
    def rules(self) -> Sequence[str]:
        """Corrections; none where episodes come from elsewhere."""
        told = {} if self.drawn is None else self._settings["semantics"]
        return [param for name, param in RULES.items() if told.get(name)]

    def stressed(self, episodes: Sequence[Workload]) -> list[Workload]:
        """Giants, swarms, long streams, overload and a backlog to clear; batches that come together.

        Before the streams, but for those with a giant, edge cases that the workloads name.
        """
        first, *others = ([*self.stressed_by(kind, episodes)] for kind in stress.kinds_of(episodes, self.stress_share))
        count = math.ceil(self.stress_share * stress.CASES)
        cases = (self.in_case(name, episodes, 0, count) for name in self.safety_cases)
        return [*first, *chain(*cases), *chain(*others)]

    @property
    def safety_cases(self) -> Sequence[str]:
        """Edge cases that the safety check has besides; none where episodes come from elsewhere."""
        return () if self.drawn is None else tuple(self._settings.get("safety_cases", ()))

    def in_case(self, name: str, episodes: Sequence[Workload], seed: int, count: int) -> list[Workload]:
        """So many episodes of training jobs in an edge case of the workloads' `safety_cases`."""
        told = self._settings["safety_cases"][name]
        semantics, wrong = replace(episodes[0].semantics, **told["semantics"]), Estimates(**told["estimates"])
        drawn = self.redrawn(episodes, count, seed)
        return [replace(each, semantics=semantics, estimates=wrong) for each in drawn]

    def redrawn(self, episodes: Sequence[Workload], count: int, seed: int) -> list[Workload]:
        """Streams, or batches, with as many jobs as the first one has."""
        return self.stressed_by(stress.like(episodes, count), episodes, seed)

    def redrawn_of_all(self, episodes: Sequence[Workload], count: int, seed: int) -> list[Workload]:
        """Those, such with a giant, such with a swarm, and such in each edge case of the safety check.

        Each kind has random numbers of its own.
        """
        kinds, cases = stress.short_kinds(stress.like(episodes, 0)), self.safety_cases
        each = math.ceil(count / (len(kinds) + len(cases)))
        usual = [self.stressed_by(kind._replace(episodes=each), episodes, seed + i) for i, kind in enumerate(kinds)]
        lasting = [self.in_case(name, episodes, seed + i, each) for i, name in enumerate(cases, len(kinds))]
        return [*chain(*usual, *lasting)]

    def is_hard(self, episode: Workload) -> bool:
        """Whether it has a giant, which keeps the executors that it has until its stage has no task left.

        So it does under the baseline: whoever meets it in a quiet hour pays, and that is nobody's merit.
        """
        return self._is_with_giant(episode) or (self.drawn is not None and "giant" in self._settings)

    def is_batch(self, episode: Workload) -> bool:
        """Whether all jobs arrive at time 0."""
        return not streams.are_streams([episode])

    def due_s(self, episode: Workload) -> float:
        """0: jobs have no deadline."""
        return 0.0

    def stressed_by(self, kind: stress.Stress, episodes: Sequence[Workload], seed: int = 0) -> list[Workload]:
        """The episodes of one kind of stress."""
        return list(stress.stressed(episodes, kind, self.profiles.work_ms, seed))

    def describe(self, split: str, episodes: Sequence[Workload]) -> str:
        """For example "64 test episodes of 40 jobs on 10 executors"."""
        counts = [len(episode.profile) for episode in episodes]
        low, high = min(counts), max(counts)
        jobs = f"{low}" if low == high else f"{low} to {high}"
        return f"{len(episodes)} {split} episodes of {jobs} jobs on {self.most} executors"

    def bounds(self, episode: Workload) -> dict[str, float]:
        """Of the mean JCT and the makespan."""
        return bounds(self.profiles, episode)

    def details(self, runs: Sequence[Any], episodes: Sequence[Workload]) -> dict[str, tuple[pa.Table, pa.Schema]]:
        """The tables `jobs` and `tasks` of an evaluation."""
        return details.tables(self, runs, episodes)

    def timeline(self, outcome: EpisodeResult, episode: Workload) -> Timeline:
        """Which job every executor worked for."""
        return details.timeline(outcome, episode)

    @cached_property
    def _profiles_and_giants(self) -> Profiles:
        """The profiles, and after them a giant of each."""
        trace = self.profiles.trace
        twice = np.tile(np.arange(trace.num_profiles), 2)
        is_giant = np.arange(len(twice)) >= trace.num_profiles
        return compile_profiles(with_giants(trace, twice, is_giant, GIANT_TASKS), self.profiles.warmup_delay_ms)

    def _profiles_of(self, episodes: Sequence[Workload]) -> Profiles:
        """Those that the episodes are of: with giants where one has such."""
        return self._profiles_and_giants if any(map(self._is_with_giant, episodes)) else self.profiles

    def _is_with_giant(self, episode: Workload) -> bool:
        return _most(episode.profile) >= self.profiles.trace.num_profiles

    @property
    def _settings(self) -> Mapping[str, Any]:
        assert self.drawn is not None
        return self.drawn.settings


def _most(profile: Any) -> int:
    """The largest of an episode's profiles. Episodes with giants are made here, so theirs are whole numbers."""
    numbers = isinstance(profile, np.ndarray) and profile.dtype.kind == "i" and profile.size
    return int(profile.max()) if numbers else -1


def open_instance(trace: Path, workloads: Path) -> DagJobsInstance:
    """The instance of two files.

    Raises:
        ClearschedError: a file is missing or broken, or they do not belong together.
    """
    return DagJobsInstance(*load_inputs(trace, workloads))
