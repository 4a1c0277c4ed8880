"""The loop beside an unchanged Slurm: look at the queue, ask the student, change what differs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from clearsched.engines.slurm.client import Queued
from clearsched.engines.slurm.planning import Plan, Planner
from clearsched.engines.slurm.priorities import numbered

HELD = 0
"""The priority of a job that waits."""


class Queue(Protocol):
    """What is asked of `client.Slurm`."""

    def queue(self) -> list[Queued]: ...

    def update(self, array: int, settings: list[str]) -> str: ...

    def release(self, array: int) -> str: ...


@dataclass(frozen=True)
class Change:
    """What an array job is given; `release`: it is held, and must be let go before it can have a priority."""

    array: int
    priority: int | None = None
    throttle: int | None = None
    release: bool = False

    def settings(self) -> list[str]:
        """The words for `scontrol update`."""
        words = [] if self.priority is None else [f"Priority={self.priority}"]
        return words if self.throttle is None else [*words, f"ArrayTaskThrottle={self.throttle}"]


@dataclass
class Counts:
    """What a loop did."""

    looks: int = 0
    changes: int = 0
    refused: int = 0


@dataclass
class Keeper:
    """Keeps a Slurm as a student wants it.

    Attributes:
        slurm: whose queue it is.
        planner: the student.
        tell: called with a line for what Slurm refuses, once a reason and array.
        log: called with each change as a JSON value: time_s, job, stage, array, rule, priority, throttle.
    """

    slurm: Queue
    planner: Planner
    tell: Callable[[str], None]
    log: Callable[[dict[str, Any]], None] = lambda row: None
    counts: Counts = field(default_factory=Counts)
    _throttles: dict[int, int] = field(default_factory=dict)
    _refused: dict[int, str] = field(default_factory=dict)
    _told: set[tuple[int, str]] = field(default_factory=set)

    def look(self, now: float) -> list[Queued]:
        """One look at the queue, seconds of Unix time; the queue before any change.

        Raises:
            ClearschedError: Slurm does not answer.
        """
        queue = self.slurm.queue()
        plan = self.planner.plan(queue, now)
        self.counts.looks += 1
        self._complain(queue)
        stages = {stage.id: stage for stage in queue}
        self._throttles = {array: known for array, known in self._throttles.items() if array in stages}
        for change in changes(plan, queue, self._throttles):
            self._apply(change, stages[change.array], plan, now)
        return queue

    def _apply(self, change: Change, stage: Queued, plan: Plan, now: float) -> None:
        refusal = self.slurm.release(change.array) if change.release else ""
        refusal = refusal or self.slurm.update(change.array, change.settings())
        self.counts.changes += 1
        if refusal:
            self._refused[change.array] = refusal
        elif change.throttle is not None:
            self._throttles[change.array] = change.throttle
        told = {"job": stage.facts.job, "stage": stage.facts.stage, "array": change.array}
        given = {"priority": change.priority, "throttle": change.throttle, "refused": refusal}
        self.log({"time_s": round(now, 3), **told, "rule": plan.rules.get(change.array, ""), **given})

    def _complain(self, queue: Iterable[Queued]) -> None:
        """Tell what was refused, if the stage still waits: an update fails too where its last task has just started."""
        waiting = {stage.id: stage for stage in queue if stage.pending}
        for array, reason in self._refused.items():
            if array not in waiting:
                continue
            self.counts.refused += 1
            if (array, reason) not in self._told:
                self._told.add((array, reason))
                facts = waiting[array].facts
                self.tell(f"slurm: array {array} (stage {facts.stage} of job {facts.job}): refused: {reason}; goes on")
        self._refused.clear()


def changes(plan: Plan, queue: Iterable[Queued], throttles: dict[int, int]) -> list[Change]:
    """What differs from the plan, the best stages first. `throttles`: as they were set, by array."""
    stages = {stage.id: stage for stage in queue}
    active = [array for array in plan.order if array not in plan.idle]
    wanted = numbered(active, {array: stages[array].priority for array in active})
    wanted |= dict.fromkeys(plan.idle, HELD)
    found = []
    for array in plan.order:
        priority = None if stages[array].priority == wanted[array] else wanted[array]
        throttle = plan.throttles.get(array)
        throttle = None if throttle == throttles.get(array) else throttle
        if priority is not None or throttle is not None:
            found.append(Change(array, priority, throttle, bool(priority) and stages[array].priority == HELD))
    return found


def obey(keeper: Keeper, every_s: float, until_empty: bool = False) -> Counts:
    """Look again and again, until it is interrupted, or `until_empty` until no stage is left.

    Raises:
        ClearschedError: Slurm does not answer.
    """
    while True:
        begin = time.time()
        queue = keeper.look(begin)
        if until_empty and not queue:
            return keeper.counts
        time.sleep(max(0.0, every_s - (time.time() - begin)))
