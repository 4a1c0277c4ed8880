"""Drawing the episodes and writing them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.problems.deferrable_jobs.schemas import WORKLOADS
from clearsched.problems.deferrable_jobs.settings import WorkloadParams
from clearsched.problems.deferrable_jobs.traces.pool import Pool, read_pool
from clearsched.problems.deferrable_jobs.workloads.capacity import COUNTER_BITS, mean_share, residual_share
from clearsched.problems.problem import SPLITS
from clearsched.schemas import write_table


def draw(options: WorkloadParams, seed: int, trace: Path, out: Path) -> None:
    """Draw the episodes of every split over a trace and write them to `out`.

    Raises:
        ClearschedError: the trace is broken, or a job of it does not fit into the cluster or the slots.
    """
    pool = read_pool(trace)
    duration = slots_of(pool.duration_s, options.slot_s)
    if options.arrivals == "trace" and pool.interval_s is None:
        raise ClearschedError("workload.arrivals: trace: this source knows no arrivals: choose poisson")
    if duration.max() >= 2**COUNTER_BITS:
        raise ClearschedError(
            f"workload.slot_s: {options.slot_s}: a job of {duration.max()} slots is too long: raise it"
        )
    cluster = cluster_millicores(options, pool, duration)
    cpu = millicores_of(pool.cpu)
    if cpu.max() > cluster:
        raise ClearschedError(
            f"workload.cores: the largest job asks for {cpu.max() / 1000:g} cores, the cluster has {cluster / 1000:g}"
        )
    settings = {
        "slot_s": options.slot_s,
        "day_slots": day_slots(options),
        "cluster": cluster,
        "reach": max(int(duration.max()), 2),
        "forecast_error": options.capacity.forecast_error * cluster,
        "weights": options.weights.model_dump(),
        "objective": options.objective,
        "seed": seed,
        "trace": digest_file(trace),
    }
    rows: dict[str, list[Any]] = {name: [] for name in WORKLOADS.names}
    for index, split in enumerate(SPLITS):
        for episode in range(getattr(options.episodes, split)):
            generator = np.random.default_rng([seed, index, episode])
            drawn = draw_episode(options, generator, pool, duration, cluster)
            for name, value in ({"split": split, "episode": episode} | drawn).items():
                rows[name].append(value)
    write_table(out, pa.table(rows, schema=WORKLOADS), WORKLOADS, settings)


def draw_episode(
    options: WorkloadParams, generator: np.random.Generator, pool: Pool, duration: np.ndarray, cluster: int
) -> dict[str, Any]:
    """One episode as a row of `WORKLOADS`, without its split and number."""
    day = day_slots(options)
    hour = generator.uniform(0.0, 24.0) if options.start_hour is None else options.start_hour
    day_start = int(hour / 24 * day)
    share = residual_share(generator, options.capacity, options.slots, day, day_start, options.slot_s)
    job = generator.integers(len(pool.cpu), size=options.jobs)
    if options.arrivals == "trace" and pool.interval_s is not None:
        gaps = generator.choice(pool.interval_s, options.jobs + 1)
        at = np.cumsum(gaps)[:-1] / max(gaps.sum(), 1e-9) * options.slots
    else:
        at = np.sort(generator.uniform(0.0, options.slots, options.jobs))
    arrival = np.minimum(at.astype(np.int64), options.slots - 1)
    slack = generator.uniform(options.slack_min, options.slack_max, options.jobs)
    deadline = arrival + duration[job] + np.ceil(slack * duration[job]).astype(np.int64)
    # The largest job always fits alone, so that no job waits for a capacity that never comes.
    least = millicores_of(pool.cpu)[job].max()
    capacity = np.clip(np.rint(share * cluster).astype(np.int64), least, cluster)
    return {
        "seed": int(generator.integers(2**62)),
        "day_start": day_start,
        "capacity": capacity.tolist(),
        "job": job.tolist(),
        "arrival": arrival.tolist(),
        "deadline": deadline.tolist(),
    }


def cluster_millicores(options: WorkloadParams, pool: Pool, duration: np.ndarray) -> int:
    """Millicores of the cluster: as set, else so that the jobs ask for `load` of what on-demand work leaves on average.

    Raises:
        ClearschedError: on-demand work and its bursts leave nothing.
    """
    if options.cores is not None:
        return int(millicores_of(np.array([options.cores]))[0])
    share = mean_share(options.capacity, options.day_s)
    if share <= 0:
        raise ClearschedError("workload.capacity: on-demand work and its bursts take all cores: lower one of them")
    asked = float((millicores_of(pool.cpu) * duration).mean()) * options.jobs
    return max(int(np.rint(asked / (options.load * options.slots * share))), int(millicores_of(pool.cpu).max()))


def slots_of(duration_s: np.ndarray, slot_s: int) -> np.ndarray:
    """int64[P]: whole slots that a job of each duration runs."""
    return np.maximum(np.ceil(duration_s / slot_s), 1).astype(np.int64)


def millicores_of(cores: np.ndarray) -> np.ndarray:
    """int64, at least 1."""
    return np.maximum(np.rint(np.asarray(cores, float) * 1000), 1).astype(np.int64)


def day_slots(options: WorkloadParams) -> int:
    """Slots of a day, rounded."""
    return max(1, round(options.day_s / options.slot_s))
