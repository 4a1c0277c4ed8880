"""A policy without and with patches on one load: figures of both, and the decisions that differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance
from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.safety import Verdict, leeway_on, verdict_of
from clearsched.search.trials import table_of
from clearsched.students.patch_changes import Changes, changes_of

TAIL = 0.95
"""The share of the jobs that a tail leaves below it."""


class Figures(NamedTuple):
    """How a policy did on some episodes."""

    objective: float  # mean over the episodes
    tail: float  # of each episode's jobs the quantile `TAIL`, mean over the episodes
    worst_job: float
    verdict: Verdict  # next to the baseline


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
    theirs = table_of(instance, instance.objective, baseline.run(instance, episodes))
    leeway, figures = leeway_on(instance, episodes), []
    for policy in (before, after):
        outcomes = policy.run(instance, episodes)
        measure = _job_measure(instance, outcomes[0].by_job)
        by_job = [np.asarray(outcome.by_job[measure.name], np.float64) for outcome in outcomes]
        worst, share = (np.max, TAIL) if measure.lower_is_better else (np.min, 1 - TAIL)
        figures.append(
            Figures(
                float(np.mean([outcome.measures[instance.objective.name] for outcome in outcomes])),
                float(np.mean([np.quantile(jobs, share) for jobs in by_job])),
                float(worst(np.concatenate(by_job))),
                verdict_of(table_of(instance, instance.objective, outcomes), theirs, leeway),
            )
        )
    changes = changes_of(before, after, instance, episodes)
    return Compared(load, instance, baseline, measure, figures[0], figures[1], changes)


def _job_measure(instance: Instance, names: Collection[str]) -> Measure:
    """The objective, or where single jobs have none the problem's first measure that they have."""
    return next(measure for measure in (instance.objective, *instance.problem.measures) if measure.name in names)
