"""The features of a stage from what Slurm knows: the same formulas as in the simulator, over the state of a queue."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import cache, cached_property
from types import CodeType

import numpy as np

from clearsched.engines.slurm.client import Queued
from clearsched.engines.slurm.jobs import levels_below, longest_work
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.features import FEATURES
from clearsched.problems.dag_jobs.simulator.rows import WORK_OFFSET_MS
from clearsched.problems.dag_jobs.simulator.state import ROOT_OFFSET_MS
from clearsched.scorers.patches import KEEP_LOCAL
from clearsched.scorers.policy import ScoredPolicy

UNKNOWN = {
    "is_source": "cores are not offered from within a job, so there is no choice of executor to keep",
    "moving_delay_ms": "a core has no job that it would leave, so there is no cost of a move",
}
"""Quantities of the simulator that Slurm has not, and why."""

AT_SUBMISSION = {
    "work_left_ms",
    "work_ms",
    "tasks_left",
    "stages_left",
    "critical_path_left_ms",
    "waiting_parents",
    "unstarted",
    "moving",
    "promised",
    "task_ms",
    "levels_below",
    "critical_path_ms",
    "earlier_candidates",
    "executors",
    "weight",
    "root",
    "sqrt_weight",
}
"""Quantities that are a fact of a job as it is submitted, whatever else is in the queue."""

BY_NAME = {feature.name: feature for feature in FEATURES}


@cache
def quantities_of(name: str) -> frozenset[str]:
    """The quantities in a feature's formula."""
    tree = ast.parse(BY_NAME[name].formula, mode="eval")
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


@cache
def _code(name: str) -> CodeType:
    return compile(BY_NAME[name].formula, name, "eval")


def used_features(policy: ScoredPolicy, level: bool = True) -> list[str]:
    """The features that a policy asks for, patches included, by column; without `level` those of the rank alone."""
    choices = [policy.rank, *([policy.level] if level and policy.level else [])]
    names = {name for choice in choices for name in policy.scorers[choice.name].used}
    for patch in policy.patches:
        if patch.cap is None or level:
            names |= {comparison.feature for comparison in patch.comparisons}
            names |= {policy.rank.keeps} if patch.do == KEEP_LOCAL else set()
    return [feature.name for feature in FEATURES if feature.name in names]


def check_policy(policy: ScoredPolicy) -> None:
    """Refuse what Slurm cannot obey.

    Raises:
        ClearschedError: the student has a guard, or asks for a feature that Slurm cannot know; the line names it.
    """
    if policy.guard is not None:
        raise ClearschedError(f"{policy.where}: guard: Slurm has no heuristic to hand over to: take the guard off")
    for name in used_features(policy):
        missing = sorted(quantities_of(name) & set(UNKNOWN))
        if missing:
            raise ClearschedError(
                f"{policy.where}: {name}: Slurm cannot know it: {UNKNOWN[missing[0]]}; take a student without it"
            )


