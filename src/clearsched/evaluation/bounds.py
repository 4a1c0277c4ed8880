"""What no policy can do better than on the test episodes, as far as the problem can prove it (`Instance.bounds`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import Episode
from clearsched.problems.problem import Instance, Problem
from clearsched.schemas import BOUNDS

Bounds: TypeAlias = Mapping[str, np.ndarray]
"""Of each measure that has one: float64[episodes], its bound on every episode, in its unit."""


def bounds_of(problem: Problem, instance: Instance, episodes: Sequence[Episode]) -> Bounds:
    """The bounds of the measures that are told; a measure without one on every episode has none."""
    found = [instance.bounds(episode) for episode in episodes]
    told = [measure.name for measure in problem.measures if all(measure.name in of for of in found)]
    return {name: np.array([of[name] for of in found], dtype=np.float64) for name in told}


def bound_table(bounds: Bounds) -> pa.Table:
    """One row a measure and episode, of schema BOUNDS."""
    rows = [
        {"measure": name, "episode": episode, "bound": float(value)}
        for name, values in bounds.items()
        for episode, value in enumerate(values)
    ]
    return pa.Table.from_pylist(rows, schema=BOUNDS)


def bound_cells(measure: Measure, mean: float, bounds: Bounds) -> dict[str, Any]:
    """The columns of a row of COMPARISON: the mean bound, and how much worse the policy's mean is, in % of it."""
    if measure.name not in bounds:
        return {"bound": None, "from_bound_percent": None}
    bound = float(bounds[measure.name].mean())
    away = mean - bound if measure.lower_is_better else bound - mean
    return {"bound": bound, "from_bound_percent": 100.0 * away / abs(bound) if bound else None}
