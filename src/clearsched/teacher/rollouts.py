"""Many episodes in lockstep: at each step one forward pass decides for all that wait for a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clearsched.problems.problem import Answers, Lockstep

Decide = Callable[[Any], Answers]
"""From the decisions that wait, an `Observation`, to their answers."""


def run_lockstep(lockstep: Lockstep, decide: Decide, *, by_heuristic: bool = False) -> None:
    """Run all episodes to their end. What `decide` sees lasts until the next step.

    `by_heuristic`: some of the answers may be a heuristic's (`Lockstep.answer`).
    """
    while lockstep.advance():
        lockstep.answer(decide(lockstep.observe()), by_heuristic=by_heuristic)


class Recorder:
    """Decisions of a run in lockstep that are to be kept, in the order of episodes, and in each of time."""

    def __init__(self) -> None:
        self._seen: list[Any] = []
        self._columns: list[tuple[np.ndarray, ...]] = []

    def add(self, observation: Any, episode: np.ndarray, *columns: np.ndarray) -> None:
        """Keep a copy of decisions of a step: int64[B] their episodes, and anything else [B]."""
        self._seen.append(observation.take(np.arange(observation.num_decisions)))
        self._columns.append((episode, *columns))

    def finish(self) -> tuple[Any, tuple[np.ndarray, ...]]:
        """All decisions as one observation, and their columns, the episode first. At least one must have been kept."""
        columns = tuple(np.concatenate(column) for column in zip(*self._columns, strict=True))
        order = np.argsort(columns[0], kind="stable")
        whole = self._seen[0].and_more(self._seen[1:])
        self._seen = []
        return whole.take(order), tuple(column[order] for column in columns)
