"""A plain, slow simulator of deferrable jobs, written from docs/deferrable-jobs.md alone: lists and whole numbers.

It shares nothing with the compiled one but the episode that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from clearsched.problems.deferrable_jobs.simulator.state import Episode

MASK = 2**64 - 1


@dataclass
class Job:
    """A job and what became of it."""

    number: int
    arrival: int
    duration: int
    cpu: int
    deadline: int
    start: int | None = None
    completion: int | None = None
    evictions: int = 0
    lost: int | None = None  # slot in which its deadline was lost

    def slack(self, slot: int) -> int:
        return self.deadline - slot - self.duration


@dataclass
class Plain:
    """An episode, slot by slot (§2)."""

    episode: Episode
    slot: int = 0
    waiting: list[Job] = field(default_factory=list)
    running: list[Job] = field(default_factory=list)  # in order of starting
    events: list[tuple[int, str, int]] = field(default_factory=list)
    decisions: list[tuple[int, list[int], bool]] = field(default_factory=list)
    slots: list[tuple[int, int, int, int, int]] = field(default_factory=list)  # used, waiting, running, evicted, lost

    def __post_init__(self) -> None:
        columns = (self.episode.arrival, self.episode.duration, self.episode.cpu, self.episode.deadline)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self.jobs = [Job(number, *row) for number, row in enumerate(rows)]

    def capacity(self) -> int:
        return int(self.episode.capacity[self.slot % len(self.episode.capacity)])

    def used(self) -> int:
        return sum(job.cpu for job in self.running)

    def candidates(self) -> list[Job]:
        fitting = [job for job in self.waiting if job.cpu <= self.capacity() - self.used()]
        return sorted(fitting, key=lambda job: job.number)

    def may_wait(self) -> bool:
        """§3: a job runs or will arrive."""
        return bool(self.running) or any(job.arrival > self.slot for job in self.jobs)

    def room(self, reach: int) -> int:
        """Forecast made now for so many slots ahead, less what running jobs will still take."""
        foreseen = int(self.episode.forecast[(self.slot + reach) % len(self.episode.capacity), reach])
        return foreseen - sum(job.cpu for job in self.running if job.start + job.duration > self.slot + reach)

    def run(self, policy: Policy) -> Plain:
        """Until all jobs are complete."""
        while True:
            evicted, lost = self.begin()
            if all(job.completion is not None for job in self.jobs):
                return self
            while self.candidates():
                self.decisions.append((self.slot, [job.number for job in self.candidates()], self.may_wait()))
                chosen = policy(self)
                if chosen is None and not self.may_wait():
                    chosen = self.candidates()[0]
                if chosen is None:
                    break
                self.note("start", chosen)
                self.waiting.remove(chosen)
                self.running.append(chosen)
                chosen.start = self.slot
            self.slots.append((self.used(), len(self.waiting), len(self.running), evicted, lost))
            self.slot += 1

    def begin(self) -> tuple[int, int]:
        """§2.1 to §2.5; how many jobs were evicted and how many deadlines lost."""
        for job in list(self.running):
            if job.start + job.duration == self.slot:
                self.note("complete", job)
                job.completion = self.slot
                self.running.remove(job)
        evicted = 0
        while self.used() > self.capacity():
            youngest = self.running.pop()
            self.note("evict", youngest)
            youngest.start = None
            youngest.evictions += 1
            self.waiting.append(youngest)
            evicted += 1
        self.waiting += [job for job in self.jobs if job.arrival == self.slot]
        lost = [job for job in self.waiting if job.lost is None and job.slack(self.slot) < 0]
        for job in lost:
            job.lost = self.slot
        return evicted, len(lost)

    def note(self, what: str, job: Job) -> None:
        self.events.append((self.slot, what, job.number))

    def cost(self) -> Fraction:
        """§5, exactly."""
        weights = self.episode.weights
        total = Fraction(0)
        for job in self.jobs:
            total += Fraction(weights.wait) * Fraction(job.completion - job.arrival - job.duration, job.duration)
            total += Fraction(weights.miss) * (job.completion > job.deadline)
            total += Fraction(weights.eviction) * job.evictions
        return total / len(self.jobs)


Policy = Callable[[Plain], Job | None]
"""The candidate that starts, or None."""


def margin(plain: Plain, job: Job) -> int:
    return min(plain.room(reach) for reach in range(job.duration)) - job.cpu


def safety(plain: Plain, job: Job) -> float:
    values = [(plain.room(r) - job.cpu) / float(plain.episode.deviation[r]) for r in range(1, job.duration)]
    return max(min([9.0, *values]), -9.0)


def first_of(key: Callable[[Plain, Job], float]) -> Policy:
    return lambda plain: min(plain.candidates(), key=lambda job: (key(plain, job), job.number))


def best_fit(plain: Plain) -> Job | None:
    fitting = [job for job in plain.candidates() if margin(plain, job) >= 0]
    return min(fitting, key=lambda job: (margin(plain, job), job.number), default=None)


def threshold(least_safety: float, slack: float) -> Policy:
    def policy(plain: Plain) -> Job | None:
        def starts(job: Job) -> bool:
            urgent = 0 <= job.slack(plain.slot) < slack * job.duration
            return urgent or safety(plain, job) >= least_safety

        good = [job for job in plain.candidates() if starts(job)]
        return min(good, key=lambda job: (job.duration, job.number), default=None)

    return policy


HEURISTICS: dict[str, Callable[..., Policy]] = {
    "fifo": lambda: first_of(lambda plain, job: job.number),
    "edf": lambda: first_of(lambda plain, job: job.deadline),
    "least_slack": lambda: first_of(lambda plain, job: job.slack(plain.slot)),
    "shortest": lambda: first_of(lambda plain, job: job.duration),
    "best_fit": lambda: best_fit,
    "threshold": threshold,
}


def features(plain: Plain, job: Job) -> dict[str, float]:
    """The quantities of docs/deferrable-jobs.md, looked up the long way, and from them the features."""
    episode, now, candidates = plain.episode, plain.slot, plain.candidates()
    reach = episode.forecast.shape[1]
    slots = len(episode.capacity)
    foreseen = [int(episode.forecast[(now + r) % slots, r]) for r in range(1, reach)] or [plain.capacity()]
    minutes, slack = episode.slot_s / 60, job.slack(now)
    ending = sum(other.cpu for other in plain.running if other.start + other.duration < now + job.duration)
    return {
        "job_cpu": job.cpu / 1000,
        "job_cpu_share": job.cpu / max(plain.room(0), 1),
        "job_duration_min": job.duration * minutes,
        "job_waited_min": (now - job.arrival) * minutes,
        "job_waited_relative": (now - job.arrival) / job.duration,
        "job_slack_min": slack * minutes,
        "job_slack_relative": slack / job.duration,
        "job_is_late": float(slack < 0),
        "job_evictions": job.evictions,
        "job_duration_rank": sum(other.duration < job.duration for other in candidates),
        "job_slack_rank": sum(other.slack(now) < slack for other in candidates),
        "room_now": (plain.room(0) - job.cpu) / 1000,
        "room_least": margin(plain, job) / 1000,
        "room_mean": (sum(plain.room(r) for r in range(job.duration)) / job.duration - job.cpu) / 1000,
        "room_safety": safety(plain, job),
        "room_ending": ending / 1000,
        "cluster_used_share": plain.used() / max(plain.capacity(), 1),
        "cluster_capacity_share": plain.capacity() / episode.cluster,
        "cluster_foreseen_change": (sum(foreseen) / len(foreseen) - plain.capacity()) / episode.cluster,
        "cluster_waiting": len(plain.waiting),
        "cluster_running": len(plain.running),
        "cluster_waiting_share": sum(other.cpu for other in plain.waiting) / max(plain.capacity(), 1),
        "cluster_hour": (episode.day_start + now) % episode.day_slots * 24 / episode.day_slots,
    }


def innovation(seed: int, slot: int, step: int) -> float:
    """§4: ε(slot, step)."""
    x = (seed + (2**20 * slot + step + 1) * 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    x ^= x >> 31
    pieces = sum((x >> shift) & 0xFFFF for shift in (0, 16, 32, 48))
    return (pieces - 131070) / ((2**32 - 1) / 3) ** 0.5
