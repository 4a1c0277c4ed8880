"""What drawing needs to know of all profiles of a trace, found in one pass over the file, piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.simulator.profiles import (
    FIRST_WAVE,
    FRESH,
    MEAN_MS,
    REST_WAVE,
    Profiles,
    compile_durations,
)
from clearsched.problems.dag_jobs.traces.storage import TraceFile
from clearsched.problems.dag_jobs.traces.trace import Part, Trace, parts_of


@dataclass(frozen=True)
class Survey:
    """One number a profile of what was asked for; P profiles.

    Attributes:
        num_profiles: P.
        parts: the sources, their weights and numbers of profiles.
        executor_ms: float64[P], executor time that a job takes up; empty if not asked for.
        template: uint32[P], a number for each query that looks random; empty if not asked for. Two queries may share
            one, seldom.
        arrival_ms: int64[P], arrival in the trace; empty if not asked for.
        mean_task_ms: mean duration of a task, ms; NaN if executor times were not asked for.
    """

    num_profiles: int
    parts: tuple[Part, ...]
    executor_ms: np.ndarray
    template: np.ndarray
    arrival_ms: np.ndarray
    mean_task_ms: float = float("nan")


@dataclass(frozen=True)
class Load:
    """What the estimate of a job's executor time depends on."""

    num_executors: int
    moving_delay_ms: int
    warmup_delay_ms: int


def survey(path: Path, load: Load | None, template_seed: int | None, arrivals: bool) -> Survey:
    """Read a trace once; without `load` only the columns that are asked for.

    Args:
        path: the trace.
        load: the cluster for `executor_ms`; None: it is not needed, and durations are not read.
        template_seed: seed of the numbers of the queries; None: they are not needed.
        arrivals: whether arrival times are needed.

    Raises:
        ClearschedError: the trace is not sound, or has no arrival times where they are needed.
    """
    file = TraceFile(path)
    levels = file.levels() if load is not None else ()
    found: dict[str, list[np.ndarray]] = {"executor": [], "template": [], "arrival": []}
    count = 0
    tasks = np.zeros(2)  # their number and work, ms
    for trace in file.traces(levels) if load is not None else _unchecked(file, template_seed is not None, arrivals):
        stages, first = trace.stages, trace.profile_starts
        count += trace.num_profiles
        if load is not None:
            executor, of_piece = _executor_ms(trace, load)
            found["executor"].append(executor)
            tasks += of_piece
        if template_seed is not None:
            found["template"].append(_numbers(stages["query"].take(first[:-1]), template_seed))
        if arrivals:
            found["arrival"].append(_arrivals(stages["arrival_ms"].take(first[:-1]), path))
        pa.default_memory_pool().release_unused()  # what the piece took, before the next one takes it again
    if not count:
        raise ClearschedError(f"{path}: the trace is empty")
    return Survey(
        count,
        _parts(file.metadata, str(path), count),
        _joined(found.pop("executor"), np.float64),
        _joined(found.pop("template"), np.uint32),
        _joined(found.pop("arrival"), np.int64),
        float(tasks[1] / tasks[0]) if load is not None else float("nan"),
    )


def survey_compiled(profiles: Profiles, load: Load | None, arrivals: bool) -> Survey:
    """`survey` of profiles that are in memory; their warm-up delay is compiled into them.

    Raises:
        ClearschedError: they have no arrival times where they are needed.
    """
    trace = profiles.trace
    where, count = str(trace.metadata.get("source", "trace")), trace.num_profiles
    work_ms, tasks = profiles.arrays.num_tasks @ profiles.arrays.mean_ms, profiles.arrays.num_tasks.sum()
    return Survey(
        count,
        _parts(trace.metadata, where, count),
        np.zeros(0) if load is None else executor_ms(profiles, load.num_executors, load.moving_delay_ms),
        np.zeros(0, np.uint32),
        _arrivals(trace.stages["arrival_ms"].take(trace.profile_starts[:-1]), where) if arrivals else np.zeros(0),
        float("nan") if load is None else float(work_ms / tasks),
    )


