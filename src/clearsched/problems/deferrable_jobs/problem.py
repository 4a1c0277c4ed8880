"""Deferrable jobs behind the seam (`clearsched.problems.problem`). Light: heavy parts are imported when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.errors import ClearschedError
from clearsched.problems.by_name import ByName
from clearsched.problems.declarations import (
    Choice,
    EdgeCase,
    Family,
    Figure,
    Gauge,
    Heuristic,
    Measure,
    Published,
    Source,
)
from clearsched.problems.deferrable_jobs.edge_cases import EDGE_CASES
from clearsched.problems.deferrable_jobs.features import FEATURES
from clearsched.problems.deferrable_jobs.policies import HEURISTICS
from clearsched.problems.deferrable_jobs.sections import SECTIONS
from clearsched.problems.deferrable_jobs.traces.sources import DEFAULT, SOURCES
from clearsched.problems.problem import Problem
from clearsched.registry import Registry, load
from clearsched.section import Section

if TYPE_CHECKING:
    from clearsched.problems.deferrable_jobs.instance import DeferrableJobs
    from clearsched.problems.deferrable_jobs.simulator.loop import Compiled

START = Choice(
    "start", "rank", "Which waiting job starts now?", FEATURES, none="start nothing now", age="job_waited_min"
)

MEASURES = (
    Measure("cost", "", "weighted cost of waits, missed deadlines and evictions", "cost"),
    Measure("relative_wait", "", "mean wait relative to the job's duration", "wait", objective=True),
    Measure("missed_share", "", "share of deadlines missed", "missed", objective=True),
    Measure("evictions_per_job", "", "evictions per job", "evictions"),
    Measure("utilisation", "", "share of the left capacity that jobs used, until the last completion", "used", False),
    Measure("makespan_h", "h", "completion of the last job", "makespan", compared=False),
)

GAUGES = (
    Gauge("backlog_h", "h", "backlog", "what the jobs that wait take, in hours of the whole cluster"),
    Gauge(
        "forecast_error_cores",
        "cores",
        "error of the forecast",
        "how far the forecast of the next slot was off, root mean square over the last two hours, in cores",
        by_name=True,
    ),
)

GUARD = {
    "heuristic": "threshold",
    "settings": {"safety": -1.5, "slack": 0.25},
    "margin": 1.25,
    "gauges": ("forecast_error_cores",),
}
"""Where forecasts are more wrong than in training, who waits for what they promise may wait for ever: a cautious
threshold rule schedules there. Its numbers are of training episodes with worse forecasts (docs/deferrable-jobs.md)."""

FIGURES = Registry(
    "figure",
    (
        Figure(
            "timeline",
            "One test episode over time",
            "clearsched.problems.deferrable_jobs.figures.timeline",
            ("evaluation/slots.parquet", "evaluation/jobs.parquet"),
        ),
    ),
)


class DeferrableJobsProblem(ByName):
    """See `problem.Problem`."""

    name = "deferrable_jobs"
    label = "deferrable jobs"
    summary = "when to start jobs that may wait, on the CPU capacity that on-demand work leaves"
    sections: Mapping[str, type[Section]] = SECTIONS
    overrides: Mapping[str, Any] = {section: {"guard": GUARD} for section in ("search", "teacher", "students")}
    choices: tuple[Choice, ...] = (START,)
    measures: tuple[Measure, ...] = MEASURES
    heuristics: Registry[Heuristic] = HEURISTICS
    yardsticks: tuple[str, ...] = ("fifo", "edf")
    baseline = "fifo"
    families: Registry[Family] = Registry("family", ())
    sources: Registry[Source] = SOURCES
    default_source = DEFAULT
    figures: Registry[Figure] = FIGURES
    edge_cases: Registry[EdgeCase] = EDGE_CASES
    published: Registry[Published] = Registry("published network", ())
    gauges: tuple[Gauge, ...] = GAUGES
    details: tuple[str, ...] = ("jobs", "slots")

    def files(self, traces: Any) -> list[Path]:
        """No source reads a file.

        Raises:
            ClearschedError: the user named one.
        """
        if traces.path is not None:
            raise ClearschedError(
                f"traces.path: {traces.path}: the source {traces.source} reads no file: leave it empty"
            )
        return []

    def build(self, params: Any, out: Path) -> list[tuple[str, str]]:
        """Generate the jobs and write the trace; what was made, in lines (what, how much).

        Raises:
            ClearschedError: the user named a file.
        """
        traces = params.traces
        options = getattr(traces, traces.source.replace("-", "_"))
        path = None if traces.path is None else Path(traces.path)
        lines: list[tuple[str, str]] = load(f"{SOURCES[traces.source].module}:write")(path, out, options, traces.seed)
        return lines

    def draw(self, params: Any, trace: Path, out: Path) -> None:
        """Draw the episodes of every split and write them.

        Raises:
            ClearschedError: the trace is broken or does not fit the cluster.
        """
        from clearsched.problems.deferrable_jobs.workloads.sampling import draw

        draw(params.workload, params.seed, trace, out)

    def open(self, trace: Path, workloads: Path) -> DeferrableJobs:
        """The instance of a trace and its episodes.

        Raises:
            ClearschedError: a file is broken.
        """
        from clearsched.problems.deferrable_jobs.instance import DeferrableJobs

        return DeferrableJobs(trace, workloads)

    def compile(self, rank: Any, level: Any = None) -> Compiled:
        """A policy that runs in the loop, of the packed scorer of `start`; there is no level choice."""
        import numpy as np

        from clearsched.compiled.scoring import columns_read
        from clearsched.problems.deferrable_jobs.features import NUM_FEATURES
        from clearsched.problems.deferrable_jobs.simulator.loop import LEARNED, Compiled

        return Compiled(LEARNED, np.zeros(0), rank, read=columns_read(rank, NUM_FEATURES))

    def compile_heuristic(self, name: str, parameters: Sequence[float]) -> Compiled:
        """A heuristic that runs in the loop.

        Raises:
            ClearschedError: there is none of that name, or it takes other parameters.
        """
        import numpy as np

        from clearsched.problems.deferrable_jobs.simulator.loop import Compiled

        entry = HEURISTICS[name]
        if len(parameters) != len(entry.parameters):
            raise ClearschedError(f"heuristic {name}: {len(parameters)} parameters: it takes {len(entry.parameters)}")
        return Compiled(list(HEURISTICS).index(name), np.array(parameters, np.float64))

    def network(self, sizes: Mapping[str, Any], none: bool) -> Any:
        """The generic set network over the candidates; `none`: it scores "nothing now" too."""
        from clearsched.problems.set_network import SetNetwork

        if sizes.get("rate"):
            raise ClearschedError(f"teacher.network.rate: {self.name} tells its networks no rate: leave it out")
        names = tuple(feature.name for feature in FEATURES)
        return SetNetwork(names, sizes["embedding"], sizes["hidden"], none, levels=False)


PROBLEM: Problem = DeferrableJobsProblem()
