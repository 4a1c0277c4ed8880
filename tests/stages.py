"""Params for tests that run stages without a params.yaml."""

from __future__ import annotations

from typing import Any

from clearsched.params import Params, parse


def stage_params(
    problem: str = "dag_jobs", *, seed: int = 1, idling: bool = True, **sections: dict[str, Any]
) -> Params:
    """Checked params of a problem: the given values of its sections, defaults for the rest.

    Sections need not fit together: a test's few episodes are fewer than the defaults of stages that it does not run.
    `idling`: for dag_jobs, whether learned policies may leave executors idle. Fits there are checked under a fiftieth
    of the stress: all of it takes most of a small fit's time.
    """
    if problem == "dag_jobs":
        sections["workload"] = {"idling": idling, "stress": 0.02} | sections.get("workload", {})
    return parse({"problem": problem, "scenario": "test", "seed": seed, **sections}, "test", whole=False)


def tiny_teacher(**settings: Any) -> Params:
    """Five jobs on four executors, and a teacher that trains in seconds; `settings` of the section `teacher`."""
    usual = {
        "network": {"embedding": 4, "hidden": 8, "rounds": 2},
        "clone": {"episodes": 2, "epochs": 2, "batch_size": 32, "dagger_rounds": 1, "tolerance": None},
    }
    workload = {"executors": 4, "jobs": 5, "moving_delay_s": 0.5, "episodes": {"train": 4, "validation": 3, "test": 1}}
    return stage_params(seed=5, workload=workload, teacher={**usual, **settings})
