"""What a source read, what it left out and why."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Summary:
    """The account of a trace that was built.

    Attributes:
        source: name of the source.
        jobs, stages, tasks: written to the trace.
        work_executor_s: work of all jobs: tasks x mean duration, in executor-seconds.
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
