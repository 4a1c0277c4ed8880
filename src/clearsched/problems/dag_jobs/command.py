"""`clearsched simulate`: one episode from a file, under any policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clearsched.policies import load_policy
from clearsched.problems.dag_jobs.profiles import compile_profiles
from clearsched.traces import load_profiles
from clearsched.workloads import read_episode


def simulate_file(workload: Path, profiles: Path, policy: str, durations: str, seed: int) -> dict[str, Any]:
    """Simulate the episode in a JSON file of the form of the golden files.

    Args:
        workload: the JSON file: num_executors, moving_delay_ms, warmup_delay_ms, jobs (query, size, arrival_ms).
        profiles: a Parquet trace, or a folder of the `tpch-decima` layout.
        policy: name of a heuristic, or the file of a teacher or student.
        durations: sampled, or mean for the golden mode.
        seed: seed of the sampled durations.

    Returns:
        completion_ms (in the order of the file's jobs), makespan_ms, avg_jct_ms, num_decisions, num_tasks.

    Raises:
        ClearschedError: a file is missing or broken, or the policy is unknown.
    """
    chosen = load_policy(policy)
    trace = load_profiles(profiles)
    episode, order, warmup_delay_ms = read_episode(workload, trace, durations=durations, seed=seed)
    result = chosen.run(compile_profiles(trace, warmup_delay_ms), [episode])[0]
    completion_ms = np.empty_like(result.completion_ms)
    completion_ms[order] = result.completion_ms
    return {
        "completion_ms": completion_ms.tolist(),
        "makespan_ms": int(completion_ms.max()),
        "avg_jct_ms": float((result.completion_ms - result.arrival_ms).mean()),
        "num_decisions": result.num_decisions,
        "num_tasks": result.num_tasks,
    }
