"""Which executor worked for which job, and when: what Gantt charts are drawn of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa


@dataclass(frozen=True)
class Runs:
    """Tasks of one job that follow each other on one executor without a break, joined; times in s."""

    executor: npt.NDArray[np.int32]
    job: npt.NDArray[np.int32]
    start_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]
    num_tasks: npt.NDArray[np.int64]


def join_runs(tasks: pa.Table) -> Runs:
    """Join tasks of one job that follow each other on an executor: a tenth of the boxes, the same picture."""
    executor, job, start = (tasks[name].to_numpy() for name in ("executor", "job", "start_ms"))
    end = start + tasks["duration_ms"].to_numpy()
    order = np.lexsort((start, executor))
    executor, job, start, end = executor[order], job[order], start[order], end[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (executor[1:] != executor[:-1]) | (job[1:] != job[:-1]) | (start[1:] != end[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(order)) - 1
    return Runs(executor[first], job[first], start[first] / 1000.0, end[last] / 1000.0, last - first + 1)
