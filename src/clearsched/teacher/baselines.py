"""How much better a rollout went than it had to: returns, and the baselines that take out what no choice could change.

Rollouts of one group share their job sequence and their task durations. Most of what makes one return larger than
another is which jobs came and how long their tasks took; it is the same within a group, so the group's mean return at
the same moment is a baseline that takes it out (Mao et al. 2019, "Variance Reduction for Reinforcement Learning in
Input-Driven Environments", §4). What is left is in part the backlog that earlier choices of the same rollout piled up:
a linear function of it is subtracted too, so that a choice is not blamed for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.problems.dag_jobs.graph import Graph
from clearsched.problems.dag_jobs.network.encoding import STAGES_LEFT, WORK_LEFT
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult

CHUNK = 4096
"""Times that `returns_to_go` treats at once: bounds memory."""


def returns_to_go(times_ms: np.ndarray, result: EpisodeResult, horizon_ms: float) -> np.ndarray:
    """Minus the integral from each time on of the number of jobs in the system, in job-seconds.

    With a finite horizon h the integrand is discounted by exp(-(s - t) / h) in continuous time. It is computed from
    arrivals and completions, so it is exact at any time t: a job contributes while max(arrival, t) <= s < completion.

    Args:
        times_ms: float64[T].
        result: the finished episode.
        horizon_ms: h, may be infinite.

    Returns:
        float64[T].
    """
    returns = np.empty(len(times_ms))
    for start in range(0, len(times_ms), CHUNK):
        now = times_ms[start : start + CHUNK, None]
        to_arrival = np.maximum(result.arrival_ms[None] - now, 0.0)
        to_completion = np.maximum(result.completion_ms[None] - now, 0.0)
        if np.isinf(horizon_ms):
            spent = to_completion - to_arrival
        else:
            spent = horizon_ms * (np.exp(-to_arrival / horizon_ms) - np.exp(-to_completion / horizon_ms))
        returns[start : start + CHUNK] = -spent.sum(axis=1) / 1000
    return returns


def group_advantages(
    times_ms: Sequence[np.ndarray], results: Sequence[EpisodeResult], horizon_ms: float
) -> list[np.ndarray]:
    """Return-to-go of each rollout at the times of its decisions, less the mean over all rollouts at these times.

    Args:
        times_ms: float64[T_i] for each rollout of one job sequence.
        results: of these rollouts.
        horizon_ms: see `returns_to_go`.

    Returns:
        float64[T_i] for each rollout, in job-seconds. At any one time those of all rollouts sum to 0.
    """
    advantages = []
    for own, times in enumerate(times_ms):
        returns = np.stack([returns_to_go(times, result, horizon_ms) for result in results])
        advantages.append(returns[own] - returns.mean(axis=0))
    return advantages


def backlog(graph: Graph) -> np.ndarray:
    """float64[B, 5], what is waiting: jobs, stages, and the jobs' work left as sum, sum of roots, sum of logarithms."""
    work = graph.jobs[:, WORK_LEFT].astype(np.float64)
    columns = (graph.jobs[:, STAGES_LEFT].astype(np.float64), work, np.sqrt(work), np.log1p(work))
    first, num_jobs = graph.job_start[:-1], np.diff(graph.job_start)
    found = np.empty((graph.num_decisions, 1 + len(columns)))
    found[:, 0] = num_jobs
    for count in np.unique(num_jobs):  # all decisions with so many jobs at once
        rows = np.flatnonzero(num_jobs == count)
        jobs = first[rows, None] + np.arange(count)
        for column, values in enumerate(columns, start=1):
            found[rows, column] = values[jobs].sum(axis=1)
    return found


def excess_backlog(times_ms: Sequence[np.ndarray], backlogs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Backlog of each rollout at the times of its decisions, less the mean over all rollouts at these times.

    Args:
        times_ms: float64[T_i] for each rollout of one job sequence, not decreasing.
        backlogs: float64[T_i, K]; that of a rollout at any time is taken at its last decision until then.

    Returns:
        float64[T_i, K] for each rollout.
    """
    excess = []
    for own, times in enumerate(times_ms):
        at_these = [
            theirs[np.maximum(np.searchsorted(clock, times, side="right") - 1, 0)]
            for clock, theirs in zip(times_ms, backlogs, strict=True)
        ]
        excess.append(backlogs[own] - np.mean(at_these, axis=0))
    return excess


def without_backlog(advantages: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """The advantages, float64[T], less what is linear in the excess backlog, float64[T, K] (least squares)."""
    deviation = excess.std(axis=0)
    scaled = excess / np.where(deviation > 0, deviation, 1.0)
    # A trace of ridge keeps columns that say the same from blowing up.
    normal = scaled.T @ scaled + 1e-3 * len(scaled) * np.eye(scaled.shape[1])
    return advantages - scaled @ np.linalg.solve(normal, scaled.T @ advantages)
