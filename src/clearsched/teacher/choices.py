"""From scores to choices: probabilities, the best, a draw, and the probability of what was chosen.

A table has a row a decision; entries that a decision does not have are -inf. Where the network scores "none of these",
that is the last column of the table of candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.episodes import NONE

DIGITS = 6
"""Scores are rounded to so many decimals before the best is taken: in double precision, what else is in a batch changes
them by far less, so it does not change the choice."""


def best(scores: np.ndarray) -> np.ndarray:
    """int64[B]: the first of the best columns of each row of float64[B, K]."""
    return np.argmax(np.round(scores, DIGITS), axis=1)


def draw(probabilities: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """int64[B]: a column of each row, drawn by inversion from uniform numbers in [0, 1), float64[B]."""
    cumulative = np.cumsum(probabilities, axis=1, dtype=np.float64)
    drawn = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
    last = probabilities.shape[1] - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=1)
    return np.minimum(drawn, last)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def entropy(log_probabilities: Tensor) -> Tensor:
    """[B]: entropy of each row in nats."""
    return -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(dim=1)


def column_of(candidate: Tensor, batch: Any) -> Tensor:
    """int64[B]: the column of each choice in a table of candidates: that of none is the last one."""
    return torch.where(candidate == NONE, batch.most_candidates, candidate)


def candidate_of(column: np.ndarray, most_candidates: int) -> np.ndarray:
    """The inverse of `column_of`."""
    return np.where(column == most_candidates, NONE, column)


def row_of(candidate: Tensor, batch: Any) -> Tensor:
    """int64[B]: the row of each choice among the batch's candidates; that of the first one for none."""
    rows: Tensor = batch.first_candidate + candidate.clamp(min=0)
    return rows


def log_probability_of_level(log_levels: Tensor, level: Tensor, same_from: Tensor) -> Tensor:
    """[B]: log of the probability that a decision does what `level` does.

    From the level `same_from` upwards all levels do the same: they give all that there is to give, or all that the
    candidate can use. Summing over them takes a source of noise out of the policy gradient, since nothing that happens
    later can depend on which of them was chosen.

    Args:
        log_levels: [B, N], log-probabilities of the levels 1..N, -inf where not allowed.
        level: int64[B], the level chosen.
        same_from: int64[B], see above.
    """
    of_level = torch.arange(1, log_levels.shape[1] + 1, device=log_levels.device)[None]
    tail = log_levels.masked_fill(of_level < same_from[:, None], -torch.inf).logsumexp(dim=1)
    single = log_levels.gather(1, (level - 1).clamp(min=0)[:, None]).squeeze(1)
    return torch.where(level >= same_from, tail, single)
