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


def group_advantages(
    times_s: Sequence[np.ndarray], results: Sequence[Any], horizon_s: float, end_s: float | np.ndarray = np.inf
) -> list[np.ndarray]:
    """Return-to-go of each rollout at the times of its decisions, less the mean over all rollouts at these times.

    Args:
        times_s: float64[T_i] for each rollout of one episode; or of several, for a baseline that does not depend on
            what came in (without the variance reduction of the source above).
        results: the `Outcome` of each of these rollouts.
        horizon_s: see `Outcome.cost_to_go`.
        end_s: what happens later does not count; one for all, or float64[rollouts].

    Returns:
        float64[T_i] for each rollout. At any one time those of all rollouts sum to 0, where they end together.
    """
    advantages, ends_s = [], np.broadcast_to(end_s, len(times_s)).tolist()
    for own, times in enumerate(times_s):
        returns = np.stack([cost_until(result, times, horizon_s, ends_s[own]) for result in results])
        advantages.append(returns[own] - returns.mean(axis=0))
    return advantages


def cost_until(result: Any, times_s: np.ndarray, horizon_s: float, end_s: float) -> np.ndarray:
    """float64[T]: `Outcome.cost_to_go` of what happens before `end_s`; 0 at later times."""
    whole: np.ndarray = result.cost_to_go(times_s, horizon_s)
    if not np.isfinite(end_s):
        return whole
    after = result.cost_to_go(np.array([end_s]), horizon_s)[0]
    left_s = np.maximum(end_s - times_s, 0.0)
    return np.where(times_s < end_s, whole - np.exp(-left_s / horizon_s) * after, 0.0)


def excess_backlog(
    times_s: Sequence[np.ndarray], backlogs: Sequence[np.ndarray], ends_s: Sequence[float]
) -> list[np.ndarray]:
    """Backlog of each rollout at the times of its decisions, less the mean over all rollouts at these times.

    Between two decisions of a rollout its backlog is taken to change in a straight line, and after the last one to
    nothing at its end. Taken at its last decision instead, it is always larger than it is by then: a rollout that
    stays idle, and so decides seldom, makes the others look worse than they are, and with a short trace the network
    learns from that to stay idle (batches of `scenarios/decima-c.yaml`: 12 % worse after four iterations).

    Args:
        times_s: float64[T_i] for each rollout of one episode, not decreasing.
        backlogs: float64[T_i, K].
        ends_s: when the last job of each rollout ended.

    Returns:
        float64[T_i, K] for each rollout.
    """
    lines = [
        (np.append(times, max(end_s, times[-1])), np.vstack([backlog, np.zeros_like(backlog[:1])]))
        for times, backlog, end_s in zip(times_s, backlogs, ends_s, strict=True)
    ]
    excess = []
    for own, times in enumerate(times_s):
        others = sum(_at(times, *line) for other, line in enumerate(lines) if other != own)
        excess.append(backlogs[own] - (backlogs[own] + others) / len(lines))
    return excess


def _at(times_s: np.ndarray, clock_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """float64[T, K]: each column of `values`, float64[N, K] at the times `clock_s`, at other times."""
    return np.column_stack([np.interp(times_s, clock_s, column, right=0.0) for column in values.T])


def without_backlog(advantages: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """The advantages, float64[T], less what is linear in the excess backlog, float64[T, K] (least squares)."""
    deviation = excess.std(axis=0)
    scaled = excess / np.where(deviation > 0, deviation, 1.0)
    # A trace of ridge keeps columns that say the same from blowing up.
    normal = scaled.T @ scaled + 1e-3 * len(scaled) * np.eye(scaled.shape[1])
    return advantages - scaled @ np.linalg.solve(normal, scaled.T @ advantages)


def generalised(advantages: np.ndarray, times_s: Sequence[np.ndarray], horizon_s: float, trace_s: float) -> np.ndarray:
    """Generalised advantages (Schulman et al. 2016, "High-Dimensional Continuous Control Using Generalized Advantage
    Estimation", §3), in continuous time, over the input-dependent baseline.

    The value of a state is what the baseline and the backlog tell of it. The advantage of a decision is the sum of the
    surprises from it on, each interval's excess cost plus what the values changed by, those of a later moment
    multiplied by exp(-time / `trace_s`). With an infinite trace they sum to `advantages`; the shorter it is, the less
    chance is in them, and the more is left to what the backlog tells.

    Args:
        advantages: float64[T], excess return less what the backlog tells, of all rollouts one after another.
        times_s: float64[T_i], of the decisions of each rollout.
        horizon_s, trace_s: see above; the first may be infinite too.

    Returns:
        float64[T].
    """
    found, start = np.empty_like(advantages), 0
    for times in times_s:
        count = len(times)
        own = advantages[start : start + count]
        gap_s = np.diff(times)
        kept, traced = np.exp(-gap_s / horizon_s), np.exp(-gap_s / trace_s)
        later = 0.0
        for i in range(count - 1, -1, -1):
            # own[i] is the sum of all surprises from i on; without those from i + 1 on it is the surprise of i.
            surprise = own[i] - (kept[i] * own[i + 1] if i + 1 < count else 0.0)
            later = surprise + (kept[i] * traced[i] * later if i + 1 < count else 0.0)
            found[start + i] = later
        start += count
    return found
