"""The 22 TPC-H queries by number, and the tables that they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from clearsched.problems.dag_jobs.traces.recorder import queries_1_to_11, queries_12_to_22
from clearsched.problems.dag_jobs.traces.recorder.expressions import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERIES: dict[int, Callable[[Tables], DataFrame]] = {
    number: getattr(queries_1_to_11 if number <= 11 else queries_12_to_22, f"query_{number}") for number in range(1, 23)
}

TABLES = tuple(field.name for field in fields(Tables) if field.name != "scale_factor")


def read_tables(spark: SparkSession, folder: Path, scale_factor: float) -> Tables:
    """The tables that `tpchgen-cli` wrote to `folder`, as lazy data frames."""
    frames = {name: spark.read.parquet(str(folder / f"{name}.parquet")) for name in TABLES}
    return Tables(**frames, scale_factor=scale_factor)
