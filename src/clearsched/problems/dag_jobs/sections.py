"""The sections of params.yaml that DAG jobs own: with those of its sources, and the grids of its heuristics."""

from __future__ import annotations

from pydantic import Field

from clearsched.problems.dag_jobs.policies import HEURISTICS
from clearsched.problems.dag_jobs.settings import heuristics, traces
from clearsched.problems.dag_jobs.settings.workload import WorkloadParams
from clearsched.problems.dag_jobs.sources import DEFAULT, SOURCES, section_of
from clearsched.registry import load
from clearsched.section import Section, derived, one_of

_SUMMARIES = ". ".join(f"{name}: {source.summary}" for name, source in SOURCES.items())

MixPart = derived(traces.MixPart, {"source": (one_of(SOURCES), Field(description="data set"))})

TracesParams = derived(
    traces.TracesParams,
    {
        "source": (
            one_of([*SOURCES, "mix"]),
            Field(DEFAULT, description=f"data set. {_SUMMARIES}. mix: several of these"),
        ),
        "mix": (
            tuple[MixPart, ...],  # type: ignore[valid-type]
            Field((), description="sources of a mix, used if `source` is mix, with their weights"),
        ),
        **{section_of(name): load(source.settings) for name, source in SOURCES.items() if source.settings},
    },
)

MixPart.needs_path = TracesParams.needs_path = frozenset(name for name, source in SOURCES.items() if source.needs_path)

HeuristicsParams = derived(
    heuristics.HeuristicsParams,
    {entry.section: load(entry.settings) for entry in HEURISTICS.values() if entry.settings},
)

SECTIONS: dict[str, type[Section]] = {
    "traces": TracesParams,
    "workload": WorkloadParams,
    "heuristics": HeuristicsParams,
}
