"""Strategies that compete: several students, and conditions on the load that say which of them schedules now.

All pairs of the students at hand and all thresholds of the features that a decision's candidates share are run on
training episodes, by successive halving as structures of a rule list are; then a further case, of any student, before
those of the best pair, and so on. What does not pay for itself is left out, and what the safety check refuses, so that
the best student may stand alone. Where the check refuses everything the best goes on to the refinement, which may mend
it.
Idea: Hu et al., arXiv 2405.19131, §5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.trees import LEAF
from clearsched.errors import ClearschedError
from clearsched.problems.episodes import Episode
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.switch import Case, Switch
from clearsched.scorers.trees import TreeSum
from clearsched.search.safety import first_safe
from clearsched.search.trials import Trials, trials
from clearsched.students.bench import worse_by
from clearsched.students.dataset import without_none
from clearsched.students.ranking import constant
from clearsched.students.refining import probes_of
from clearsched.students.restructuring import halved
from clearsched.students.rounding import Columns
from clearsched.students.task import Task

HEATS = ((1 / 96, 96), (1 / 24, 24), (1 / 6, 4))
"""Of all students and conditions together."""

GAIN = 0.002
"""Share of the cost that a switch, and each further case, must save: a reader has one more policy to know."""


class Competition(NamedTuple):
    """The best switch next to the students alone; costs are means over the training episodes."""

    switch: ScoredPolicy
    cost: float
    alone: list[ScoredPolicy]
    costs: np.ndarray  # float64[students]
    others: Sequence[tuple[ScoredPolicy, float]] = ()  # switches that came close to the best, and their costs

    @property
    def pays(self) -> bool:
        """Whether the switch saves enough for a reader to know several policies in place of one."""
        return self._pays(self.cost)

    @property
    def ranked(self) -> list[ScoredPolicy]:
        """The switches that pay, then the students, each by cost."""
        switches = [switch for switch, cost in ((self.switch, self.cost), *self.others) if self._pays(cost)]
        return [*switches, *(self.alone[place] for place in np.argsort(self.costs, kind="stable"))]

    def _pays(self, cost: float) -> bool:
        return cost < worse_by(float(self.costs.min()), -GAIN)


def learn(task: Task) -> ScoredPolicy:
    """The students and conditions that schedule best of those that are safe, or the best student alone.

    Two students that are safe may not be so in turns: what one leaves behind the other may never have met.

    Raises:
        ClearschedError: see `compete`.
    """
    ranked = compete(task).ranked
    with trials(task.bench.instance, task.bench.measure) as runs:
        check = probes_of(task, ranked[0], runs)
        return ranked[0] if check is None else ranked[first_safe(check.verdict, ranked).place]


def compete(task: Task) -> Competition:
    """Switches between the students at hand, and the students alone, on the training episodes.

    Raises:
        ClearschedError: fewer than two students, some that do not mean the same by "none of these", or one that cannot
            be switched on and off.
    """
    students = _alike(task)
    conditions = list(_conditions(task))
    options = [
        _before(task, condition, first, second)
        for first, second in itertools.permutations(students, 2)
        for condition in conditions
    ]
    for option in options:
        _ = option.compiled  # told here: a trial would count what can't be compiled as infinitely dear
    train, _ = task.bench.searched_on()
    with trials(task.bench.instance, task.bench.measure) as runs:
        alone = runs.cost(students, train).mean(axis=1)
        if not options:  # nothing that all candidates share takes two values on these decisions
            return Competition(students[0], math.inf, students, alone)
        found = _by_cost(options, runs, train)
        for _ in range(2, task.settings.cases):
            best, cost = found[0]
            longer = [_before(task, condition, student, best) for student in students for condition in conditions]
            further = _by_cost(longer, runs, train)
            if not further[0][1] < worse_by(cost, -GAIN):
                break
            found = sorted([*further, *found], key=lambda each: each[1])
    (best, cost), *others = found
    return Competition(best, cost, students, alone, others)


def _by_cost(
    options: Sequence[ScoredPolicy], runs: Trials, train: Sequence[Episode]
) -> list[tuple[ScoredPolicy, float]]:
    """The options that are left after all heats, and their costs, the least first."""
    left, costs = halved(options, runs.cost, train, heats=HEATS)
    return [(left[place], float(costs[place])) for place in np.argsort(costs, kind="stable")]


def _alike(task: Task) -> list[ScoredPolicy]:
    """The students under the name of this one, held against "none of these" and their levels rounded in one way."""
    students = [
        replace(student, name=task.name, evidence={}, patches=(), guard=None) for student in task.others.values()
    ]
    if len(students) < 2:
        raise ClearschedError(f"{task.name}: two students or more expected, not {len(students)}: give --student twice")
    if len({student.help_first for student in students}) > 1:
        raise ClearschedError(f"{task.name}: the students do not all mean the same by {task.rank.none}: fit them anew")
    if any(student.none for student in students):
        students = [student if student.none else _with_none(student, task) for student in students]
    level = task.level
    if level is None or len({student.rounds_up for student in students}) == 1:
        return students
    return [
        replace(
            student, scorers={**student.scorers, level.name: _up(student.scorers[level.name], task.dataset.most, task)}
        )
        for student in students
    ]


def _with_none(student: ScoredPolicy, task: Task) -> ScoredPolicy:
    """A student that never answers "none of these" as one that might: its scores are above 0, in the same order.

    The repair of a student may end with one that never does (`repairing.cures`), where others do.
    """
    scorer = student.scorers[task.rank.name]
    if isinstance(scorer, RuleList):
        least = min(rule.value for rule in scorer.rules)
        rules = tuple(rule._replace(value=rule.value - least + 1) for rule in scorer.rules)
        raised: Scorer = replace(scorer, rules=rules)
    elif isinstance(scorer, TreeSum):
        raised = replace(scorer, trees=(*scorer.trees, constant(1 - sum(map(_least, scorer.trees)))))
    else:
        told = type(scorer).__name__
        raise ClearschedError(
            f"{task.name}: a student that never answers {task.rank.none!r} beside one that may: a {told} cannot be "
            "switched so; leave one of them out"
        )
    return replace(student, scorers={**student.scorers, task.rank.name: raised}, none=True)


def _least(tree: Mapping[str, Any]) -> float:
    """The least value of its leaves."""
    return min(value for value, asked in zip(tree["value"], tree["feature"], strict=True) if asked == LEAF)


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


def _before(task: Task, condition: Condition, first: ScoredPolicy, rest: ScoredPolicy) -> ScoredPolicy:
    """A student while the condition holds, else the rest: another student, or a switch."""
    scorers: Mapping[str, Scorer] = {
        choice.name: Switch(
            (Case(condition, first.scorers[choice.name]), *_cases(rest.scorers[choice.name])), task.names
        )
        for choice in task.problem.choices
    }
    return replace(first, scorers=scorers)


def _cases(scorer: Scorer) -> tuple[Case, ...]:
    return scorer.cases if isinstance(scorer, Switch) else (Case(None, scorer),)
