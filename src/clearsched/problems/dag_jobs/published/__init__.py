"""Networks that others published for DAG jobs: one entry each, and a module with the same name in Python.

Another one is a module and a line below. The module has three functions:

    new() -> Network                       without weights; what it reads it computes from a `Graph`
    fetch(cache_folder) -> Path            downloads the checkpoint
    read(data: bytes, where) -> weights    the state of `new()`, of a checkpoint's bytes
"""

from __future__ import annotations

from clearsched.problems.declarations import Published
from clearsched.registry import Registry

PUBLISHED: Registry[Published] = Registry(
    "published network",
    (
        Published(
            "spark-sched-sim",
            "Decima of spark-sched-sim",
            f"{__name__}.spark_sched_sim",
            "Decima as trained by A. Gertsman in spark-sched-sim (MIT) on 50 executors and streams of 200 TPC-H jobs",
        ),
    ),
)
