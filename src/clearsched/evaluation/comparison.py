"""Who schedules better: means with intervals, paired differences, and what they allow one to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.evaluation.bounds import Bounds, bound_cells
from clearsched.evaluation.guards import guard_measures
from clearsched.evaluation.policies import format_settings, label
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.seeds import LEARNED, SeedRuns, over_seeds
from clearsched.evaluation.statistics import Interval, bootstrap_mean, generator, paired_difference
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Problem, told_measures
from clearsched.schemas import COMPARISON
from clearsched.search.safety import worst_ratio


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn: seed of the resamples, confidence level, number of resamples."""

    seed: int = 0
    confidence: float = 0.95
    resamples: int = 9999


@dataclass(frozen=True)
class Verdict:
    """One policy held against another by the objective.

    Attributes:
        policy, reference: their names.
        labels: what they are called.
        difference: of the means, policy minus reference.
        unit: of the difference: % of the reference's mean, or the objective's own where that mean is 0.
        lower_is_better: of the objective.
        confidence: level of the interval.
        over_seeds: the difference over training seeds and episodes, in the same unit; None where there is one seed.
    """

    policy: str
    reference: str
    labels: tuple[str, str]
    difference: Interval
    unit: str = "%"
    lower_is_better: bool = True
    confidence: float = 0.95
    over_seeds: Interval | None = None

    @property
    def outcome(self) -> str:
        """`wins` or `loses` where the intervals over episodes and over training seeds are whole on one side of 0.

        With one training seed `better` or `worse`, and the sentence itself says so: trained again, it may turn. Where
        an interval holds 0, `no difference shown`.
        """
        words = ("wins", "loses", "") if self.over_seeds else ("better", "worse", " with one training seed")
        told = [self.difference, *([self.over_seeds] if self.over_seeds else [])]
        below, above = (all(interval.high < 0 for interval in told), all(interval.low > 0 for interval in told))
        if not (below or above):
            return f"no difference shown{words[2]}"
        return (words[0] if below == self.lower_is_better else words[1]) + words[2]

    @property
    def is_worse(self) -> bool:
        """Whether every interval there is says that it is worse."""
        return self.outcome.startswith(("loses", "worse"))

    def __str__(self) -> str:
        """For example "teacher: 1.3 % above SRPT (95 % CI over episodes 0.2 to 2.3): worse with one training seed"."""
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
        distance = " ".join([f"{abs(mean):.{digits}f}", *([self.unit] if self.unit else [])])
        return f"{own}: {distance} {'above' if mean > 0 else 'below'} {other} ({interval}): {self.outcome}"


def _ends(low: float, high: float, digits: int) -> str:
    """The ends of an interval: of one that is told as "below" in that direction, with signs where it holds 0."""
    if high < 0:
        low, high = -high, -low
    form = f"+.{digits}f" if low <= 0 <= high else f".{digits}f"
    return f"{low:{form}} to {high:{form}}"


def compare(
    problem: Problem,
    rollouts: Sequence[Rollout],
    reference: str,
    bootstrap: Bootstrap,
    bounds: Bounds | None = None,
    further: Sequence[Measure] | None = None,
) -> pa.Table:
    """One row a measure that is told and policy, of schema COMPARISON; policies in the objective's order, best first.

    Args:
        problem: what was scheduled.
        rollouts: every policy on the same episodes.
        reference: name of the policy that differences are taken to.
        bootstrap: how intervals are drawn.
        bounds: what no policy can do better than, of the measures that have a bound.
        further: measures beside the objective; those that the problem wants told without it.

    Raises:
        ClearschedError: the reference was not run.
    """
    objective = rollouts[0].measures[0]
    sign = 1.0 if objective.lower_is_better else -1.0
    order = sorted(rollouts, key=lambda rollout: (sign * rollout.objective.mean(), rollout.name))
    base = find(rollouts, reference)
    plain = next((rollout for rollout in rollouts if rollout.name == problem.baseline), None)
    told = [*(told_measures(problem, objective) if further is None else (objective, *further))]
    told += guard_measures(rollouts)
    rows = [
        _row(rollout, base, plain, measure, bootstrap, bounds or {})
        for measure in dict.fromkeys(told)
        for rollout in order
    ]
    return pa.Table.from_pylist(rows, schema=COMPARISON)


