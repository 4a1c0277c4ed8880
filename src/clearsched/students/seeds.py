"""Training seeds of a student: fitted again with other random numbers it is another; the best is kept, with the others.

What all of them come to on the test episodes is told by `clearsched.evaluation.seeds`: they stand in the file of the
one that is kept, as the restarts of a searched policy do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from clearsched.scorers.policy import ScoredPolicy
from clearsched.students.bench import Bench
from clearsched.students.task import Task

SPAN = 2**31
"""Seeds that xgboost and scikit-learn take."""

Fit = Callable[[int], tuple[ScoredPolicy, float]]
"""A training seed's student, and its cost on the episodes that it was chosen on."""


def seeded(task: Task, seed: int) -> Task:
    """The same task with the random numbers of a training seed; 0 has those of the params."""
    return task if seed == 0 else replace(task, seed=(task.seed + seed) % SPAN)


def best_of_seeds(fit: Fit, seeds: int, bench: Bench, tell: Callable[[str], None]) -> tuple[ScoredPolicy, float]:
    """The cheapest student, the first of equals, and its cost; with several, its file has all as `restarts`."""
    fits = [fit(seed) for seed in range(seeds)]
    best = min(range(seeds), key=lambda seed: fits[seed][1])
    student, cost = fits[best]
    if seeds == 1:
        return student, cost
    values = [bench.told(each) for _, each in fits]
    tell(f"training seed {best} of {seeds} is the best on unseen episodes: {values}")
    restarts = [
        {"seed": seed, "unseen": value, "none": each.none}
        | {"scorers": {name: scorer.to_json() for name, scorer in each.scorers.items()}}
        for seed, ((each, _), value) in enumerate(zip(fits, values, strict=True))
    ]
    return replace(student, evidence={**student.evidence, "restarts": restarts}), cost
