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
    """Decisions of a run in lockstep that are to be kept, in the order of episodes, and in each of time.

    Of very many a part that is drawn, each as likely as any other: a stream of thousands of jobs has tens of thousands
    of decisions, half a gigabyte, and more jobs wait in each than a network is usually given.
    """

    def __init__(self, most: int | None = None, seed: int = 0) -> None:
        """Keep `most` decisions, at most, or all; `seed`: of the draws."""
        self._most, self._generator = most, np.random.default_rng(seed)
        self._below = 1.0  # decisions whose draw is below it are kept
        self._seen: list[Any] = []
        self._columns: list[tuple[np.ndarray, ...]] = []
        self._drawn: list[np.ndarray] = []

    def add(self, observation: Any, episode: np.ndarray, *columns: np.ndarray) -> None:
        """Keep a copy of decisions of a step: int64[B] their episodes, and anything else [B]."""
        drawn = self._generator.random(observation.num_decisions)
        self._keep(observation, (episode, *columns), drawn)
        if self._most is not None and sum(map(len, self._drawn)) > 2 * self._most:
            self._thin(self._most)

    def _keep(self, observation: Any, columns: tuple[np.ndarray, ...], drawn: np.ndarray) -> None:
        rows = np.flatnonzero(drawn < self._below)
        if len(rows):
            self._seen.append(observation.take(rows))
            self._columns.append(tuple(column[rows] for column in columns))
            self._drawn.append(drawn[rows])

    def _thin(self, most: int) -> None:
        """Keep so many of what was kept, those with the least draws, and what comes later by the same measure."""
        self._below = float(np.partition(np.concatenate(self._drawn), most)[most])
        kept = list(zip(self._seen, self._columns, self._drawn, strict=True))
        self._seen, self._columns, self._drawn = [], [], []
        for part in kept:
            self._keep(*part)

    def finish(self) -> tuple[Any, tuple[np.ndarray, ...]]:
        """All decisions as one observation, and their columns, the episode first. At least one must have been kept."""
        if self._most is not None and sum(map(len, self._drawn)) > self._most:
            self._thin(self._most)
        columns = tuple(np.concatenate(column) for column in zip(*self._columns, strict=True))
        order = np.argsort(columns[0], kind="stable")
        whole = self._seen[0].and_more(self._seen[1:])
        self._seen = []
        return whole.take(order), tuple(column[order] for column in columns)
