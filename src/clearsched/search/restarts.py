"""One restart of a search: generations until its budget is spent, then its best on the validation episodes.

It may be halted between generations and go on later, so that several searches can compete for a budget.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from clearsched.problems.episodes import Episode
from clearsched.problems.programs import Program
from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.evolution import Evolution
from clearsched.search.trials import Raced, Trials

FINALISTS = 4
"""Candidates that a restart brings to the validation episodes, beside means of generations: those are as good as the
candidates around them were together, a candidate may have been lucky in its episodes."""

MEANS, SPACING = 4, 4
"""So many means, of every so many generations back from the last."""

EARLY, UNTIL = 1 / 2, 1 / 4
"""Share of the episodes that a generation has at first, and of the budget until which it has no more."""

WARM_SHARE = 1 / 3
"""Of the evaluations of a restart: for `Program.first`, where a program has one."""


class Budget(Protocol):
    """How much a search may try: `search.settings.SearchParams`, `students.settings.RefineParams`."""

    @property
    def evaluations(self) -> int: ...
    @property
    def restarts(self) -> int: ...
    @property
    def episodes(self) -> int: ...
    @property
    def population(self) -> int: ...


def long_ones(count: int, episodes: Sequence[Episode], short: Sequence[Episode]) -> int:
    """How many of some episodes are about as much as so many short ones, which have the same jobs; at least one."""
    return max(1, count * len(episodes) // len(short))


@dataclass(frozen=True)
class Search:
    """What all restarts share.

    Attributes:
        name: of what is searched for; random numbers depend on it.
        policy: the policy of a program with some numbers.
        settings: budget and population.
        trials: runs candidates.
        train: episodes to search on.
        validation: episodes to choose on.
        reference: float64[train]: cost of what candidates are held against, on each training episode.
        seed: of all random numbers.
        tell: called with each row of the curve.
        is_safe: what a restart may choose; it has nothing where no finalist is.
        keeps: what is ranked with those that were given up if it does not: asked of every candidate that was not, so
            that a search does not end where nothing is safe.
        grows: whether generations have `EARLY` of the episodes until `UNTIL` of the budget is spent: at first
            candidates are far apart, and more generations are worth more than what tells them apart surely.
    """

    name: str
    policy: Callable[[Program, np.ndarray], ScoredPolicy]
    settings: Budget
    trials: Trials
    train: Sequence[Episode]
    validation: Sequence[Episode]
    reference: np.ndarray
    seed: int
    tell: Callable[[dict[str, Any]], None] = lambda row: None
    is_safe: Callable[[ScoredPolicy], bool] = lambda policy: True
    keeps: Callable[[ScoredPolicy], bool] = lambda policy: True
    grows: bool = False

    def stream(self, restart: int) -> np.random.SeedSequence:
        """The random numbers of a restart, whatever else is searched for."""
        return np.random.SeedSequence([self.seed, zlib.crc32(b"search"), zlib.crc32(self.name.encode()), restart])

    @property
    def budget(self) -> float:
        """Evaluations of a restart."""
        return self.settings.evaluations / self.settings.restarts

    def episodes(self, taken: int, spent: float) -> np.ndarray:
        """int64[n]: the training episodes of a generation, the next ones after those that were taken."""
        count = self.settings.episodes
        if self.grows and spent < UNTIL * self.budget:
            count = max(1, round(EARLY * count))
        return np.arange(taken, taken + min(count, len(self.train))) % len(self.train)


@dataclass
class Lineage:
    """Generations of candidates for the numbers of a program.

    Attributes:
        program: whose numbers they are.
        evolution: makes them.
        start: float64[numbers]: where they began.
        best: (difference to the reference, float64[numbers]) of the best candidates, the best first.
        means: float64[numbers] after each of the last generations.
    """

    program: Program
    evolution: Evolution
    start: np.ndarray
    best: list[tuple[float, np.ndarray]] = field(default_factory=list)
    means: list[np.ndarray] = field(default_factory=list)

    def add(self, told: Sequence[tuple[float, np.ndarray]]) -> None:
        """What candidates of a generation came to, those that were given up left out."""
        self.best = sorted([*self.best, *told], key=lambda each: each[0])[:FINALISTS]
        self.means = [*self.means[-MEANS * SPACING + 1 :], self.evolution.mean]

    @property
    def finalists(self) -> list[np.ndarray]:
        """Means of generations, the last one first, the best candidates, and the start: noise may lead away from it."""
        return [*self.means[::-SPACING], *(values for _, values in self.best), self.start]


@dataclass
class Restart:
    """One restart, and what came of it.

    Attributes:
        search: what it shares with the others.
        number: which one it is.
        seed: of its random numbers, from `Search.stream`.
        curve: a row a generation, of schema `SEARCH_CURVE`.
        spent: evaluations so far, one that was given up with its part.
        validation: cost of `policy` on the validation episodes.
    """

    search: Search
    number: int
    seed: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    spent: float = 0.0
    validation: float = np.inf
    policy: ScoredPolicy | None = None
    _own: Lineage | None = None
    _taken: int = 0  # training episodes of the generations so far

    def run(self, program: Program) -> None:
        """Search, then choose."""
        self.begin(program)
        self.advance()
        self.choose()

    def begin(self, program: Program) -> None:
        """Get ready to search for the numbers of a program; `Program.first` is searched for now."""
        drawn = self.search.stream(self.number)
        self.seed = int(drawn.generate_state(1)[0])
        generator = np.random.default_rng(drawn)
        found = None
        if program.first is not None:
            first = self._lineage(program.first, None, generator)
            self._evolve(first, WARM_SHARE * self.search.budget)
            found = first.finalists[0]
        self._own = self._lineage(program, found, generator)

    def advance(self, share: float = 1.0) -> None:
        """Search on, until such a share of the budget is spent or the candidates hardly differ any more."""
        assert self._own is not None
        self._evolve(self._own, share * self.search.budget)

    @property
    def middle(self) -> ScoredPolicy:
        """The policy around which the search is by now."""
        assert self._own is not None
        return self.search.policy(self._own.program, self._own.evolution.mean)

    @property
    def finalists(self) -> list[ScoredPolicy]:
        """Means of generations, the last one first, the best candidates, and the start."""
        assert self._own is not None
        return [self.search.policy(self._own.program, values) for values in self._own.finalists]

    def choose(self) -> None:
        """The safe one that is best on the validation episodes, of the finalists."""
        policies = self.finalists
        cost = self.search.trials.cost(policies, self.search.validation).mean(axis=1)
        order = np.argsort(cost, kind="stable").tolist()
        best = next((place for place in order if self.search.is_safe(policies[place])), None)
        self.validation, self.policy = (np.inf, None) if best is None else (float(cost[best]), policies[best])
        if self.curve:
            told = self.search.trials.value(self.validation)
            self.curve[-1]["validation_objective"] = told if np.isfinite(told) else None

    def _lineage(self, program: Program, found: np.ndarray | None, generator: np.random.Generator) -> Lineage:
        start = program.start(generator, found)
        population = self.search.settings.population
        return Lineage(program, Evolution(program.numbers, start, population, int(generator.integers(2**31))), start)

    def _evolve(self, lineage: Lineage, until: float) -> None:
        """Generations until so many evaluations of the restart are spent; at least one in all."""
        while not lineage.means or (self.spent < until and not lineage.evolution.is_over):
            candidates = lineage.evolution.ask()
            policies = [self.search.policy(lineage.program, values) for values in candidates]
            chosen = self.search.episodes(self._taken, self.spent)
            self._taken += len(chosen)
            raced = self.search.trials.race(policies, [self.search.train[i] for i in chosen])
            stays = [self.search.keeps(policies[i]) for i in np.flatnonzero(~raced.given_up).tolist()]
            raced.given_up[~raced.given_up] = ~np.array(stays, bool)
            lineage.evolution.tell(raced.rank)
            self.spent += raced.spent * len(chosen) / min(self.search.settings.episodes, len(self.search.train))
            reference = float(self.search.reference[chosen].mean())
            # Generations have other episodes each: what counts is how far a candidate is from the reference on them.
            gain = (raced.cost - reference) / max(abs(reference), 1e-12)
            whole = np.flatnonzero(~raced.given_up)
            lineage.add([(float(gain[i]), candidates[i]) for i in whole])
            self._record(raced, reference, lineage.best[0][0] if lineage.best else np.inf)

    def _record(self, raced: Raced, reference: float, gain: float) -> None:
        trials = self.search.trials
        lowest = float(raced.cost[raced.rank.argmin()])
        row = {
            "restart": self.number,
            "generation": len(self.curve),
            "evaluations": self.spent,
            "given_up": int(raced.given_up.sum()),
            "train_objective": trials.value(lowest) if np.isfinite(lowest) else None,
            "reference_objective": trials.value(reference),
            "best_difference": gain if np.isfinite(gain) else None,
            "validation_objective": None,
        }
        self.curve.append(row)
        self.search.tell(row)
