"""Episodes in which jobs arrive one after another: which ones these are, their mean gap, several as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clearsched.problems.dag_jobs.simulator.simulate import Workload

LONG = 160
"""Jobs of a stream that shows how a policy goes on: four of the default's 40, which are joined for that."""


SHORT = 40
"""Jobs of a stream that tells at a glance what is plainly worse: the default's."""


def short_of_long(streams: Sequence[Workload]) -> int:
    """How many streams like these, rounded up, have `LONG` jobs together; 1 of those that have as many themselves."""
    return math.ceil(LONG * len(streams) / max(sum(len(stream.profile) for stream in streams), 1))


def are_streams(episodes: Sequence[Workload]) -> bool:
    """Whether jobs arrive one after another in all of them; else some are batches."""
    return all(episode.arrival_ms[-1] > 0 for episode in episodes)


def mean_gap_ms(stream: Workload) -> float:
    """Mean time between two arrivals, ms; 0 for a single job."""
    return float(stream.arrival_ms[-1] - stream.arrival_ms[0]) / max(len(stream.arrival_ms) - 1, 1)


def cut(stream: Workload) -> list[Workload]:
    """A stream that is long itself as short ones of about `SHORT` jobs, each from time 0 on; another one as it is."""
    jobs = len(stream.profile)
    if jobs < LONG:
        return [stream]
    parts = np.array_split(np.arange(jobs), jobs // SHORT)
    arrivals = [stream.arrival_ms[part] - stream.arrival_ms[part[0]] for part in parts]
    return [
        replace(stream, profile=stream.profile[part], arrival_ms=arrival_ms)
        for part, arrival_ms in zip(parts, arrivals, strict=True)
    ]


def join(streams: Sequence[Workload]) -> Workload:
    """One stream of several, each a mean gap after the one before, with the durations of the first one's seed."""
    arrivals, start = [], 0.0
    for stream in streams:
        arrivals.append(stream.arrival_ms - stream.arrival_ms[0] + round(start))
        start = float(arrivals[-1][-1]) + mean_gap_ms(stream)
    profiles = np.concatenate([stream.profile for stream in streams])
    return replace(streams[0], profile=profiles, arrival_ms=np.concatenate(arrivals))
