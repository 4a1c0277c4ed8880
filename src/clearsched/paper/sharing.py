"""What bases of the papers' figures have in common: it is made once, and the others take it.

Networks that differ in their training alone meet the same episodes, are held against the same tuned heuristics and
clone the same searched policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clearsched.params import Params, stage_values

SHARED = ("traces", "workloads", "heuristics", "search")
"""The stages, each made of those before it."""


def takes(scenarios: Mapping[str, Params]) -> dict[tuple[str, str], str]:
    """By scenario and stage the first scenario that makes the same there, where that is another one.

    A stage is the same where its settings are, but for the name of the scenario, and all stages before it are.
    """
    found: dict[tuple[str, str], str] = {}
    first: dict[str, list[tuple[list[Any], str]]] = {stage: [] for stage in SHARED}
    for name, params in scenarios.items():
        told: list[Any] = []
        for stage in SHARED:
            told = [*told, {**stage_values(params, stage), "scenario": ""}]
            other = next((owner for settings, owner in first[stage] if settings == told), None)
            if other is None:
                first[stage].append((told, name))
            else:
                found[name, stage] = other
    return found


def files_of(stage: str, families: Sequence[str]) -> list[str]:
    """What other rules read of a stage, below the folder of its scenario."""
    made = {
        "traces": ["traces/trace.parquet"],
        "workloads": ["traces/workloads.parquet"],
        "heuristics": ["heuristics/tuned.json"],
        "search": [f"search/{family}.json" for family in families],
    }
    return made[stage]
