"""Rows of a trace built from arrays, for sources of millions of stages: no Python object a stage.

A batch of J jobs and G stages is given by offsets: the stages of job j are the rows `job_start[j]` to
`job_start[j + 1]`, the parents of row g are `parents[parent_start[g] : parent_start[g + 1]]`, numbered within the job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clearsched import __version__
from clearsched.errors import ClearschedError
from clearsched.files import PROVENANCE_KEY, atomic_path
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces.summary import Summary

POINTS = 5
"""Values in the list of durations of a stage with several tasks."""

LONGEST_MS = 2**31 - 1
"""The schema holds durations as int32."""


@dataclass(frozen=True)
class Batch:
    """Whole jobs with their stages, in order.

    Attributes:
        job_start: int64[J + 1].
        parent_start: int64[G + 1].
        parents: int32[edges].
        num_tasks: int32[G].
        mean_s: float64[G], mean duration of a task, s.
        arrival_s: int64[J], since the first job of the trace, s.
        cpu: float32[G], cores a task asks for; NaN: unknown.
        memory: float32[G], % of a machine; NaN: unknown.
    """

    job_start: np.ndarray
    parent_start: np.ndarray
    parents: np.ndarray
    num_tasks: np.ndarray
    mean_s: np.ndarray
    arrival_s: np.ndarray
    cpu: np.ndarray
    memory: np.ndarray

    @property
    def num_jobs(self) -> int:
        """J."""
        return len(self.job_start) - 1


@cache
def spread_factors(variation: float) -> np.ndarray:
    """float64[POINTS], increasing, mean 1, coefficient of variation `variation`.

    They stand for a lognormal distribution: each is the mean of one of `POINTS` slices of equal probability, and its
    shape is chosen so that the slices' means, not the distribution itself, have the variation asked for.
    """
    if variation == 0:
        return np.ones(1)
    from scipy.optimize import brentq  # takes longer to import than most commands take
    from scipy.stats import norm

    def slices(sigma: float) -> np.ndarray:
        edges = norm.ppf(np.linspace(0, 1, POINTS + 1))
        return np.asarray(POINTS * np.diff(norm.cdf(edges - sigma)))

    sigma = brentq(lambda value: slices(value).std() - variation, 1e-6, 8.0)
    factors = slices(sigma)
    return factors / factors.mean()


def template_names(batch: Batch) -> pa.Array:
    """string[J]: the shape of each job's DAG: its number of stages and a hash of its edges (0: no edge).

    Two jobs have the same name if and only if (up to a collision of 48 bits) they have as many stages and the same
    edges under their own numbering of the stages.
    """
    stages = np.diff(batch.job_start)
    child = np.repeat(np.arange(len(batch.num_tasks)), np.diff(batch.parent_start))
    job_of_row = np.repeat(np.arange(batch.num_jobs), stages)
    job = job_of_row[child]
    edge = (child - batch.job_start[job]).astype(np.uint64) << np.uint64(32) | batch.parents.astype(np.uint64)
    total = np.zeros(batch.num_jobs, np.uint64)
    np.add.at(total, job, _mixed(edge))
    key, index = np.unique(np.stack([stages.astype(np.uint64), total >> np.uint64(16)]), axis=1, return_inverse=True)
    names = pa.array([f"{count}-{value:012x}" for count, value in key.T.tolist()], pa.string())
    return names.take(pa.array(index.reshape(-1)))


def stage_table(batch: Batch, first_profile: int, variation: float) -> pa.Table:
    """The batch as a table of schema `TRACE`; its jobs become the profiles `first_profile`, `first_profile` + 1, ...

    A stage of one task has its duration, one of several tasks the `spread_factors` of it. They are stored for fresh
    executors only, which the simulator then takes for all waves.

    Raises:
        ClearschedError: a duration does not fit into the schema.
    """
    stages = np.diff(batch.job_start)
    job = np.repeat(np.arange(batch.num_jobs), stages)
    rows = len(job)
    mean_ms = batch.mean_s * 1000
    factors = spread_factors(variation)
    length = np.where(batch.num_tasks > 1, len(factors), 1)
    offsets = np.concatenate([[0], np.cumsum(length)])
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], length)
    factor = np.where(np.repeat(batch.num_tasks > 1, length), factors[position], 1.0)
    values = np.rint(np.repeat(mean_ms, length) * factor)
    if len(values) and not values.max() <= LONGEST_MS:
        raise ClearschedError(f"a task lasts {values.max() / 86_400_000:.3g} days: a trace holds up to 24.8")
    entry = TRACE.field("durations").type.value_type
    durations = pa.StructArray.from_arrays(
        [
            pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), ["fresh"]).cast(pa.string()),
            pa.array(np.ones(rows, np.int32)),
            pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values.astype(np.int32))),
        ],
        fields=[entry.field(index) for index in range(entry.num_fields)],
    )
    columns = [
        pa.array(first_profile + job, pa.int32()),
        template_names(batch).take(pa.array(job)),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), [""]).cast(pa.string()),
        pa.array(np.arange(rows) - batch.job_start[job], pa.int32()),
        pa.array(batch.num_tasks, pa.int32()),
        pa.ListArray.from_arrays(pa.array(batch.parent_start, pa.int32()), pa.array(batch.parents, pa.int32())),
        pa.ListArray.from_arrays(pa.array(np.arange(rows + 1), pa.int32()), durations),
        pa.array(batch.arrival_s[job] * 1000, pa.int64()),
        pa.array(batch.cpu, pa.float32(), from_pandas=True),
        pa.array(batch.memory, pa.float32(), from_pandas=True),
    ]
    return pa.Table.from_arrays([_as(c, f.type) for c, f in zip(columns, TRACE, strict=True)], schema=TRACE)


class RowWriter:
    """Writes batches to a Parquet trace, one row group each, so that no job lies in two; counts what it wrote."""

    def __init__(self, writer: pq.ParquetWriter, summary: Summary, variation: float) -> None:
        self._writer, self._summary, self._variation = writer, summary, variation

    def write(self, batch: Batch) -> None:
        """Append whole jobs."""
        table = stage_table(batch, self._summary.jobs, self._variation)
        self._writer.write_table(table, row_group_size=len(table))
        self._summary.count(table)


@contextmanager
def trace_rows(
    out: Path, summary: Summary, variation: float, options: dict[str, Any], origin: dict[str, Any]
) -> Iterator[RowWriter]:
    """A writer of the trace `out`, which appears when the block ends well, with its provenance and summary.

    Raises:
        ClearschedError: nothing was written to it: the trace would be empty.
    """
    with (
        atomic_path(out) as temporary,
        pq.ParquetWriter(temporary, TRACE, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield RowWriter(writer, summary, variation)
        if not summary.jobs:
            reasons = ", ".join(f"{count} {reason}" for reason, count in summary.skipped.items())
            raise ClearschedError(
                f"traces.source {summary.source}: no job is left ({reasons or 'none was read'}); relax its options"
            )
        metadata = {
            "source": summary.source,
            "levels": [1],
            "version": __version__,
            "options": options,
            **origin,
            "summary": asdict(summary),
        }
        writer.add_key_value_metadata({PROVENANCE_KEY: json.dumps(metadata, sort_keys=True).encode()})


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with the field names of the schema's nested types."""
    return column if column.type == kind else column.cast(kind)


def _mixed(values: np.ndarray) -> np.ndarray:
    """uint64: each value scrambled (the finaliser of splitmix64), so that sums of them hardly ever agree."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
