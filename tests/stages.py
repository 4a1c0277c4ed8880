"""Params for tests that run stages without a params.yaml."""

from __future__ import annotations

from typing import Any

from clearsched.params import Params, parse


def stage_params(
    problem: str = "dag_jobs", *, seed: int = 1, idling: bool = True, **sections: dict[str, Any]
) -> Params:
    """Checked params of a problem: the given values of its sections, defaults for the rest.

    Sections need not fit together: a test's few episodes are fewer than the defaults of stages that it does not run.
    `idling`: for dag_jobs, whether learned policies may leave executors idle.
    """
    if problem == "dag_jobs":
        sections["workload"] = {"idling": idling} | sections.get("workload", {})
    return parse({"problem": problem, "scenario": "test", "seed": seed, **sections}, "test", whole=False)
