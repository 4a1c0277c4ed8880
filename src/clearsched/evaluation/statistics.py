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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clearsched.errors import ClearschedError

Method = Literal["percentile", "BCa"]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn: seed of the resamples, confidence level, number of resamples."""

    seed: int = 0
    confidence: float = 0.95
    resamples: int = 9999


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


def bootstrap_ratio(
    values: FloatArray,
    reference: FloatArray,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 9999,
) -> Interval:
    """How many times the mean of `reference` that of `values` is, float64[n] each, with its paired interval.

    The interval is BCa, or of percentiles where that is undefined.

    Raises:
        ClearschedError: the two have different numbers of values, or none.
    """
    if values.shape != reference.shape or not len(values):
        raise ClearschedError(f"ratio of means: {values.shape} values against {reference.shape}")
    ratio, each = float(values.mean() / reference.mean()), values / reference
    if len(values) == 1 or np.ptp(each) == 0.0:
        end = float("nan") if len(values) == 1 else ratio
        return Interval(ratio, end, end, end - ratio, len(values))
    answer = _bootstrap((values, reference), _ratio_of_means, rng, confidence, resamples, "BCa")
    if not np.isfinite(sum(answer.confidence_interval)):
        answer = _bootstrap((values, reference), _ratio_of_means, rng, confidence, resamples, "percentile")
    low, high = answer.confidence_interval
    return Interval(ratio, float(low), float(high), float(answer.standard_error), len(values))


def _ratio_of_means(values: FloatArray, reference: FloatArray, axis: int) -> FloatArray:
    ratio: FloatArray = values.mean(axis=axis) / reference.mean(axis=axis)
    return ratio


def _bootstrap_ends(
    values: FloatArray, rng: np.random.Generator, confidence: float, resamples: int, method: Method
) -> tuple[float, float]:
    """The two ends of the interval of the mean; NaN where the method is undefined."""
    low, high = _bootstrap((values,), np.mean, rng, confidence, resamples, method).confidence_interval
    return float(low), float(high)


def _bootstrap(
    samples: tuple[FloatArray, ...],
    statistic: Callable[..., Any],
    rng: np.random.Generator,
    confidence: float,
    resamples: int,
    method: Method,
) -> Any:
    """scipy's answer on paired samples."""
    from scipy.stats import DegenerateDataWarning, bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # BCa divides by the spread of equal differences
        # `batch` bounds the memory of the resampled indices, batch x n, whatever the number of resamples.
        return bootstrap(
            samples,
            statistic,
            confidence_level=confidence,
            n_resamples=resamples,
            method=method,
            batch=1000,
            paired=len(samples) > 1,
            rng=rng,
        )


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
