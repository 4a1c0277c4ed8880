"""The published marginals of Alibaba's batch jobs (cluster-trace-v2018) as quantile functions.

Source: `marginals.csv` beside this file, whose heading says where the numbers come from and what they count.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

LOGARITHMIC_TAIL = ("stages", "stage_s", "task_s", "interval_s")
"""Quantities whose last piece, from the 99.9 % quantile to the maximum, is interpolated in the logarithm.

Durations there span two decades, and a straight line would put most of the work of the trace into that 0.1 %. With the
logarithm the mean number of stages (3.67; 3.40 published) and the mean interval (0.28 s; 0.16 s published) come nearer
to the file; tasks a stage come nearer without it (76; 98 published).
"""

TAIL_POINTS = 64
"""Points of a straight line each that stand for the logarithmic piece."""

PROBABILITIES = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0])
"""Those at which quantiles are published."""

STEP = {"cpu": 50.0, "memory": 0.01}
"""Unit that values are rounded up to, where it is not 1: plan_cpu comes in halves of a core up to 8 cores (16 distinct
values are published), plan_mem with two digits."""

LEAST = {"interval_s": 0.0}
"""Smallest value, where it is not one unit: several jobs may arrive in the same second."""

LAST_GIVEN = {"critical_path": 35, "level": 20}
"""Tables of this number hold for larger numbers too."""


@dataclass(frozen=True)
class Marginal:
    """One published distribution.

    Attributes:
        quantity: name, see the heading of marginals.csv.
        probabilities: float64[points], 0 to 1.
        values: float64[points], increasing: the quantiles, before rounding up, with straight lines between them.
    """

    quantity: str
    probabilities: np.ndarray
    values: np.ndarray

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        """float64, shape of `probability`: the values at these probabilities, rounded up as the trace has them."""
        return self._rounded(np.interp(probability, self.probabilities, self.values))

    def pmf(self, largest: int) -> np.ndarray:
        """float64[largest]: probability of the counts 1, 2, ... `largest`; what lies above counts as `largest`."""
        below = np.interp(np.arange(1, largest + 1), self.values, self.probabilities)
        below[-1] = 1.0
        return np.diff(below, prepend=0.0)

    def _rounded(self, raw: np.ndarray) -> np.ndarray:
        step = STEP.get(self.quantity, 1.0)
        units = np.ceil(np.round(raw / step, 6))  # 6 digits: 0.39 / 0.01 is a little more than 39
        return np.round(np.maximum(units * step, LEAST.get(self.quantity, step)), 6)


@cache
def marginals() -> dict[tuple[str, int | None], Marginal]:
    """All tables, by quantity and the number that it is given (None: unconditional)."""
    lines = Path(__file__).with_name("marginals.csv").read_text(encoding="ascii").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    found = {}
    for row in rows:
        quantity, given = row["quantity"], row["given"]
        probabilities = np.concatenate([[0.0], PROBABILITIES])
        values = np.array([0.0, *(float(row[str(probability)]) for probability in PROBABILITIES)])
        slope = (values[2] - values[1]) / (probabilities[2] - probabilities[1])
        values[0] = values[1] - slope * probabilities[1]  # the first bin of the histogram goes on to its edge
        if quantity in LOGARITHMIC_TAIL:
            tail = np.geomspace(values[-2], values[-1], TAIL_POINTS + 1)[1:]
            values = np.concatenate([values[:-1], tail])
            steps = np.linspace(probabilities[-2], 1.0, TAIL_POINTS + 1)[1:]
            probabilities = np.concatenate([probabilities[:-1], steps])
        key = (quantity, int(given) if given else None)
        found[key] = Marginal(quantity, probabilities, values)
    return found


def marginal(quantity: str, given: int | None = None) -> Marginal:
    """The table of a quantity; of the largest number published where `given` is larger."""
    return marginals()[quantity, None if given is None else min(given, LAST_GIVEN[quantity])]
