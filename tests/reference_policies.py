"""For the reference simulator: every heuristic in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterable

from reference_cluster import Job, Stage
from reference_simulator import Answer, Policy, ReferenceSimulator

# --- the two heuristics of the golden episodes (§7) ------------------------------------------------------------------


def stage_within(simulator: ReferenceSimulator, job: Job) -> Stage | None:
    """The first candidate in frontier order, otherwise the job's first candidate."""
    candidates = simulator.candidates_of(job)
    return next((stage for stage in job.frontier if stage in candidates), next(iter(candidates), None))


def stay(simulator: ReferenceSimulator) -> Answer:
    """The first rule of both: the source job first, with all k."""
    if simulator.source not in simulator.active:
        return None
    stage = stage_within(simulator, simulator.source)
    return (stage, simulator.k) if stage else None


def wanting(simulator: ReferenceSimulator) -> list[Job]:
    """Active jobs with a stage of demand > 0."""
    return [job for job in simulator.active if any(simulator.demand(stage) > 0 for stage in job.stages)]


def fair(simulator: ReferenceSimulator) -> Answer:
    answer = stay(simulator)
    if answer:
        return answer
    cap = math.ceil(simulator.num_executors / max(1, len(wanting(simulator))))
    for job in simulator.active:
        stage, count = stage_within(simulator, job), simulator.held(job)
        if stage and count < cap:
            return stage, min(simulator.demand(stage), cap - count, simulator.k)
    return None


class Fifo:
    """Keeps, for each job, the executors ever granted to it by the second rule; less those that failed there (§11)."""

    is_fifo = True

    def __init__(self) -> None:
        self.granted: dict[Job, int] = {}

    def __call__(self, simulator: ReferenceSimulator) -> Answer:
        answer = stay(simulator)
        if answer:
            return answer
        if simulator.jobs_hold:
            return self.hold(simulator)
        for job in simulator.active:
            stage, count = stage_within(simulator, job), self.granted.get(job, 0)
            if stage and count < simulator.num_executors:
                requested = min(simulator.demand(stage), simulator.num_executors - count, simulator.k)
                self.granted[job] = count + requested
                return stage, requested
        return None

    def hold(self, simulator: ReferenceSimulator) -> Answer:
        """Spark's FIFO (§10) where the source job has no candidate: it holds on while it has tasks to start."""
        if simulator.source in simulator.active and simulator.source.has_tasks_to_start:
            return None
        for job in simulator.active:
            stage, count = stage_within(simulator, job), simulator.held(job)
            if stage and count < simulator.num_executors:
                return stage, min(simulator.demand(stage), simulator.num_executors - count, simulator.k)
        return None

    def none_refused(self, job: Job, count: int) -> None:
        self.granted[job] = self.granted.get(job, 0) + count

    def executor_fails(self, job: Job) -> None:
        self.granted[job] = max(0, self.granted.get(job, 0) - 1)


# --- the other heuristics of this project ----------------------------------------------------------------------------

OFFSET_MS = 5000
"""Added to a job's work left before its share is taken."""


def mean_ms(stage: Stage) -> float:
    """What is believed of the stage; else the mean of the rest-wave durations, of all durations if there are none."""
    if stage.believed_ms is not None:
        return stage.believed_ms
    waves = (stage.profile.rest_wave, stage.profile.first_wave, stage.profile.fresh)
    rest, *others = [[value for values in table.values() for value in values] for table in waves]
    values = rest or [value for more in others for value in more]
    return sum(values) / len(values)


def work_left(job: Job) -> float:
    return sum(stage.not_started * mean_ms(stage) for stage in job.stages)


def work(job: Job) -> float:
    return sum(stage.profile.num_tasks * mean_ms(stage) for stage in job.stages)


def children(stage: Stage) -> list[Stage]:
    return [other for other in stage.job.stages if stage in other.parents]


def levels_below(stage: Stage) -> int:
    return max((1 + levels_below(child) for child in children(stage)), default=0)


