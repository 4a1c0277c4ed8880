"""Closed-loop rollouts: every policy schedules the same held-out episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clearsched import schemas
from clearsched.errors import ClearschedError
from clearsched.parallel import Spread, executor
from clearsched.problems.declarations import Measure
from clearsched.problems.episodes import Episode
from clearsched.problems.policy import Policy
from clearsched.problems.problem import Instance, Problem

CHUNK = 4
"""Episodes that a worker runs before it takes others."""

TAKE_OVERS, GUARDED_PERCENT = "take_overs", "guarded_percent"
"""Measures of a policy with a guard (`evaluation.guards`); 0 of others."""


@dataclass(frozen=True)
class Rollout:
    """A policy and what came of every test episode, in the order of the episodes.

    Attributes:
        policy: who scheduled.
        results: an `Outcome` an episode.
        measures: those of the problem, the objective of the instance first.
    """

    policy: Policy
    results: Sequence[Any]
    measures: tuple[Measure, ...]

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.policy.name

    @property
    def kind(self) -> str:
        """One of `problems.policy.KINDS`."""
        return self.policy.kind

    @property
    def mode(self) -> str:
        """argmax or sampled."""
        return self.policy.mode

    @property
    def objective(self) -> npt.NDArray[np.float64]:
        """The objective of each episode, float64[episodes], in its unit."""
        return self.values(self.measures[0])

    def values(self, measure: Measure) -> npt.NDArray[np.float64]:
        """A measure of each episode, float64[episodes], in its unit."""
        return np.array([value_of(result, measure.name) for result in self.results], dtype=np.float64)


def value_of(outcome: Any, name: str) -> float:
    """A measure of an episode."""
    if name not in (TAKE_OVERS, GUARDED_PERCENT):
        return float(outcome.measures[name])
    guard = getattr(outcome, "guard", None)
    if guard is None:
        return 0.0
    return float(len(guard.take_overs)) if name == TAKE_OVERS else 100 * float(guard.share(outcome.end_s))


def roll_out(
    problem: Problem,
    policies: Sequence[Policy],
    instance: Instance,
    episodes: Sequence[Episode],
    progress: Callable[[str], None] = lambda name: None,
) -> list[Rollout]:
    """Run every policy on every episode; `progress` is called with a policy's name before it runs.

    Raises:
        ClearschedError: two policies share a name, there is no episode, or a policy answers with a wrong number of
            them.
    """
    names = [policy.name for policy in policies]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ClearschedError(f"evaluation: policy {twice[0]} is listed twice; give each policy its own name")
    if not episodes:
        raise ClearschedError("evaluation: the workloads have no test episodes; raise workload.episodes.test")
    rollouts = []
    measures = (instance.objective, *(measure for measure in problem.measures if measure != instance.objective))
    with executor() as pool:
        found = [_results(pool, policy, instance, episodes, progress) for policy in policies]
    for policy, results in zip(policies, found, strict=True):
        if len(results) != len(episodes):
            raise ClearschedError(
                f"evaluation: policy {policy.name} ran {len(results)} of {len(episodes)} test episodes"
            )
        rollouts.append(Rollout(policy, results, measures))
    return rollouts


def _results(
    pool: Executor,
    policy: Policy,
    instance: Instance,
    episodes: Sequence[Episode],
    progress: Callable[[str], None],
) -> list[Any]:
    """A policy on all episodes; one that runs inside the compiled loop on some at a time, side by side."""
    progress(policy.name)
    if not hasattr(policy, "compiled"):
        return policy.run(instance, episodes)
    first, *parts = [episodes[begin : begin + CHUNK] for begin in range(0, len(episodes), CHUNK)]
    done = policy.run(instance, first)  # compiles the loop, which threads could not do at once
    more = Spread(pool, _run, (policy, instance)).map(parts) if parts else ()
    return [*done, *(result for results in more for result in results)]


def _run(shared: tuple[Policy, Instance], episodes: Sequence[Episode]) -> list[Any]:
    policy, instance = shared
    return policy.run(instance, episodes)


def episode_table(rollouts: Sequence[Rollout]) -> pa.Table:
    """One row a policy and episode, of schema `schemas.episodes`."""
    measures = rollouts[0].measures
    rows = [
        {
            "policy": rollout.name,
            "kind": rollout.kind,
            "mode": rollout.mode,
            "episode": episode,
            "num_decisions": int(result.num_decisions),
        }
        | {measure.name: float(result.measures[measure.name]) for measure in measures}
        for rollout in rollouts
        for episode, result in enumerate(rollout.results)
    ]
    return pa.Table.from_pylist(rows, schema=schemas.episodes(measures))
