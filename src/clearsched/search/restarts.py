"""One restart of a search: generations until its budget is spent, then its best on the validation episodes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from clearsched.problems.problem import Episode
from clearsched.problems.programs import Program
from clearsched.scorers.policy import ScoredPolicy
from clearsched.search.evolution import Evolution
from clearsched.search.trials import Raced, Trials

FINALISTS = 4
"""Candidates that a restart brings to the validation episodes, beside means of generations: those are as good as the
candidates around them were together, a candidate may have been lucky in its episodes."""

MEANS, SPACING = 4, 4
"""So many means, of every so many generations back from the last."""

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

    def stream(self, restart: int) -> np.random.SeedSequence:
        """The random numbers of a restart, whatever else is searched for."""
        return np.random.SeedSequence([self.seed, zlib.crc32(b"search"), zlib.crc32(self.name.encode()), restart])

    def episodes(self, generation: int) -> np.ndarray:
        """int64[settings.episodes]: the training episodes of a generation; the next one takes the next."""
        count = min(self.settings.episodes, len(self.train))
        return np.arange(generation * count, (generation + 1) * count) % len(self.train)


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

    def run(self, program: Program) -> None:
        """Search, then choose."""
        drawn = self.search.stream(self.number)
        self.seed = int(drawn.generate_state(1)[0])
        generator = np.random.default_rng(drawn)
        whole = self.search.settings.evaluations / self.search.settings.restarts
        found = None
        if program.first is not None:
            found = self._evolve(program.first, program.first.start(generator, None), WARM_SHARE * whole, generator)[0]
        finalists = self._evolve(program, program.start(generator, found), whole, generator)
        policies = [self.search.policy(program, values) for values in finalists]
        cost = self.search.trials.cost(policies, self.search.validation).mean(axis=1)
        order = np.argsort(cost, kind="stable").tolist()
        best = next((place for place in order if self.search.is_safe(policies[place])), None)
        if best is not None:
            self.validation, self.policy = float(cost[best]), policies[best]
        if self.curve:
            told = self.search.trials.value(self.validation)
            self.curve[-1]["validation_objective"] = told if np.isfinite(told) else None

    def _evolve(
        self, program: Program, start: np.ndarray, until: float, generator: np.random.Generator
    ) -> list[np.ndarray]:
        """Generations until so many evaluations of the restart are spent; the mean and the best candidates."""
        settings = self.search.settings
        evolution = Evolution(program.numbers, start, settings.population, int(generator.integers(2**31)))
        best: list[tuple[float, np.ndarray]] = []
        means: list[np.ndarray] = []
        while True:  # at least one generation
            candidates = evolution.ask()
            policies = [self.search.policy(program, values) for values in candidates]
            chosen = self.search.episodes(len(self.curve))
            raced = self.search.trials.race(policies, [self.search.train[i] for i in chosen])
            evolution.tell(raced.rank)
            self.spent += raced.spent
            reference = float(self.search.reference[chosen].mean())
            # Generations have other episodes each: what counts is how far a candidate is from the reference on them.
            gain = (raced.cost - reference) / max(abs(reference), 1e-12)
            whole = np.flatnonzero(~raced.given_up)
            best = sorted([*best, *((float(gain[i]), candidates[i]) for i in whole)], key=lambda each: each[0])
            best = best[:FINALISTS]
            self._record(raced, reference, best[0][0] if best else np.inf)
            means = [*means[-MEANS * SPACING + 1 :], evolution.mean]
            if self.spent >= until or evolution.is_over:
                return [*means[::-SPACING], *(values for _, values in best)]

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
