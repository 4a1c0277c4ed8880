"""Whom no mean excuses: a policy that does far worse than a plain heuristic on a single episode.

A mean over some episodes hides a policy that locks the cluster once in 300 streams: executors wait in jobs that cannot
use them, and one episode takes twenty times as long as it should.
"""

from __future__ import annotations

import numpy as np

LIMIT = 1.5
"""So many times the baseline's cost, on any episode, a policy may have."""


def strays(costs: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """bool[policies]: whose cost on some episode is above `LIMIT` times the baseline's, or no number.

    Episodes whose baseline costs nothing, or less (a measure of which more is better), say nothing of this.

    Args:
        costs: float64[policies, episodes].
        baseline: float64[episodes].
    """
    told = baseline > 0
    far = (costs[:, told] > LIMIT * baseline[told]).any(axis=1)
    return np.asarray(far | ~np.isfinite(costs).all(axis=1))