def _unchecked(file: TraceFile, queries: bool, arrivals: bool) -> Iterator[Trace]:
    """Pieces with the columns that are asked for; the profiles that episodes use are checked when they are compiled."""
    for piece in file.pieces(["profile", *["query"] * queries, *["arrival_ms"] * arrivals]):
        yield Trace(piece.stages, (), file.metadata)


def _joined(pieces: list[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(pieces) if pieces else np.zeros(0, kind)


def _parts(metadata: Mapping[str, Any], where: str, count: int) -> tuple[Part, ...]:
    if "mix" not in metadata:
        return (Part(str(metadata.get("source", "")), 1.0, count, ()),)
    parts = parts_of(dict(metadata), where)
    if sum(part.profiles for part in parts) != count:
        raise ClearschedError(f"{where}: its metadata and its rows differ in the number of profiles")
    return parts


def _numbers(queries: pa.ChunkedArray, seed: int) -> np.ndarray:
    """uint32[n]: for each query a number that looks random and depends on its name and the seed alone."""
    encoded = queries.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    digests = [
        hashlib.blake2b(f"{seed}:{query}".encode(), digest_size=4).digest() for query in encoded.dictionary.to_pylist()
    ]
    return np.frombuffer(b"".join(digests), "<u4")[encoded.indices.to_numpy()]


def _arrivals(arrival: pa.ChunkedArray, path: Path | str) -> np.ndarray:
    if arrival.null_count:
        raise ClearschedError(f"{path}: has no arrival times: choose other workload.arrivals and workload.split")
    return arrival.to_numpy()


def _executor_ms(trace: Trace, load: Load) -> tuple[np.ndarray, np.ndarray]:
    """float64[profiles of the piece], and float64[2]: how many tasks they have, and their work, ms."""
    durations = compile_durations(trace, load.warmup_delay_ms)
    num_tasks, root = trace.stages["num_tasks"].to_numpy().astype(np.int64), trace.profile_starts[:-1]
    occupied = _occupied_ms(num_tasks, durations.table, root, trace.levels, load.num_executors, load.moving_delay_ms)
    return occupied, np.array([num_tasks.sum(), num_tasks @ durations.mean_ms])


def executor_ms(profiles: Profiles, num_executors: int, moving_delay_ms: int) -> np.ndarray:
    """float64[num_profiles]: executor time that a job takes up, overheads included.

    The overheads depend on how many executors serve a job. The estimate takes the square root of their number, the
    fair share when as many jobs are in the system: each of them moves once and runs one fresh task, and each stage
    has that many first-wave tasks (fewer if it has fewer tasks).
    """
    arrays, levels = profiles.arrays, profiles.trace.levels
    return _occupied_ms(arrays.num_tasks, arrays.table, arrays.stage_start[:-1], levels, num_executors, moving_delay_ms)


def _occupied_ms(
    num_tasks: np.ndarray,
    table: np.ndarray,
    root: np.ndarray,
    levels: tuple[int, ...],
    num_executors: int,
    moving_delay_ms: int,
) -> np.ndarray:
    serving = max(1, round(num_executors**0.5))
    level = int(np.clip(np.searchsorted(levels, serving, side="right") - 1, 0, None))
    mean = table[:, level, :, MEAN_MS].astype(np.float64)
    first = np.minimum(num_tasks, serving)
    stage_ms = num_tasks * mean[:, REST_WAVE] + first * (mean[:, FIRST_WAVE] - mean[:, REST_WAVE])
    fresh_ms = np.minimum(num_tasks[root], serving) * (mean[root, FRESH] - mean[root, FIRST_WAVE])
    return np.add.reduceat(stage_ms, root) + fresh_ms + serving * moving_delay_ms
