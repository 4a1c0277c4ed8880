"""A policy without and with patches on one load: figures of both, and the decisions that differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from clearsched.problems.policy import Policy
from clearsched.problems.problem import Episode, Instance, Measure
from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.safety import worst_ratio
from clearsched.search.trials import COST, END, trials
from clearsched.students.patch_changes import Changes, changes_of

TAIL = 0.95
"""The share of the jobs that a tail leaves below it."""


class Figures(NamedTuple):
    """How a policy did on some episodes."""

    objective: float  # mean over the episodes
    tail: float  # of each episode's jobs the quantile `TAIL`, mean over the episodes
    worst_job: float
    worst_episode: float  # times what the baseline takes, its cost or its end, whichever is more


class Compared(NamedTuple):
    """What came of one load."""

    load: str  # in words
    instance: Instance
    baseline: Policy
    job_measure: Measure  # by which single jobs are told
    before: Figures
    after: Figures
    changes: Changes


def compare(
    before: ScoredPolicy,
    after: ScoredPolicy,
    baseline: Policy,
    instance: Instance,
    episodes: Sequence[Episode],
    load: str,
) -> Compared:
    """Both policies on the same episodes; `load` says which these are."""
    theirs = costs_and_ends(baseline, instance, episodes)
    figures = []
    for policy in (before, after):
        outcomes = policy.run(instance, episodes)
        measure = _job_measure(instance, outcomes[0].by_job)
        by_job = [np.asarray(outcome.by_job[measure.name], np.float64) for outcome in outcomes]
        worst, share = (np.max, TAIL) if measure.lower_is_better else (np.min, 1 - TAIL)
        own = costs_and_ends(policy, instance, episodes)
        figures.append(
            Figures(
                float(np.mean([outcome.measures[instance.objective.name] for outcome in outcomes])),
                float(np.mean([np.quantile(jobs, share) for jobs in by_job])),
                float(worst(np.concatenate(by_job))),
                worst_ratio(own, theirs),
            )
        )
    changes = changes_of(before, after, instance, episodes)
    return Compared(load, instance, baseline, measure, figures[0], figures[1], changes)


def costs_and_ends(policy: Policy, instance: Instance, episodes: Sequence[Episode]) -> np.ndarray:
    """float64[2, episodes]: the cost of each episode, and when its last job ended, s."""
    with trials(instance, instance.objective) as runs:
        found: np.ndarray = runs.outcomes([policy], episodes)[[COST, END], 0]
    return found


def _job_measure(instance: Instance, names: Collection[str]) -> Measure:
    """The objective, or where single jobs have none the problem's first measure that they have."""
    return next(measure for measure in (instance.objective, *instance.problem.measures) if measure.name in names)
