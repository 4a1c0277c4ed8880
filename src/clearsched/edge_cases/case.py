"""What came of an edge case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.problems.declarations import Measure

Row = dict[str, Any]


class Case(NamedTuple):
    """What came of an edge case.

    Attributes:
        name, label, setting: its name, how it is called, and what its episodes are.
        rows: of COMPARISON, a row a measure and policy, those of the objective first, the best policy first.
        values: by policy, the objective of each episode, float64[episodes].
        unsafe: who is not safe by its own check, in sentences.
    """

    name: str
    label: str
    setting: str
    rows: list[Row]
    values: Mapping[str, np.ndarray]
    unsafe: Sequence[str] = ()

    def of(self, measure: Measure) -> list[Row]:
        """The rows of a measure."""
        return [row for row in self.rows if row["measure"] == measure.name]


def order_of(cases: Sequence[Case], objective: Measure) -> list[str]:
    """The policies, the best on average over the cases first: by the difference relative to the reference."""
    sign = 1.0 if objective.lower_is_better else -1.0
    found: dict[str, list[float]] = {}
    for case in cases:
        for row in case.of(objective):
            percent = row["difference_percent"]
            found.setdefault(row["policy"], []).append(row["difference"] if percent is None else percent)
    return sorted(found, key=lambda policy: (sign * float(np.mean(found[policy])), policy))
