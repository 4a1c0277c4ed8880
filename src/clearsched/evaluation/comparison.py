"""Who schedules better: means with intervals, paired differences, and what they allow one to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import format_settings, label
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.statistics import Interval, bootstrap_mean, generator, paired_difference
from clearsched.problems.problem import Measure, Problem
from clearsched.schemas import COMPARISON

LEARNED = ("searched", "teacher", "student")
"""The kinds of policy that are held against others in words."""


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
    """

    policy: str
    reference: str
    labels: tuple[str, str]
    difference: Interval
    unit: str = "%"
    lower_is_better: bool = True
    confidence: float = 0.95

    @property
    def outcome(self) -> str:
        """`wins` or `loses` where the whole interval is on one side of 0, else `no difference shown`."""
        if self.difference.high < 0:
            return "wins" if self.lower_is_better else "loses"
        if self.difference.low > 0:
            return "loses" if self.lower_is_better else "wins"
        return "no difference shown"

    def __str__(self) -> str:
        """For example "teacher: 1.3 % above tuned capped SRPT (95 % CI 0.2 to 2.3): loses"."""
        mean, low, high = self.difference.mean, self.difference.low, self.difference.high
        own, other = self.labels
        if self.policy == self.reference:
            return f"{own}: the reference itself"
        if high < 0:  # told as "below", so the interval is told in the same direction
            low, high = -high, -low
        digits = 1 if abs(mean) >= 1 else 2
        level = f"{100 * self.confidence:g} % CI"
        if not np.isfinite(low + high):
            interval = f"no {level}: one episode"
        elif self.outcome == "no difference shown":
            interval = f"{level} {low:+.{digits}f} to {high:+.{digits}f}"
        else:
            interval = f"{level} {low:.{digits}f} to {high:.{digits}f}"
        distance = " ".join([f"{abs(mean):.{digits}f}", *([self.unit] if self.unit else [])])
        return f"{own}: {distance} {'above' if mean > 0 else 'below'} {other} ({interval}): {self.outcome}"


def compare(problem: Problem, rollouts: Sequence[Rollout], reference: str, bootstrap: Bootstrap) -> pa.Table:
    """One row a compared measure and policy, of schema COMPARISON; policies in the order of the objective, best first.

    Raises:
        ClearschedError: the reference was not run.
    """
    objective = rollouts[0].measures[0]
    sign = 1.0 if objective.lower_is_better else -1.0
    order = sorted(rollouts, key=lambda rollout: (sign * rollout.objective.mean(), rollout.name))
    base = find(rollouts, reference)
    others = [measure for measure in problem.measures if measure.compared and measure != objective]
    rows = [_row(rollout, base, measure, bootstrap) for measure in (objective, *others) for rollout in order]
    return pa.Table.from_pylist(rows, schema=COMPARISON)


def _row(rollout: Rollout, base: Rollout, measure: Measure, bootstrap: Bootstrap) -> dict[str, Any]:
    values, reference_mean = rollout.values(measure), float(base.values(measure).mean())
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
        "reference": base.name,
        "difference": difference.mean,
        "difference_low": difference.low,
        "difference_high": difference.high,
        "difference_percent": 100.0 * difference.mean / abs(reference_mean) if reference_mean else None,
    }


def difference_interval(rollout: Rollout, reference: Rollout, measure: Measure, bootstrap: Bootstrap) -> Interval:
    """The paired difference of a policy to the reference on the same episodes, in the measure's unit."""
    # The generator starts anew for every pair, so all policies meet the same resamples and adding one changes no other.
    rng = generator(bootstrap.seed, "evaluation", "difference")
    values, base = rollout.values(measure), reference.values(measure)
    return paired_difference(values, base, rng, bootstrap.confidence, bootstrap.resamples)


def verdict(problem: Problem, rollout: Rollout, reference: Rollout, bootstrap: Bootstrap) -> Verdict:
    """The paired difference of the objective in percent of the reference's mean, taken as a fixed number."""
    objective = rollout.measures[0]
    difference, unit = difference_interval(rollout, reference, objective, bootstrap), objective.unit
    mean = float(reference.objective.mean())
    if mean:
        difference, unit = difference.scaled(100.0 / abs(mean)), "%"
    labels = label(problem, rollout.name), label(problem, reference.name)
    return Verdict(
        rollout.name, reference.name, labels, difference, unit, objective.lower_is_better, bootstrap.confidence
    )


def verdicts(problem: Problem, rollouts: Sequence[Rollout], reference: str, bootstrap: Bootstrap) -> list[Verdict]:
    """Policies that are `LEARNED` against each yardstick that was run, and against the reference if it is another."""
    names = [rollout.name for rollout in rollouts]
    against = [name for name in dict.fromkeys((*problem.yardsticks, reference)) if name in names]
    learned = [rollout for rollout in rollouts if rollout.kind in LEARNED]
    return [verdict(problem, rollout, find(rollouts, name), bootstrap) for rollout in learned for name in against]


def find(rollouts: Sequence[Rollout], name: str) -> Rollout:
    """The rollout of the named policy.

    Raises:
        ClearschedError: it was not run.
    """
    for rollout in rollouts:
        if rollout.name == name:
            return rollout
    raise ClearschedError(f"evaluation: policy {name} was not run; run are {', '.join(r.name for r in rollouts)}")