def critical_path(stage: Stage) -> float:
    longest = max((critical_path(child) for child in children(stage)), default=0.0)
    return stage.profile.num_tasks * mean_ms(stage) + longest


def ceiling(value: float) -> int:
    """Rounded up, unless it is whole but for rounding."""
    return math.ceil(value - 1e-9)


def with_candidate(simulator: ReferenceSimulator) -> list[Job]:
    return [job for job in simulator.active if simulator.candidates_of(job)]


def deepest(simulator: ReferenceSimulator, job: Job) -> Stage:
    """Open stages first, then most levels below, then lowest index."""
    return min(simulator.candidates_of(job), key=lambda stage: (not stage.runnable, -levels_below(stage), stage.index))


def smallest_below_limit(simulator: ReferenceSimulator, limits: dict[Job, int], size: dict[Job, float]) -> Answer:
    """The smallest job below its limit, up to its limit; if there is none, the smallest with everything."""
    jobs = with_candidate(simulator)
    below = [job for job in jobs if simulator.held_before(job) < limits[job]]
    job = min(below or jobs, key=size.__getitem__, default=None)
    if job is None:
        return None
    requested = limits[job] - simulator.held_before(job) if below else simulator.k
    return deepest(simulator, job), requested


def shares(jobs: Iterable[Job], weight: dict[Job, float]) -> dict[Job, float]:
    jobs = list(jobs)
    total = sum(weight[job] for job in jobs)
    return {job: weight[job] / total for job in jobs}


def sjf_cp(simulator: ReferenceSimulator) -> Answer:
    job = min(with_candidate(simulator), key=work_left, default=None)
    if job is None:
        return None
    order = simulator.candidates_of(job)
    return min(order, key=lambda stage: (not stage.runnable, -critical_path(stage), stage.index)), simulator.k


def weighted_fair(alpha: float) -> Policy:
    def policy(simulator: ReferenceSimulator) -> Answer:
        answer = stay(simulator)
        if answer:
            return answer
        jobs = wanting(simulator)
        share = shares(jobs, {job: work(job) ** alpha for job in jobs})
        for job in with_candidate(simulator):
            room = ceiling(simulator.num_executors * share[job]) - simulator.held(job)
            if room > 0:
                stage = stage_within(simulator, job)
                return stage, min(simulator.demand(stage), room, simulator.k)
        return None

    return policy


def wsjf(alpha: float) -> Policy:
    def policy(simulator: ReferenceSimulator) -> Answer:
        jobs = wanting(simulator)
        share = shares(jobs, {job: work(job) ** alpha for job in jobs})
        limits = {job: ceiling(simulator.num_executors * share[job]) for job in jobs}
        return smallest_below_limit(simulator, limits, {job: work(job) for job in jobs})

    return policy


def caps(simulator: ReferenceSimulator, left: dict[Job, float], p: float, m: float) -> dict[Job, int]:
    """How many executors capped SRPT lets each job hold."""
    share = shares(simulator.active, {job: (left[job] + OFFSET_MS) ** p for job in left})
    return {job: ceiling(m * simulator.num_executors * share[job]) for job in left}


def capped_srpt(p: float, m: float) -> Policy:
    def policy(simulator: ReferenceSimulator) -> Answer:
        left = {job: work_left(job) for job in simulator.active}
        return smallest_below_limit(simulator, caps(simulator, left, p, m), left)

    return policy


def local_srpt(p: float, m: float) -> Policy:
    def policy(simulator: ReferenceSimulator) -> Answer:
        jobs = with_candidate(simulator)
        if simulator.source in jobs:
            return deepest(simulator, simulator.source), simulator.num_executors - simulator.held_before(
                simulator.source
            )
        left = {job: work_left(job) for job in simulator.active}
        limits = caps(simulator, left, p, m)
        below = [job for job in jobs if simulator.held_before(job) < limits[job]]
        # Unlike capped SRPT, nobody gets more than the limit.
        return smallest_below_limit(simulator, limits, left) if below else None

    return policy
