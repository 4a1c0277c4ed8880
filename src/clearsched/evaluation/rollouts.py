"""Closed-loop rollouts: every policy schedules the same held-out episodes, and what happened is written as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.recording import lanes
from clearsched.problems.dag_jobs.schemas import JOBS
from clearsched.schemas import EPISODES


class Episode(Protocol):
    """What a rollout of one episode with J jobs tells (the simulator's EpisodeResult)."""

    @property
    def jct_s(self) -> npt.NDArray[np.float64]: ...  # float64[J], s
    @property
    def arrival_ms(self) -> npt.NDArray[np.int64]: ...  # int64[J], ms
    @property
    def avg_jct_s(self) -> float: ...
    @property
    def makespan_s(self) -> float: ...
    @property
    def num_decisions(self) -> int: ...
    @property
    def num_tasks(self) -> int: ...
    @property
    def tasks(self) -> Any: ...  # task table of the episode where it was asked for, or None


class Policy(Protocol):
    """Anything that schedules: a heuristic, the teacher or a student."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...  # heuristic, teacher or student
    @property
    def mode(self) -> str: ...  # argmax or sampled

    def run(self, profiles: Any, workloads: Sequence[Any], *, record_tasks: bool = False) -> Sequence[Episode]: ...


@dataclass(frozen=True)
class Rollout:
    """A policy and its results on every test episode, in the order of the episodes."""

    name: str
    kind: str
    mode: str
    results: Sequence[Episode]

    @property
    def jct_s(self) -> npt.NDArray[np.float64]:
        """Mean job completion time of each episode, float64[episodes], s."""
        return np.array([result.avg_jct_s for result in self.results], dtype=np.float64)


def roll_out(
    policies: Sequence[Policy],
    profiles: Any,
    workloads: Sequence[Any],
    progress: Callable[[str], None] = lambda name: None,
) -> list[Rollout]:
    """Run every policy on every workload; `progress` is called with a policy's name before it runs.

    Raises:
        ClearschedError: two policies share a name, there is no workload, or a policy answers with a wrong number of
            episodes.
    """
    names = [policy.name for policy in policies]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ClearschedError(f"evaluation: policy {twice[0]} is listed twice; give each policy its own name")
    if not workloads:
        raise ClearschedError("evaluation: the workloads have no test episodes; raise workload.episodes.test")
    rollouts = []
    for policy in policies:
        progress(policy.name)
        results = policy.run(profiles, workloads)
        if len(results) != len(workloads):
            raise ClearschedError(
                f"evaluation: policy {policy.name} ran {len(results)} of {len(workloads)} test episodes"
            )
        rollouts.append(Rollout(policy.name, policy.kind, policy.mode, results))
    return rollouts


def episode_table(rollouts: Sequence[Rollout]) -> pa.Table:
    """One row a policy and episode, of schema EPISODES."""
    rows = [
        {
            "policy": rollout.name,
            "kind": rollout.kind,
            "mode": rollout.mode,
            "episode": episode,
            "avg_jct_s": float(result.avg_jct_s),
            "makespan_s": float(result.makespan_s),
            "num_decisions": int(result.num_decisions),
            "num_tasks": int(result.num_tasks),
        }
        for rollout in rollouts
        for episode, result in enumerate(rollout.results)
    ]
    return pa.Table.from_pylist(rows, schema=EPISODES)


def job_table(
    rollouts: Sequence[Rollout], profiles_of: Sequence[npt.NDArray[np.int32]], names: Sequence[tuple[str, str]]
) -> pa.Table:
    """One row a policy, episode and job, of schema JOBS.

    Args:
        rollouts: the results.
        profiles_of: for each episode the profile of each job, int32[J].
        names: query and size of each profile of the trace.
    """
    queries = np.array([query for query, _ in names], dtype=object)
    sizes = np.array([size for _, size in names], dtype=object)
    parts = []
    for rollout in rollouts:
        for episode, (result, profile) in enumerate(zip(rollout.results, profiles_of, strict=True)):
            count = len(profile)
            parts.append(
                pa.table(
                    [
                        pa.array([rollout.name] * count),
                        pa.array(np.full(count, episode, dtype=np.int32)),
                        pa.array(np.arange(count, dtype=np.int32)),
                        pa.array(queries[profile], pa.string()),
                        pa.array(sizes[profile], pa.string()),
                        pa.array(np.asarray(result.arrival_ms, dtype=np.float64) / 1000.0),
                        pa.array(np.asarray(result.jct_s, dtype=np.float64)),
                    ],
                    schema=JOBS,
                )
            )
    return pa.concat_tables(parts).combine_chunks()


def task_table(policies: Sequence[Policy], profiles: Any, workload: Any) -> pa.Table:
    """Every task of one episode under each of `policies`, of schema TASKS, in order of start and executor."""
    parts = []
    for policy in policies:
        tasks = policy.run(profiles, [workload], record_tasks=True)[0].tasks
        if tasks is None:
            raise ClearschedError(f"evaluation: policy {policy.name} kept no task table")
        table = lanes.task_table(policy.name, tasks, workload.num_executors)
        parts.append(table.sort_by([("start_ms", "ascending"), ("executor", "ascending")]))
    return pa.concat_tables(parts).combine_chunks()
