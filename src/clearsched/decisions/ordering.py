"""How two orders of the same alternatives agree: places, Kendall's tau, regret."""

from __future__ import annotations

import numpy as np

BLOCK = 1 << 22
"""Pairs that are compared at a time, so that memory does not grow with the log."""


def places(scores: np.ndarray, starts: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
    """int64[n]: how many rows of its decision come before a row: 0 for the best, the first one among equals.

    Args:
        scores: float64[n], decision after decision; the highest comes first.
        starts: int64[d + 1], first row of each decision, then n.
        first: bool[n], rows that come before others of the same score: "none of these", which must be beaten.
    """
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    late = np.zeros(len(scores), bool) if first is None else ~first
    order = np.lexsort((np.arange(len(scores)), late, -scores, owner))
    found = np.empty(len(scores), np.int64)
    found[order] = np.arange(len(scores)) - np.asarray(starts)[:-1][owner[order]]
    return found


def least_of(values: np.ndarray, of: np.ndarray, count: int) -> np.ndarray:
    """The least of the values of each of `count` alternatives; `of` int64[n], -1 for the rows of none."""
    found = np.full(count, np.inf)
    asked = of >= 0
    np.minimum.at(found, of[asked], values[asked])
    return found


def most_of(values: np.ndarray, of: np.ndarray, count: int) -> np.ndarray:
    """The most of the values of each of `count` alternatives; `of` int64[n], -1 for the rows of none."""
    return -least_of(-np.asarray(values, np.float64), of, count)


def kendall_tau(first: np.ndarray, second: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """float64[d]: Kendall's tau-b of two scores of each decision's alternatives; NaN where one ties all of them.

    Args:
        first, second: float64[a], decision after decision.
        starts: int64[d + 1].

    Source: M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945. It equals
    `scipy.stats.kendalltau`, which takes one decision a call.
    """
    starts, sizes = np.asarray(starts), np.diff(starts)
    found = np.full(len(sizes), np.nan)
    for size in np.unique(sizes[sizes > 1]).tolist():
        group = np.flatnonzero(sizes == size)
        step = max(1, BLOCK // (size * size))
        for begin in range(0, len(group), step):
            some = group[begin : begin + step]
            rows = starts[some][:, None] + np.arange(size)
            found[some] = _tau(first[rows], second[rows])
    return found


def _tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """float64[k] of two float64[k, size]."""
    low, high = np.triu_indices(first.shape[1], 1)
    one, other = (_signs(scores[:, low], scores[:, high]) for scores in (first, second))
    untied = np.sqrt((one != 0).sum(axis=1) * (other != 0).sum(axis=1, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        tau: np.ndarray = (one * other).sum(axis=1, dtype=np.int64) / untied
    return tau


def _signs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """int8: 1, 0 or -1 by which is greater; infinities may be equal."""
    return (left > right).astype(np.int8) - (left < right).astype(np.int8)


def regret(probability: np.ndarray, answer: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """float64[d], 0 to 1: how much less probable an answer is to the expert than its best one, as a share of that.

    Args:
        probability: float64[a], the expert's.
        answer: int64[d], the alternative that was answered.
        starts: int64[d + 1].
    """
    best = np.maximum.reduceat(probability, np.asarray(starts)[:-1]) if len(answer) else np.zeros(0)
    lost: np.ndarray = 1.0 - probability[answer] / np.where(best > 0, best, 1.0)
    return np.where(best > 0, lost, 0.0)
