"""Who schedules better: means with intervals, paired differences with their tests, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.evaluation.bounds import Bounds, bound_cells
from clearsched.evaluation.effects import better_share, standardised
from clearsched.evaluation.guards import guard_measures
from clearsched.evaluation.policies import format_settings
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.seeds import SeedRuns, over_seeds
from clearsched.evaluation.significance import p_values
from clearsched.evaluation.statistics import Bootstrap, Interval, bootstrap_mean, generator, paired_difference
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import told_measures
from clearsched.problems.problem import Problem
from clearsched.schemas import COMPARISON
from clearsched.search.safety import worst_ratio

Row = dict[str, Any]


def compare(
    problem: Problem,
    rollouts: Sequence[Rollout],
    reference: str,
    bootstrap: Bootstrap,
    bounds: Bounds | None = None,
    further: Sequence[Measure] | None = None,
    seeds: Sequence[SeedRuns] = (),
) -> pa.Table:
    """One row a measure that is told and policy, of schema COMPARISON; policies in the objective's order, best first.

    Args:
        problem: what was scheduled.
        rollouts: every policy on the same episodes.
        reference: name of the policy that differences are taken to.
        bootstrap: how intervals are drawn.
        bounds: what no policy can do better than, of the measures that have a bound.
        further: measures beside the objective; those that the problem wants told without it.
        seeds: training seeds of the learned policies, for the second level of the objective's differences.

    Raises:
        ClearschedError: the reference was not run.
    """
    objective = rollouts[0].measures[0]
    sign = 1.0 if objective.lower_is_better else -1.0
    order = sorted(rollouts, key=lambda rollout: (sign * rollout.objective.mean(), rollout.name))
    base = find(rollouts, reference)
    plain = plain_of(problem, rollouts)
    told = [*(told_measures(problem, objective) if further is None else (objective, *further))]
    told += guard_measures(rollouts)
    trained = {run.name: run for run in seeds if len(run.seeds) > 1}
    rows = []
    for measure in dict.fromkeys(told):
        p = p_values({rollout.name: rollout.values(measure) for rollout in order}, base.name, bootstrap.seed)
        for rollout in order:
            row = _row(rollout, base, plain, measure, bootstrap) | bound_cells(
                measure, float(rollout.values(measure).mean()), bounds or {}
            )
            if rollout is not base:
                row |= _test_cells(rollout, base, measure, p[rollout.name], bootstrap)
            if measure == objective and rollout.name in trained:
                row |= _seed_cells(trained[rollout.name], base, bootstrap)
            rows.append(row)
    return pa.Table.from_pylist(rows, schema=COMPARISON)


def _row(rollout: Rollout, base: Rollout, plain: Rollout | None, measure: Measure, bootstrap: Bootstrap) -> Row:
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
    }


def _test_cells(rollout: Rollout, base: Rollout, measure: Measure, p: tuple[float, float], bootstrap: Bootstrap) -> Row:
    """The columns that only a policy beside the reference has: its test, and how large the difference is."""
    differences = rollout.values(measure) - base.values(measure)
    share = better_share(differences, bootstrap.confidence, lower_is_better=measure.lower_is_better)
    effect = standardised(differences)
    return {
        "p": p[0],
        "p_holm": p[1],
        "better_share": share.share,
        "better_low": share.low,
        "better_high": share.high,
        "effect": effect if np.isfinite(effect) else None,
    }


def _seed_cells(run: SeedRuns, base: Rollout, bootstrap: Bootstrap) -> Row:
    """The columns that only a policy of several training seeds has."""
    found = over_seeds(run, base.objective, bootstrap.seed, bootstrap.confidence, bootstrap.resamples)
    return {
        "seeds": len(run.seeds),
        "seeds_difference": found.mean,
        "seeds_low": found.low,
        "seeds_high": found.high,
    }


def difference_interval(rollout: Rollout, reference: Rollout, measure: Measure, bootstrap: Bootstrap) -> Interval:
    """The paired difference of a policy to the reference on the same episodes, in the measure's unit."""
    return difference_of(rollout.values(measure), reference.values(measure), bootstrap)


def difference_of(values: np.ndarray, base: np.ndarray, bootstrap: Bootstrap) -> Interval:
    """The paired difference of float64[episodes] each, in their unit."""
    # The generator starts anew for every pair, so all policies meet the same resamples and adding one changes no other.
    rng = generator(bootstrap.seed, "evaluation", "difference")
    return paired_difference(values, base, rng, bootstrap.confidence, bootstrap.resamples)


def plain_of(problem: Problem, rollouts: Sequence[Rollout]) -> Rollout | None:
    """The baseline's rollout; None where it was not run."""
    return next((rollout for rollout in rollouts if rollout.name == problem.baseline), None)


def plain_objective(problem: Problem, rollouts: Sequence[Rollout]) -> np.ndarray | None:
    """float64[episodes]: the baseline's objective; None where it was not run, or where more is better."""
    plain = plain_of(problem, rollouts)
    return plain.objective if plain and plain.measures[0].lower_is_better else None


def find(rollouts: Sequence[Rollout], name: str) -> Rollout:
    """The rollout of the named policy.

    Raises:
        ClearschedError: it was not run.
    """
    for rollout in rollouts:
        if rollout.name == name:
            return rollout
    raise ClearschedError(f"evaluation: policy {name} was not run; run are {', '.join(r.name for r in rollouts)}")
