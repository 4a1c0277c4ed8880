"""What a kind of student learns from, and how it is put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clearsched.problems.declarations import Choice, level_choice, rank_choice
from clearsched.problems.problem import Problem
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.scorer import Scorer
from clearsched.students.bench import Bench
from clearsched.students.dataset import Dataset


@dataclass(frozen=True)
class Task:
    """One fit.

    Attributes:
        name: of the student.
        problem: whose choices it answers.
        dataset: the expert's decisions.
        bench: episodes on which variants are compared.
        settings: the section of the kind in params.
        common: the section `students` of params: what all kinds share.
        seed: of every random number.
        others: students that are fitted already, for a kind that is made of them.
        tuned: parameters of the heuristics, for a guard; its defaults without.
    """

    name: str
    problem: Problem
    dataset: Dataset
    bench: Bench
    settings: Any
    common: Any
    seed: int
    others: Mapping[str, ScoredPolicy] = field(default_factory=dict)
    tuned: Path | None = None

    @property
    def rank(self) -> Choice:
        """The choice among candidates."""
        return rank_choice(self.problem.choices)

    @property
    def names(self) -> tuple[str, ...]:
        """The features of the rank choice, in the order of the columns."""
        return names_of(self.rank)

    @property
    def level(self) -> Choice | None:
        """The choice of a level, where the problem has one."""
        return level_choice(self.problem.choices)

    def student(self, rank: Scorer, level: Scorer | None) -> ScoredPolicy:
        """The student of two scorers; `level` is None where the problem has no such choice.

        It means "help first" by "none of these" where policies that are made here do, or whom it learns from.
        """
        scorers = {self.rank.name: rank}
        if self.level is not None and level is not None:
            scorers[self.level.name] = level
        helps = bool(self.rank.helps) and (self.bench.instance.help_first or self.dataset.help_first)
        return ScoredPolicy(self.name, self.problem, scorers, self.dataset.none, help_first=helps)
