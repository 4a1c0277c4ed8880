"""The pool of jobs that episodes draw from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched import __version__
from clearsched.errors import ClearschedError, TraceError
from clearsched.problems.deferrable_jobs.schemas import TRACE
from clearsched.schemas import read_table, write_table


@dataclass(frozen=True)
class Pool:
    """Jobs by column, each float64[P]; `interval_s` is None where the source knows no arrivals."""

    cpu: np.ndarray
    memory: np.ndarray
    duration_s: np.ndarray
    interval_s: np.ndarray | None = None


def read_pool(path: str | Path) -> Pool:
    """Read a trace.

    Raises:
        ClearschedError: missing, truncated or of another schema.
        TraceError: it has no job, or one without demand or duration.
    """
    table, _ = read_table(path, TRACE)
    cpu, memory, duration = (table[name].to_numpy().astype(float) for name in ("cpu", "memory", "duration_s"))
    if not len(cpu):
        raise TraceError(f"{path}: no job; build the trace again")
    wrong = np.flatnonzero(~(np.isfinite(cpu) & np.isfinite(duration) & (cpu > 0) & (duration > 0)))
    if len(wrong):
        raise TraceError(f"{path}: row {wrong[0]}: cpu and duration_s must be above 0")
    known = table["interval_s"].null_count == 0
    return Pool(cpu, memory, duration, table["interval_s"].to_numpy() if known else None)


def write_pool(out: Path, pool: Pool, source: str, options: dict[str, Any], seed: int) -> list[tuple[str, str]]:
    """Write a trace; what was made, in lines (what, how much)."""
    count = len(pool.cpu)
    columns: dict[str, Any] = {
        "job": np.arange(count),
        "cpu": pool.cpu.astype(np.float32),
        "memory": pool.memory.astype(np.float32),
        "duration_s": pool.duration_s,
        "interval_s": pa.nulls(count, pa.float64()) if pool.interval_s is None else pool.interval_s,
    }
    metadata = {"source": source, "version": __version__, "options": options, "seed": seed}
    write_table(out, pa.table(columns), TRACE, metadata)
    lines = [("jobs", str(count))]
    for what, values, unit in (("cpu", pool.cpu, "cores"), ("duration", pool.duration_s, "s")):
        low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
        lines.append((what, f"{low:.4g} to {high:.4g} {unit}, median {middle:.4g}"))
    return lines


def refuse_path(path: Path | None, source: str) -> None:
    """Both sources are generated.

    Raises:
        ClearschedError: a path is given.
    """
    if path is not None:
        raise ClearschedError(f"traces.path: {path}: the source {source} reads no file: leave it empty")
