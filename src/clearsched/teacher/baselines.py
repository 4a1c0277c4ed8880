"""How much better a rollout went than it had to: the baselines that take out what no choice could change.

Rollouts of one group share their episode: its jobs and its luck. Most of what makes one return larger than another is
which jobs came and how long they took; it is the same within a group, so the group's mean return at the same moment is
a baseline that takes it out (Mao et al. 2019, "Variance Reduction for Reinforcement Learning in Input-Driven
Environments", §4). What is left is in part the backlog that earlier choices of the same rollout piled up: a linear
function of it is subtracted too, so that a choice is not blamed for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def group_advantages(times_s: Sequence[np.ndarray], results: Sequence[Any], horizon_s: float) -> list[np.ndarray]:
    """Return-to-go of each rollout at the times of its decisions, less the mean over all rollouts at these times.

    Args:
        times_s: float64[T_i] for each rollout of one episode.
        results: the `Outcome` of each of these rollouts.
        horizon_s: see `Outcome.cost_to_go`.

    Returns:
        float64[T_i] for each rollout. At any one time those of all rollouts sum to 0.
    """
    advantages = []
    for own, times in enumerate(times_s):
        returns = np.stack([result.cost_to_go(times, horizon_s) for result in results])
        advantages.append(returns[own] - returns.mean(axis=0))
    return advantages


def excess_backlog(times_s: Sequence[np.ndarray], backlogs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Backlog of each rollout at the times of its decisions, less the mean over all rollouts at these times.

    Args:
        times_s: float64[T_i] for each rollout of one episode, not decreasing.
        backlogs: float64[T_i, K]; that of a rollout at any time is taken at its last decision until then.

    Returns:
        float64[T_i, K] for each rollout.
    """
    excess = []
    for own, times in enumerate(times_s):
        at_these = [
            theirs[np.maximum(np.searchsorted(clock, times, side="right") - 1, 0)]
            for clock, theirs in zip(times_s, backlogs, strict=True)
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
