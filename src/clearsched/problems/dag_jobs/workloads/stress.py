"""Episodes that show what short ones hide: giants, swarms, long streams, overload, a backlog to clear; large batches.

A policy that locks the cluster, starves a job or falls behind may look well on a stream of 40 jobs. Jobs are those of
the episodes given, drawn with replacement; they arrive at random (Poisson) with the mean gap of these episodes.

A lock is rare: a rule list is known that locks in one of 300 streams of 200 jobs (docs/results.md). While executors
move, rounds find them away and others are sent in their place, to wait beside them: with moves that take five times as
long the same list locks in one stream of 37.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearsched.problems.dag_jobs.edge_cases import SWARM_SHARE
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.workloads.arrivals import poisson
from clearsched.problems.dag_jobs.workloads.crowds import joined, smallest
from clearsched.problems.dag_jobs.workloads.streams import are_streams, mean_gap_ms


class Stress(NamedTuple):
    """A kind of stress."""

    name: str
    jobs: int
    faster: float  # arrivals, next to those of the episodes
    backlog: int  # jobs that are there at time 0
    episodes: int
    moves: float = 1.0  # time that an executor takes to change jobs, next to that of the episodes
    giant: bool = False  # whether a job of the first half is one
    swarm: int = 0  # tiny jobs that come besides, with the one after the first quarter


STREAMS = (
    Stress("200 jobs", 200, 1.0, 0, 20),
    Stress("200 jobs, 40 % faster", 200, 1.4, 0, 8),
    Stress("200 jobs, 40 % slower, moves 5 times as long", 200, 0.6, 0, 100, 5.0),
    Stress("200 jobs and 400 tiny ones that come at once", 200, 1.0, 0, 8, swarm=400),
    Stress("400 jobs, 100 of them at once", 400, 1.0, 100, 4),
    Stress("400 jobs, 100 of them at once, 10 % faster", 400, 1.1, 100, 4),
    Stress("2,000 jobs", 2_000, 1.0, 0, 10),
    Stress("2,000 jobs, 10 % faster", 2_000, 1.1, 0, 2),
)
"""Where jobs arrive one after another; the short ones first, so that what strays on them never runs the long ones."""

SHORT = 300
"""At least so many short streams are run, those given included: of the first kind as many more as it takes."""

FEWEST = 20
"""Jobs that an episode keeps where only a share of the stress is asked for."""

BATCHES = (
    Stress("20 jobs at once, a giant among them", 20, 1.0, 20, 200, giant=True),
    Stress("100 jobs at once", 100, 1.0, 100, 8),
    Stress("100 jobs and 200 tiny ones at once", 100, 1.0, 100, 8, swarm=200),
)
"""Where all jobs arrive at once."""

TINY = 0.1
"""Share of the jobs of which those of a swarm are: the smallest by their tasks' work."""

GIANT = Stress("40 jobs, a giant among them", 40, 1.0, 0, 200, giant=True)
"""Before the streams. A policy that lets a job keep its executors may let a giant keep all of them."""


CASES = 100
"""Streams, or batches, of each edge case that a scenario has in its safety check besides."""


def kinds_of(episodes: Sequence[Workload], share: float = 1.0) -> tuple[Stress, ...]:
    """The kinds of stress for episodes like these; with a share of the episodes of each, and of their jobs."""
    kinds: tuple[Stress, ...] = BATCHES
    if are_streams(episodes):
        first, *others = STREAMS
        kinds = (GIANT, first._replace(episodes=max(first.episodes, SHORT - len(episodes))), *others)
    return tuple(_part(kind, share) for kind in kinds)


def like(episodes: Sequence[Workload], count: int) -> Stress:
    """No stress at all: so many episodes like these, streams or batches, with as many jobs as the first one has."""
    jobs = len(episodes[0].profile)
    return Stress(f"{jobs} jobs, drawn anew", jobs, 1.0, 0 if are_streams(episodes) else jobs, count)


def short_kinds(plain: Stress) -> tuple[Stress, ...]:
    """Such episodes, such with a giant, and such with as many tiny jobs besides as the edge case of them has."""
    return plain, plain._replace(giant=True), plain._replace(swarm=round(SWARM_SHARE * plain.jobs))


def _part(kind: Stress, share: float) -> Stress:
    """The kind with a share of its episodes, at least one, and of the jobs of each, at least `FEWEST` of them."""
    jobs = max(math.ceil(share * kind.jobs), min(FEWEST, kind.jobs))
    backlog, swarm = math.ceil(share * kind.backlog), math.ceil(share * kind.swarm)
    return kind._replace(episodes=math.ceil(share * kind.episodes), jobs=jobs, backlog=backlog, swarm=swarm)


def stressed(episodes: Sequence[Workload], kind: Stress, work_ms: np.ndarray, seed: int = 0) -> Iterator[Workload]:
    """Episodes of a kind: the same for the same episodes and seed.

    `work_ms`: float64[profiles], of all tasks; the profiles after these are their giants.
    """
    profiles = np.concatenate([episode.profile for episode in episodes])
    tiny = smallest(profiles, work_ms, TINY)
    gap_ms = float(np.mean([mean_gap_ms(episode) for episode in episodes]))
    together = max(kind.backlog, 1)
    like = replace(episodes[0], moving_delay_ms=round(kind.moves * episodes[0].moving_delay_ms))
    for number in range(kind.episodes):
        generator = np.random.default_rng([seed, kind.jobs, kind.backlog, round(100 * kind.faster), number])
        later_ms = poisson(generator, kind.jobs - together + 1, gap_ms / kind.faster)
        arrivals = np.concatenate([np.zeros(together - 1, np.int64), later_ms])
        profile = generator.choice(profiles, kind.jobs)
        if kind.giant:
            profile[generator.integers(-(-kind.jobs // 2))] += len(work_ms)
        if kind.swarm:
            swarm = generator.spawn(1)[0].choice(tiny, kind.swarm)
            profile, arrivals = joined(profile, arrivals, max(kind.jobs // 4, 1), swarm)
        yield replace(like, profile=profile, arrival_ms=arrivals, seed=int(generator.integers(2**63)))
