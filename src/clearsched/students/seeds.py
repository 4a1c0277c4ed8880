"""Training seeds of a student: fitted again with other random numbers it is another; the best is kept, with the others.

What all of them come to on the test episodes is told by `clearsched.evaluation.seeds`: they stand in the file of the
one that is kept, as the restarts of a searched policy do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from clearsched.students.bench import Bench, Fitted
from clearsched.students.task import Task

SPAN = 2**31
"""Seeds that xgboost and scikit-learn take."""

Fit = Callable[[int], Fitted]
"""What a training seed comes to."""


def seeded(task: Task, seed: int) -> Task:
    """The same task with the random numbers of a training seed; 0 has those of the params."""
    return task if seed == 0 else replace(task, seed=(task.seed + seed) % SPAN)


def best_of_fits(fit: Fit, seed: int, fits: int) -> Fitted:
    """The cheapest safe of so many fits, the first of equals: what a training seed comes to.

    Each has random numbers of its own, which no other seed has; with one fit a seed they are the seed's.
    """
    return min((fit(seed * fits + number) for number in range(fits)), key=lambda each: each.rank)


def best_of_seeds(fit: Fit, seeds: int, bench: Bench, tell: Callable[[str], None]) -> Fitted:
    """The cheapest safe student, the first of equals; with several seeds, its file has all as `restarts`."""
    fits = [fit(seed) for seed in range(seeds)]
    best = min(range(seeds), key=lambda seed: fits[seed].rank)
    kept = fits[best]
    if seeds == 1:
        return kept
    values = [bench.told(each.cost) for each in fits]
    tell(f"training seed {best} of {seeds} is the best on unseen episodes: {values}")
    unsafe = [seed for seed, each in enumerate(fits) if not each.is_safe]
    if unsafe:
        tell(f"training seeds that are not safe, and count last: {unsafe}")
    restarts = [
        {"seed": seed, "unseen": value, "none": each.policy.none, "safe": each.is_safe}
        | {"scorers": {name: scorer.to_json() for name, scorer in each.policy.scorers.items()}}
        for seed, (each, value) in enumerate(zip(fits, values, strict=True))
    ]
    policy = replace(kept.policy, evidence={**kept.policy.evidence, "restarts": restarts})
    return kept._replace(policy=policy)
