"""Many episodes in lockstep: at each step one forward pass decides for all that wait for a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clearsched.problems.episodes import Answers, Lockstep

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
        self._kept = 0
        self._seen: list[Any] = []
        self._columns: list[tuple[np.ndarray, ...]] = []  # with `most` their draws, float64[B], come last

    def add(self, observation: Any, episode: np.ndarray, *columns: np.ndarray) -> None:
        """Keep a copy of decisions of a step: int64[B] their episodes, and anything else [B]."""
        if self._most is None:
            self._seen.append(observation.take(np.arange(observation.num_decisions)))
            self._columns.append((episode, *columns))
            return
        self._keep(observation, (episode, *columns, self._generator.random(observation.num_decisions)))
        if self._kept > 2 * self._most:  # not each time that one is too many: all that is kept is copied
            self._thin(self._most)

    def _keep(self, observation: Any, columns: tuple[np.ndarray, ...]) -> None:
        rows = np.flatnonzero(columns[-1] < self._below)
        if len(rows):
            self._kept += len(rows)
            self._seen.append(observation.take(rows))
            self._columns.append(tuple(column[rows] for column in columns))

    def _thin(self, most: int) -> None:
        """Keep so many of what was kept, those with the least draws, and what comes later by the same measure."""
        drawn = np.concatenate([columns[-1] for columns in self._columns])
        self._below = float(np.partition(drawn, most)[most])
        seen, columns = self._seen, self._columns
        self._kept, self._seen, self._columns = 0, [], []
        for part in zip(seen, columns, strict=True):
            self._keep(*part)

    def finish(self) -> tuple[Any, tuple[np.ndarray, ...]]:
        """All decisions as one observation, and their columns, the episode first. At least one must have been kept."""
        if self._most is not None and self._kept > self._most:
            self._thin(self._most)
        columns = tuple(np.concatenate(column) for column in zip(*self._columns, strict=True))
        columns = columns if self._most is None else columns[:-1]
        order = np.argsort(columns[0], kind="stable")
        whole = self._seen[0].and_more(self._seen[1:])
        self._seen = []
        return whole.take(order), tuple(column[order] for column in columns)
