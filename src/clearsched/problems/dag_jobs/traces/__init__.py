"""Where jobs come from: one module a source, all give the same `Trace`."""

from __future__ import annotations

from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.files import DOWNLOADS
from clearsched.problems.dag_jobs.traces import tpch_decima, tpch_spark
from clearsched.problems.dag_jobs.traces.describe import describe
from clearsched.problems.dag_jobs.traces.sources import SOURCES, write, write_from_params
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.problems.dag_jobs.traces.trace import Trace, check_trace, make_trace, read_trace, write_trace

__all__ = [
    "SOURCES",
    "Summary",
    "Trace",
    "check_trace",
    "describe",
    "load",
    "make_trace",
    "read_trace",
    "validate",
    "write",
    "write_from_params",
    "write_trace",
]


def load(source: str, path: str | Path | None = None) -> Trace:
    """The trace of a source: `tpch-spark` (embedded) or `tpch-decima` (a local folder, else downloaded).

    Raises:
        ClearschedError: unknown source, or its files are missing or broken.
    """
    if source == "tpch-spark":
        return tpch_spark.load(path)
    if source == "tpch-decima":
        return tpch_decima.load(path if path is not None else tpch_decima.fetch(DOWNLOADS))
    raise ClearschedError(f"traces.source: unknown source {source!r}: known are tpch-spark, tpch-decima")


def load_profiles(path: str | Path) -> Trace:
    """The trace in a Parquet file, or in a folder of the `tpch-decima` layout.

    Raises:
        ClearschedError: neither is there.
    """
    path = Path(path)
    return tpch_decima.load(path) if path.is_dir() else read_trace(path)


def validate(path: Path) -> Trace:
    """Check a Parquet trace; return it if it is sound."""
    return read_trace(path)
