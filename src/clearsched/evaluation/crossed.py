"""Intervals that cover training seeds and episodes: each policy of a seed runs the same episodes, so both are crossed.

An interval over episodes alone takes a policy as it is; trained again it is another policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import pos, sub, truediv
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import FloatArray, Interval

Compared = Callable[..., Any]
"""Of the mean of a policy, or of two of them, the number that an interval is told of; of arrays, element by element."""


def crossed_interval(
    values: FloatArray, rng: np.random.Generator, confidence: float = 0.95, resamples: int = 9999, batch: int = 1000
) -> Interval:
    """The mean of a table of training seeds by episodes, with an interval that covers both.

    Every seed's policy runs the same episodes, so seeds and episodes are crossed: a resample draws seeds with
    replacement and episodes with replacement, each on its own, and takes the mean over the cross. The ends are BCa's
    (`_ends`). Few seeds drawn with replacement spread less than seeds do, by the factor (S - 1) / S in
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
    NeurIPS 2021; BCa of several samples after B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993),
    chapter 14; the stretch after T. Hesterberg, What Teachers Should Know About the Bootstrap, The American
    Statistician 69 (2015).
    """
    return _crossed(pos, [values], rng, confidence, resamples, batch)


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
    return _crossed(sub, [values, others], rng, confidence, resamples, batch)


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
    return _crossed(truediv, [values, others], rng, confidence, resamples, batch)


def _crossed(
    compared: Compared,
    tables: Sequence[FloatArray],
    rng: np.random.Generator,
    confidence: float,
    resamples: int,
    batch: int,
) -> Interval:
    """What comes of comparing the means of one or two policies, with the interval of what comes of it in resamples."""
    tables = [_seeds_by_episodes(table) for table in tables]
    episodes = [table.shape[1] for table in tables]
    if len(set(episodes)) > 1:
        raise ClearschedError(f"bootstrap: {episodes[0]} and {episodes[1]} episodes are not the same ones")
    found, seeds = float(compared(*(table.mean() for table in tables))), [len(table) for table in tables]
    if episodes[0] < 2 or max(seeds) < 2:
        return Interval(found, float("nan"), float("nan"), float("nan"), sum(seeds))
    tables = [_stretched(table) for table in tables]
    drawn = np.asarray(compared(*_means(tables, rng, resamples, batch)))
    low, high = _ends(drawn, found, _acceleration(compared, tables), confidence)
    return Interval(found, low, high, float(drawn.std(ddof=1)), sum(seeds))


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
    episodes, drawn = tables[0].shape[1], []
    for start in range(0, resamples, batch):
        count = min(batch, resamples - start)
        share = _weights(of_episodes, episodes, count)
        seeds = (_weights(each, len(table), count) for each, table in zip(of_seeds, tables, strict=True))
        drawn.append([((own @ table) * share).sum(axis=1) for own, table in zip(seeds, tables, strict=True)])
    return [np.concatenate(parts) for parts in zip(*drawn, strict=True)]


def _stretched(values: FloatArray) -> FloatArray:
    """Seeds further from their mean, since a few of them drawn with replacement spread too little."""
    seeds, centre = len(values), values.mean(axis=0)
    return centre + np.sqrt(seeds / (seeds - 1)) * (values - centre) if seeds > 1 else values


def _weights(rng: np.random.Generator, items: int, count: int) -> FloatArray:
    """float64[count, items]: how often each is drawn in a resample, as a share."""
    return rng.multinomial(items, np.full(items, 1 / items), count) / items


def _acceleration(compared: Compared, tables: Sequence[FloatArray]) -> float:
    """BCa's acceleration of several samples, the seeds of each policy and the episodes of all; 0 without a spread.

    Each seed is left out in turn, and each episode: how skewed what then comes of it is says how the interval leans.
    """
    means = [table.mean() for table in tables]
    left = [_without_each(table.mean(axis=0)) for table in tables]
    samples = [np.asarray(compared(*left))]  # an episode less, for all policies
    for number, table in enumerate(tables):
        if len(table) > 1:
            samples.append(
                np.asarray(compared(*means[:number], _without_each(table.mean(axis=1)), *means[number + 1 :]))
            )
    pull = np.concatenate([(len(each) - 1) / len(each) * (each.mean() - each) for each in samples])
    spread = float((pull**2).sum())
    return float((pull**3).sum()) / (6.0 * spread**1.5) if spread > 0.0 else 0.0


def _without_each(values: FloatArray) -> FloatArray:
    """float64[n]: the mean of the others."""
    left: FloatArray = (values.sum() - values) / (len(values) - 1)
    return left


def _ends(drawn: FloatArray, found: float, acceleration: float, confidence: float) -> tuple[float, float]:
    """The quantiles of the resamples that are BCa's ends; percentiles where it is undefined.

    That is where all resamples lie on one side of what was found, or where a skew is past what it can correct.
    """
    from scipy.special import ndtr, ndtri

    usual = ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    below = (np.count_nonzero(drawn < found) + np.count_nonzero(drawn <= found)) / (2 * len(drawn))
    shifted = ndtri(below) + usual
    stretched = 1.0 - acceleration * shifted
    defined = bool(np.all(np.isfinite(shifted)) and np.all(stretched > 0.0))
    low, high = np.quantile(drawn, ndtr(ndtri(below) + shifted / stretched if defined else usual))
    return float(low), float(high)
