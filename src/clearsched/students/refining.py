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

from clearsched.problems.problem import Episode
from clearsched.problems.programs import Program
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.search.restarts import Restart, Search
from clearsched.search.safety import Chosen, evidence, first_safe
from clearsched.search.trials import Trials, trials
from clearsched.students.bench import JOINED
from clearsched.students.numbers import Refinement
from clearsched.students.restructuring import restructured
from clearsched.students.rounding import Columns
from clearsched.students.settings import RefineParams
from clearsched.students.task import Task


class Refined(NamedTuple):
    """What came of a refinement."""

    policy: ScoredPolicy
    costs: list[float]  # mean over the episodes that it is chosen on, as distilled and after each step
    evaluations: float  # of variants with other numbers
    chosen: int  # of `costs`
    safety: Chosen | None  # the variants by cost, and which of them stray; None where there is no baseline


def refine(task: Task, student: ScoredPolicy, settings: RefineParams, threads: int | None = None) -> Refined:
    """The best of a student and what becomes of it: better numbers, then in each further round other rules and numbers.

    Chosen on the validation episodes, single and joined, and on training episodes that no search has seen: 32 streams
    tell policies apart by 0.7 % at best, and a thousand variants were tried.

    Args:
        task: with the episodes, and the decisions that tell which features are whole numbers.
        student: as distilled.
        settings: rounds and budget.
        threads: on which episodes run; as many as numba may use, unless told. The result is the same.
    """
    instance, validation = task.bench.instance, task.bench.validation
    train, unseen = task.bench.searched_on()
    single = len(instance.split("train"))
    episodes = max(1, settings.episodes * (len(train) + len(unseen)) // single)
    settings = settings.model_copy(update={"episodes": episodes})
    choosing = [*validation, *instance.joined(validation, JOINED), *unseen]
    with trials(instance, task.bench.measure, threads) as runs:
        variants, spent = _rounds(task, student, settings, runs, train, choosing)
        costs = runs.cost(variants, choosing).mean(axis=1)
        return _chosen(task, variants, costs, spent, runs)


def _rounds(
    task: Task,
    student: ScoredPolicy,
    settings: RefineParams,
    runs: Trials,
    train: Sequence[Episode],
    choosing: Sequence[Episode],
) -> tuple[list[ScoredPolicy], float]:
    """The student and what each step made of it, and how many variants were tried."""
    columns = _columns(task)
    found, spent = [student], 0.0
    for number in range(settings.rounds):
        if number:
            changed = _restructured(task, found[-1], runs, train)
            if changed is found[-1]:
                break
            found.append(changed)
        program = Refinement(found[-1], columns)
        if program.numbers:
            reference = runs.cost([found[-1]], train)[0]
            name = f"refine {task.name} {number}"
            restart = Restart(Search(name, _policy, settings, runs, train, choosing, reference, task.seed), 0)
            restart.run(program)
            spent += restart.spent
            if restart.policy is not None:
                found.append(restart.policy)
    return found, spent


def _chosen(task: Task, variants: Sequence[ScoredPolicy], costs: np.ndarray, spent: float, runs: Trials) -> Refined:
    """The cheapest variant that keeps near to the baseline; the student as it was where all stray."""
    order = np.argsort(costs, kind="stable").tolist()
    baseline = task.bench.baseline
    if baseline is None:
        return Refined(variants[order[0]], costs.tolist(), spent, order[0], None)
    instance = task.bench.instance
    single = instance.split("train")
    episodes = [*task.bench.validation, *single, *instance.stressed(single)]
    safety = first_safe(runs, [variants[place] for place in order], baseline, episodes, order.index(0))
    best = order[safety.place]
    policy = variants[best]
    policy = replace(policy, evidence={**policy.evidence, **evidence(safety.verdict, baseline)})
    return Refined(policy, costs.tolist(), spent, best, safety)


def _restructured(task: Task, student: ScoredPolicy, runs: Trials, train: Sequence[Episode]) -> ScoredPolicy:
    """The student with other rules, where its candidates are ranked by rules."""
    if not isinstance(student.scorers[task.rank.name], RuleList):
        return student
    features = task.dataset.rank.features[~task.dataset.rank.is_none]
    return restructured(student, task.rank.name, runs.cost, train, features, task.settings.max_rules)


def _columns(task: Task) -> dict[str, Columns]:
    """The values of the features, by the name of the choice."""
    found = {task.rank.name: Columns(task.dataset.rank.features[~task.dataset.rank.is_none])}
    if task.level is not None and task.dataset.level is not None:
        found[task.level.name] = Columns(task.dataset.level.features[task.dataset.level.starts[:-1]])
    return found


def _policy(program: Program, values: np.ndarray) -> ScoredPolicy:
    assert isinstance(program, Refinement)
    return program.filled(values)
