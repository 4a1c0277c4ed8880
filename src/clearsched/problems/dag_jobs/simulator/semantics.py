"""What an episode changes of the published rules: corrections of flaws, and faults (docs/simulator.md §10, §11)."""

from __future__ import annotations

from dataclasses import dataclass

from clearsched.errors import WorkloadError


@dataclass(frozen=True)
class Semantics:
    """Corrections and faults of an episode. The defaults are the published rules.

    Attributes:
        work_conserving: offer the global pool after every event, not only when a job arrives.
        right_interpolation: between two levels the nearer one is the likelier.
        spark_fifo: under FIFO a job keeps the executors it was granted until it has no task left to start.
        offer_parked: offer the executors parked in a job again while a stage of that job is ready and waits.
        back_up_parked: an executor that would park in a job helps itself to a ready stage of that job that waits.
        failures_per_hour: rate at which an executor that runs fails.
        recovery_ms: time from the failure of an executor to its return, ms.
        straggler_probability: share of tasks that are stragglers.
        straggler_slowdown: factor on the duration of a straggler.
        outage_executors: executors that are lost in an outage; 0 for none.
        outage_from_ms, outage_until_ms: when it begins, and when those that were lost come back.
        idling: a learned policy may answer `none` and leave executors idle (§5); heuristics always may.
        help_first: who is left idle by a learned policy first starts a task of a ready stage of its job (§5).
        offer_at_completion: offer the global pool when a job is complete or an executor fails too, not only when a job
            arrives.
        spark_offers: as Spark offers executors: each when it is idle, to stages whose parents are known to be complete.
        ask_each_task: an executor is decided on after every task, not only when its stage has none left to start.

    Raises:
        WorkloadError: a negative rate or time, a probability beyond 1, or a factor below 1.
    """

    work_conserving: bool = False
    right_interpolation: bool = False
    spark_fifo: bool = False
    offer_parked: bool = False
    failures_per_hour: float = 0.0
    recovery_ms: int = 10_000
    straggler_probability: float = 0.0
    straggler_slowdown: float = 1.0
    idling: bool = True
    outage_executors: int = 0
    outage_from_ms: int = 0
    outage_until_ms: int = 0
    spark_offers: bool = False
    back_up_parked: bool = False
    help_first: bool = False
    offer_at_completion: bool = False
    ask_each_task: bool = False

    def __post_init__(self) -> None:
        bounds = {
            "failures_per_hour": (0, 3_600_000),
            "recovery_ms": (0, 2**40),
            "straggler_probability": (0, 1),
            "straggler_slowdown": (1, 1_000_000),
            "outage_executors": (0, 2**31),
            "outage_from_ms": (0, 2**53),
            "outage_until_ms": (self.outage_from_ms, 2**53),
        }
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            if not low <= value <= high:  # refuses NaN too
                raise WorkloadError(f"semantics: {name} is {value}: it must lie in {low} to {high}")

    @property
    def has_faults(self) -> bool:
        """Whether tasks may be stragglers or fail."""
        return self.loses_tasks or self.straggler_probability > 0

    @property
    def loses_tasks(self) -> bool:
        """Whether a task may start more than once."""
        return self.failures_per_hour > 0 or self.outage_executors > 0


PUBLISHED = Semantics()
"""The rules of the published simulator."""

RULES = {
    name: f"workload.corrections.{name}"
    for name in (
        "work_conserving",
        "offer_at_completion",
        "offer_parked",
        "spark_offers",
        "ask_each_task",
        "back_up_parked",
    )
}
"""What changes who is asked when, by the name of its param: policies learn to lean on it.

`help_first` is none of these: it is what a policy means by `none`, and goes with it wherever it schedules.
"""
