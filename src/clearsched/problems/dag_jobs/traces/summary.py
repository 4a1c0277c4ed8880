"""What a source read, what it left out and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.problems.dag_jobs.traces.durations import mean_task_ms
from clearsched.problems.dag_jobs.traces.storage import write_trace
from clearsched.problems.dag_jobs.traces.trace import Trace


@dataclass
class Summary:
    """The account of a trace that was built.

    Attributes:
        source: name of the source.
        jobs, stages, tasks: written to the trace.
        work_executor_s: work of all jobs: tasks x mean task duration (`durations.mean_task_ms`), in executor-seconds.
        skipped: reason -> number of jobs, files or rows left out; the reason says which.
        survived: defect -> number of times it was met and mended; what is counted here is in the trace.
    """

    source: str
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    work_executor_s: float = 0.0
    skipped: dict[str, int] = field(default_factory=dict)
    survived: dict[str, int] = field(default_factory=dict)

    def count(self, stages: pa.Table) -> None:
        """Add whole profiles that were written: rows of schema `TRACE`, checked or known to be sound."""
        profile, num_tasks = stages["profile"].to_numpy(), stages["num_tasks"].to_numpy().astype(np.int64)
        self.jobs += int(np.count_nonzero(np.diff(profile))) + bool(len(profile))
        self.stages += len(stages)
        self.tasks += int(num_tasks.sum())
        self.work_executor_s += float((num_tasks * mean_task_ms(stages["durations"])).sum()) / 1000

    def skip(self, reason: str, count: int = 1) -> None:
        """Count what was left out."""
        self.skipped[reason] = self.skipped.get(reason, 0) + count

    def survive(self, defect: str, count: int = 1) -> None:
        """Count a defect that was mended."""
        self.survived[defect] = self.survived.get(defect, 0) + count

    def lines(self) -> list[tuple[str, str]]:
        """What a person is told: (what, how much)."""
        counts = [
            ("jobs", f"{self.jobs:,}"),
            ("stages", f"{self.stages:,}"),
            ("tasks", f"{self.tasks:,}"),
            ("work", f"{self.work_executor_s / 3600:,.2f} executor-hours"),
        ]
        skipped = [(f"skipped: {reason}", f"{count:,}") for reason, count in self.skipped.items()]
        survived = [(f"mended: {defect}", f"{count:,}") for defect, count in self.survived.items()]
        return counts + (skipped or [("skipped", "nothing")]) + survived

    def to_metadata(self) -> dict[str, Any]:
        """As it stands in the metadata of the trace."""
        return asdict(self)


def summary_of(trace: Trace, source: str) -> Summary:
    """The account of a small trace that was read whole, nothing left out."""
    summary = Summary(source)
    summary.count(trace.stages)
    return summary


def write_whole(out: Path, trace: Trace, source: str) -> Summary:
    """Write a small trace that was read whole, with its account in its metadata; return the account."""
    summary = summary_of(trace, source)
    write_with(out, trace, summary)
    return summary


def write_with(out: Path, trace: Trace, summary: Summary) -> None:
    """Write a small trace with its account in its metadata."""
    write_trace(out, replace(trace, metadata=trace.metadata | {"summary": summary.to_metadata()}))
