"""A network's guard while its episodes run in lockstep: a watch each, and the heuristic's answers where it took over.

What a guard is, `scorers.guard`; that of a student runs inside the compiled loop (`compiled.guard`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clearsched.compiled.guard import is_full, new_watch, record_of, takes_over, with_room
from clearsched.problems.episodes import Answers, Lockstep
from clearsched.problems.problem import Problem
from clearsched.scorers.guard import Guard


class Watched:
    """The guard of E episodes that a network schedules."""

    def __init__(self, guard: Guard, problem: Problem, count: int) -> None:
        """`count`: E."""
        _, self._heuristic, self._bounds = guard.compiled(problem, None)
        self._watches = [new_watch(self._bounds) for _ in range(count)]

    def overrule(self, lockstep: Lockstep, answers: Answers) -> Answers:
        """The answers to all pending decisions: the heuristic's where it has taken over, else those that are given."""
        gauges, times_s = lockstep.gauges(), lockstep.time_s
        places = lockstep.episode[lockstep.pending].tolist()
        which = np.array([b for b, e in enumerate(places) if self._takes_over(e, gauges[b], times_s[b])], np.int64)
        if not len(which):
            return answers
        found = lockstep.ask_at(which, self._heuristic)
        candidate, level = answers.candidate.copy(), answers.level.copy()
        candidate[which], level[which] = found
        return Answers(candidate, level)

    def _takes_over(self, episode: int, gauges: np.ndarray, time_s: float) -> bool:
        watch = self._watches[episode]
        if is_full(watch):
            watch = self._watches[episode] = with_room(watch)
        watch.values[:] = gauges
        return bool(takes_over(self._bounds, watch, float(time_s)))

    def told(self, outcomes: list[Any]) -> list[Any]:
        """The outcomes of the episodes with what the guard saw."""
        return [
            replace(outcome, guard=record_of(watch)) for outcome, watch in zip(outcomes, self._watches, strict=True)
        ]
