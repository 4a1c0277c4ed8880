"""The embedded default: TPC-H queries recorded on Apache Spark by this project (`clearsched traces record-tpch`).

Derived from TPC-H and not comparable to published TPC-H results. How it was recorded stands in the file's metadata.
"""

from __future__ import annotations

from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.sources import EMBEDDED, embedded
from clearsched.problems.dag_jobs.traces.storage import read_trace
from clearsched.problems.dag_jobs.traces.summary import Summary, write_whole
from clearsched.problems.dag_jobs.traces.trace import Trace


def load(path: str | Path | None = None) -> Trace:
    """Read the recorded profiles, by default the file in the repository's `data/` folder.

    Raises:
        ClearschedError: the file is missing, truncated or not a trace.
    """
    if path is not None:
        return read_trace(path)
    found = embedded()
    if found is None:
        raise ClearschedError(f"{EMBEDDED}: no such file; run from the repository's folder or set traces.path")
    return read_trace(found)


def write(path: Path | None, out: Path, options: None, seed: int) -> Summary:
    """Write the recorded profiles to `out` (see `traces.sources`).

    Raises:
        ClearschedError: as `load`.
    """
    return write_whole(out, load(path), "tpch-spark")
