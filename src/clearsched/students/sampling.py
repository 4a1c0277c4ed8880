"""Which decisions a student is fitted on: all, or as many as are drawn of them, those that matter most often.

Source of the weights: O. Bastani, Y. Pu, A. Solar-Lezama, Verifiable reinforcement learning via policy extraction,
NeurIPS 2018 (VIPER), §3: a decision counts by how much worse the worst answer is than the best. There that is told by
a Q-function; here by the expert's scores, the logarithms of its probabilities, as for a policy of maximum entropy.
"""

from __future__ import annotations

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.students.dataset import Dataset, take
from clearsched.students.settings import SamplingParams


def sampled(dataset: Dataset, settings: SamplingParams, seed: int) -> Dataset:
    """The decisions that a fit gets: all where there is no budget and each counts the same.

    Else they are drawn with replacement where they count by importance, without it where they count the same; both
    choices of a decision are drawn apart, since only some decisions ask for a level.
    """
    generator = np.random.default_rng(seed)
    rank = _drawn(dataset.rank, settings, generator)
    level = None if dataset.level is None else _drawn(dataset.level, settings, generator)
    return dataset._replace(rank=rank, level=level)


def resampled(dataset: Dataset, seed: int) -> Dataset:
    """As many decisions as there are, drawn with replacement: what another log of the same length might have had.

    Fits of the same decisions begin with the same rules, and what the refinement finds next to these is alike; fits of
    samples begin with others (L. Breiman, Bagging predictors, Machine Learning 24, 1996).
    """
    generator = np.random.default_rng(seed)

    def again(choices: Choices) -> Choices:
        count = len(choices.chosen)
        return take(choices, np.sort(generator.integers(count, size=count)))

    level = None if dataset.level is None else again(dataset.level)
    return dataset._replace(rank=again(dataset.rank), level=level)


def importance(choices: Choices) -> np.ndarray:
    """float64[d]: best score less the worst that is a number; 0 for a decision of one row."""
    if not len(choices.chosen):
        return np.zeros(0)
    first = choices.starts[:-1]
    best = np.maximum.reduceat(choices.score, first)
    told = np.where(np.isfinite(choices.score), choices.score, np.inf)
    spread: np.ndarray = best - np.minimum(np.minimum.reduceat(told, first), best)
    return spread


def _drawn(choices: Choices, settings: SamplingParams, generator: np.random.Generator) -> Choices:
    count = len(choices.chosen)
    budget = settings.decisions or count
    if settings.by == "importance":
        weights = importance(choices)
        if not weights.sum() > 0:
            return choices
        drawn = generator.choice(count, budget, p=weights / weights.sum())
    elif budget < count:
        drawn = generator.choice(count, budget, replace=False)
    else:
        return choices
    return take(choices, np.sort(drawn))
