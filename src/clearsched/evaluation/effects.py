"""How large a difference is beside its mean: in what share of the episodes, and in units of its own spread."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.evaluation.significance import TOLERANCE
from clearsched.evaluation.statistics import FloatArray


class Share(NamedTuple):
    """A share of episodes and its interval, 0 to 1."""

    share: float
    low: float
    high: float


def better_share(differences: FloatArray, confidence: float, *, lower_is_better: bool = True) -> Share:
    """The share of the episodes in which a policy is better than the one that it is held against, with its interval.

    An episode on which both are equal counts half, so that two policies that are the same are at one half.

    Args:
        differences: float64[n], the policy's measure less the other's.
        confidence: level of the interval.
        lower_is_better: of the measure.

    Raises:
        ClearschedError: no episodes.

    Source: the score interval of E. B. Wilson, Journal of the American Statistical Association 22 (1927), which is not
    empty at 0 and 1 as the textbook's is; ties as in A. Vargha and H. D. Delaney, Journal of Educational and Behavioral
    Statistics 25 (2000).
    """
    from scipy.stats import norm

    count = len(differences)
    if not count:
        raise ClearschedError("share of episodes: no episodes")
    gains = -differences if lower_is_better else differences
    share = float(np.mean(gains > 0) + np.mean(gains == 0) / 2)
    square = float(norm.ppf((1 + confidence) / 2)) ** 2
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = np.sqrt(square * (share * (1 - share) / count + square / (4 * count**2))) / (1 + square / count)
    return Share(share, max(0.0, float(middle - half)), min(1.0, float(middle + half)))


def standardised(differences: FloatArray) -> float:
    """Cohen's d of paired observations: the mean of the differences over their standard deviation (n - 1).

    It says how plain the difference is against what varies from episode to episode, and grows with the length of an
    episode, so it compares policies on one set of episodes, and not one setting with another. NaN where the differences
    do not vary, or of one episode.

    Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), section 2.3.5 (d_z).
    """
    if len(differences) < 2 or np.ptp(differences) <= TOLERANCE * np.max(np.abs(differences)):
        return float("nan")
    return float(np.mean(differences) / np.std(differences, ddof=1))
