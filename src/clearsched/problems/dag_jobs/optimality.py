"""How far policies are from the optimum, on small instances of which it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.optimum import EFFORT, MISSING, available, optimum
from clearsched.problems.dag_jobs.schemas import OPTIMALITY, WAVES
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces.trace import make_trace
from clearsched.problems.policy import Policy
from clearsched.schemas import write_table

JOBS = (4, 8)
EXECUTORS = 3
LONGEST_S = 10


def small_instances(count: int, seed: int) -> tuple[Profiles, list[Workload]]:
    """Instances of 4 to 8 jobs that are there from the start, on 3 executors; moves are free and durations constant.

    A job has 1 to 3 stages of 1 or 2 tasks (at most 2 stages where there are 6 jobs or more, so that optima can be
    proved), a task lasts 1 to 10 whole seconds. Each instance has a random stream of its own.
    """
    rows: list[dict[str, Any]] = []
    workloads = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        jobs = int(rng.integers(JOBS[0], JOBS[1] + 1))
        first = rows[-1]["profile"] + 1 if rows else 0
        for profile in range(first, first + jobs):
            rows += _job(rng, profile, 3 if jobs < 6 else 2)
        profiles = np.arange(first, first + jobs)
        workloads.append(Workload(profiles, np.zeros(jobs, np.int64), EXECUTORS, 0, seed=number))
    trace = make_trace(rows, {"source": "small instances", "levels": [1]}, "small instances")
    return compile_profiles(trace, warmup_delay_ms=0), workloads


def _job(rng: np.random.Generator, profile: int, most_stages: int) -> list[dict[str, Any]]:
    """Rows of the trace's schema; every wave of a stage has its one duration."""
    rows = []
    for stage in range(int(rng.integers(1, most_stages + 1))):
        duration_ms = 1000 * int(rng.integers(1, LONGEST_S + 1))
        rows.append(
            {
                "profile": profile,
                "query": f"q{profile}",
                "size": "small",
                "stage": stage,
                "num_tasks": int(rng.integers(1, 3)),
                "parents": [parent for parent in range(stage) if rng.random() < 0.6],
                "durations": [{"wave": wave, "level": 1, "duration_ms": [duration_ms]} for wave in WAVES],
            }
        )
    return rows


def optimality_table(
    policies: Sequence[Policy],
    profiles: Profiles,
    workloads: Sequence[Workload],
    effort: float = EFFORT,
    progress: Callable[[int], None] = lambda solved: None,
) -> pa.Table:
    """One row an instance and policy, of schema OPTIMALITY; `progress` is called with the instances solved so far.

    Raises:
        ClearschedError: OR-Tools is not installed.
    """
    instance, rows = DagJobsInstance(profiles), []
    results = [policy.run(instance, workloads) for policy in policies]
    for number, workload in enumerate(workloads):
        best = optimum(profiles, workload, effort)
        progress(number + 1)
        for policy, outcomes in zip(policies, results, strict=True):
            jct_s = outcomes[number].avg_jct_s
            rows.append(
                {
                    "instance": number,
                    "jobs": len(workload.profile),
                    "tasks": outcomes[number].num_tasks,
                    "policy": policy.name,
                    "kind": policy.kind,
                    "jct_s": jct_s,
                    "optimum_s": best.jct_s,
                    "bound_s": best.bound_s,
                    "proved": best.proved,
                    "gap_percent": 100 * (jct_s / best.jct_s - 1),
                }
            )
    return pa.Table.from_pylist(rows, schema=OPTIMALITY)


def write_optimality(
    policies: Sequence[Policy], out: Path, count: int, seed: int, effort: float, progress: Callable[[int], None]
) -> pa.Table:
    """Solve `count` small instances, run the policies on them, write `out`/optimality.parquet.

    Raises:
        ClearschedError: OR-Tools is not installed, or two policies have one name.
    """
    if not available():
        raise ClearschedError(MISSING)
    names = [policy.name for policy in policies]
    for name in sorted({name for name in names if names.count(name) > 1}):
        raise ClearschedError(f"optimum: policy {name} is given twice: give each policy its own name")
    profiles, workloads = small_instances(count, seed)
    table = optimality_table(policies, profiles, workloads, effort, progress)
    settings = {"instances": count, "seed": seed, "effort": effort, "executors": EXECUTORS}
    write_table(out / "optimality.parquet", table, OPTIMALITY, settings)
    return table
