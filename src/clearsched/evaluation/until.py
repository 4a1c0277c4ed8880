"""How many test episodes are run: all, or as many as it takes until differences are told as closely as asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clearsched.evaluation.comparison import difference_of, find
from clearsched.evaluation.rollouts import Rollout, roll_out
from clearsched.evaluation.seeds import LEARNED
from clearsched.evaluation.statistics import Bootstrap
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance, Problem

LEAST, STEP = 32, 16
"""Episodes before the first look, and between two: fewer may show no outlier yet and seem to agree too well."""


@dataclass(frozen=True)
class Ran:
    """The rollouts, and how they came to be as many.

    Attributes:
        rollouts: every policy on the first `episodes` test episodes.
        episodes: how many were run.
        most: how many there are.
        asked: width asked for, % of the reference's mean; None where all episodes are run.
        widest: interval of a learned policy's paired difference to the reference, %; None where nobody asked.
    """

    rollouts: list[Rollout]
    episodes: int
    most: int
    asked: float | None = None
    widest: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether every interval is as narrow as asked; None where nobody asked."""
        return None if self.asked is None or self.widest is None else self.widest <= self.asked

    def __str__(self) -> str:
        """A line for the table; empty where nobody asked."""
        if self.asked is None or self.widest is None:
            return ""
        if not np.isfinite(self.widest):
            return f"Episodes: all {self.most}: the reference's mean is 0, so no width is told in % of it."
        widest = f"the widest interval of a learned policy's difference is {self.widest:.3g} % of the reference's mean"
        if self.reached:
            return f"Episodes: {self.episodes} of {self.most}, enough: {widest}, {self.asked:g} % was asked for."
        return f"Episodes: all {self.most}, too few: {widest}, {self.asked:g} % was asked for (workload.episodes.test)."


def roll_out_until(
    problem: Problem,
    policies: Sequence[Policy],
    instance: Instance,
    episodes: Sequence[Episode],
    reference: str,
    bootstrap: Bootstrap,
    width: float | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> Ran:
    """Run every policy on the episodes in their order until intervals are narrow enough, or on all of them.

    After the first `LEAST` episodes and then every `STEP` it is asked how wide the widest interval of a learned
    policy's paired difference to the reference is. What decides is the width, never the sign: to stop when a difference
    is shown would find one where there is none. Where nothing was learned, all episodes are run.

    Args:
        problem: what is scheduled.
        policies: who schedules.
        instance: where.
        episodes: the test episodes; no more than these are run.
        reference: name of the policy that differences are taken to.
        bootstrap: how intervals are drawn.
        width: in % of the reference's mean; None: all episodes.
        progress: called with a policy's name before it runs.

    Raises:
        ClearschedError: see `roll_out`.

    Source: Y. S. Chow and H. Robbins, On the asymptotic theory of fixed-width sequential confidence intervals for the
    mean, Annals of Mathematical Statistics 36 (1965); for simulations P. W. Glynn and W. Whitt, The asymptotic validity
    of sequential stopping rules for stochastic simulations, Annals of Applied Probability 2 (1992).
    """
    if width is None or not any(policy.kind in LEARNED for policy in policies):
        return Ran(roll_out(problem, policies, instance, episodes, progress), len(episodes), len(episodes))
    runs: list[Rollout] = []
    done, widest = 0, float("inf")
    for end in stops(len(episodes)):
        more = roll_out(problem, policies, instance, episodes[done:end], progress)
        runs = [_joined(old, new) for old, new in zip(runs, more, strict=True)] if runs else more
        done, widest = end, widest_percent(runs, reference, bootstrap)
        if widest <= width:
            break
    return Ran(runs, done, len(episodes), width, widest)


def stops(most: int) -> Iterator[int]:
    """The numbers of episodes at which it is asked whether they are enough."""
    end = min(LEAST, most)
    yield end
    while end < most:
        end = min(end + STEP, most)
        yield end


def widest_percent(runs: Sequence[Rollout], reference: str, bootstrap: Bootstrap) -> float:
    """The widest interval of a learned policy's paired difference, % of the reference's mean; infinite if that is 0."""
    base = find(runs, reference).objective
    mean = abs(float(base.mean()))
    if not mean or len(base) < 2:
        return float("inf")
    found = [difference_of(run.objective, base, bootstrap) for run in runs if run.kind in LEARNED]
    return max(100.0 * (interval.high - interval.low) / mean for interval in found)


def _joined(old: Rollout, new: Rollout) -> Rollout:
    return replace(old, results=[*old.results, *new.results])
