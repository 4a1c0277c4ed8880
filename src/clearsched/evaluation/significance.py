"""Whether a difference is shown: a paired test that skewed episodes do not mislead, Holm's correction, one rule.

Where a dozen policies are held against one reference, an interval of 95 % each would call one of them different by luck
in every other run. So the words follow this rule, and nothing else does: *a difference is shown where Holm's adjusted p
of the paired test, over all policies that are held against the same one, is at most 1 - confidence, and every interval
that is told of it lies on one side of 0.*
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import FloatArray, Interval, generator

FLIPS = 19_999
"""Draws of signs, unless all 2^episodes of them are no more. The least p is then 1 in 20,000, and Holm's, of 50
policies, 0.0025: it is never the number of draws that keeps a difference from being shown."""
TOLERANCE = 1e-12
"""Sums of the same numbers in another order differ by less than this share of them: they count as equal."""


def sign_flip_p(differences: FloatArray, rng: np.random.Generator, flips: int = FLIPS, batch: int = 1000) -> FloatArray:
    """Two-sided p, float64[m], of the mean of paired differences being 0, of m policies.

    The paired randomisation test: were it all the same which of the two policies scheduled an episode, the sign of its
    difference would be a toss. p is the share of tosses in which the mean is as far from 0 as it was; all 2^n of them
    are counted where they are no more than `flips`, else that many are drawn, and what was seen counts as one of them,
    so that p is never 0.

    Differences of episodes are skewed: most are small, and in some a policy is far behind. As a test of "all the same"
    this one holds its level for any number of episodes and any distribution, which Student's t does not; as one of the
    mean alone, without symmetry, it does as the episodes grow in number (Romano 1990). Signed ranks (Wilcoxon) would
    answer about another quantity than the mean that is told.

    Args:
        differences: float64[m, n], a row a policy and a column an episode. All rows meet the same tosses, so that a
            further policy changes no other's p.
        rng: draws the tosses.
        flips: how many.
        batch: tosses at a time; bounds memory.

    Raises:
        ClearschedError: no episodes, or a value that is not finite.

    Source: R. A. Fisher, The Design of Experiments (1935), chapter 3; J. P. Romano, On the behavior of randomization
    tests without a group invariance assumption, Journal of the American Statistical Association 85 (1990); what was
    seen as one of the draws: B. Phipson and G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 9
    (2010).
    """
    differences = np.asarray(differences, dtype=np.float64)
    if differences.ndim != 2 or differences.shape[1] == 0:
        raise ClearschedError(f"paired test: expected policies by episodes, got an array of shape {differences.shape}")
    if not np.all(np.isfinite(differences)):
        raise ClearschedError("paired test: a difference is not finite")
    episodes = differences.shape[1]
    bar = np.abs(differences.sum(axis=1)) - TOLERANCE * np.abs(differences).sum(axis=1)
    exact = episodes < 31 and 2**episodes <= flips
    total = 2**episodes if exact else flips
    reached = np.zeros(len(differences), dtype=np.int64)
    for start in range(0, total, batch):
        count = min(batch, total - start)
        if exact:
            heads = (np.arange(start, start + count)[:, None] >> np.arange(episodes)) & 1
        else:
            heads = rng.integers(0, 2, (count, episodes))
        reached += (np.abs((2.0 * heads - 1.0) @ differences.T) >= bar).sum(axis=0)
    return reached / total if exact else (reached + 1) / (total + 1)


def holm(p: FloatArray) -> FloatArray:
    """Holm's adjusted p, float64[m], of the p of m tests: to call all different whose adjusted p is at most a is wrong
    about any of them with a probability of at most a, however the tests depend on each other.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6
    (1979).
    """
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def p_values(values: Mapping[str, FloatArray], reference: str, seed: int) -> dict[str, tuple[float, float]]:
    """Of every policy but the reference, p of its paired difference to it and Holm's adjusted p over all of them.

    Args:
        values: float64[episodes] by policy, the same episodes in the same order.
        reference: whom they are held against.
        seed: of the tosses.
    """
    names = [name for name in values if name != reference]
    if not names:
        return {}
    differences = np.stack([values[name] - values[reference] for name in names])
    p = sign_flip_p(differences, generator(seed, "evaluation", "signs"))
    return {name: (float(own), float(all_of)) for name, own, all_of in zip(names, p, holm(p), strict=True)}


def direction(p: float, confidence: float, *intervals: Interval) -> int:
    """Below 0 (-1), above it (1), or no difference shown (0), by the rule of this module; `p`: adjusted by Holm."""
    if p > 1 - confidence + TOLERANCE:
        return 0
    if all(interval.high < 0 for interval in intervals):
        return -1
    return int(all(interval.low > 0 for interval in intervals))


def direction_of(row: Mapping[str, Any], confidence: float) -> int:
    """As `direction`, of a row of COMPARISON; of one that has no test, the reference's or an older one, nothing."""
    count = int(row["episodes"])
    told = [Interval(row["difference"], row["difference_low"], row["difference_high"], float("nan"), count)]
    if row.get("seeds") is not None:
        ends = (row["seeds_low"], row["seeds_high"])
        told.append(Interval(row["seeds_difference"], *ends, float("nan"), int(row["seeds"])))
    return 0 if row["p_holm"] is None else direction(row["p_holm"], confidence, *told)


def told_p(p: float) -> str:
    """A p in words: "0.012", "< 0.001"."""
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
