"""Which jobs a split draws from: all, those of its own templates, or those of its own time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.workload import SplitFractionsParams, WorkloadParams
from clearsched.problems.dag_jobs.workloads.files import SPLITS
from clearsched.problems.dag_jobs.workloads.survey import Survey

Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""Profiles and arrivals (ms) of the jobs of an episode, from its random stream."""


@dataclass(frozen=True)
class Pool:
    """The jobs that a split draws from.

    Attributes:
        profiles: for each source int32[n], numbers of its profiles.
        weights: float64[sources], share of the jobs that come from each; they add up to 1.
    """

    profiles: tuple[np.ndarray, ...]
    weights: np.ndarray

    def draw(self, generator: np.random.Generator, jobs: int) -> np.ndarray:
        """int32[jobs]: a source by its weight, then one of its profiles, all alike."""
        if len(self.profiles) == 1:
            return self.profiles[0][generator.integers(len(self.profiles[0]), size=jobs)]
        source = generator.choice(len(self.profiles), size=jobs, p=self.weights)
        sizes = np.array([len(profiles) for profiles in self.profiles])
        within = generator.integers(sizes[source])
        return np.array([self.profiles[s][w] for s, w in zip(source, within, strict=True)], np.int32)

    def mean(self, values: np.ndarray) -> float:
        """Mean of float64[num_profiles] over the jobs that are drawn."""
        if len(self.profiles) == 1:
            return float(values[self.profiles[0]].mean())
        return float(sum(w * values[p].mean() for w, p in zip(self.weights, self.profiles, strict=True)))


def pools(options: WorkloadParams, known: Survey) -> dict[str, Pool]:
    """The pool of each split.

    Raises:
        ClearschedError: a source has too few templates or jobs to be split in three.
    """
    total = sum(part.weight for part in known.parts)
    weights = np.array([part.weight / total for part in known.parts])
    bounds = np.cumsum([0] + [part.profiles for part in known.parts])
    numbers = [np.arange(a, b, dtype=np.int32) for a, b in pairwise(bounds)]
    if options.split == "seed":
        return dict.fromkeys(SPLITS, Pool(tuple(numbers), weights))
    keys = known.template if options.split == "template" else known.arrival_ms
    of_parts = [_divide(part, keys[part], options.split, options.split_fractions) for part in numbers]
    return {split: Pool(tuple(of[index] for of in of_parts), weights) for index, split in enumerate(SPLITS)}


def _divide(
    profiles: np.ndarray, key: np.ndarray, by: str, fractions: SplitFractionsParams
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Profiles in three disjoint sets by their key: the lowest for training, the highest for the test.

    The fractions are those of the keys that differ: templates, which are numbered at random, or times of arrival.
    """
    ordered = np.sort(key)  # not np.unique, which takes several times the memory and time for millions of numbers
    distinct = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    count = len(distinct)
    if count < len(SPLITS):
        unit = "templates (queries)" if by == "template" else "times of arrival"
        raise ClearschedError(
            f"workload.split: {by}: a source of the trace has {count} {unit}, at least {len(SPLITS)} are needed"
        )
    shares = np.cumsum([fractions.train, fractions.validation, fractions.test])
    first = int(np.clip(round(count * shares[0] / shares[2]), 1, count - 2))
    second = int(np.clip(round(count * shares[1] / shares[2]), first + 1, count - 1))
    low, high = distinct[first], distinct[second]
    return profiles[key < low], profiles[(key >= low) & (key < high)], profiles[key >= high]
