"""What a source read, what it left out and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.problems.dag_jobs.traces.trace import Trace, write_trace


@dataclass
class Summary:
    """The account of a trace that was built.

    Attributes:
        source: name of the source.
        jobs, stages, tasks: written to the trace.
        work_executor_s: work of all jobs: tasks x mean of all durations measured of them, in executor-seconds.
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
    durations = trace.durations
    counts = np.zeros(len(trace.stages))
    sums = np.zeros(len(trace.stages))
    rows = trace.profile_starts[durations["profile"].to_numpy()] + durations["stage"].to_numpy()
    lists = durations["duration_ms"].combine_chunks()
    offsets = lists.offsets.to_numpy()
    totals = np.concatenate([[0.0], np.cumsum(lists.values.to_numpy(), dtype=np.float64)])
    np.add.at(counts, rows, np.diff(offsets))
    np.add.at(sums, rows, totals[offsets[1:]] - totals[offsets[:-1]])
    num_tasks = trace.stages["num_tasks"].to_numpy()
    work_s = float((num_tasks * sums / counts).sum()) / 1000
    return Summary(source, trace.num_profiles, len(trace.stages), int(num_tasks.sum()), work_s)


def write_whole(out: Path, trace: Trace, source: str) -> Summary:
    """Write a small trace that was read whole, with its account in its metadata; return the account."""
    summary = summary_of(trace, source)
    write_trace(out, replace(trace, metadata=trace.metadata | {"summary": summary.to_metadata()}))
    return summary
