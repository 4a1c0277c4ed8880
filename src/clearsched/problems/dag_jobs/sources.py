"""The sources of DAG jobs: one entry each. What is said of a source anywhere (params, command line, docs) is read here.

Another source is a module with one function and a line below:

    write(path: Path | None, out: Path, options: Section | None, seed: int) -> Summary

It reads `path` (None: its own place, or nothing), writes the trace `out` (schema `TRACE`) and tells what it read. Its
options, if it has any, are a model in `settings/sources.py`: the section `section_of(name)` of `traces` in params.yaml.
"""

from __future__ import annotations

from clearsched.problems.dag_jobs.settings.sources import (
    Alibaba2018Params,
    AlibabaLikeParams,
    SparkEventlogParams,
    SyntheticParams,
)
from clearsched.problems.problem import Source
from clearsched.registry import Registry

_ROOM = "clearsched.problems.dag_jobs.traces"

SOURCES: Registry[Source] = Registry(
    "source",
    (
        Source(
            "tpch-spark",
            "TPC-H on Spark",
            f"{_ROOM}.tpch_spark",
            "the 22 TPC-H queries at 5 input sizes, recorded on Apache Spark by this project; embedded",
        ),
        Source(
            "tpch-decima",
            "TPC-H of Decima",
            f"{_ROOM}.tpch_decima",
            "the profiles published with Decima, 22 TPC-H queries at 7 input sizes; read from path or fetched",
        ),
        Source(
            "spark-eventlog",
            "Spark event logs",
            f"{_ROOM}.spark_eventlog",
            "the event logs of a Spark cluster, read from path",
            SparkEventlogParams,
        ),
        Source(
            "alibaba-2018",
            "Alibaba 2018",
            f"{_ROOM}.alibaba_2018",
            "the batch jobs of Alibaba's cluster-trace-v2018; read from path or fetched",
            Alibaba2018Params,
        ),
        Source(
            "alibaba-like",
            "like Alibaba 2018",
            f"{_ROOM}.alibaba_like",
            "generated jobs with the published marginals of cluster-trace-v2018",
            AlibabaLikeParams,
        ),
        Source(
            "synthetic",
            "synthetic",
            f"{_ROOM}.synthetic",
            "random DAGs of a chosen shape with heavy-tailed work, generated",
            SyntheticParams,
        ),
    ),
)

DEFAULT = "tpch-spark"


def section_of(source: str) -> str:
    """The name of a source's section in `traces` of params.yaml: a key of YAML has no hyphen."""
    return SOURCES[source].name.replace("-", "_")
