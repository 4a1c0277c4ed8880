"""What the service counts, in the text format of Prometheus; each service has a registry of its own."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Upper bounds of the buckets of the histogram."""

CONTENT_TYPE = CONTENT_TYPE_LATEST


disable_created_metrics()  # a second series for each, of when it began


class Metrics:
    """Counters, and the histogram of how long a decision takes."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        decisions = Counter(
            "clearsched_decisions", "Decisions by what was answered.", ["answer"], registry=self.registry
        )
        self.chosen, self.none = decisions.labels("candidate"), decisions.labels("none")
        guarded = Counter(
            "clearsched_guarded",
            "Decisions of which a guard was asked, by who is to decide.",
            ["by"],
            registry=self.registry,
        )
        self.by_rules, self.by_heuristic = guarded.labels("rules"), guarded.labels("heuristic")
        self.errors = Counter(
            "clearsched_errors", "Requests that were refused, by status.", ["status"], registry=self.registry
        )
        seconds = Histogram(
            "clearsched_decide_seconds",
            "From a request that is read to its answer, s.",
            ["explain"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.seconds = {explain: seconds.labels(str(explain).lower()) for explain in (True, False)}
        reloads = Counter(
            "clearsched_reloads", "How often the file was read again.", ["result"], registry=self.registry
        )
        self.loaded, self.refused = reloads.labels("loaded"), reloads.labels("refused")
        self._student = Gauge(
            "clearsched_student_info",
            "The rules that answer: 1.",
            ["student", "problem", "digest"],
            registry=self.registry,
        )

    def tell_student(self, student: str, problem: str, digest: str) -> None:
        """Say which rules answer from now on."""
        self._student.clear()
        self._student.labels(student, problem, digest).set(1)

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self.registry)
