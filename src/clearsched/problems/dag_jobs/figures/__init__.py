"""Pictures of DAG jobs; those that any problem has are in `clearsched.figures`."""

from __future__ import annotations

from clearsched.problems.declarations import Figure, Plot
from clearsched.registry import Registry

_TRACE, _MEASURE = "traces/trace.parquet", "clearsched.problems.dag_jobs.traces.measures:measure"

FIGURES: Registry[Figure] = Registry(
    "figure",
    (
        Figure(
            "jct_cdf",
            "job completion times",
            f"{__name__}.jct_cdf",
            ("evaluation/jobs.parquet", "evaluation/episodes.parquet"),
            plot=Plot("jct_s", "share_of_jobs", "JCT (s)", "share of jobs"),
        ),
        Figure(
            "gantt",
            "Gantt chart of one test episode",
            f"{__name__}.gantt",
            ("evaluation/tasks.parquet", "evaluation/jobs.parquet"),
        ),
        Figure("dag_gallery", "some jobs as DAGs", f"{__name__}.dag_gallery", (_TRACE,), measure=_MEASURE),
        Figure("job_sizes", "how large jobs are", f"{__name__}.job_sizes", (_TRACE,), measure=_MEASURE),
        Figure(
            "arrivals",
            "when jobs arrive",
            f"{__name__}.arrivals",
            (_TRACE, "traces/workloads.parquet"),
            measure=_MEASURE,
        ),
        Figure(
            "published_quantiles",
            "generated and published quantiles",
            f"{__name__}.published_quantiles",
            (_TRACE,),
            sources=("alibaba-like",),
            measure=_MEASURE,
        ),
    ),
)
"""The figures in the order in which they are drawn; the caption of each stands beside its module."""
