"""Jobs that come faster than the others, or together: episodes as they are drawn, with a surge or a swarm in them."""

from __future__ import annotations

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
    profiles = np.concatenate(pool.profiles)
    ordered = profiles[np.argsort(known.executor_ms[profiles], kind="stable")]
    tiny = ordered[: int(np.ceil(swarm.smallest * len(ordered)))]

    def draw_swarm(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        profile, arrival_ms = draw(generator)
        place = min(swarm.after_job, len(profile))  # a replay may have fewer jobs than it was asked for
        more = generator.spawn(1)[0].choice(tiny, swarm.jobs)
        together = np.full(swarm.jobs, arrival_ms[place - 1])
        return np.insert(profile, place, more), np.insert(arrival_ms, place, together)

    return draw_swarm
