"""The problem with its data: episodes, and the simulator that runs them (`problem.Instance`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.compiled.guard import Guarded
from clearsched.problems import find_problem
from clearsched.problems.declarations import Measure
from clearsched.problems.deferrable_jobs.edge_cases import FORECAST_OFF
from clearsched.problems.deferrable_jobs.schemas import JOBS, SLOTS
from clearsched.problems.deferrable_jobs.simulator import guarded, loop
from clearsched.problems.deferrable_jobs.simulator.lockstep import Lockstep
from clearsched.problems.deferrable_jobs.simulator.outcome import Outcome, outcome_of
from clearsched.problems.deferrable_jobs.simulator.state import (
    LOG_EVICTED,
    LOG_USED,
    LOG_WAITING,
    Episode,
    new_state,
)
from clearsched.problems.deferrable_jobs.workloads.files import Workloads
from clearsched.problems.episodes import Timeline
from clearsched.problems.objectives import find_objective
from clearsched.problems.problem import Problem

AHEAD_S = 3600
"""How long before a slot the forecast of it is told in the table `slots`."""

WORSE = (FORECAST_OFF / 2, FORECAST_OFF)
"""So many times as wrong as in training forecasts are under stress: as in the edge case, and half way there."""


class DeferrableJobs:
    """Episodes over a trace."""

    def __init__(self, trace: Path, workloads: Path) -> None:
        """Read the files.

        Raises:
            ClearschedError: one of them is broken.
        """
        self._workloads = Workloads(trace, workloads)

    @property
    def problem(self) -> Problem:
        """Deferrable jobs."""
        return find_problem("deferrable_jobs")

    @property
    def objective(self) -> Measure:
        """As the workloads tell."""
        return find_objective(self.problem, self._workloads.settings["objective"], "workloads: objective")

    @property
    def none(self) -> bool:
        """Always: to start nothing now is what the problem is about."""
        return True

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the log and the tables say of it."""
        settings = self._workloads.settings
        return {
            "cores": settings["cluster"] / 1000,
            "slot_s": settings["slot_s"],
            "weights": settings["weights"],
        }

    @property
    def most(self) -> int:
        """0: there is no level choice."""
        return 0

    @property
    def help_first(self) -> bool:
        """Nobody is left idle: jobs wait, cores are whoever's starts next."""
        return False

    def helping(self, episodes: Sequence[Episode]) -> list[Episode]:
        """As they are."""
        return list(episodes)

    def split(self, name: str, limit: int | None = None) -> list[Episode]:
        """The episodes of a split, or the first `limit` of them.

        Raises:
            ClearschedError: the split holds fewer.
        """
        return self._workloads.split(name, limit)

    def simulate(
        self, policy: loop.Compiled | Guarded, episodes: Sequence[Episode], *, record: bool = False
    ) -> list[Outcome]:
        """Run a compiled policy: an outcome an episode, which always tells what `details` need.

        Raises:
            FeatureError: a score of the policy is not finite.
        """
        outcomes = []
        for episode in episodes:
            state = new_state(episode)
            seen = None
            if isinstance(policy, Guarded):
                seen = guarded.run_or_raise(state, policy)
            else:
                loop.run_or_raise(state, policy)
            outcomes.append(replace(outcome_of(episode, state), guard=seen))
        return outcomes

    def lockstep(self, episodes: Sequence[Episode], width: int | None = None, *, record: bool = False) -> Lockstep:
        """At most `width` episodes at a time, all of them without it. Outcomes always tell what `details` need."""
        return Lockstep(episodes, width)

    def seed(self, episode: Episode) -> int:
        """What names the random stream of a policy that draws its choices."""
        return episode.seed

    def joined(self, episodes: Sequence[Episode], count: int) -> list[Episode]:
        """As they are: an episode has its own capacity by the time of the day."""
        return list(episodes)

    def parted(self, episodes: Sequence[Episode]) -> list[Episode]:
        """As they are: a day is no shorter for having fewer jobs."""
        return list(episodes)

    @property
    def stress_share(self) -> float:
        """All of it."""
        return 1.0

    @property
    def safety_bound(self) -> None:
        """As the safety check has it."""

    @property
    def hard_bound(self) -> None:
        """None is hard."""

    @property
    def safety_cases(self) -> Sequence[str]:
        """What it has is in `stressed` for everybody."""
        return ()

    @property
    def rules(self) -> Sequence[str]:
        """There is one game."""
        return ()

    def stressed(self, episodes: Sequence[Episode]) -> list[Episode]:
        """The same with worse forecasts, as told as any: who waits for what is foreseen may wait for what never comes.

        No more load: what an episode's own capacity cannot hold is late under every policy.
        """
        if not self._workloads.settings["forecast_error"]:
            return []
        return [self.with_worse_forecast(episode, times) for times in WORSE for episode in episodes]

    def with_worse_forecast(self, episode: Episode, times: float) -> Episode:
        """The same episode with forecasts so many times as wrong: drawn by the same random numbers, and told so."""
        return self._workloads.with_worse_forecast(episode, times)

    def redrawn(self, episodes: Sequence[Episode], count: int, seed: int) -> list[Episode]:
        """None: an episode's jobs belong to its own capacity."""
        return []

    def redrawn_of_all(self, episodes: Sequence[Episode], count: int, seed: int) -> list[Episode]:
        """None, for the same reason."""
        return []

    def is_hard(self, episode: Episode) -> bool:
        """None is."""
        return False

    def is_batch(self, episode: Episode) -> bool:
        """None is: jobs arrive by and by."""
        return False

    def due_s(self, episode: Episode) -> float:
        """The last of the deadlines: to wait until then is what jobs may do here, and the baseline never does."""
        return float(episode.deadline.max() * episode.slot_s)

    def describe(self, split: str, episodes: Sequence[Episode]) -> str:
        """For example "64 test episodes of 150 jobs on what on-demand work leaves of 35 cores"."""
        jobs = sorted({episode.num_jobs for episode in episodes})
        counts = f"{jobs[0]}" if len(jobs) == 1 else f"{jobs[0]} to {jobs[-1]}" if jobs else "no"
        cores = f"{self.facts['cores']:.4g}"
        return f"{len(episodes)} {split} episodes of {counts} jobs on what on-demand work leaves of {cores} cores"

    def bounds(self, episode: Episode) -> Mapping[str, float]:
        """None: nothing is proved that says more than that a cost is at least 0."""
        return {}

    def details(self, runs: Sequence[Any], episodes: Sequence[Episode]) -> Mapping[str, tuple[pa.Table, pa.Schema]]:
        """`jobs`: every job of every episode; `slots`: every slot of the first one; under each policy."""
        jobs = [job_table(run.name, number, result) for run in runs for number, result in enumerate(run.results)]
        slots = [slot_table(run.name, run.results[0]) for run in runs]
        return {
            "jobs": (pa.concat_tables([JOBS.empty_table(), *jobs]), JOBS),
            "slots": (pa.concat_tables([SLOTS.empty_table(), *slots]), SLOTS),
        }

    def timeline(self, outcome: Outcome, episode: Episode) -> Timeline:
        """A row a job: its wait, then its run."""
        return timeline(outcome)


