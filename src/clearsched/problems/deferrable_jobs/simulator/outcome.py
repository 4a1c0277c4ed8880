"""What came of an episode: measures, and what the objective loses from any time on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clearsched.compiled.guard import Record
from clearsched.problems.deferrable_jobs.settings import WeightsParams
from clearsched.problems.deferrable_jobs.simulator.state import (
    COMPLETION,
    EVICTIONS,
    LOG_EVICTED,
    LOG_LOST,
    LOG_MISSED,
    LOG_WAIT_RATE,
    MISSED,
    NUM_DECISIONS,
    SLOT,
    Episode,
    State,
)

OF_ONE = {
    "relative_wait": WeightsParams(wait=1, miss=0, eviction=0),
    "missed_share": WeightsParams(wait=0, miss=1, eviction=0),
}
"""Objectives that are one part of the cost, as its weights."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one episode of J jobs that took S slots.

    Attributes:
        episode: what was scheduled.
        completion: int64[J], slot at whose beginning each job completed.
        evictions: int64[J], how often each was evicted.
        missed: bool[J], whether its deadline was missed.
        log: float64[S, LOG_COLUMNS], what came of each slot (`simulator.state`).
        num_decisions: answers of the policy, "nothing now" included.
        guard: what the policy's guard saw, if it has one.
    """

    episode: Episode
    completion: np.ndarray
    evictions: np.ndarray
    missed: np.ndarray
    log: np.ndarray
    num_decisions: int
    guard: Record | None = None

    @cached_property
    def relative_wait(self) -> np.ndarray:
        """float64[J]: time from arrival to completion that is not the job's run, in durations of the job."""
        duration = self.episode.duration
        return (self.completion - self.episode.arrival - duration) / duration

    @cached_property
    def job_cost(self) -> np.ndarray:
        """float64[J]: what each job adds to the measure `cost`, which is their mean."""
        weights = self.episode.weights
        return weights.wait * self.relative_wait + weights.miss * self.missed + weights.eviction * self.evictions

    @cached_property
    def measures(self) -> Mapping[str, float]:
        """The problem's measures by name."""
        episode, slots = self.episode, len(self.log)
        offered = np.resize(episode.capacity, slots).sum()
        return {
            "cost": float(self.job_cost.mean()),
            "relative_wait": float(self.relative_wait.mean()),
            "missed_share": float(self.missed.mean()),
            "evictions_per_job": float(self.evictions.mean()),
            "utilisation": float((episode.cpu * episode.duration).sum() / offered),
            "makespan_h": slots * episode.slot_s / 3600,
        }

    @property
    def by_job(self) -> Mapping[str, np.ndarray]:
        """Measures of each job, float64[J] by name."""
        return {"cost": self.job_cost, "relative_wait": self.relative_wait, "missed_share": self.missed * 1.0}

    @property
    def scale_s(self) -> float:
        """Mean time from a job's arrival to its completion, s."""
        return float((self.completion - self.episode.arrival).mean()) * self.episode.slot_s

    @property
    def end_s(self) -> float:
        """Beginning of the slot at which the last job completed, s."""
        return float(self.completion.max()) * self.episode.slot_s

    def cost_to_go(self, times_s: np.ndarray, horizon_s: float) -> np.ndarray:
        """float64[T]: minus what the objective loses after each time, discounted by exp(-(s - t) / horizon_s).

        A job's wait is lost while it waits, the lost part of a run when it is evicted, a deadline in the slot in which
        the job can no longer meet it. From time 0 with an infinite horizon it is minus the objective. What happens at a
        slot's beginning does not count for the decisions of that slot, which come after it.
        """
        slot_s, weights = self.episode.slot_s, OF_ONE.get(self.episode.objective, self.episode.weights)
        rate = weights.wait * self.log[:, LOG_WAIT_RATE] / slot_s
        lump = weights.wait * self.log[:, LOG_LOST]
        lump = lump + weights.eviction * self.log[:, LOG_EVICTED] + weights.miss * self.log[:, LOG_MISSED]
        kept = np.exp(-slot_s / horizon_s)
        whole = rate * _integral(np.full(len(rate), float(slot_s)), horizon_s)
        after = np.zeros(len(rate) + 1)  # from the end of the slot before, events at that time included
        for s in range(len(rate) - 1, -1, -1):
            after[s] = lump[s] + whole[s] + kept * after[s + 1]
        times = np.asarray(times_s, np.float64)
        slot = np.clip(np.floor(times / slot_s).astype(np.int64), 0, len(rate) - 1)
        left = np.maximum((slot + 1) * slot_s - times, 0.0)
        lost = rate[slot] * _integral(left, horizon_s) + np.exp(-left / horizon_s) * after[slot + 1]
        total: np.ndarray = -lost / self.episode.num_jobs
        return total


def _integral(length_s: np.ndarray, horizon_s: float) -> np.ndarray:
    """Integral of exp(-s / horizon_s) from 0 to each length."""
    if np.isinf(horizon_s):
        return length_s
    value: np.ndarray = -horizon_s * np.expm1(-length_s / horizon_s)
    return value


def outcome_of(episode: Episode, state: State) -> Outcome:
    """The outcome of a state whose jobs are complete, in arrays of its own."""
    return Outcome(
        episode,
        state.job[:, COMPLETION].copy(),
        state.job[:, EVICTIONS].copy(),
        state.job[:, MISSED] >= 0,
        state.log[: state.scalar[SLOT]].copy(),
        int(state.scalar[NUM_DECISIONS]),
    )
