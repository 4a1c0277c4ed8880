"""What a difference allows one to say: a sentence a learned policy and policy that it is held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clearsched.evaluation.comparison import difference_of
from clearsched.evaluation.policies import label
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.seeds import LEARNED, SeedRuns, over_seeds
from clearsched.evaluation.significance import direction, p_values, told_p
from clearsched.evaluation.statistics import Bootstrap, Interval
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Problem


@dataclass(frozen=True)
class Verdict:
    """One policy held against another by the objective.

    Attributes:
        policy, reference: their names.
        labels: what they are called.
        difference: of the means, policy minus reference.
        p: of the paired test, adjusted by Holm over all policies that are held against the reference.
        unit: of the difference: % of the reference's mean, or the objective's own where that mean is 0.
        lower_is_better: of the objective.
        confidence: level of the interval.
        over_seeds: the difference over training seeds and episodes, in the same unit; None where there is one seed.
    """

    policy: str
    reference: str
    labels: tuple[str, str]
    difference: Interval
    p: float
    unit: str = "%"
    lower_is_better: bool = True
    confidence: float = 0.95
    over_seeds: Interval | None = None

    @property
    def outcome(self) -> str:
        """`wins` or `loses` where a difference is shown, by the rule of `evaluation.significance`, over seeds too.

        With one training seed `better` or `worse`, and the sentence itself says so: trained again, it may turn. Else
        `no difference shown`.
        """
        words = ("wins", "loses", "") if self.over_seeds else ("better", "worse", " with one training seed")
        side = direction(self.p, self.confidence, self.difference, *([self.over_seeds] if self.over_seeds else []))
        if not side:
            return f"no difference shown{words[2]}"
        return (words[0] if (side < 0) == self.lower_is_better else words[1]) + words[2]

    @property
    def is_worse(self) -> bool:
        """Whether it is shown to be worse."""
        return self.outcome.startswith(("loses", "worse"))

    def __str__(self) -> str:
        """For example "teacher: 1.3 % above SRPT (95 % CI over episodes 0.2 to 2.3; p 0.02): no difference shown"."""
        mean, low, high = self.difference.mean, self.difference.low, self.difference.high
        own, other = self.labels
        if self.policy == self.reference:
            return f"{own}: the reference itself"
        digits = 1 if abs(mean) >= 1 else 2
        level = f"{100 * self.confidence:g} % CI"
        told = f"{level} over episodes {_ends(low, high, digits)}"
        interval = told if np.isfinite(low + high) else f"no {level}: one episode"
        seeds = self.over_seeds
        if seeds:
            over = _ends(seeds.low, seeds.high, digits) if np.isfinite(seeds.low + seeds.high) else "one episode"
            interval += f"; over {seeds.count} training seeds and episodes {seeds.mean:+.{digits}f}, {over}"
        interval += f"; p {told_p(self.p)}"
        distance = " ".join([f"{abs(mean):.{digits}f}", *([self.unit] if self.unit else [])])
        return f"{own}: {distance} {'above' if mean > 0 else 'below'} {other} ({interval}): {self.outcome}"


def _ends(low: float, high: float, digits: int) -> str:
    """The ends of an interval: of one that is told as "below" in that direction, with signs where it holds 0."""
    if high < 0:
        low, high = -high, -low
    form = f"+.{digits}f" if low <= 0 <= high else f".{digits}f"
    return f"{low:{form}} to {high:{form}}"


def verdicts(
    problem: Problem,
    rollouts: Sequence[Rollout],
    reference: str,
    bootstrap: Bootstrap,
    seeds: Mapping[str, SeedRuns] | None = None,
) -> list[Verdict]:
    """What was learned against each yardstick that was run, and against the reference if it is another one.

    `seeds`: training seeds by the name of the policy.
    """
    values = {rollout.name: rollout.objective for rollout in rollouts}
    learned = [rollout.name for rollout in rollouts if rollout.kind in LEARNED]
    against = [name for name in dict.fromkeys((*problem.yardsticks, reference)) if name in values]
    return verdicts_on(problem, rollouts[0].measures[0], values, learned, against, bootstrap, seeds)


def verdicts_on(
    problem: Problem,
    objective: Measure,
    values: Mapping[str, np.ndarray],
    learned: Sequence[str],
    against: Sequence[str],
    bootstrap: Bootstrap,
    seeds: Mapping[str, SeedRuns] | None = None,
) -> list[Verdict]:
    """Each of `learned` held against each of `against`, in percent of the other's mean, taken as a fixed number.

    Args:
        problem: what was scheduled.
        objective: what they are compared by.
        values: float64[episodes] of it by policy: all policies of the run, since Holm's correction is over them.
        learned: names of policies.
        against: names of policies.
        bootstrap: how intervals are drawn.
        seeds: training seeds by policy; of one with more than one of them they are told too, and have their say.
    """
    p = {name: p_values(values, name, bootstrap.seed) for name in against}
    return [
        _verdict(problem, objective, values, (name, other), p[other], bootstrap, (seeds or {}).get(name))
        for name in learned
        for other in against
    ]


def _verdict(
    problem: Problem,
    objective: Measure,
    values: Mapping[str, np.ndarray],
    pair: tuple[str, str],
    p: Mapping[str, tuple[float, float]],
    bootstrap: Bootstrap,
    seeds: SeedRuns | None,
) -> Verdict:
    base, unit = values[pair[1]], objective.unit
    difference, mean, factor = difference_of(values[pair[0]], base, bootstrap), float(base.mean()), 1.0
    if mean:
        factor, unit = 100.0 / abs(mean), "%"
    trained = None
    if seeds is not None and len(seeds.seeds) > 1:
        own = bootstrap.seed, bootstrap.confidence, bootstrap.resamples
        trained = over_seeds(seeds, base, *own).scaled(factor)
    return Verdict(
        *pair,
        (label(problem, pair[0]), label(problem, pair[1])),
        difference.scaled(factor),
        p[pair[0]][1] if pair[0] in p else 1.0,
        unit,
        objective.lower_is_better,
        bootstrap.confidence,
        trained,
    )
