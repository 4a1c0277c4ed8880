"""The choice of a level, which all kinds of student learn alike: the smallest tree or caps that serve."""

from __future__ import annotations

from clearsched.scorers.conditions import Rule
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.students import limit_caps, limit_tree
from clearsched.students.bench import smallest_good
from clearsched.students.task import Task

TOLERANCE = 0.001
"""Share of the cost that a smaller tree, or caps, may be worse."""

REFINED_TOLERANCE = 0.003
"""The same where numbers are searched for afterwards: that search gets further with a few of them."""


def with_level(task: Task, rank: Scorer) -> ScoredPolicy:
    """The student with the smallest tree, or caps, for its level that schedules nearly as well as the best one."""
    if task.level is None:
        return task.student(rank, None)
    tolerance = REFINED_TOLERANCE if task.common.refine.rounds else TOLERANCE
    variants = (task.student(rank, scorer) for scorer in level_scorers(task))
    chosen, _ = smallest_good(((variant, task.bench.train_cost(variant)) for variant in variants), tolerance)
    return chosen


def level_scorers(task: Task) -> list[Scorer]:
    """Trees of several sizes and caps, fitted to the expert's levels, the simplest first; or none to fit."""
    if task.level is None:
        return []
    scorers: list[Scorer] = [_scorer(task, rules) for rules in limit_tree.variants(task.dataset, _leaves(task))]
    scorers += limit_caps.variants(task.dataset, task.level, task.common.limit_caps.terms)
    return sorted(scorers, key=lambda scorer: scorer.complexity())


def _leaves(task: Task) -> int:
    leaves: int = task.common.limit_tree.leaves
    return leaves


def _scorer(task: Task, rules: list[Rule]) -> RuleList:
    assert task.level is not None
    return RuleList(tuple(rules), names_of(task.level))
