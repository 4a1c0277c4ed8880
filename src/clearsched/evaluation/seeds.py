"""Training seeds: what a policy would have been, had its training drawn other numbers, on the same test episodes.

An interval over episodes alone takes the policy as it is and leaves its training out: trained again it is another
policy. Where a policy comes with several training seeds, each is run, and intervals cover both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.evaluation.crossed import crossed_interval
from clearsched.evaluation.policies import load_policy
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.statistics import Interval, generator
from clearsched.files import digest_file
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance, Problem
from clearsched.schemas import SEEDS
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.scorer import read_scorer
from clearsched.search.safety import worst_ratio

LEARNED = ("searched", "teacher", "student")
"""The kinds of policy whose training draws numbers."""


class Trained(NamedTuple):
    """A policy as one training seed made it."""

    seed: int
    chosen: bool  # whether it is the policy that the tables tell of
    policy: Policy


@dataclass(frozen=True)
class SeedRuns:
    """A policy's training seeds on the test episodes.

    Attributes:
        name, kind: of the policy.
        seeds: int64[S].
        chosen: bool[S].
        objective: float64[S, episodes].
    """

    name: str
    kind: str
    seeds: np.ndarray
    chosen: np.ndarray
    objective: np.ndarray


def trained_scored(policy: ScoredPolicy) -> list[Trained]:
    """The restarts that the file of a searched policy or student keeps, each with its scorers; none where it has none.

    Patches and guard are a person's: each restart has those of the policy.

    Raises:
        ClearschedError: a restart is malformed.
    """
    own = {name: scorer.to_json() for name, scorer in policy.scorers.items()}
    found = []
    for number, restart in enumerate(policy.evidence.get("restarts") or ()):
        where = f"{policy.where}: restarts[{number}]"
        if not isinstance(restart, Mapping) or not isinstance(restart.get("seed"), int):
            raise ClearschedError(f"{where}: an object with a seed, a whole number, expected; search or fit again")
        scorers = restart.get("scorers")
        if scorers is None:
            continue
        read = {
            choice.name: read_scorer(
                scorers.get(choice.name) if isinstance(scorers, Mapping) else None,
                names_of(choice),
                f"{where}: {choice.name}",
            )
            for choice in policy.problem.choices
        }
        same = {name: scorer.to_json() for name, scorer in read.items()} == own
        none = bool(restart.get("none", policy.none))
        one = replace(policy, scorers=read, none=none, where=where)
        found.append(Trained(restart["seed"], same and none == policy.none, one))
    # Two seeds may end in the same policy: one of them is told as chosen.
    first = next((number for number, one in enumerate(found) if one.chosen), None)
    return [one._replace(chosen=number == first) for number, one in enumerate(found)]


def trained_teachers(problem: Problem, chosen: Policy, path: Path, others: Sequence[Path], mode: str) -> list[Trained]:
    """The teacher, and the networks of other training seeds; a file that is the teacher's own once more counts once.

    Raises:
        ClearschedError: a file is missing or broken.
    """
    seen = {digest_file(path)}
    found = [Trained(_seed(chosen), True, chosen)]
    for other in others:
        digest = digest_file(other) if other.is_file() else str(other)
        if digest not in seen:
            seen.add(digest)
            policy = load_policy(problem, other, mode=mode)
            found.append(Trained(_seed(policy), False, policy))
    return found


def _seed(policy: Policy) -> int:
    return int(getattr(policy, "training_seed", getattr(policy, "seed", 0)))


def run_seeds(
    rollouts: Sequence[Rollout],
    trained: Mapping[str, Sequence[Trained]],
    instance: Instance,
    episodes: Sequence[Episode],
) -> list[SeedRuns]:
    """Run every training seed of the learned policies among `rollouts`; one without others stands for itself."""
    found = []
    for rollout in rollouts:
        if rollout.kind not in LEARNED:
            continue
        every = trained.get(rollout.name) or [Trained(_seed(rollout.policy), True, rollout.policy)]
        objective = [
            rollout.objective
            if one.chosen
            else Rollout(one.policy, one.policy.run(instance, episodes), rollout.measures).objective
            for one in every
        ]
        seeds, chosen = np.array([one.seed for one in every]), np.array([one.chosen for one in every])
        found.append(SeedRuns(rollout.name, rollout.kind, seeds, chosen, np.stack(objective)))
    return found


def trained_of(
    problem: Problem, policies: Sequence[Policy], teacher: Path, teacher_seeds: Sequence[Path], mode: str
) -> dict[str, list[Trained]]:
    """The training seeds that each policy comes with, by its name."""
    found: dict[str, list[Trained]] = {}
    for policy in policies:
        if isinstance(policy, ScoredPolicy):
            found[policy.name] = trained_scored(policy)
        elif policy.kind == "teacher":
            found[policy.name] = trained_teachers(problem, policy, teacher, teacher_seeds, mode)
    return found


def seed_table(
    runs: Sequence[SeedRuns], reference: np.ndarray, plain: np.ndarray | None, *, lower_is_better: bool = True
) -> pa.Table:
    """One row a learned policy and training seed, of schema SEEDS.

    `reference`, `plain`: float64[episodes], objective of the reference and of the problem's baseline (None: not run,
    or more is better). `lower_is_better`: of the objective.
    """
    base = float(reference.mean())
    rows = [
        {"policy": run.name, "kind": run.kind, "seed": int(seed), "chosen": bool(chosen), "mean": float(values.mean())}
        | {"difference_percent": 100.0 * (float(values.mean()) - base) / abs(base) if base else None}
        | {"worst": _worst(values, lower_is_better), "worst_to_baseline": _most(values, plain)}
        for run in runs
        for seed, chosen, values in zip(run.seeds, run.chosen, run.objective, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=SEEDS)


def _worst(values: np.ndarray, lower_is_better: bool) -> float:
    return float(values.max() if lower_is_better else values.min())


def _most(values: np.ndarray, plain: np.ndarray | None) -> float | None:
    """The most next to the baseline on any episode, of float64[..., episodes]; None: nobody can tell."""
    return None if plain is None else worst_ratio(values, np.broadcast_to(plain, values.shape)) or None


class Summary(NamedTuple):
    """A learned policy over its training seeds."""

    name: str
    seeds: int
    mean: float  # over seeds and episodes
    lowest: float  # mean over the episodes, of the seed that has the lowest
    highest: float
    deviation: float  # of the seeds' means, S - 1; NaN with one seed
    difference: Interval  # paired, to the reference, over seeds and episodes, in the objective's unit
    worst: float  # of any seed on any episode
    most: float | None  # next to the baseline, of any seed on any episode; None: nobody can tell


def summaries(
    runs: Sequence[SeedRuns],
    reference: np.ndarray,
    plain: np.ndarray | None,
    seed: int,
    confidence: float,
    resamples: int,
    *,
    lower_is_better: bool = True,
) -> Iterator[Summary]:
    """What each policy's training seeds say together; ends of the interval are NaN where there is one seed.

    `reference`, `plain`, `lower_is_better`: as of `seed_table`.
    """
    for run in runs:
        means = run.objective.mean(axis=1)
        deviation = float(np.std(means, ddof=1)) if len(means) > 1 else float("nan")
        yield Summary(
            run.name,
            len(means),
            float(means.mean()),
            float(means.min()),
            float(means.max()),
            deviation,
            over_seeds(run, reference, seed, confidence, resamples),
            _worst(run.objective, lower_is_better),
            _most(run.objective, plain),
        )


def over_seeds(run: SeedRuns, reference: np.ndarray, seed: int, confidence: float, resamples: int) -> Interval:
    """The paired difference to a policy's objective, float64[episodes], with an interval over seeds and episodes."""
    rng = generator(seed, "evaluation", "seeds")
    return crossed_interval(run.objective - reference, rng, confidence, resamples)