def _row(
    rollout: Rollout, base: Rollout, plain: Rollout | None, measure: Measure, bootstrap: Bootstrap, bounds: Bounds
) -> dict[str, Any]:
    values, reference_mean = rollout.values(measure), float(base.values(measure).mean())
    ratio = worst_ratio(values, plain.values(measure)) if plain and measure.lower_is_better else 0.0
    rng = generator(bootstrap.seed, "evaluation", "mean")
    mean = bootstrap_mean(values, rng, bootstrap.confidence, bootstrap.resamples)
    difference = difference_interval(rollout, base, measure, bootstrap)
    return {
        "policy": rollout.name,
        "kind": rollout.kind,
        "mode": rollout.mode,
        "settings": format_settings(rollout.policy.settings),
        "episodes": mean.count,
        "measure": measure.name,
        "unit": measure.unit,
        "mean": mean.mean,
        "ci_low": mean.low,
        "ci_high": mean.high,
        "worst": float(values.max() if measure.lower_is_better else values.min()),
        "worst_to_baseline": ratio or None,
        "reference": base.name,
        "difference": difference.mean,
        "difference_low": difference.low,
        "difference_high": difference.high,
        "difference_percent": 100.0 * difference.mean / abs(reference_mean) if reference_mean else None,
        **bound_cells(measure, mean.mean, bounds),
    }


def difference_interval(rollout: Rollout, reference: Rollout, measure: Measure, bootstrap: Bootstrap) -> Interval:
    """The paired difference of a policy to the reference on the same episodes, in the measure's unit."""
    return difference_of(rollout.values(measure), reference.values(measure), bootstrap)


def difference_of(values: np.ndarray, base: np.ndarray, bootstrap: Bootstrap) -> Interval:
    """The paired difference of float64[episodes] each, in their unit."""
    # The generator starts anew for every pair, so all policies meet the same resamples and adding one changes no other.
    rng = generator(bootstrap.seed, "evaluation", "difference")
    return paired_difference(values, base, rng, bootstrap.confidence, bootstrap.resamples)


def verdict(
    problem: Problem, rollout: Rollout, reference: Rollout, bootstrap: Bootstrap, seeds: SeedRuns | None = None
) -> Verdict:
    """The paired difference of the objective in percent of the reference's mean, taken as a fixed number.

    `seeds`: the policy's training seeds; with more than one of them they are told too, and have their say.
    """
    values = {each.name: each.objective for each in (rollout, reference)}
    return verdict_on(problem, rollout.measures[0], values, (rollout.name, reference.name), bootstrap, seeds)


def verdict_on(
    problem: Problem,
    objective: Measure,
    values: Mapping[str, np.ndarray],
    pair: tuple[str, str],
    bootstrap: Bootstrap,
    seeds: SeedRuns | None = None,
) -> Verdict:
    """Like `verdict`, of the objective's float64[episodes] by policy; `pair`: who is held against whom."""
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
        unit,
        objective.lower_is_better,
        bootstrap.confidence,
        trained,
    )


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
    names = [rollout.name for rollout in rollouts]
    against = [name for name in dict.fromkeys((*problem.yardsticks, reference)) if name in names]
    learned, trained = [rollout for rollout in rollouts if rollout.kind in LEARNED], seeds or {}
    return [
        verdict(problem, rollout, find(rollouts, name), bootstrap, trained.get(rollout.name))
        for rollout in learned
        for name in against
    ]


def find(rollouts: Sequence[Rollout], name: str) -> Rollout:
    """The rollout of the named policy.

    Raises:
        ClearschedError: it was not run.
    """
    for rollout in rollouts:
        if rollout.name == name:
            return rollout
    raise ClearschedError(f"evaluation: policy {name} was not run; run are {', '.join(r.name for r in rollouts)}")
