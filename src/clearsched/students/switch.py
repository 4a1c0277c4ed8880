"""Strategies that compete: two students, and a condition on the load that says which of them schedules now.

All pairs of the students at hand and all thresholds of the features that a decision's candidates share are run on
training episodes, by successive halving as structures of a rule list are. Where no pair pays for itself the best of the
students stands alone. Idea: Hu et al., arXiv 2405.19131, §5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.switch import Case, Switch
from clearsched.search.trials import trials
from clearsched.students.bench import worse_by
from clearsched.students.dataset import without_none
from clearsched.students.restructuring import halved
from clearsched.students.rounding import Columns
from clearsched.students.task import Task

HEATS = ((1 / 96, 96), (1 / 24, 24), (1 / 6, 4))
"""Of all pairs and conditions together."""

GAIN = 0.002
"""Share of the cost that a switch must save: a reader has two policies to know in place of one."""


class Competition(NamedTuple):
    """The best pair next to the students alone; costs are means over the training episodes."""

    pair: ScoredPolicy
    cost: float
    alone: list[ScoredPolicy]
    costs: np.ndarray  # float64[students]

    @property
    def pays(self) -> bool:
        """Whether the pair saves enough for a reader to know two policies in place of one."""
        return self.cost < worse_by(float(self.costs.min()), -GAIN)


def learn(task: Task) -> ScoredPolicy:
    """The pair and condition that schedule best, or the best student alone.

    Raises:
        ClearschedError: see `compete`.
    """
    found = compete(task)
    return found.pair if found.pays else found.alone[int(found.costs.argmin())]


def compete(task: Task) -> Competition:
    """All pairs of the students at hand, and the students alone, on the training episodes.

    Raises:
        ClearschedError: fewer than two students, one that may answer "none of these" while another may not, one that
            cannot be switched on and off, or a problem whose decisions have nothing that all candidates share.
    """
    students = _alike(task)
    options = [
        _pair(task, first, second, condition)
        for first, second in itertools.permutations(students, 2)
        for condition in _conditions(task)
    ]
    for option in options:
        _ = option.compiled  # told here: a trial would count what can't be compiled as infinitely dear
    train, _ = task.bench.searched_on()
    with trials(task.bench.instance, task.bench.measure) as runs:
        alone = runs.cost(students, train).mean(axis=1)
        if not options:  # nothing that all candidates share takes two values on these decisions
            return Competition(students[0], math.inf, students, alone)
        left, costs = halved(options, runs.cost, train, heats=HEATS)
    best = int(costs.argmin())
    return Competition(left[best], float(costs[best]), students, alone)


def _alike(task: Task) -> list[ScoredPolicy]:
    """The students under the name of this one, their levels rounded in one way."""
    students = [
        replace(student, name=task.name, evidence={}, patches=(), guard=None) for student in task.others.values()
    ]
    if len(students) < 2:
        raise ClearschedError(f"{task.name}: two students or more expected, not {len(students)}: give --student twice")
    if len({student.none for student in students}) > 1:
        raise ClearschedError(f"{task.name}: some of the students may answer none and others not; fit them anew")
    level = task.level
    if level is None or len({student.rounds_up for student in students}) == 1:
        return students
    return [
        replace(
            student, scorers={**student.scorers, level.name: _up(student.scorers[level.name], task.dataset.most, task)}
        )
        for student in students
    ]


def _up(scorer: Scorer, most: int, task: Task) -> Scorer:
    """A scorer of a level that rounds up, and gives what this one gives."""
    if isinstance(scorer, StepList):
        return scorer
    if not isinstance(scorer, RuleList):
        raise ClearschedError(f"{task.name}: a level told by {type(scorer).__name__} cannot be switched on and off")
    steps = tuple(Step(rule.conditions, value=_rounded_up(rule, most)) for rule in scorer.rules)
    return StepList(steps, scorer.names)


def _rounded_up(rule: Rule, most: int) -> float:
    """The share, a little less than that of a whole level, that becomes this level when it is rounded up."""
    return (max(1.0, np.floor(rule.value * most + 0.5)) - 0.5) / most


def _conditions(task: Task) -> Iterator[Condition]:
    """Thresholds of what all candidates of a decision share, evenly spread over the decisions."""
    rank = without_none(task.dataset.rank)
    rows = rank.features[rank.starts[:-1]]
    columns = Columns(rows)
    shared = [place for place, feature in enumerate(task.rank.features) if feature.per_decision]
    for column in shared:
        values = rows[:, column]
        quantiles = np.linspace(0, 1, task.settings.thresholds + 2)[1:-1]
        for threshold in sorted({columns.round(column, float(value)) for value in np.quantile(values, quantiles)}):
            if values.min() < threshold <= values.max():
                yield Condition(column, True, threshold)


def _pair(task: Task, first: ScoredPolicy, second: ScoredPolicy, condition: Condition) -> ScoredPolicy:
    """The first student while the condition holds, else the second."""
    scorers: Mapping[str, Scorer] = {
        choice.name: Switch(
            (Case(condition, first.scorers[choice.name]), Case(None, second.scorers[choice.name])), task.names
        )
        for choice in task.problem.choices
    }
    return replace(first, scorers=scorers)