class Cluster:
    """A queue of ours, as the simulator would see it.

    Attributes:
        stages: of all jobs, by arrival of the job, then by number.
        cores: executors of the cluster.
        now: seconds of Unix time.
        granted: cores promised in this plan to stages that have not got them yet, by array.
    """

    def __init__(self, queue: Sequence[Queued], cores: int, now: float) -> None:
        self.stages = sorted(queue, key=lambda stage: (stage.facts.arrived, stage.facts.job, stage.facts.stage))
        self.cores, self.now = cores, now
        self.granted = dict.fromkeys((stage.id for stage in queue), 0)

    @cached_property
    def jobs(self) -> dict[str, list[Queued]]:
        """The stages of each job that are not complete, jobs by arrival."""
        found: dict[str, list[Queued]] = {}
        for stage in self.stages:
            found.setdefault(stage.facts.job, []).append(stage)
        return found

    @cached_property
    def candidates(self) -> list[Queued]:
        """Stages with tasks to start, all of whose parents have started their last one (docs/simulator.md §4)."""
        return [
            stage
            for stage in self.stages
            if stage.pending and not any(parent.pending for parent in self._parents(stage))
        ]

    def is_ready(self, stage: Queued) -> bool:
        """Whether its parents are complete: Slurm may start it."""
        return not self._parents(stage)

    def held(self, job: str) -> int:
        """Cores that a job has, or is promised."""
        return sum(stage.running + self.granted[stage.id] for stage in self.jobs[job])

    def demand(self, stage: Queued) -> int:
        """Its tasks that have no core, nor the promise of one."""
        return stage.pending - self.granted[stage.id]

    @property
    def free(self) -> int:
        """Cores that nobody has or is promised."""
        return self.cores - sum(stage.running + self.granted[stage.id] for stage in self.stages)

    def rows(self, stages: Sequence[Queued], names: Sequence[str]) -> np.ndarray:
        """float32[n, all features] of the candidates of a decision: those of `names`, the others 0."""
        totals, jobs = self._totals(stages), {stage.facts.job for stage in stages}
        of_jobs = {job: self._of_job(job, jobs) for job in jobs}
        places = {name: place for place, name in enumerate(BY_NAME)}
        rows = np.zeros((len(stages), len(places)), np.float32)
        for row, stage in zip(rows, stages, strict=True):
            known = {**totals, **of_jobs[stage.facts.job], **self._of_stage(stage, stages)}
            for name in names:
                row[places[name]] = eval(_code(name), {"__builtins__": {}}, known)
        return rows

    def _parents(self, stage: Queued) -> list[Queued]:
        """Parents that are not complete."""
        return [other for other in self.jobs[stage.facts.job] if other.facts.stage in stage.facts.parents]

    def _work_left_ms(self, job: str) -> float:
        return sum(1000 * stage.facts.task_s * stage.pending for stage in self.jobs[job])

    def _totals(self, candidates: Sequence[Queued]) -> dict[str, float]:
        """What a job is compared with, and what the decision is about."""
        work = {job: self._work_left_ms(job) for job in self.jobs}
        offered = {stage.facts.job for stage in candidates}
        roots = [(each + ROOT_OFFSET_MS) ** 0.2 for each in work.values()]
        found = {
            "sum_weight": sum(each + WORK_OFFSET_MS for each in work.values()),
            "sum_sqrt_weight": sum((each + WORK_OFFSET_MS) ** 0.5 for each in work.values()),
            "smallest_weight": min((work[job] for job in offered), default=0.0) + WORK_OFFSET_MS,
            "jobs": len(work),
            "executors": self.cores,
            "to_decide": max(self.free, 0),
            "parked_in_all": 0,
            "time_ms": 1000 * self.now,
        }
        found |= {f"sum_power_{20 * power}": sum(root**power for root in roots) for power in (1, 2, 3, 4)}
        return found

    def _of_job(self, job: str, others: Collection[str]) -> dict[str, float]:
        """Of a job, among those with a candidate."""
        stages, left = self.jobs[job], self._work_left_ms(job)
        parents = {stage.facts.stage: stage.facts.parents for stage in stages}
        paths = longest_work(parents, {each.facts.stage: 1000 * each.facts.task_s * each.pending for each in stages})
        return {
            "held": self.held(job),
            "parked": 0,
            "work_left_ms": left,
            "work_ms": 1000 * stages[0].facts.job_work_s,
            "tasks_left": sum(stage.pending for stage in stages),
            "stages_left": len(stages),
            "arrival_ms": 1000 * stages[0].facts.arrived,
            "critical_path_left_ms": max(paths.values()),
            "smaller_jobs": sum(self._work_left_ms(other) < left for other in others),
            "weight": left + WORK_OFFSET_MS,
            "sqrt_weight": (left + WORK_OFFSET_MS) ** 0.5,
            "root": (left + ROOT_OFFSET_MS) ** 0.2,
        }

    def _of_stage(self, stage: Queued, candidates: Sequence[Queued]) -> dict[str, float]:
        """Of a stage, among the candidates of its job."""
        stages = self.jobs[stage.facts.job]
        parents = {each.facts.stage: each.facts.parents for each in stages}
        below = levels_below(parents)
        paths = longest_work(
            parents, {each.facts.stage: 1000 * each.facts.task_s * each.facts.tasks for each in stages}
        )

        def place(each: Queued) -> tuple[bool, int, int]:
            return not self.is_ready(each), -below[each.facts.stage], each.facts.stage

        offered = [each for each in candidates if each.facts.job == stage.facts.job]
        return {
            "waiting_parents": len(self._parents(stage)),
            "unstarted": stage.pending,
            "running": stage.running,
            "moving": 0,
            "promised": self.granted[stage.id],
            "task_ms": 1000 * stage.facts.task_s,
            "levels_below": below[stage.facts.stage],
            "critical_path_ms": paths[stage.facts.stage],
            "earlier_candidates": sum(place(each) < place(stage) for each in offered),
        }


def check_at_submission(policy: ScoredPolicy) -> None:
    """Refuse what is not known when a job is submitted, for the static form.

    Raises:
        ClearschedError: see `check_policy`; or the rank asks for a feature that changes with the queue.
    """
    check_policy(policy)
    for name in used_features(policy, level=False):
        later = sorted(quantities_of(name) - AT_SUBMISSION)
        if later:
            raise ClearschedError(
                f"{policy.where}: {name}: not known when a job is submitted ({later[0]} changes with the queue): "
                "take a student whose rank does without it, or let `clearsched engine slurm obey` rank live"
            )


def static_features(policy: ScoredPolicy) -> list[str]:
    """What a job_submit.lua of the policy asks for; nothing where it can have none."""
    try:
        check_at_submission(policy)
    except ClearschedError:
        return []
    return used_features(policy, level=False)


def at_submission(stage_of: Sequence[Queued], names: Sequence[str], cores: int) -> list[dict[str, float]]:
    """Features of the stages of one job as it is submitted, alone in an empty cluster, by name."""
    cluster = Cluster(stage_of, cores, stage_of[0].facts.arrived)
    rows = cluster.rows(cluster.stages, names)
    places = {name: place for place, name in enumerate(BY_NAME)}
    return [{name: float(row[places[name]]) for name in names} for row in rows]
