"""Episodes to schedule: which jobs arrive when, for training, validation and test.

Every episode is drawn from its own random stream, named by (seed, split, episode), so it is the same whatever else
was drawn, on any number of cores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.files import digest_file, read_json
from clearsched.problems.dag_jobs.profiles import FIRST_WAVE, FRESH, MEAN_MS, REST_WAVE, Profiles, compile_profiles
from clearsched.problems.dag_jobs.rules import Rules
from clearsched.problems.dag_jobs.simulate import Workload
from clearsched.schemas import WORKLOADS, read_table, write_table
from clearsched.traces.trace import Trace, read_trace

if TYPE_CHECKING:
    from clearsched.params import Params

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Workloads:
    """The episodes of a scenario.

    Attributes:
        table: schema `WORKLOADS`.
        settings: num_executors, moving_delay_ms, warmup_delay_ms, mean_interarrival_ms, durations,
            rules.
    """

    table: pa.Table
    settings: dict[str, Any]

    def split(self, name: str, limit: int | None = None) -> list[Workload]:
        """The first `limit` (default: all) episodes of a split.

        Raises:
            ClearschedError: the split holds fewer episodes than asked for.
        """
        rows = self.table.filter(pc.equal(self.table["split"], name))
        episode = rows["episode"].to_numpy()
        profile, arrival, seed = (rows[c].to_numpy() for c in ("profile", "arrival_ms", "duration_seed"))
        count = int(episode.max()) + 1 if len(episode) else 0
        if count < (limit or 1):
            raise ClearschedError(f"{limit or 1} {name} episodes asked for, the workloads hold {count}")
        bounds = np.searchsorted(episode, np.arange((limit or count) + 1))
        return [
            Workload(
                profile[a:b].astype(np.int64),
                arrival[a:b],
                self.settings["num_executors"],
                self.settings["moving_delay_ms"],
                int(seed[a]),
                self.settings["durations"] == "mean",
                Rules(**self.settings["rules"]),
            )
            for a, b in pairwise(bounds)
        ]


def build(params: Params, trace: Path, out: Path) -> Workloads:
    """Draw the episodes of `params.workload` over a trace file and write them to `out`."""
    profiles = compile_profiles(read_trace(trace), round(params.workload.warmup_delay_s * 1000))
    interarrival_ms = mean_interarrival_ms(params, profiles)
    settings = {
        "num_executors": params.workload.executors,
        "moving_delay_ms": round(params.workload.moving_delay_s * 1000),
        "warmup_delay_ms": profiles.warmup_delay_ms,
        "mean_interarrival_ms": interarrival_ms,
        "durations": params.workload.durations,
        "rules": asdict(rules(params)),
        "seed": params.seed,
        "trace": digest_file(trace),
    }
    rows = list(draw_episodes(params, profiles.trace.num_profiles, interarrival_ms))
    columns = {name: [row[i] for row in rows] for i, name in enumerate(WORKLOADS.names)}
    table = pa.table(columns, schema=WORKLOADS)
    write_table(out, table, WORKLOADS, settings)
    return Workloads(table, settings)


def read_workloads(path: str | Path) -> Workloads:
    """Read a file written by `build`.

    Raises:
        ClearschedError: missing, truncated or of another schema.
    """
    table, settings = read_table(path, WORKLOADS)
    for name in ("num_executors", "rules"):
        if name not in settings:
            raise ClearschedError(f"{path}: its metadata lacks {name}; build it again")
    return Workloads(table, settings)


def rules(params: Params) -> Rules:
    """The corrections and faults of `params.workload`."""
    faults = params.workload.faults
    return Rules(
        **params.workload.corrections.model_dump(),
        failures_per_hour=faults.failures_per_hour,
        recovery_ms=round(faults.recovery_s * 1000),
        straggler_probability=faults.straggler_probability,
        straggler_slowdown=faults.straggler_slowdown,
    )


def load_inputs(trace: Path, workloads: Path) -> tuple[Profiles, Workloads]:
    """The compiled trace and the workloads over it: what every later stage starts from.

    Raises:
        ClearschedError: a file is broken, or the workloads were drawn over another trace.
    """
    drawn = read_workloads(workloads)
    if drawn.settings["trace"] != digest_file(trace):
        raise ClearschedError(f"{workloads}: was drawn over another trace than {trace}; build it again")
    return compile_profiles(read_trace(trace), drawn.settings["warmup_delay_ms"]), drawn


def draw_episodes(
    params: Params, num_profiles: int, interarrival_ms: float
) -> Iterator[tuple[str, int, int, int, int, int]]:
    """Rows of schema `WORKLOADS`, in order."""
    jobs = params.workload.jobs
    for index, split in enumerate(SPLITS):
        for episode in range(getattr(params.workload.episodes, split)):
            generator = np.random.default_rng([params.seed, index, episode])
            profile = generator.integers(num_profiles, size=jobs)
            arrival = np.zeros(jobs, np.int64)
            if params.workload.arrivals == "poisson":
                gaps = generator.exponential(interarrival_ms, jobs - 1)
                arrival[1:] = np.floor(np.cumsum(gaps)).astype(np.int64)
            seed = int(generator.integers(2**63 - 1))
            for job in range(jobs):
                yield split, episode, job, int(profile[job]), int(arrival[job]), seed


def mean_interarrival_ms(params: Params, profiles: Profiles) -> float:
    """Mean time between arrivals: as set, else so that jobs ask for `load` of the executors' time; 0 for a batch."""
    if params.workload.arrivals == "batch":
        return 0.0
    if params.workload.mean_interarrival_s is not None:
        return params.workload.mean_interarrival_s * 1000
    occupied = executor_ms(profiles, params.workload.executors, round(params.workload.moving_delay_s * 1000))
    return float(occupied.mean() / (params.workload.load * params.workload.executors))


