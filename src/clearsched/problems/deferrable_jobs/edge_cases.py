"""The edge cases of deferrable jobs: what each changes of a scenario's params. No numba: this is data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clearsched.problems.declarations import EdgeCase
from clearsched.registry import Registry

Changes = Mapping[str, Mapping[str, Any]]

ROOM = "clearsched.problems.deferrable_jobs.edge_cases"

FORECAST_OFF = 4
"""How many times as wrong the forecast is where it is off."""


def overload(params: Any) -> Changes | None:
    """Jobs ask for 120 % of what on-demand work leaves; where the cores are given, the load cannot be chosen."""
    return None if params.workload.cores is not None else {"workload": {"load": 1.2}}


def bursts(params: Any) -> Changes:
    """Bursts of on-demand work come twice as often; the cluster is as much larger as they take on average."""
    capacity = params.workload.capacity
    return {"workload": {"capacity": {"bursts_per_day": min(2 * capacity.bursts_per_day, 1000.0)}}}


def forecast_off(params: Any) -> Changes:
    """The forecast of the capacity is four times as wrong."""
    capacity = params.workload.capacity
    return {"workload": {"capacity": {"forecast_error": min(FORECAST_OFF * capacity.forecast_error, 1.0)}}}


EDGE_CASES: Registry[EdgeCase] = Registry(
    "edge case",
    (
        EdgeCase("overload", "120 % load", "jobs ask for 120 % of what on-demand work leaves", f"{ROOM}:overload"),
        EdgeCase("bursts", "twice the bursts", "bursts of on-demand work come twice as often", f"{ROOM}:bursts"),
        EdgeCase(
            "forecast_off",
            "forecast off",
            "the forecast of what is left is four times as wrong",
            f"{ROOM}:forecast_off",
        ),
    ),
)
