"""Who schedules better: means with intervals, paired differences, and what they allow one to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.evaluation.names import format_settings, label
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.statistics import Interval, bootstrap_mean, generator, paired_difference
from clearsched.schemas import COMPARISON

YARDSTICKS = ("weighted_fair", "capped_srpt")
"""The heuristics that teacher and students are held against in words: the paper's bar and the strongest known rule."""

TEACHER_BAR_PERCENT = 2.0
"""A teacher must beat tuned weighted fair and stay within this much of tuned capped SRPT to be worth distilling."""


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn: seed of the resamples, confidence level, number of resamples."""

    seed: int = 0
    confidence: float = 0.95
    resamples: int = 9999


@dataclass(frozen=True)
class Verdict:
    """One policy held against another: difference of the means in percent of the other's mean (negative: better)."""

    policy: str
    reference: str
    percent: Interval
    confidence: float = 0.95

    @property
    def outcome(self) -> str:
        """`wins` or `loses` where the whole interval is on one side of 0, else `no difference shown`."""
        if self.percent.high < 0:
            return "wins"
        if self.percent.low > 0:
            return "loses"
        return "no difference shown"

    def __str__(self) -> str:
        """For example "teacher: 1.3 % above tuned capped SRPT (95 % CI 0.2 to 2.3): loses"."""
        mean, low, high = self.percent.mean, self.percent.low, self.percent.high
        if self.policy == self.reference:
            return f"{label(self.policy)}: the reference itself"
        if self.outcome == "wins":  # told as "below", so the interval is told in the same direction
            low, high = -high, -low
        digits = 1 if abs(mean) >= 1 else 2
        level = f"{100 * self.confidence:g} % CI"
        if not np.isfinite(low + high):
            interval = f"no {level}: one episode"
        elif self.outcome == "no difference shown":
            interval = f"{level} {low:+.{digits}f} to {high:+.{digits}f}"
        else:
            interval = f"{level} {low:.{digits}f} to {high:.{digits}f}"
        side = "above" if mean > 0 else "below"
        distance = f"{abs(mean):.{digits}f} % {side} {label(self.reference)}"
        return f"{label(self.policy)}: {distance} ({interval}): {self.outcome}"


def reference_policy(tuned: Mapping[str, Any]) -> str:
    """The heuristic that was best on the validation episodes, as tuning wrote it; capped SRPT where it wrote none.

    The test episodes have no say in it: a reference chosen on them would be flattered by its own luck.
    """
    best = tuned.get("best")
    return best if isinstance(best, str) else "capped_srpt"


def compare(rollouts: Sequence[Rollout], reference: str, tuned: Mapping[str, Any], bootstrap: Bootstrap) -> pa.Table:
    """One row a policy, of schema COMPARISON, by rising mean JCT.

    Raises:
        ClearschedError: the reference was not run.
    """
    base = find(rollouts, reference).jct_s
    rows = []
    for rollout in rollouts:
        mean = bootstrap_mean(
            rollout.jct_s, generator(bootstrap.seed, "evaluation", "mean"), bootstrap.confidence, bootstrap.resamples
        )
        difference = difference_interval(rollout, base, bootstrap)
        rows.append(
            {
                "policy": rollout.name,
                "kind": rollout.kind,
                "mode": rollout.mode,
                "settings": policy_settings(rollout.name, tuned),
                "episodes": mean.count,
                "mean_jct_s": mean.mean,
                "ci_low_s": mean.low,
                "ci_high_s": mean.high,
                "reference": reference,
                "difference_s": difference.mean,
                "difference_low_s": difference.low,
                "difference_high_s": difference.high,
                "difference_percent": 100.0 * difference.mean / float(base.mean()),
            }
        )
    rows.sort(key=lambda row: (row["mean_jct_s"], row["policy"]))
    return pa.Table.from_pylist(rows, schema=COMPARISON)


def difference_interval(rollout: Rollout, base: np.ndarray, bootstrap: Bootstrap) -> Interval:
    """The paired difference of a policy to the reference's episodes `base` float64[n], in s."""
    # The generator starts anew for every pair, so all policies meet the same resamples and adding one changes no other.
    rng = generator(bootstrap.seed, "evaluation", "difference")
    return paired_difference(rollout.jct_s, base, rng, bootstrap.confidence, bootstrap.resamples)


def verdict(rollout: Rollout, reference: Rollout, bootstrap: Bootstrap) -> Verdict:
    """The paired difference of two policies in percent of the reference's mean, taken as a fixed number."""
    difference = difference_interval(rollout, reference.jct_s, bootstrap)
    percent = difference.scaled(100.0 / float(reference.jct_s.mean()))
    return Verdict(rollout.name, reference.name, percent, bootstrap.confidence)


def verdicts(rollouts: Sequence[Rollout], reference: str, bootstrap: Bootstrap) -> list[Verdict]:
    """Teacher and students against each yardstick that was run, and against the reference if it is another one."""
    names = [rollout.name for rollout in rollouts]
    against = [name for name in dict.fromkeys((*YARDSTICKS, reference)) if name in names]
    learned = [rollout for rollout in rollouts if rollout.kind in ("teacher", "student")]
    return [verdict(rollout, find(rollouts, name), bootstrap) for rollout in learned for name in against]


def teacher_bar(found: Sequence[Verdict], teacher: str) -> str | None:
    """Whether the teacher is worth distilling, in one sentence; None where a yardstick was not run.

    It is when it beats tuned weighted fair and its mean is at most `TEACHER_BAR_PERCENT` above tuned capped SRPT.
    """
    by_reference = {item.reference: item for item in found if item.policy == teacher}
    if not all(name in by_reference for name in YARDSTICKS):
        return None
    fair, srpt = (by_reference[name] for name in YARDSTICKS)
    beats, near = fair.outcome == "wins", srpt.percent.mean <= TEACHER_BAR_PERCENT
    beats_text = "beats" if beats else "does not beat"
    near_text = "is within" if near else "is not within"
    met = "met" if beats and near else "NOT met"
    return (
        f"Bar for the teacher {met}: it {beats_text} {label(fair.reference)}, "
        f"and its mean {near_text} {TEACHER_BAR_PERCENT:g} % of {label(srpt.reference)}."
    )


def policy_settings(policy: str, tuned: Mapping[str, Any]) -> str:
    """The tuned parameters of a policy as "name=value, ..."; empty where it has none."""
    found = tuned.get(policy)
    return format_settings(found) if isinstance(found, dict) else ""


def find(rollouts: Sequence[Rollout], name: str) -> Rollout:
    """The rollout of the named policy.

    Raises:
        ClearschedError: it was not run.
    """
    for rollout in rollouts:
        if rollout.name == name:
            return rollout
    raise ClearschedError(f"evaluation: policy {name} was not run; run are {', '.join(r.name for r in rollouts)}")
