"""Pending decisions as arrays: what a policy outside the loop sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BACKLOG = ("jobs that wait", "sum of 1 / duration over them", "their millicores x slots", "running millicores")


class Observation(NamedTuple):
    """B pending decisions with c candidates in all, each decision's after another's."""

    candidates: np.ndarray  # float32[c, F]
    candidate_start: np.ndarray  # int64[B + 1]
    candidate_id: np.ndarray  # int64[c]: number of the job in its episode
    none_allowed: np.ndarray  # bool[B]
    waiting: np.ndarray  # float64[B, len(BACKLOG)]

    @property
    def num_decisions(self) -> int:
        """B."""
        return len(self.none_allowed)

    @property
    def candidate_group(self) -> np.ndarray:
        """int64[c]: no two candidates are near ties: each is a group of its own."""
        return self.candidate_id

    @property
    def levels(self) -> np.ndarray:
        """int64[c, 0]: there is no level choice."""
        return np.zeros((len(self.candidate_id), 0), np.int64)

    def take(self, rows: np.ndarray) -> Observation:
        """The decisions of the given rows, int64, in their order, in arrays of their own."""
        rows = np.asarray(rows, np.int64)
        first = self.candidate_start[rows]
        counts = self.candidate_start[rows + 1] - first
        start = np.concatenate([[0], np.cumsum(counts)])
        which = np.repeat(first - start[:-1], counts) + np.arange(start[-1])
        return Observation(
            self.candidates[which], start, self.candidate_id[which], self.none_allowed[rows], self.waiting[rows]
        )

    def and_more(self, others: Sequence[Observation]) -> Observation:
        """These decisions and, after them, those of others, in arrays of their own."""
        parts = [self, *others]
        counts = np.concatenate([np.diff(part.candidate_start) for part in parts])
        return Observation(
            np.concatenate([part.candidates for part in parts]),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([part.candidate_id for part in parts]),
            np.concatenate([part.none_allowed for part in parts]),
            np.concatenate([part.waiting for part in parts]),
        )

    def backlog(self) -> np.ndarray:
        """float64[B, 4]: what waits, in the numbers that `BACKLOG` names."""
        return self.waiting