def executor_ms(profiles: Profiles, num_executors: int, moving_delay_ms: int) -> np.ndarray:
    """float64[num_profiles]: executor time that a job takes up, overheads included.

    The overheads depend on how many executors serve a job. The estimate takes the square root of their number, the
    fair share when as many jobs are in the system: each of them moves once and runs one fresh task, and each stage
    has that many first-wave tasks (fewer if it has fewer tasks).
    """
    arrays = profiles.arrays
    serving = max(1, round(num_executors**0.5))
    level = int(np.clip(np.searchsorted(profiles.trace.levels, serving, side="right") - 1, 0, None))
    mean = arrays.table[:, level, :, MEAN_MS].astype(np.float64)
    first = np.minimum(arrays.num_tasks, serving)
    stage_ms = arrays.num_tasks * mean[:, REST_WAVE] + first * (mean[:, FIRST_WAVE] - mean[:, REST_WAVE])
    root = arrays.stage_start[:-1]
    fresh_ms = np.minimum(arrays.num_tasks[root], serving) * (mean[root, FRESH] - mean[root, FIRST_WAVE])
    return np.add.reduceat(stage_ms, root) + fresh_ms + serving * moving_delay_ms


def read_episode(path: Path, trace: Trace, *, durations: str, seed: int) -> tuple[Workload, np.ndarray, int]:
    """One episode from a JSON file of the form of the golden files.

    Returns the workload (jobs in order of arrival), the position in the file of each of its jobs, and the warm-up
    delay (ms).

    Raises:
        ClearschedError: the file is no such JSON, or names a profile that the trace does not have.
    """
    content = read_json(path)
    whole = {}
    for name in ("num_executors", "moving_delay_ms", "warmup_delay_ms"):
        whole[name] = _whole_number(content, name, f"{path}")
    jobs = content.get("jobs")
    if not isinstance(jobs, list) or not jobs:
        raise ClearschedError(f"{path}: jobs: a list of at least one job expected")
    profile, arrival = [], []
    for index, job in enumerate(jobs):
        where = f"{path}: jobs[{index}]"
        arrival.append(_whole_number(job, "arrival_ms", where))
        for name in ("query", "size"):
            if name not in job:
                raise ClearschedError(f"{where}: {name} is missing")
        try:
            profile.append(trace.find(str(job["query"]), str(job["size"])))
        except ClearschedError as error:
            raise ClearschedError(f"{where}: {error}") from None
    order = np.argsort(np.asarray(arrival, np.int64), kind="stable")
    workload = Workload(
        np.asarray(profile, np.int64)[order],
        np.asarray(arrival, np.int64)[order],
        whole["num_executors"],
        whole["moving_delay_ms"],
        seed,
        durations == "mean",
    )
    return workload, order, whole["warmup_delay_ms"]


def _whole_number(content: Any, name: str, where: str) -> int:
    value = content.get(name) if isinstance(content, dict) else None
    # The bound also refuses NaN and infinity, and keeps every sum of times within 64 bits.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2**53 or value != int(value):
        raise ClearschedError(f"{where}: {name} is {json.dumps(value)}: a whole number of at least 0 expected")
    return int(value)
