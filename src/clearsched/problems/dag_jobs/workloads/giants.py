"""Giants: jobs with many times the tasks of their profile, as profiles of their own beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces.trace import Trace


def with_giants(trace: Trace, copied: np.ndarray, is_giant: np.ndarray, times: float) -> Trace:
    """A trace of copies of the profiles of another.

    Args:
        trace: the profiles.
        copied: int64[n], the profile that each new one is a copy of; non-decreasing, so that sources stay together, if
            the trace is to be written.
        is_giant: bool[n], whether the copy has `times` as many tasks in each stage, rounded.
        times: at least 1.
    """
    starts = trace.profile_starts.astype(np.int64)
    counts = np.diff(starts)[copied]
    rows = np.arange(counts.sum()) + np.repeat(starts[copied] - (np.cumsum(counts) - counts), counts)
    stages = trace.stages.take(pa.array(rows))
    tasks = stages["num_tasks"].to_numpy() * np.where(np.repeat(is_giant, counts), times, 1.0)
    columns = {"profile": np.repeat(np.arange(len(copied)), counts), "num_tasks": np.rint(tasks)}
    for name, values in columns.items():
        index = TRACE.get_field_index(name)
        stages = stages.set_column(index, TRACE.field(name), pa.array(values.astype(np.int32), pa.int32()))
    return Trace(stages, trace.levels, _metadata(trace, copied))


def _metadata(trace: Trace, copied: np.ndarray) -> dict[str, Any]:
    """That of the trace; of a mix, with as many profiles of each source as there are copies."""
    metadata = dict(trace.metadata)
    if "mix" in metadata:
        ends = np.cumsum([part["profiles"] for part in metadata["mix"]])
        kept = np.diff(np.searchsorted(copied, ends), prepend=0)
        metadata["mix"] = [part | {"profiles": int(n)} for part, n in zip(metadata["mix"], kept, strict=True)]
    return metadata
