"""The steps of a refinement: other numbers, then other rules and numbers in turn, each to what is safe only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.problems.problem import Episode
from clearsched.problems.programs import Program
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.search.restarts import Restart, Search
from clearsched.search.safety import Check
from clearsched.search.trials import Trials
from clearsched.students.numbers import Refinement
from clearsched.students.restructuring import Around, repaired, restructured
from clearsched.students.rounding import Columns
from clearsched.students.settings import RefineParams
from clearsched.students.task import Task

PROBE = 8
"""Of the stress that what is chosen must pass, every so many-th episode is asked after each step."""


class Steps:
    """What becomes of a student, step by step.

    A step to what is not safe is not taken: what follows from it seldom is. A student that is not safe itself is
    repaired first, at the least cost; where that fails nothing is lost by refining it as it is.

    Attributes:
        spent: how many variants with other numbers were tried.
    """

    def __init__(
        self,
        task: Task,
        settings: RefineParams,
        runs: Trials,
        train: Sequence[Episode],
        choosing: Sequence[Episode],
    ) -> None:
        """Prepare steps on the episodes `train`, chosen on others."""
        self.spent = 0.0
        self._task, self._settings, self._runs, self._train, self._choosing = task, settings, runs, train, choosing
        self._features = task.dataset.rank.features[~task.dataset.rank.is_none]
        self._columns = {task.rank.name: Columns(self._features)}
        if task.level is not None and task.dataset.level is not None:
            self._columns[task.level.name] = Columns(task.dataset.level.features[task.dataset.level.starts[:-1]])
        instance, baseline = task.bench.instance, task.bench.baseline
        self._check = None
        if baseline is not None:
            self._check = Check(runs, baseline, instance.stressed(instance.split("train"))[::PROBE])

    def of(self, student: ScoredPolicy) -> list[ScoredPolicy]:
        """The student and what each step made of it."""
        found = [student]
        if self._settings.rounds and not self._is_safe(student):
            repair = repaired(student, self._around, self._is_safe)
            if repair is None:
                self._check = None
            else:
                found.append(repair)
        for number in range(self._settings.rounds):
            if number:
                changed = self._restructured(found[-1])
                if changed is found[-1]:
                    break
                found.append(changed)
            renumbered = self._renumbered(found[-1], number)
            if renumbered is not None:
                found.append(renumbered)
        return found

    def _is_safe(self, policy: ScoredPolicy) -> bool:
        return self._check is None or self._check.is_safe(policy)

    @property
    def _around(self) -> Around:
        """What structures next to a student are compared by."""
        most = getattr(self._task.settings, "max_rules", 0)
        return Around(self._task.rank.name, self._runs.cost, self._train, self._features, most)

    def _restructured(self, student: ScoredPolicy) -> ScoredPolicy:
        """The student with other rules, where its candidates are ranked by rules."""
        if not isinstance(student.scorers[self._task.rank.name], RuleList):
            return student
        return restructured(student, self._around, self._is_safe)

    def _renumbered(self, student: ScoredPolicy, number: int) -> ScoredPolicy | None:
        """The student with better numbers; None where it has none, or where nothing safe was found."""
        program = Refinement(student, self._columns)
        if not program.numbers:
            return None
        search = Search(
            f"refine {self._task.name} {number}",
            _policy,
            self._settings,
            self._runs,
            self._train,
            self._choosing,
            self._runs.cost([student], self._train)[0],
            self._task.seed,
            is_safe=self._is_safe,
        )
        restart = Restart(search, 0)
        restart.run(program)
        self.spent += restart.spent
        return restart.policy


def _policy(program: Program, values: np.ndarray) -> ScoredPolicy:
    assert isinstance(program, Refinement)
    return program.filled(values)
