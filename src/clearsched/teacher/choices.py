"""From scores to choices: probabilities, the best, a draw, and the probability of what was chosen.

A table has a row a decision; entries that a decision does not have are -inf.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.dag_jobs.network.encoding import Batch
from clearsched.problems.dag_jobs.network.network import Embedding, TeacherNetwork

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


def stage_table(network: TeacherNetwork, batch: Batch, embedding: Embedding) -> Tensor:
    """[B, most_candidates]: scores of the candidates."""
    return batch.candidate_table(network.score_stages(batch, embedding), -torch.inf)


def entropy(log_probabilities: Tensor) -> Tensor:
    """[B]: entropy of each row in nats."""
    return -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(dim=1)


def log_probability_of_grant(log_limits: Tensor, limit: Tensor, covering: Tensor) -> Tensor:
    """[B]: log of the probability that a decision gives the executors that `limit` gives.

    From the limit `covering` upwards all limits give the same: all executors that there are to give, or that the stage
    can use. Summing over them takes a source of noise out of the policy gradient, since nothing that happens later can
    depend on which of them was chosen.

    Args:
        log_limits: [B, N], log-probabilities of the limits 1..N, -inf where not allowed.
        limit: int64[B], the limit chosen.
        covering: int64[B], see above.
    """
    of_limit = torch.arange(1, log_limits.shape[1] + 1)[None]
    tail = log_limits.masked_fill(of_limit < covering[:, None], -torch.inf).logsumexp(dim=1)
    single = log_limits.gather(1, (limit - 1)[:, None]).squeeze(1)
    return torch.where(limit >= covering, tail, single)
