"""Refine a student in closed loop: better numbers for its structure, then better rules, in rounds.

A student imitates decisions, and is judged by what comes of them. So after distillation its thresholds, levels, leaf
values and caps are searched on training episodes by the same evolution as the stage `search` (CMA-ES), each rounded to
two digits before it is tried; then a rule list may change by a rule or condition (`restructuring`), and its numbers are
searched again. Episodes that no search has seen choose between what was found and the student as it was; what strays
from the baseline on any episode, or under stress, is refused (`search.safety`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.guard_bounds import in_turn, measured
from clearsched.search.probing import Probes, sample
from clearsched.search.restarts import long_ones
from clearsched.search.safety import Chosen, evidence, first_safe
from clearsched.search.trials import JOINED, Trials, trials
from clearsched.students.bench import Bench
from clearsched.students.refinement_steps import Steps
from clearsched.students.restructuring import Tell
from clearsched.students.settings import RefineParams
from clearsched.students.task import Task

AGAIN = 2
"""A refinement of which nothing is safe begins again, so often at most, if it has learned which episodes tell."""


class Refined(NamedTuple):
    """What came of a refinement."""

    policy: ScoredPolicy
    costs: list[float]  # mean over the episodes that it is chosen on, as distilled and after each step
    evaluations: float  # of variants with other numbers
    chosen: int  # of `costs`
    safety: Chosen | None  # the variants by cost, and which of them stray; None where there is no baseline

    @property
    def is_in_vain(self) -> bool:
        """Whether it is the student as distilled since nothing better, or nothing at all, is safe."""
        return self.chosen == 0 and self.safety is not None and bool(self.safety.refused)


def refine(
    task: Task,
    student: ScoredPolicy,
    settings: RefineParams,
    threads: int | None = None,
    tell: Tell = lambda line: None,
    others: Sequence[ScoredPolicy] = (),
) -> Refined:
    """The best of a student and what becomes of it: better numbers, then in each further round other rules and numbers.

    Chosen on the validation episodes, single and joined, and on training episodes that no search has seen: 32 streams
    tell policies apart by 0.7 % at best, and a thousand variants were tried.

    Args:
        task: with the episodes, and the decisions that tell which features are whole numbers.
        student: as distilled.
        settings: rounds and budget.
        threads: on which episodes run; as many as numba may use, unless told. The result is the same.
        tell: called with a line after each round, each change of a repair, and where the student is not safe.
        others: what else was distilled: what of it is safe may be refined in place of a student that is not.
    """
    instance, validation = task.bench.instance, task.bench.validation
    train, unseen = task.bench.searched_on()
    count = long_ones(settings.episodes, [*train, *unseen], task.bench.short)
    settings = settings.model_copy(update={"episodes": count})
    longer = instance.joined(validation, JOINED)
    choosing = [*validation, *(longer if len(longer) < len(validation) else []), *unseen]
    spent = 0.0
    with trials(instance, task.bench.measure, threads) as runs:
        probes = probes_of(task, student, runs)
        for _ in range(1 + AGAIN):
            steps = Steps(task, settings, runs, train, choosing, probes, tell, others)
            variants = steps.of(student)
            spent += steps.spent
            costs = runs.cost(variants, choosing).mean(axis=1)
            known = probes.known if probes else 0
            found = _chosen(task.bench, variants, costs, spent, probes)
            learned = probes is not None and probes.known > known
            if not (settings.rounds and learned and steps.are_held and found.is_in_vain):
                break
        return found


def probes_of(task: Task, student: ScoredPolicy, runs: Trials) -> Probes | None:
    """The safety check, if there is a baseline, with the guard that is asked for, above what the student comes to."""
    bench = task.bench
    if bench.baseline is None:
        return None
    settings = task.common.guard
    guards = in_turn(settings, measured(settings, student, bench.instance, task.tuned, "students.guard"))
    single = bench.instance.split("train")
    stressed = bench.instance.stressed(single)
    episodes = [*bench.validation, *single, *bench.rare, *stressed]
    return Probes(runs, bench.baseline, episodes, sample(stressed), guards[0])


def _chosen(
    bench: Bench, variants: Sequence[ScoredPolicy], costs: np.ndarray, spent: float, probes: Probes | None
) -> Refined:
    """The cheapest variant that keeps near to the baseline; the student as it was where all stray."""
    order = np.argsort(costs, kind="stable").tolist()
    if bench.baseline is None or probes is None:
        return Refined(variants[order[0]], costs.tolist(), spent, order[0], None)
    safety = first_safe(probes.verdict, [variants[place] for place in order], order.index(0))
    best = order[safety.place]
    policy = variants[best]
    judged = evidence(safety.verdict, bench.baseline, bench.instance)
    policy = replace(policy, evidence={**policy.evidence, **judged})
    return Refined(policy, costs.tolist(), spent, best, safety)
