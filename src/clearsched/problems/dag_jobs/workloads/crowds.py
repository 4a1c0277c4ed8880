"""Jobs that come faster than the others, or together: episodes as they are drawn, with a surge or a swarm in them."""

from __future__ import annotations

import math

import numpy as np

from clearsched.problems.dag_jobs.settings.workload import SurgeParams, SwarmParams
from clearsched.problems.dag_jobs.workloads.pools import Draw, Pool
from clearsched.problems.dag_jobs.workloads.survey import Survey


def with_surge(draw: Draw, surge: SurgeParams, offered_load: float | None) -> Draw:
    """`draw` with the gaps before the jobs of the surge as much shorter as its load is above the one on offer."""
    if not surge.jobs or offered_load is None:
        return draw
    shorter = offered_load / surge.load

    def draw_surge(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        profile, arrival_ms = draw(generator)
        gaps = np.diff(arrival_ms, prepend=0).astype(np.float64)
        gaps[surge.after_job : surge.after_job + surge.jobs] *= shorter
        return profile, np.floor(np.cumsum(gaps)).astype(np.int64)

    return draw_surge


def with_swarm(draw: Draw, swarm: SwarmParams, pool: Pool, known: Survey) -> Draw:
    """`draw` with the jobs of the swarm after job number `after_job`, at the time of its arrival.

    They have random numbers of their own, so that the other jobs are those of the episode without a swarm, and arrive
    when they do; durations of tasks are drawn by the number of the job, so those of later jobs are others.
    """
    if not swarm.jobs:
        return draw
    tiny = smallest(np.concatenate(pool.profiles), known.executor_ms, swarm.smallest)

    def draw_swarm(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        profile, arrival_ms = draw(generator)
        place = min(swarm.after_job, len(profile))  # a replay may have fewer jobs than it was asked for
        return joined(profile, arrival_ms, place, generator.spawn(1)[0].choice(tiny, swarm.jobs))

    return draw_swarm


def smallest(profiles: np.ndarray, work_ms: np.ndarray, share: float) -> np.ndarray:
    """The share of the jobs, int[n] profiles, that have the least work; float64[profiles], of each that there is."""
    ordered = profiles[np.argsort(work_ms[profiles], kind="stable")]
    return ordered[: math.ceil(share * len(ordered))]


def joined(profile: np.ndarray, arrival_ms: np.ndarray, place: int, swarm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Profiles and arrivals, int[jobs] each, with a swarm, int[n] profiles, that comes with the job before `place`."""
    together = np.full(len(swarm), arrival_ms[place - 1])
    return np.insert(profile, place, swarm), np.insert(arrival_ms, place, together)