def timeline(outcome: Outcome) -> Timeline:
    """A row a job in order of arrival: waiting from its arrival to the start of the run that completed, then that run.

    What an outcome does not tell, runs that an eviction ended, counts as waiting: their work was lost.
    """
    episode, count = outcome.episode, outcome.episode.num_jobs
    start = outcome.completion - episode.duration
    times = np.stack([episode.arrival, start, outcome.completion]) * float(episode.slot_s)
    job = np.tile(np.arange(count), 2)
    waits = np.repeat([True, False], count)
    begins, ends = np.concatenate(times[:2]), np.concatenate(times[1:])
    kept = ends > begins
    note = "Pale: the job waits; a run that an eviction ended counts as waiting, since its work is lost."
    return Timeline(
        "job", count, "job", job[kept], job[kept], begins[kept], ends[kept], waits[kept], times[0], times[2], note
    )


def job_table(policy: str, number: int, outcome: Outcome) -> pa.Table:
    """The jobs of an episode, schema `JOBS`."""
    episode, count = outcome.episode, outcome.episode.num_jobs
    hours = episode.slot_s / 3600
    columns = [
        [policy] * count,
        np.full(count, number, np.int32),
        np.arange(count, dtype=np.int32),
        episode.cpu / 1000,
        episode.duration * hours,
        episode.arrival * hours,
        episode.deadline * hours,
        outcome.completion * hours,
        outcome.evictions.astype(np.int32),
        outcome.missed,
        outcome.job_cost,
    ]
    return pa.table([pa.array(column) for column in columns], schema=JOBS)


def slot_table(policy: str, outcome: Outcome) -> pa.Table:
    """The slots of an episode, schema `SLOTS`."""
    episode, count = outcome.episode, len(outcome.log)
    slot = np.arange(count)
    around = slot % len(episode.capacity)
    reach = min(max(1, AHEAD_S // episode.slot_s), episode.forecast.shape[1] - 1)
    columns = [
        [policy] * count,
        slot * (episode.slot_s / 3600),
        episode.capacity[around] / 1000,
        episode.forecast[around, reach] / 1000,
        outcome.log[:, LOG_USED] / 1000,
        outcome.log[:, LOG_WAITING].astype(np.int32),
        outcome.log[:, LOG_EVICTED].astype(np.int32),
    ]
    return pa.table([pa.array(column) for column in columns], schema=SLOTS)
