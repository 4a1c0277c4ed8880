"""CMA-ES over the numbers of a program.

Sources: N. Hansen, The CMA evolution strategy: a tutorial, arXiv:1604.00772, 2016. Whole numbers and other grids: R.
Hamano, S. Saito, M. Nomura, S. Shirakawa, CMA-ES with margin, GECCO 2022. Many numbers: R. Ros, N. Hansen, A simple
modification in CMA-ES achieving linear time and space complexity, PPSN 2008. By the library `cmaes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clearsched.problems.programs import Number

MANY = 60
"""Numbers from which on only their variances are learned, and no covariances."""

SIGMA = 1.0
"""The numbers are searched in units of their first steps."""


class Evolution:
    """Candidates and what they are worth, generation by generation. It minimises."""

    def __init__(self, numbers: Sequence[Number], start: np.ndarray, population: int, seed: int) -> None:
        from cmaes import CMAwM, SepCMA  # it brings scipy's statistics, which a fit without a search does not need

        self.numbers = numbers
        self._step = np.array([number.step for number in numbers])
        self._low, self._high = (np.array([getattr(number, end) for number in numbers]) for end in ("low", "high"))
        self._grid = np.array([number.grid for number in numbers])
        bounds = np.stack([self._low, self._high], axis=1) / self._step[:, None]
        mean = np.clip(start, self._low, self._high) / self._step
        self._sparse = len(numbers) > MANY
        self._cma: Any = (
            SepCMA(mean, SIGMA, bounds, seed=seed, population_size=population)
            if self._sparse
            else CMAwM(mean, SIGMA, bounds, self._grid / self._step, seed=seed, population_size=population)
        )
        self._asked: list[np.ndarray] = []

    def ask(self) -> np.ndarray:
        """float64[population, numbers]: the candidates of the next generation."""
        self._asked, found = [], []
        for _ in range(self._cma.population_size):
            shown, raw = (self._cma.ask(),) * 2 if self._sparse else self._cma.ask()
            self._asked.append(raw)
            found.append(self._told(shown))
        return np.array(found)

    def tell(self, rank: np.ndarray) -> None:
        """How the candidates of `ask` did: int64[population], 0 for the best. Ranks are all that CMA-ES looks at."""
        self._cma.tell([(raw, float(place)) for raw, place in zip(self._asked, rank.tolist(), strict=True)])

    @property
    def mean(self) -> np.ndarray:
        """float64[numbers]: the middle of the candidates to come."""
        return self._told(self._cma.mean if self._sparse else self._cma.mean.copy())

    @property
    def is_over(self) -> bool:
        """Whether the candidates hardly differ any more."""
        return bool(self._cma.should_stop())

    def _told(self, scaled: np.ndarray) -> np.ndarray:
        """In the numbers' own units, on their grids, within their bounds."""
        values = scaled * self._step
        gridded = self._grid > 0
        low, grid = self._low[gridded], self._grid[gridded]
        values[gridded] = low + grid * np.round((values[gridded] - low) / grid)
        answer: np.ndarray = np.clip(values, self._low, self._high)
        return answer
