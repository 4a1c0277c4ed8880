"""What a student's answers to one part of the decisions cost: the teacher schedules, the student answers that part.

The parts are those of `decisions.parts`, and the level. All are asked in order, each among what the answers before it
leave, so a policy whose parts are all the teacher's is the teacher, and one whose parts are all the student's the
student.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from clearsched.decisions.ordering import places
from clearsched.decisions.parts import PARTS
from clearsched.evaluation.comparison import difference_of
from clearsched.evaluation.statistics import Bootstrap, Interval
from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import NONE, Answers, Episode, level_of
from clearsched.problems.policy import Policy, as_meant
from clearsched.problems.problem import Instance
from clearsched.scorers.policy import ScoredPolicy
from clearsched.teacher.choices import DIGITS
from clearsched.teacher.policy import LOCKSTEP, TeacherPolicy
from clearsched.teacher.rollouts import run_lockstep
from clearsched.teacher.threads import one_thread

LEVEL = "level"
"""The part after those of the rank choice: how much."""


class Hybrid:
    """A teacher some of whose answers are a student's: a `problems.policy.Policy`.

    Attributes:
        own: names of the parts that the student answers, of `PARTS` and `LEVEL`.
    """

    kind, mode = "teacher", "argmax"
    settings: Mapping[str, float] = {}

    def __init__(self, teacher: TeacherPolicy, student: ScoredPolicy, own: Collection[str]) -> None:
        self.teacher, self.student, self.own = teacher, student, frozenset(own)
        self.name = f"{teacher.name} with {student.name}'s {', '.join(sorted(own))}"

    def run(self, instance: Instance, episodes: Sequence[Episode], *, record: bool = False) -> list[Any]:
        """Schedule each episode; the teacher takes its best choice."""
        lockstep = instance.lockstep(as_meant(self.teacher, instance, episodes), LOCKSTEP, record=record)
        with one_thread():
            run_lockstep(lockstep, lambda observation: self.answers(observation, instance.most))
        return list(lockstep.results())

    def answers(self, observation: Any, most: int) -> Answers:
        """The answers to all pending decisions; `most`: the largest level."""
        weighed = self.teacher.weigh(observation)
        candidate = self._candidates(observation, weighed.candidates)
        if not observation.levels.shape[1]:
            return Answers(candidate, np.zeros_like(candidate))
        if LEVEL in self.own:
            return Answers(candidate, self._levels(observation, candidate, most))
        same = candidate == weighed.answers.candidate
        level = weighed.answers.level if same.all() else self.teacher.levels(observation, candidate)
        return Answers(candidate, level)

    def _candidates(self, observation: Any, table: np.ndarray) -> np.ndarray:
        """int64[B]: the candidate that the parts lead to; `table`, float64[B, K + 1]: the teacher's scores."""
        counts, none = np.diff(observation.candidate_start), observation.none_allowed
        sizes = counts + none
        starts = np.concatenate([[0], np.cumsum(sizes)])
        real = np.ones(starts[-1], bool)
        real[starts[1:][none] - 1] = False
        owner = np.repeat(np.arange(len(sizes)), sizes)
        shown = np.arange(table.shape[1]) < counts[:, None]
        shown[:, -1] = none
        scores = np.full(len(real), 0.0 if self.student.may_idle else -np.inf)
        scores[real] = self.student.scores(observation.candidates, observation.candidate_start)
        order = {
            False: places(np.round(table[shown], DIGITS), starts),
            True: places(scores, starts, ~real),
        }
        left = np.ones(len(real), bool)
        for part, key in _keys(self.student.rank, observation, real).items():
            place = np.where(left, order[part in self.own], len(real))
            best = np.flatnonzero(place == np.minimum.reduceat(place, starts[:-1])[owner])
            left &= key == key[best][owner]
        chosen: np.ndarray = np.where(real[best], best - starts[:-1], NONE)
        return chosen

    def _levels(self, observation: Any, candidate: np.ndarray, most: int) -> np.ndarray:
        """int64[B]: the student's levels of the candidates; 0 where none was chosen."""
        rows = observation.candidate_start[:-1] + np.maximum(candidate, 0)
        shares, up = self.student.level_share(observation.candidates[rows]).tolist(), self.student.rounds_up
        bounds = observation.levels[rows].tolist()
        found = [
            min(level_of(share, first, most, up=up), last) for share, (first, last) in zip(shares, bounds, strict=True)
        ]
        return np.where(candidate == NONE, 0, np.array(found, np.int64))


def _keys(rank: Choice, observation: Any, real: np.ndarray) -> dict[str, np.ndarray]:
    """By part what rows of one answer share: [n]; `real`: bool[n], the rows of candidates, the others are of none."""
    kind, group = np.full(len(real), NONE), np.full(len(real), NONE)
    names = [feature.name for feature in rank.features]
    kind[real] = observation.candidates[:, names.index(rank.keeps)] > 0 if rank.keeps else 0
    group[real] = observation.candidate_group if rank.group else 0
    return dict(zip(PARTS, (~real, kind, group, np.arange(len(real))), strict=True))


def part_costs(
    teacher: TeacherPolicy,
    student: ScoredPolicy,
    instance: Instance,
    episodes: Sequence[Episode],
    parts: Sequence[str],
    base: np.ndarray,
    bootstrap: Bootstrap,
) -> dict[str, Interval]:
    """By part how much more (less for a negative number) the objective is than the teacher's own, % of its mean.

    Args:
        teacher: whose other answers are carried out.
        student: who answers one part.
        instance: what runs the episodes.
        episodes: paired.
        parts: to ask.
        base: float64[episodes], the objective under the teacher alone (`objective_of`).
        bootstrap: how intervals are drawn.
    """
    factor = 100.0 / abs(float(base.mean()))
    return {
        part: difference_of(
            objective_of(Hybrid(teacher, student, (part,)), instance, episodes), base, bootstrap
        ).scaled(factor)
        for part in parts
    }


def objective_of(policy: Policy, instance: Instance, episodes: Sequence[Episode]) -> np.ndarray:
    """float64[episodes]: what comes of each under a policy."""
    outcomes = policy.run(instance, episodes)
    return np.array([outcome.measures[instance.objective.name] for outcome in outcomes])
