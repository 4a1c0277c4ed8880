"""What the papers' figures are drawn from: jobs of an experiment under every policy, intervals over episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.evaluation.comparison import Bootstrap
from clearsched.evaluation.statistics import Interval, bootstrap_mean, bootstrap_ratio, generator, paired_difference
from clearsched.figures.style import Subject
from clearsched.paper.bases import scenario_name
from clearsched.paper.kinds import PaperFigure, experiments_of, jobs_file
from clearsched.paper.tables import JOBS
from clearsched.schemas import read_table

HEADER = ("panel", "policy", "kind", "x", "value", "low", "high")
"""Of every CSV: a row a mark. Claims are read from it, by panel, policy and x."""

YARDSTICK = "weighted_fair"
"""The heuristic that Decima is held against: weighted fair with the weight that was best on validation episodes."""


@dataclass(frozen=True)
class Runs:
    """An experiment: every policy on the same episodes.

    Attributes:
        table: of schema JOBS.
        settings: its metadata.
        bootstrap: how intervals are drawn.
    """

    table: pa.Table
    settings: Mapping[str, Any]
    bootstrap: Bootstrap

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each policy, in the order of the table."""
        return dict(zip(self.table["policy"].to_pylist(), self.table["kind"].to_pylist(), strict=True))

    @cached_property
    def _rows(self) -> dict[str, np.ndarray]:
        policy = np.array(self.table["policy"].to_pylist())
        return {name: np.flatnonzero(policy == name) for name in self.kinds}

    def column(self, policy: str, name: str) -> np.ndarray:
        """A column of one policy, a row a job, in the order of episodes and jobs."""
        values: np.ndarray = self.table[name].to_numpy(zero_copy_only=False)[self._rows[policy]]
        return values

    def by_episode(self, policy: str) -> np.ndarray:
        """float64[episodes]: mean JCT of each, s."""
        episode = self.column(policy, "episode")
        sums = np.bincount(episode, weights=self.column(policy, "jct_s"))
        means: np.ndarray = sums / np.bincount(episode)
        return means

    @cached_property
    def means(self) -> dict[str, float]:
        """Mean over the episodes of the mean JCT, s, by policy, the best first."""
        found = {name: float(self.by_episode(name).mean()) for name in self.kinds}
        return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))

    def mean(self, policy: str) -> Interval:
        """The mean JCT with its interval over the episodes, s."""
        rng = generator(self.bootstrap.seed, "paper", self.settings["experiment"], policy)
        return bootstrap_mean(self.by_episode(policy), rng, self.bootstrap.confidence, self.bootstrap.resamples)

    def difference(self, policy: str, reference: str) -> Interval:
        """The paired difference of the mean JCT to another policy, in % of its mean."""
        rng = generator(self.bootstrap.seed, "paper", self.settings["experiment"], policy, reference)
        own, other = self.by_episode(policy), self.by_episode(reference)
        found = paired_difference(own, other, rng, self.bootstrap.confidence, self.bootstrap.resamples)
        return found.scaled(100 / float(other.mean()))

    def difference_to(self, policy: str, other: Runs, reference: str) -> Interval:
        """As `difference`, where the reference is of another base with the same test episodes.

        Raises:
            ClearschedError: the episodes are not the same.
        """
        self._check_same(policy, other, reference)
        rng = generator(self.bootstrap.seed, "paper", self.settings["experiment"], policy, "other", reference)
        own, theirs = self.by_episode(policy), other.by_episode(reference)
        found = paired_difference(own, theirs, rng, self.bootstrap.confidence, self.bootstrap.resamples)
        return found.scaled(100 / float(theirs.mean()))

    def ratio_to(self, policy: str, other: Runs, reference: str) -> Interval:
        """As `ratio`, where the reference is of another base with the same test episodes.

        Raises:
            ClearschedError: the episodes are not the same.
        """
        self._check_same(policy, other, reference)
        rng = generator(self.bootstrap.seed, "paper", self.settings["experiment"], policy, "ratio to", reference)
        own, theirs = self.by_episode(policy), other.by_episode(reference)
        return bootstrap_ratio(own, theirs, rng, self.bootstrap.confidence, self.bootstrap.resamples)

    def _check_same(self, policy: str, other: Runs, reference: str) -> None:
        if not np.array_equal(self.column(policy, "arrival_s"), other.column(reference, "arrival_s")):
            raise ClearschedError("the experiments of a figure have other episodes: run them again")

    def makespans(self, policy: str) -> np.ndarray:
        """float64[episodes]: time of the last completion of each, s."""
        ends = self.column(policy, "arrival_s") + self.column(policy, "jct_s")
        found = np.zeros(len(self.by_episode(policy)))
        np.maximum.at(found, self.column(policy, "episode"), ends)
        return found

    def ratio(self, policy: str, reference: str) -> Interval:
        """How many times the mean JCT of another policy its own is, with its paired interval over episodes."""
        rng = generator(self.bootstrap.seed, "paper", self.settings["experiment"], policy, "to", reference)
        own, other = self.by_episode(policy), self.by_episode(reference)
        return bootstrap_ratio(own, other, rng, self.bootstrap.confidence, self.bootstrap.resamples)


@dataclass(frozen=True)
class Material:
    """What a figure is drawn from.

    Attributes:
        results: the folder results/.
        figure: its entry.
        scale: smoke or paper.
        subject: how policies are shown.
        bootstrap: how intervals are drawn.
        networks: how many each base has, one a training seed.
    """

    results: Path
    figure: PaperFigure
    scale: str
    subject: Subject
    bootstrap: Bootstrap
    networks: Mapping[str, int]

    @property
    def experiments(self) -> list[str]:
        """The names of what was run for the figure at this scale."""
        return experiments_of(self.figure, self.scale)

    def runs(self, experiment: str) -> Runs:
        """The jobs of an experiment.

        Raises:
            ClearschedError: it was not run, or its file is broken.
        """
        table, settings = read_table(self.found(jobs_file(experiment, self.scale)), JOBS)
        if not len(table):
            raise ClearschedError(f"{jobs_file(experiment, self.scale)}: holds no job: run it again")
        return Runs(table, settings, self.bootstrap)

    def file(self, base: str, name: str) -> Path:
        """A file of a base.

        Raises:
            ClearschedError: it was not made.
        """
        return self.found(f"{scenario_name(self.scale, base)}/{name}")

    def found(self, file: str) -> Path:
        """A file below results/ that must be there; the error tells which target makes it."""
        path = self.results / file
        if not path.is_file():
            target = f"results/paper/{self.figure.name}.svg"
            config = f" --config paper='{{scale: {self.scale}}}'"
            raise ClearschedError(f"{path}: was not made yet: snakemake --cores 2 {target}{config} makes it")
        return path


def row(panel: str, policy: str, kind: str, x: Any, told: Interval | float) -> list[Any]:
    """A row of a figure's CSV."""
    if isinstance(told, Interval):
        low, high = (end if np.isfinite(end) else None for end in (told.low, told.high))
        return [panel, policy, kind, x, told.mean, low, high]
    return [panel, policy, kind, x, float(told), None, None]
