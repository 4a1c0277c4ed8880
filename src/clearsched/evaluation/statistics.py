"""Confidence intervals over episodes, and differences between policies on the same episodes.

The episode is the unit that is resampled: the jobs of one episode share executors and so depend on each other, while
episodes are independent draws of the workload. Every policy meets the same episodes, and the spread between episodes
is far larger than the difference between good policies (a standard error of 2 s against one of 0.1 s in the
published setting), so two policies are compared by the differences of their paired episodes and never by whether
their own intervals overlap.
"""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from clearsched.errors import ClearschedError

Method = Literal["percentile", "BCa"]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A mean with its bootstrap confidence interval, in the unit of the values.

    `low`, `high` and `standard_error` are NaN when there is a single value: one episode says nothing about spread.
    """

    mean: float
    low: float
    high: float
    standard_error: float
    count: int

    def scaled(self, factor: float) -> Interval:
        """The interval of the values times `factor` (positive), for example to turn seconds into percent."""
        return Interval(
            self.mean * factor, self.low * factor, self.high * factor, self.standard_error * factor, self.count
        )


def generator(seed: int, *path: str) -> np.random.Generator:
    """A generator that depends on `seed` and the names in `path` only, not on what was drawn elsewhere."""
    return np.random.default_rng(np.random.SeedSequence([seed, *(zlib.crc32(name.encode()) for name in path)]))


def standard_error(values: FloatArray) -> float:
    """The standard error of the mean of `values` float64[n] (sample deviation, n - 1); NaN if n = 1."""
    if len(values) < 2:
        return float("nan")
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def bootstrap_mean(
    values: FloatArray,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 9999,
    method: Method = "BCa",
) -> Interval:
    """The mean of `values` float64[n] and its bootstrap confidence interval.

    Args:
        values: one number an episode.
        rng: draws the resamples; the same generator state gives the same interval.
        confidence: level of the interval, between 0 and 1.
        resamples: number of bootstrap resamples.
        method: "percentile", or "BCa" (bias-corrected and accelerated), which has the better coverage for the skewed
            completion times of small samples.

    Raises:
        ClearschedError: no values, or a value that is not finite.

    Source: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapters 13 and 14.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ClearschedError(f"bootstrap: expected one number an episode, got an array of shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ClearschedError(f"bootstrap: episode {int(np.argmin(np.isfinite(values)))} has no finite value")
    mean = float(values.mean())
    if len(values) == 1:
        return Interval(mean, float("nan"), float("nan"), float("nan"), 1)
    if np.ptp(values) == 0.0:  # every resample is the sample; BCa would divide by its zero variance
        return Interval(mean, mean, mean, 0.0, len(values))
    low, high = _bootstrap_ends(values, rng, confidence, resamples, method)
    if not np.isfinite(low + high):  # BCa is undefined when its bias or acceleration is, percentiles never are
        low, high = _bootstrap_ends(values, rng, confidence, resamples, "percentile")
    return Interval(mean, low, high, standard_error(values), len(values))


def _bootstrap_ends(
    values: FloatArray, rng: np.random.Generator, confidence: float, resamples: int, method: Method
) -> tuple[float, float]:
    """The two ends of the interval of the mean; NaN where the method is undefined."""
    from scipy.stats import DegenerateDataWarning, bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # BCa divides by the spread of equal differences
        # `batch` bounds the memory of the resampled indices, batch x n, whatever the number of resamples.
        answer = bootstrap(
            (values,), np.mean, confidence_level=confidence, n_resamples=resamples, method=method, batch=1000, rng=rng
        )
    low, high = answer.confidence_interval
    return float(low), float(high)


def paired_difference(
    values: FloatArray,
    reference: FloatArray,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 9999,
    method: Method = "BCa",
) -> Interval:
    """The mean of `values - reference` over paired episodes, with its bootstrap confidence interval.

    Args:
        values: float64[n], one number an episode.
        reference: float64[n], the same episodes in the same order under the reference policy.

    Raises:
        ClearschedError: the two have different numbers of episodes.
    """
    values, reference = np.asarray(values, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if values.shape != reference.shape:
        raise ClearschedError(f"paired difference: {values.shape} episodes against {reference.shape}")
    return bootstrap_mean(values - reference, rng, confidence, resamples, method)


def crossed_interval(
    values: FloatArray, rng: np.random.Generator, confidence: float = 0.95, resamples: int = 9999, batch: int = 1000
) -> Interval:
    """The mean of a table of training seeds by episodes, with an interval that covers both.

    Every seed's policy runs the same episodes, so seeds and episodes are crossed: a resample draws seeds with
    replacement and episodes with replacement, each on its own, and takes the mean over the cross. Percentiles of the
    means are the ends. Few seeds drawn with replacement spread less than seeds do, by the factor (S - 1) / S in
    variance, so each seed's distance from the mean of the seeds is stretched by sqrt(S / (S - 1)) before.

    Args:
        values: float64[S, n], for example paired differences, a row a training seed and a column an episode.
        rng: draws the resamples.
        confidence: level of the interval, between 0 and 1.
        resamples: number of bootstrap resamples.
        batch: resamples at a time; bounds memory and changes no number that is drawn.

    Returns:
        The ends and the standard error are NaN where there is one seed or one episode: it says nothing about spread.

    Raises:
        ClearschedError: no table, or a value that is not finite.

    Source: A. B. Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007); runs of training as a level of
    the bootstrap after R. Agarwal and others, Deep Reinforcement Learning at the Edge of the Statistical Precipice,
    NeurIPS 2021; the stretch after T. Hesterberg, What Teachers Should Know About the Bootstrap, The American
    Statistician 69 (2015).
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ClearschedError(f"bootstrap: expected seeds by episodes, got an array of shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ClearschedError("bootstrap: a value of a training seed is not finite")
    seeds, episodes = values.shape
    mean = float(values.mean())
    if seeds < 2 or episodes < 2:
        return Interval(mean, float("nan"), float("nan"), float("nan"), seeds)
    centre = values.mean(axis=0)
    stretched = centre + np.sqrt(seeds / (seeds - 1)) * (values - centre)
    streams = rng.spawn(2)
    drawn = []
    for start in range(0, resamples, batch):
        count = min(batch, resamples - start)
        rows = streams[0].multinomial(seeds, np.full(seeds, 1 / seeds), count) / seeds
        columns = streams[1].multinomial(episodes, np.full(episodes, 1 / episodes), count) / episodes
        drawn.append(((rows @ stretched) * columns).sum(axis=1))
    means = np.concatenate(drawn)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(mean, float(low), float(high), float(means.std(ddof=1)), seeds)
