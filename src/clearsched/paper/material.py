"""What the papers' figures are drawn from: jobs of an experiment under every policy, intervals over episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.evaluation.crossed import crossed_difference, crossed_interval, crossed_ratio
from clearsched.evaluation.significance import direction, holm, p_values
from clearsched.evaluation.statistics import (
    Bootstrap,
    Interval,
    bootstrap_mean,
    bootstrap_ratio,
    generator,
    paired_difference,
)
from clearsched.figures.style import Subject
from clearsched.paper.bases import scenario_name
from clearsched.paper.kinds import PaperFigure, experiments_of, jobs_file, seeds_file
from clearsched.paper.tables import BY_SEED, JOBS
from clearsched.schemas import read_table

OF_SEEDS = ("seeds", "seeds_value", "seeds_low", "seeds_high")
HEADER = ("panel", "policy", "kind", "x", "value", "low", "high", *OF_SEEDS, "p", "p_holm")
"""Of every CSV: a row a mark. Claims are read from it, by panel, policy and x. The value is of the policy as it is, low
and high its interval over test episodes; the next four tell how many training seeds it was held against, their mean and
its interval over seeds and episodes, where there are several; the last two, of a comparison of two policies, p of the
paired test and that adjusted by Holm over all that are held against the same policy in the same experiment."""

YARDSTICK = "weighted_fair"
"""The heuristic that Decima is held against: weighted fair with the weight that was best on validation episodes."""


@dataclass(frozen=True)
class Levels(Interval):
    """An interval over episodes, of the policy as it is, and one over training seeds and episodes.

    Attributes:
        both: the mean over the training seeds with the interval over both; None: the policy has one seed.
        seeds: of the policy.
        p, p_holm: of a comparison, of the paired test, alone and adjusted (`evaluation.significance`).
        confidence: of the intervals.
    """

    both: Interval | None = None
    seeds: int = 1
    p: float | None = None
    p_holm: float | None = None
    confidence: float = 0.95

    def scaled(self, factor: float) -> Levels:
        """See `Interval.scaled`."""
        told = levels(super().scaled(factor), self.both and self.both.scaled(factor), self.seeds)
        return replace(told, p=self.p, p_holm=self.p_holm, confidence=self.confidence)

    def shown_from(self, nothing: float) -> bool:
        """Whether it is shown that two policies differ, by `evaluation.significance`; `nothing`: if they are alike."""
        intervals = [self, *([self.both] if self.both else [])]
        moved = [replace(each, low=each.low - nothing, high=each.high - nothing) for each in intervals]
        return self.p_holm is not None and direction(self.p_holm, self.confidence, *moved) != 0


def adjusted(found: Mapping[Any, Levels]) -> dict[Any, Levels]:
    """Comparisons that are told together, each with its p adjusted by Holm over all of them that have one."""
    tested = {name: told.p for name, told in found.items() if told.p is not None}
    p_holm = dict(zip(tested, holm(np.array(list(tested.values()))), strict=True))
    return {name: replace(told, p_holm=float(p_holm[name]) if name in p_holm else None) for name, told in found.items()}


def levels(told: Interval, both: Interval | None, seeds: int) -> Levels:
    """An interval over episodes with that over training seeds."""
    known = both is not None and bool(np.isfinite(both.low + both.high))
    return Levels(told.mean, told.low, told.high, told.standard_error, told.count, both if known else None, seeds)


class Comparison(NamedTuple):
    """How the mean JCT of two policies is compared: of the policy, of its reference, and how a bootstrap draws."""

    paired: Callable[..., Interval]  # of float64[episodes]
    crossed: Callable[..., Interval]  # of float64[seeds, episodes]


def _in_percent(difference: Callable[..., Interval]) -> Callable[..., Interval]:
    """A difference in % of the mean of what is subtracted."""

    def found(values: np.ndarray, reference: np.ndarray, *rest: Any) -> Interval:
        return difference(values, reference, *rest).scaled(100 / float(reference.mean()))

    return found


DIFFERENCE_PERCENT = Comparison(_in_percent(paired_difference), _in_percent(crossed_difference))
RATIO = Comparison(bootstrap_ratio, crossed_ratio)


@dataclass(frozen=True)
class Runs:
    """An experiment: every policy on the same episodes.

    Attributes:
        table: of schema JOBS.
        settings: its metadata.
        bootstrap: how intervals are drawn.
        seeds: of schema BY_SEED.
    """

    table: pa.Table
    settings: Mapping[str, Any]
    bootstrap: Bootstrap
    seeds: pa.Table = field(default_factory=BY_SEED.empty_table)
    _tests: dict[tuple[str, tuple[str, ...]], dict[str, tuple[float, float]]] = field(default_factory=dict, repr=False)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each policy, in the order of the table."""
        return dict(zip(self.table["policy"].to_pylist(), self.table["kind"].to_pylist(), strict=True))

    @property
    def setting(self) -> str:
        """What was run, in words: episodes, jobs, executors, the mean time between jobs as drawn, and their source."""
        policy = next(iter(self.kinds))
        gaps_s = np.diff(self.column(policy, "arrival_s"))[np.diff(self.column(policy, "episode")) == 0]
        arrivals = f"a job every {gaps_s.mean():.3g} s on average" if gaps_s.any() else "all at once"
        return setting_in(self.settings, arrivals)

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

    def by_seed(self, policy: str) -> np.ndarray:
        """float64[seeds, episodes]: as `by_episode`, of every training seed; of the policy as it is if it has one."""
        own = self.seeds.filter(pc.equal(self.seeds["policy"], policy))
        if not len(own):
            return self.by_episode(policy)[None, :]
        return own["jct_s"].to_numpy().reshape(-1, len(self.by_episode(policy)))

    def mean(self, policy: str) -> Levels:
        """The mean JCT with its intervals, s."""
        bootstrap, rng = self.bootstrap, self._generator(policy)
        told = bootstrap_mean(self.by_episode(policy), rng, bootstrap.confidence, bootstrap.resamples)
        seeds = self.by_seed(policy)
        both = crossed_interval(seeds, self._generator(policy, "seeds"), bootstrap.confidence, bootstrap.resamples)
        return levels(told, both, len(seeds))

    def difference(self, policy: str, reference: str, among: Sequence[str] = ()) -> Levels:
        """The paired difference of the mean JCT to another policy, in % of its mean.

        Args:
            policy: whose.
            reference: the other one.
            among: whose comparisons with it are told together, for Holm's correction; empty: those of all policies.
        """
        return self._tested(DIFFERENCE_PERCENT, policy, reference, among, (policy, reference))

    def difference_to(self, policy: str, other: Runs, reference: str) -> Levels:
        """As `difference`, where the reference is of another base with the same test episodes.

        What such comparisons are told together with, the figure knows: it calls `adjusted`.

        Raises:
            ClearschedError: the episodes are not the same.
        """
        return self._between(DIFFERENCE_PERCENT, policy, other, reference, (policy, "other", reference))

    def ratio(self, policy: str, reference: str) -> Levels:
        """How many times the mean JCT of another policy its own is, with its paired intervals."""
        return self._tested(RATIO, policy, reference, (), (policy, "to", reference))

    def ratio_to(self, policy: str, other: Runs, reference: str) -> Levels:
        """As `ratio`, where the reference is of another base with the same test episodes; see `difference_to`.

        Raises:
            ClearschedError: the episodes are not the same.
        """
        return self._between(RATIO, policy, other, reference, (policy, "ratio to", reference))

    def _tested(
        self, how: Comparison, policy: str, reference: str, among: Sequence[str], names: Sequence[str]
    ) -> Levels:
        """A comparison within the experiment, adjusted over those of `among`, or of all policies."""
        told = self._compared(how, policy, self, reference, names)
        if policy == reference:
            return told
        key = reference, tuple(among)
        if key not in self._tests:
            values = {name: self.by_episode(name) for name in dict.fromkeys([*(among or self.kinds), reference])}
            self._tests[key] = p_values(values, reference, self.bootstrap.seed)
        p, p_holm = self._tests[key][policy]
        return replace(told, p=p, p_holm=p_holm)

    def _between(self, how: Comparison, policy: str, other: Runs, reference: str, names: Sequence[str]) -> Levels:
        """A comparison with a policy of another base, tested alone."""
        if not np.array_equal(self.column(policy, "arrival_s"), other.column(reference, "arrival_s")):
            raise ClearschedError("the experiments of a figure have other episodes: run them again")
        values = {policy: self.by_episode(policy), "": other.by_episode(reference)}
        p, _ = p_values(values, "", self.bootstrap.seed)[policy]
        return replace(self._compared(how, policy, other, reference, names), p=p)

    def _compared(self, how: Comparison, policy: str, other: Runs, reference: str, names: Sequence[str]) -> Levels:
        """A comparison with a policy on the same episodes; `names` tell its random numbers from those of others."""
        rest = self.bootstrap.confidence, self.bootstrap.resamples
        told = how.paired(self.by_episode(policy), other.by_episode(reference), self._generator(*names), *rest)
        seeds, others = self.by_seed(policy), other.by_seed(reference)
        both = how.crossed(seeds, others, self._generator(*names, "seeds"), *rest)
        found = levels(told, both, len(seeds) if len(seeds) > 1 else len(others))
        return replace(found, confidence=self.bootstrap.confidence)

    def _generator(self, *names: str) -> np.random.Generator:
        return generator(self.bootstrap.seed, "paper", self.settings["experiment"], *names)

    def makespans(self, policy: str) -> np.ndarray:
        """float64[episodes]: time of the last completion of each, s."""
        ends = self.column(policy, "arrival_s") + self.column(policy, "jct_s")
        found = np.zeros(len(self.by_episode(policy)))
        np.maximum.at(found, self.column(policy, "episode"), ends)
        return found


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
        seeds, _ = read_table(self.found(seeds_file(experiment, self.scale)), BY_SEED)
        return Runs(table, settings, self.bootstrap, seeds)

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


def setting_in(metadata: Mapping[str, Any], arrivals: str = "") -> str:
    """The setting in a file's metadata with how jobs arrive and what they are; empty where it has none."""
    if "setting" not in metadata:
        return ""
    jobs = f"jobs of {metadata['source']}" if "source" in metadata else ""
    return ", ".join(filter(None, [metadata["setting"], arrivals, jobs]))


def row(panel: str, policy: str, kind: str, x: Any, told: Interval | float) -> list[Any]:
    """A row of a figure's CSV."""
    if not isinstance(told, Interval):
        return [panel, policy, kind, x, float(told), *[None] * 8]
    ends = [end if np.isfinite(end) else None for end in (told.low, told.high)]
    seeds: list[Any] = [None] * len(OF_SEEDS)
    if isinstance(told, Levels) and told.both is not None:
        seeds = [told.seeds, told.both.mean, told.both.low, told.both.high]
    tests = [told.p, told.p_holm] if isinstance(told, Levels) else [None, None]
    return [panel, policy, kind, x, told.mean, *ends, *seeds, *tests]
