"""Where searches over all features begin: at a weighted sum that answers as the best tuned heuristic does.

Weights that begin at random need most of a budget to become as good as a heuristic of two numbers. A regression on the
heuristic's answers in a sample of decisions costs less than a generation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from clearsched.problems.episodes import NONE
from clearsched.problems.programs import Ground

MOST_DECISIONS = 3000
"""Decisions that the regression looks at, spread over the sample."""

SURE = 1.0
"""Largest score of a mean row that the search begins at; "none of these" has 0."""

RIDGE = 1e-3
"""Weight of the squared weights in the loss a decision: features that say the same share what they say. Few decisions
weigh no more than they know: it is at least 1 / their number."""


def fitted_weights(ground: Ground, inputs: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and constant of the sum whose softmax answers as the heuristic did (maximum likelihood).

    Args:
        ground: with the heuristic's answers; "none of these" has the score 0 where it is an answer.
        inputs: float64[n, I], for each row of the ground what the sum reads.

    Returns:
        float64[I] and the constant, with a mean square of the weights, in deviations of the inputs, of at most 1.
    """
    decisions = _decisions(ground)
    deviation = inputs.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    centre = inputs.mean(axis=0)
    rows = np.concatenate([np.arange(ground.starts[d], ground.starts[d + 1]) for d in decisions])
    counts = np.diff(ground.starts)[decisions]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    values = (inputs[rows] - centre) / deviation
    chosen = ground.chosen[decisions]
    named = chosen != NONE
    place = starts + np.where(named, chosen, 0)
    ridge = max(RIDGE, 1 / len(decisions))
    owner = np.repeat(np.arange(len(decisions)), counts)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        score = values @ weights[:-1] + weights[-1]
        top = np.maximum(np.maximum.reduceat(score, starts), 0.0)
        expected = np.exp(score - top[owner])
        idle = np.exp(-top) if ground.none else np.zeros(len(top))
        total = np.add.reduceat(expected, starts) + idle
        share = expected / total[owner]
        taken = np.where(named, score[place] - top, -top)
        told = float((np.log(total) - taken).mean() + ridge * (weights[:-1] ** 2).sum())
        slope = share.copy()
        slope[place[named]] -= 1.0
        gradient = np.append(values.T @ slope, slope.sum()) / len(decisions)
        gradient[:-1] += 2 * ridge * weights[:-1]
        return told, gradient

    found = minimize(loss, np.zeros(values.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    size = max(float(np.sqrt((found[:-1] ** 2).mean())), 1.0)
    weights = found[:-1] / deviation / size
    # A heuristic that never idles would have a constant without end, and no search would come back from there.
    return weights, float(np.clip(found[-1] / size, -SURE, SURE) - weights @ centre)


def fitted_cap(ground: Ground, factors: Sequence[str]) -> np.ndarray:
    """float64[1 + factors]: logarithm of the cap of a median row, and the power of each factor, by least squares.

    Of the heuristic's levels, as shares of the most, in the decisions where it did not give all.
    """
    names = [feature.name for feature in ground.rank.features]
    limited = np.flatnonzero((ground.chosen != NONE) & (ground.granted < ground.most) & (ground.granted > 0))
    answer = np.zeros(1 + len(factors))
    if len(limited) < 10 * len(answer) or not factors:
        return answer
    rows = ground.rows[ground.starts[limited] + ground.chosen[limited]].astype(np.float64)
    logs = np.stack([np.log(rows[:, names.index(name)]) for name in factors], axis=1)
    medians = np.log([np.median(ground.rows[:, names.index(name)]) for name in factors])
    columns = np.column_stack([np.ones(len(logs)), logs - medians])
    normal = columns.T @ columns + 0.01 * len(logs) * np.eye(columns.shape[1])
    answer[:] = np.linalg.solve(normal, columns.T @ np.log(ground.granted[limited] / ground.most))
    return answer


def _decisions(ground: Ground) -> np.ndarray:
    """Decisions with two answers or more, at most `MOST_DECISIONS`, evenly through the sample."""
    answers = np.diff(ground.starts) + ground.none
    real = np.flatnonzero(answers > 1)
    if not len(real):
        real = np.arange(len(answers))
    return real[np.unique(np.linspace(0, len(real) - 1, min(len(real), MOST_DECISIONS)).astype(np.int64))]
