"""The process that holds a Spark application and runs queries in it, one command a line.

Started by `record` as `python -m <this module> SETTINGS` with the settings as JSON:
`conf` (Spark settings), `tables` and `warmup_tables` (a folder, a scale factor and the Spark settings of the
runs on it). Each line of standard input is a JSON object `{"query": 3, "repetitions": 2}`; each answer is a
line of standard output that begins with `ANSWER`. Everything else (Spark is talkative) goes to standard
error.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from clearsched.problems.dag_jobs.traces.recorder.expressions import Tables

ANSWER = "clearsched-answer "
COLD_RUN = 0
"""Number of the first run of a query; the timed runs are 1, 2, ..."""


def job_group(query: int, run: int) -> str:
    """The name of the Spark job group of one run of a query."""
    return f"query-{query}-run-{run}"


def start_session(conf: dict[str, str]) -> SparkSession:
    """A Spark session in a fresh virtual machine."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def load_classes(tables: Tables) -> None:
    """Run a small query that is none of the 22, so that the first one does not pay for loading Spark."""
    from pyspark.sql import functions as F

    tables.supplier.join(tables.nation, F.col("s_nationkey") == F.col("n_nationkey")).groupBy("n_regionkey").agg(
        F.sum("s_acctbal").alias("balance")
    ).orderBy("n_regionkey").collect()


def run_query(
    spark: SparkSession, query: int, run: int, tables: Tables, conf: dict[str, str]
) -> tuple[float, list[Any]]:
    """Run one query in its own job group. Returns the wall time in seconds and the result's rows."""
    from clearsched.problems.dag_jobs.traces.recorder.queries import QUERIES

    for key, value in conf.items():
        spark.conf.set(key, value)
    spark.sparkContext.setJobGroup(job_group(query, run), f"TPC-H query {query}, run {run}")
    start = time.perf_counter()
    rows = QUERIES[query](tables).collect()
    return time.perf_counter() - start, rows


def main(settings: dict[str, Any]) -> None:
    """Serve until standard input ends."""
    from clearsched.problems.dag_jobs.traces.recorder.queries import read_tables

    spark = start_session(settings["conf"])
    sources = {name: settings[name] for name in ("warmup_tables", "tables")}
    tables = {
        name: read_tables(spark, Path(source["folder"]), source["scale_factor"]) for name, source in sources.items()
    }
    load_classes(tables["warmup_tables"])
    log = spark.sparkContext.applicationId
    for line in sys.stdin:
        order = json.loads(line)
        seconds = []
        for run in range(order["repetitions"] + 1):
            name = "warmup_tables" if run == COLD_RUN else "tables"
            elapsed, rows = run_query(spark, order["query"], run, tables[name], sources[name]["conf"])
            seconds.append(round(elapsed, 3))
        answer = {**order, "log": log, "seconds": seconds, "num_rows": len(rows)}
        print(ANSWER + json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
