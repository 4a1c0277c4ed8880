"""Intervals that cover training seeds and episodes: each policy of a seed runs the same episodes, so both are crossed.

An interval over episodes alone takes a policy as it is; trained again it is another policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    return _of_means(mean, _means([values], rng, resamples, batch), confidence, seeds)


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
    values, others = _seeds_by_episodes(values), _seeds_by_episodes(others)
    if values.shape[1] != others.shape[1]:
        raise ClearschedError(f"bootstrap: {values.shape[1]} and {others.shape[1]} episodes are not the same ones")
    mean, episodes = float(values.mean() - others.mean()), values.shape[1]
    count = len(values) + len(others)
    if episodes < 2 or count < 3:
        return Interval(mean, float("nan"), float("nan"), float("nan"), count)
    return _of_means(mean, _means([values, -others], rng, resamples, batch), confidence, count)


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
    values, others = _seeds_by_episodes(values), _seeds_by_episodes(others)
    if values.shape[1] != others.shape[1]:
        raise ClearschedError(f"bootstrap: {values.shape[1]} and {others.shape[1]} episodes are not the same ones")
    mean, count = float(values.mean() / others.mean()), len(values) + len(others)
    if values.shape[1] < 2 or count < 3:
        return Interval(mean, float("nan"), float("nan"), float("nan"), count)
    drawn = [
        (own * episodes).sum(axis=1) / (other * episodes).sum(axis=1)
        for (own, other), episodes in _resampled([values, others], rng, resamples, batch)
    ]
    return _of_means(mean, np.concatenate(drawn), confidence, count)


def _seeds_by_episodes(values: FloatArray) -> FloatArray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ClearschedError(f"bootstrap: expected seeds by episodes, got an array of shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ClearschedError("bootstrap: a value of a training seed is not finite")
    return values


def _means(tables: Sequence[FloatArray], rng: np.random.Generator, resamples: int, batch: int) -> FloatArray:
    """float64[resamples]: the sum of the tables' means, of seeds drawn for each of them and episodes for all."""
    drawn = [(sum(rows) * episodes).sum(axis=1) for rows, episodes in _resampled(tables, rng, resamples, batch)]
    return np.concatenate(drawn)


def _resampled(
    tables: Sequence[FloatArray], rng: np.random.Generator, resamples: int, batch: int
) -> Iterator[tuple[list[FloatArray], FloatArray]]:
    """Batches of resamples: of each table the mean over its seeds as drawn, by episode; the share of each episode."""
    *of_seeds, of_episodes = rng.spawn(len(tables) + 1)
    episodes, spread = tables[0].shape[1], list(map(_stretched, tables))
    for start in range(0, resamples, batch):
        count = min(batch, resamples - start)
        rows = [_weights(each, len(table), count) @ table for each, table in zip(of_seeds, spread, strict=True)]
        yield rows, _weights(of_episodes, episodes, count)


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
