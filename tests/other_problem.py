"""A second problem for tests of what composes problems: it has sections, names and tables, and nothing behind them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from clearsched.problems.declarations import Choice, EdgeCase, Family, Figure, Heuristic, Measure, Published, Source
from clearsched.registry import Look, Registry
from clearsched.section import Section


class TracesParams(Section):
    """Which jobs queue."""

    source: Literal["steady", "bursts"] = Field("steady", description="both are generated")
    path: str | None = Field(None, description="no source reads a file")


class EpisodesParams(Section):
    """Episodes of each split."""

    train: int = Field(64, ge=1, description="to learn from")
    validation: int = Field(32, ge=1, description="to tune on")
    test: int = Field(64, ge=1, description="to evaluate on")


class WorkloadParams(Section):
    """The servers."""

    servers: int = Field(2, ge=1, description="servers")
    episodes: EpisodesParams = EpisodesParams()


class ThresholdParams(Section):
    """Grid of the threshold."""

    steps: int = Field(8, ge=1, description="thresholds tried")


class HeuristicsParams(Section):
    """Settings that are tried."""

    threshold: ThresholdParams = ThresholdParams()


class Queue:
    """Who is served next."""

    name = "queue"
    label = "a queue"
    summary = "who is served next"
    sections: Mapping[str, type[Section]] = {
        "traces": TracesParams,
        "workload": WorkloadParams,
        "heuristics": HeuristicsParams,
    }
    overrides: Mapping[str, Any] = {"teacher": {"improve": {"iterations": 3}}}
    choices = (Choice("next", "rank", "Who is served next?", ()),)
    measures = (Measure("wait_s", "s", "mean wait", "wait"),)
    heuristics = Registry(
        "heuristic",
        (
            Heuristic("first", "first come", Look("#000000", "o"), "none:first", (), (), "in order", "folklore"),
            Heuristic("threshold", "threshold", Look("#111111", "o"), "none:t", ("t",), (1.0,), "below t", "folklore"),
        ),
    )
    families: Registry[Family] = Registry("family", ())
    yardsticks = ("first",)
    sources = Registry(
        "source", (Source("steady", "steady", "none", "generated"), Source("bursts", "bursts", "none", "generated"))
    )
    default_source = "steady"
    figures: Registry[Figure] = Registry("figure", ())
    edge_cases: Registry[EdgeCase] = Registry("edge case", ())
    published: Registry[Published] = Registry("published network", ())
    details = ("waits",)

    def files(self, traces: TracesParams) -> list[Path]:
        """No source reads a file."""
        return []


PROBLEM = Queue()
