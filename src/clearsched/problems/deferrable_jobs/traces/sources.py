"""The sources of jobs by name."""

from __future__ import annotations

from clearsched.problems.declarations import Source
from clearsched.registry import Registry

DEFAULT = "synthetic"
HERE = "clearsched.problems.deferrable_jobs.traces"
SETTINGS = "clearsched.problems.deferrable_jobs.settings"

SOURCES = Registry(
    "source",
    (
        Source(
            "synthetic",
            "synthetic",
            f"{HERE}.synthetic",
            "generated, demand and duration log-normal",
            f"{SETTINGS}:SyntheticParams",
        ),
        Source(
            "alibaba-marginals",
            "Alibaba's marginals",
            f"{HERE}.alibaba_marginals",
            "generated from the published quantiles of Alibaba's cluster-trace-v2018",
            f"{SETTINGS}:AlibabaMarginalsParams",
        ),
    ),
)
