"""The edge cases of DAG jobs: what each changes of a scenario's params, in proportion to its jobs (docs/edge-cases.md).

No numba: this is data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clearsched.problems.declarations import EdgeCase
from clearsched.registry import Registry

Changes = Mapping[str, Mapping[str, Any]]

OVERLOAD = 1.2
"""Load of the surge, and how many times as many jobs a batch has."""

GIANT_TASKS = 20.0
SWARM_SHARE = 2.0
"""Tiny jobs for each other job of the episode."""

ROOM = "clearsched.problems.dag_jobs.edge_cases"


def overload(params: Any) -> Changes | None:
    """Half of the jobs, from the first quarter on, arrive at a load of 120 %; a batch has no load."""
    jobs = params.workload.jobs
    workload = params.workload
    if workload.arrivals in ("batch", "replay") or jobs < 2:
        return None
    if workload.mean_interarrival_s is None and workload.load >= OVERLOAD:
        return None  # it is always as loaded
    return _workload(surge={"jobs": jobs // 2, "after_job": max(jobs // 4, 1), "load": OVERLOAD})


def giant_job(params: Any) -> Changes:
    """One job has 20 times its tasks; it comes after the first quarter."""
    return _workload(giant={"tasks": GIANT_TASKS, "after_job": params.workload.jobs // 4})


def tiny_jobs(params: Any) -> Changes:
    """Twice as many jobs as the episode has, of the smallest tenth of the profiles, come at once."""
    jobs = params.workload.jobs
    return _workload(swarm={"jobs": round(SWARM_SHARE * jobs), "after_job": max(jobs // 4, 1), "smallest": 0.1})


def stragglers(params: Any) -> Changes:
    """One task in fifty takes eight times as long, unless the scenario has more or slower ones."""
    own = params.workload.faults
    return _workload(
        faults={
            "straggler_probability": max(0.02, own.straggler_probability),
            "straggler_slowdown": max(8.0, own.straggler_slowdown),
        }
    )


def executors_lost(params: Any) -> Changes | None:
    """Three executors in ten are gone for half of the arrivals; a batch has no time between arrivals."""
    workload = params.workload
    if workload.arrivals == "batch" or round(0.3 * workload.executors) < 1:
        return None
    return _workload(outage={"share": 0.3, "after_job": workload.jobs // 4, "jobs": max(workload.jobs // 2, 1)})


def unseen_jobs(params: Any) -> Changes:
    """Jobs of a synthetic source, with other DAGs, tasks and durations than any that the policies were made for."""
    options = {"jobs": 200, "duration_median_s": 0.5, "tasks_median": 20.0}
    traces = {"source": "synthetic", "path": None, "mix": [], "synthetic": options, "seed": params.traces.seed + 1}
    random = "poisson" if params.workload.arrivals == "replay" else params.workload.arrivals
    return {"traces": traces, "workload": {"split": "seed", "arrivals": random, "mean_interarrival_s": None}}


def estimates_off(params: Any) -> Changes:
    """Estimated durations are off by a factor of 2, up or down."""
    return _workload(estimates={"error": 2.0})


def estimates_missing(params: Any) -> Changes:
    """Nothing is known of the durations of three jobs in ten."""
    return _workload(estimates={"missing": 0.3})


def _workload(**sections: Mapping[str, Any]) -> Changes:
    return {"workload": sections}


EDGE_CASES = Registry(
    "edge case",
    (
        EdgeCase("overload", "120 % load", "half of the jobs arrive at a load of 120 %", f"{ROOM}:overload"),
        EdgeCase("giant_job", "one giant job", "one job has 20 times its tasks", f"{ROOM}:giant_job"),
        EdgeCase(
            "tiny_jobs",
            "tiny jobs",
            "twice as many jobs as the episode has, of the smallest tenth, come at once",
            f"{ROOM}:tiny_jobs",
        ),
        EdgeCase("stragglers", "stragglers", "one task in fifty takes eight times as long", f"{ROOM}:stragglers"),
        EdgeCase(
            "executors_lost",
            "executors lost",
            "three executors in ten are gone for half of the arrivals",
            f"{ROOM}:executors_lost",
        ),
        EdgeCase("unseen_jobs", "unseen jobs", "synthetic jobs that nothing was made for", f"{ROOM}:unseen_jobs"),
        EdgeCase(
            "estimates_off",
            "estimates off",
            "estimated durations are off by a factor of 2, up or down",
            f"{ROOM}:estimates_off",
        ),
        EdgeCase(
            "estimates_missing",
            "estimates missing",
            "nothing is known of the durations of three jobs in ten",
            f"{ROOM}:estimates_missing",
        ),
    ),
)
