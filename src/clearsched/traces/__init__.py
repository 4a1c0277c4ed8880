"""Where jobs come from: one module a source, all give the same `Trace`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.errors import ClearschedError
from clearsched.traces import tpch_decima, tpch_spark
from clearsched.traces.trace import Trace, check_trace, make_trace, read_trace, write_trace

if TYPE_CHECKING:
    from clearsched.params import Params

__all__ = ["Trace", "build", "check_trace", "describe", "load", "make_trace", "read_trace", "validate", "write_trace"]

DOWNLOADS = Path("data/downloads")


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


def build(params: Params, out: Path) -> Trace:
    """Build the trace that `params.traces` names, write it to `out`, return it."""
    trace = load(params.traces.source, params.traces.path)
    write_trace(out, trace)
    return trace


def validate(path: Path) -> Trace:
    """Check a Parquet trace; return it if it is sound."""
    return read_trace(path)


def describe(path: Path) -> dict[str, Any]:
    """Counts of a trace, and the work of its jobs by input size (executor-seconds: tasks x mean duration)."""
    from clearsched.problems.dag_jobs.profiles import compile_profiles

    trace = load_profiles(path)
    profiles = compile_profiles(trace)
    work_s = profiles.work_ms / 1000
    sizes = trace.jobs["size"].to_numpy(zero_copy_only=False)
    return {
        "source": trace.metadata.get("source", ""),
        "profiles": trace.num_profiles,
        "stages": len(trace.stages),
        "tasks": int(trace.jobs["tasks"].to_numpy().sum()),
        "edges": len(trace.edges),
        "levels_executors": list(trace.levels),
        "mean_work_executor_s": {str(size): float(work_s[sizes == size].mean()) for size in dict.fromkeys(sizes)},
    }
