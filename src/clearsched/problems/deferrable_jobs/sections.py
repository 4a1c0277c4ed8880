"""The sections of params.yaml that deferrable jobs own: with those of its sources, and the grids of its heuristics."""

from __future__ import annotations

from pydantic import Field

from clearsched.problems.deferrable_jobs import settings
from clearsched.problems.deferrable_jobs.policies import HEURISTICS
from clearsched.problems.deferrable_jobs.traces.sources import DEFAULT, SOURCES
from clearsched.registry import load
from clearsched.section import Section, derived, one_of

_SUMMARIES = "; ".join(f"{name}: {source.summary}" for name, source in SOURCES.items())

TracesParams = derived(
    settings.TracesParams,
    {
        "source": (one_of(SOURCES), Field(DEFAULT, description=f"where jobs come from. {_SUMMARIES}")),
        **{name.replace("-", "_"): load(source.settings) for name, source in SOURCES.items() if source.settings},
    },
)

HeuristicsParams = derived(
    settings.HeuristicsParams,
    {entry.section: load(entry.settings) for entry in HEURISTICS.values() if entry.settings},
)

SECTIONS: dict[str, type[Section]] = {
    "traces": TracesParams,
    "workload": settings.WorkloadParams,
    "heuristics": HeuristicsParams,
}
