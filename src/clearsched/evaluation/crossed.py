"""Intervals that cover training seeds and episodes: each policy of a seed runs the same episodes, so both are crossed.

An interval over episodes alone takes a policy as it is; trained again it is another policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import sub, truediv
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import FloatArray, Interval


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
    values = _seeds_by_episodes(values)
    seeds, episodes = values.shape
    mean = float(values.mean())
    if seeds < 2 or episodes < 2:
        return Interval(mean, float("nan"), float("nan"), float("nan"), seeds)
    (means,) = _means([values], rng, resamples, batch)
    return _of_means(mean, means, confidence, seeds)


def crossed_difference(
    values: FloatArray,
    others: FloatArray,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 9999,
    batch: int = 1000,
) -> Interval:
    """The difference of the means of two policies with training seeds of their own, paired by episodes.

    As `crossed_interval`: a resample draws the seeds of each policy on their own, and one set of episodes for both. A
    policy of one seed is taken as it is: its spread is not known.

    Args:
        values: float64[S, n], a row a training seed and a column an episode.
        others: float64[R, n], of what it is held against.
        rng: draws the resamples.
        confidence: level of the interval, between 0 and 1.
        resamples: number of bootstrap resamples.
        batch: resamples at a time; bounds memory and changes no number that is drawn.

    Returns:
        With the seeds of both in `count`; the ends are NaN where there is one episode, or one seed of each.

    Raises:
        ClearschedError: no tables, not the same episodes, or a value that is not finite.
    """
    return _crossed(sub, values, others, rng, confidence, resamples, batch)


def crossed_ratio(
    values: FloatArray,
    others: FloatArray,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 9999,
    batch: int = 1000,
) -> Interval:
    """How many times the mean of another policy that of a policy is, each with training seeds of its own.

    As `crossed_difference`, of the quotient of the means.
    """
    return _crossed(truediv, values, others, rng, confidence, resamples, batch)


def _crossed(
    compared: Callable[[Any, Any], Any],
    values: FloatArray,
    others: FloatArray,
    rng: np.random.Generator,
    confidence: float,
    resamples: int,
    batch: int,
) -> Interval:
    """What comes of comparing the means of two policies, with the interval of what comes of it in the resamples."""
    values, others = _seeds_by_episodes(values), _seeds_by_episodes(others)
    if values.shape[1] != others.shape[1]:
        raise ClearschedError(f"bootstrap: {values.shape[1]} and {others.shape[1]} episodes are not the same ones")
    mean, count = float(compared(values.mean(), others.mean())), len(values) + len(others)
    if values.shape[1] < 2 or count < 3:
        return Interval(mean, float("nan"), float("nan"), float("nan"), count)
    return _of_means(mean, compared(*_means([values, others], rng, resamples, batch)), confidence, count)


def _seeds_by_episodes(values: FloatArray) -> FloatArray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ClearschedError(f"bootstrap: expected seeds by episodes, got an array of shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ClearschedError("bootstrap: a value of a training seed is not finite")
    return values


def _means(tables: Sequence[FloatArray], rng: np.random.Generator, resamples: int, batch: int) -> list[FloatArray]:
    """float64[resamples] for each table: its mean, of seeds drawn for it alone and of episodes drawn for all."""
    *of_seeds, of_episodes = rng.spawn(len(tables) + 1)
    episodes, spread = tables[0].shape[1], list(map(_stretched, tables))
    drawn = []
    for start in range(0, resamples, batch):
        count = min(batch, resamples - start)
        share = _weights(of_episodes, episodes, count)
        seeds = (_weights(each, len(table), count) for each, table in zip(of_seeds, spread, strict=True))
        drawn.append([((own @ table) * share).sum(axis=1) for own, table in zip(seeds, spread, strict=True)])
    return [np.concatenate(parts) for parts in zip(*drawn, strict=True)]


def _stretched(values: FloatArray) -> FloatArray:
    """Seeds further from their mean, since a few of them drawn with replacement spread too little."""
    seeds, centre = len(values), values.mean(axis=0)
    return centre + np.sqrt(seeds / (seeds - 1)) * (values - centre) if seeds > 1 else values


def _weights(rng: np.random.Generator, items: int, count: int) -> FloatArray:
    """float64[count, items]: how often each is drawn in a resample, as a share."""
    return rng.multinomial(items, np.full(items, 1 / items), count) / items


def _of_means(mean: float, means: FloatArray, confidence: float, count: int) -> Interval:
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(mean, float(low), float(high), float(means.std(ddof=1)), count)
