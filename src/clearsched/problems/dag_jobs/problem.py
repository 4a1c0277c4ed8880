"""DAG jobs behind the seam: what `problems.problem.Problem` asks for, each part from the room that has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.problems import policy
from clearsched.problems.by_name import ByName
from clearsched.problems.dag_jobs.edge_cases import EDGE_CASES
from clearsched.problems.dag_jobs.figures import FIGURES
from clearsched.problems.dag_jobs.policies import CODES, FAMILIES, HEURISTICS, LEARNED
from clearsched.problems.dag_jobs.published import PUBLISHED
from clearsched.problems.dag_jobs.sources import DEFAULT, SOURCES, files_of
from clearsched.problems.declarations import Choice, Gauge, Measure
from clearsched.problems.problem import Instance, Problem

if TYPE_CHECKING:
    from clearsched.compiled.scoring import Packed
    from clearsched.problems.dag_jobs.simulator.loop import Compiled
    from clearsched.section import Section


STALL_LIMIT = 2.0
"""A policy has locked a job when executors wait in it, beside a stage that is ready, for twice as long as jobs last."""


class DagJobs(ByName):
    """DAG jobs on a pool of executors (Mao et al. 2019): which stage gets executors, and how many its job may hold."""

    name = "dag_jobs"
    label = "DAG jobs"
    summary = "jobs that are DAGs of stages, on a pool of executors"
    measures = (
        Measure("jct_s", "s", "mean job completion time", "JCT"),
        Measure(
            "jct_p95_s", "s", "95th percentile of the job completion times", "p95 JCT", compared=False, objective=True
        ),
        Measure(
            "slowdown",
            "",
            "mean job completion time relative to the job's ideal time",
            "slowdown",
            compared=False,
            objective=True,
        ),
        Measure("makespan_s", "s", "completion of the last job", "makespan", compared=False, objective=True),
        Measure(
            "jct_p99_s", "s", "99th percentile of the job completion times", "p99 JCT", compared=False, beside="mean"
        ),
        Measure("parked_percent", "%", "executor time parked in jobs", "parked", compared=False, beside="mean"),
        Measure(
            "stall_s",
            "s",
            "longest time that executors were parked in a job while a ready stage of it waited",
            "stall",
            compared=False,
            beside="worst",
            limit=STALL_LIMIT,
        ),
        Measure("num_tasks", "tasks", "tasks started", "tasks", compared=False),
    )
    heuristics = HEURISTICS
    yardsticks = ("weighted_fair", "capped_srpt")
    baseline = "fair"
    families = FAMILIES
    sources = SOURCES
    default_source = DEFAULT
    figures = FIGURES
    edge_cases = EDGE_CASES
    published = PUBLISHED
    gauges = (
        Gauge("backlog_s", "s", "backlog", "work not yet started, as policies see it, in seconds of the whole cluster"),
        Gauge(
            "stall_s",
            "s",
            "longest stall",
            "for how long, by now, executors have been parked in a job while a ready stage of it waits",
            is_wait=True,
        ),
        Gauge("largest_s", "s", "largest job", "what of the backlog is of one job, at most", by_name=True),
    )
    details = ("jobs", "tasks")
    # The others cost minutes and are neither read nor as good.
    overrides: Mapping[str, Any] = {"search": {"families": ("stay_and_move",)}}

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The stage, then the limit of its job."""
        from clearsched.problems.dag_jobs.features import FEATURES

        return (
            Choice(
                "stage",
                "rank",
                "Which stage gets executors?",
                FEATURES,
                none="leave the executors idle",
                helps="leave the executors idle, unless a ready stage of their own job has work for them",
                keeps="job_is_source",
                kept="kept local: the freed executor stays on its job",
                group="job",
                ready="stage_is_ready",
                served="stage_executors",
                age="job_age_s",
                load="job_fair_load",
            ),
            Choice(
                "limit",
                "level",
                "How many executors may the job of that stage hold?",
                FEATURES,
                unit="executors",
                fair=(("jobs_in_system", -1.0),),
            ),
        )

    @cached_property
    def sections(self) -> Mapping[str, type[Section]]:
        """Traces, workload, heuristics."""
        from clearsched.problems.dag_jobs.sections import SECTIONS

        return SECTIONS

    def files(self, traces: Any) -> list[Path]:
        """The files that the source reads."""
        return files_of(traces)

    def build(self, params: Any, out: Path) -> list[tuple[str, str]]:
        """Read the source, write the trace, give the account."""
        from clearsched.problems.dag_jobs.traces.sources import write_from_params

        return write_from_params(params, out).lines()

    def draw(self, params: Any, trace: Path, out: Path) -> None:
        """Draw the episodes of every split."""
        from clearsched.problems.dag_jobs.workloads import build

        build(params, trace, out)

    def open(self, trace: Path, workloads: Path) -> Instance:
        """The trace compiled, and the episodes drawn from it."""
        from clearsched.problems.dag_jobs.instance import open_instance

        return open_instance(trace, workloads)

    def compile(self, rank: Packed, level: Packed) -> Compiled:
        """A policy by scores."""
        import numpy as np

        from clearsched.compiled.scoring import columns_read
        from clearsched.problems.dag_jobs.features import NUM_FEATURES
        from clearsched.problems.dag_jobs.simulator.loop import Compiled

        read = columns_read(rank, NUM_FEATURES) | columns_read(level, NUM_FEATURES)
        return Compiled(LEARNED, np.zeros(2), rank, level, read)

    def compile_heuristic(self, name: str, parameters: Sequence[float]) -> Compiled:
        """A heuristic."""
        import numpy as np

        from clearsched.problems.dag_jobs.simulator.loop import Compiled

        values = np.zeros(2)
        values[: len(parameters)] = parameters
        return Compiled(CODES[name], values)

    def network(self, sizes: Mapping[str, Any], none: bool) -> Any:
        """The graph network."""
        from clearsched.problems.dag_jobs.network.network import TeacherNetwork

        return TeacherNetwork(**sizes, none=none)


PROBLEM: Problem = DagJobs()


def heuristic(name: str, **settings: float) -> policy.CompiledPolicy:
    """A heuristic of this problem with given parameters, the others at their defaults.

    Raises:
        ClearschedError: unknown heuristic or parameter.
    """
    return policy.heuristic(PROBLEM, name, settings)
