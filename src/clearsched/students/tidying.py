"""Take out of a student what changes nothing: rules that others stand before, conditions that always hold, idle caps.

A search of numbers moves thresholds past one another. What it leaves without effect costs a reader's time, and room
for a rule that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from clearsched.problems.episodes import Episode
from clearsched.scorers.policy import ScoredPolicy

FEW = 1 / 24
"""Of the episodes: what changes something mostly shows on them."""

Costs = Callable[[Sequence[ScoredPolicy], Sequence[Episode]], np.ndarray]
"""float64[policies, episodes]: `search.trials.Trials.cost`."""


def tidied(student: ScoredPolicy, costs: Costs, episodes: Sequence[Episode]) -> ScoredPolicy:
    """The student without the rules, conditions, ties and caps that change the cost of none of the episodes."""
    few = episodes[: max(1, round(FEW * len(episodes)))]
    own = costs([student], episodes)[0]
    while True:
        options = [
            replace(student, scorers={**student.scorers, name: scorer})
            for name, own_scorer in student.scorers.items()
            for scorer in own_scorer.shorter()
        ]
        found = costs(options, few) if options else np.empty((0, len(few)))
        same = (option for option, cost in zip(options, found, strict=True) if np.array_equal(cost, own[: len(few)]))
        idle = next((option for option in same if np.array_equal(costs([option], episodes)[0], own)), None)
        if idle is None:
            return student
        student = idle
