"""Training seeds of a student: fitted again with other random numbers it is another; the best is kept, with the others.

All but the first learn from a sample of the log, so that they differ from its rules on, and not in their numbers alone.
What all of them come to on the test episodes is told by `clearsched.evaluation.seeds`: they stand in the file of the
one that is kept, as the restarts of a searched policy do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from clearsched.students.bench import Bench, Fitted
from clearsched.students.sampling import resampled
from clearsched.students.task import Task

SPAN = 2**31
"""Seeds that xgboost and scikit-learn take."""

Fit = Callable[[int], Fitted]
"""What a training seed comes to."""


def seeded(task: Task, seed: int) -> Task:
    """The task of a training seed: 0 is as the params say, others have random numbers and decisions drawn anew."""
    if seed == 0:
        return task
    own = (task.seed + seed) % SPAN
    return replace(task, seed=own, dataset=resampled(task.dataset, own))


def kept_to_trees(task: Task, fit: int) -> Task:
    """Every second fit of a training seed has a tree for its level to the end, where others may take to caps.

    Caps are ahead as long as few numbers were searched, and no step leads from them to a tree, which gets further on
    some workloads (ten jobs at once).
    """
    if fit % 2 == 0:
        return task
    caps = task.common.limit_caps.model_copy(update={"terms": 0})
    return replace(task, common=task.common.model_copy(update={"limit_caps": caps}))


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
