"""What can be counted in a trace, job by job and stage by stage, piece by piece: a file of millions of jobs too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from clearsched.errors import ClearschedError
from clearsched.schemas import TRACE, provenance

ROWS = 65_536
"""Stages that are held in memory at once, besides what is kept of each."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measures:
    """The numbers of a trace that its description and its pictures are made of.

    Of each job, [jobs]:
        stages, tasks, depth: how many; depth is the number of stages on the longest chain.
        work_s: tasks x mean duration, summed, executor-seconds.
        path_s: the longest chain of mean task durations: no number of executors is faster.
        arrival_s: time of arrival, seconds; NaN where the source knows none.
    Of each stage, [stages]:
        stage_tasks: number of tasks.
        stage_s: mean task duration, seconds.
        cpu, memory: cores and % of a machine that a task asks for; NaN where the source does not know.
    Of all: edges, templates (distinct names of queries), levels (executors at which durations were measured), metadata.
    """

    stages: npt.NDArray[np.int32]
    tasks: IntArray
    depth: npt.NDArray[np.int32]
    work_s: FloatArray
    path_s: FloatArray
    arrival_s: FloatArray
    stage_tasks: npt.NDArray[np.int32]
    stage_s: npt.NDArray[np.float32]
    cpu: npt.NDArray[np.float32]
    memory: npt.NDArray[np.float32]
    edges: int
    templates: int
    levels: tuple[int, ...]
    metadata: dict[str, Any]

    @property
    def parallelism(self) -> FloatArray:
        """float64[jobs]: executors that a job keeps busy on average if it gets all it can use: work / longest chain."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.path_s > 0, self.work_s / self.path_s, 1.0)

    @property
    def first_rows(self) -> IntArray:
        """int64[jobs + 1]: the first row of each job, then the number of rows."""
        return np.concatenate([[0], np.cumsum(self.stages, dtype=np.int64)])


def measure(path: str | Path) -> Measures:
    """Read a Parquet trace of any size once, durations included, and count.

    Raises:
        ClearschedError: missing, damaged or no trace; `clearsched traces validate` says more.
    """
    path = Path(path)
    columns = ["profile", "query", "num_tasks", "parents", "arrival_ms", "cpu", "memory"]
    parts: dict[str, list[Any]] = {}
    names: list[IntArray] = []  # hashes: the names themselves would not fit where each job has its own
    levels: set[int] = set()
    edges = 0
    with open_trace(path) as file:
        metadata = metadata_of(file, path)
        for table in pieces(file, path, columns, durations=True):
            try:
                found = _measure_piece(table)
            except (IndexError, ValueError) as error:
                raise _no_trace(path, str(error)) from None
            edges += found.pop("edges")
            levels.update(found.pop("levels"))
            names.append(np.array([hash(name) for name in table["query"].unique().to_pylist()], np.int64))
            for name, values in found.items():
                parts.setdefault(name, []).append(values)
    if not parts:
        raise ClearschedError(f"{path}: the trace is empty")
    declared = metadata.get("levels")
    return Measures(
        **{name: np.concatenate(arrays) for name, arrays in parts.items()},
        edges=edges,
        templates=len(np.unique(np.concatenate(names))),
        levels=tuple(declared if isinstance(declared, list) else sorted(levels)),
        metadata=metadata,
    )


def open_trace(path: str | Path) -> pq.ParquetFile:
    """The Parquet file of a trace, of which the footer was read.

    Raises:
        ClearschedError: missing, damaged or no Parquet file.
    """
    path = Path(path)
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file")
    try:
        return pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise _no_trace(path, _reason(error)) from None


def metadata_of(file: pq.ParquetFile, path: Path) -> dict[str, Any]:
    """The provenance that the trace was written with."""
    try:
        return provenance(file.metadata.metadata)
    except ValueError as error:
        raise _no_trace(path, f"its metadata is damaged: {error}") from None


def pieces(
    file: pq.ParquetFile, path: Path, columns: list[str], durations: bool, row_groups: list[int] | None = None
) -> Iterator[pa.Table]:
    """The rows of whole jobs, about `ROWS` at a time; columns that an older file lacks are empty.

    With `durations`, the column is there too, without the names of the waves: they are most of its size.

    Raises:
        ClearschedError: the file is damaged or lacks a column.
    """
    there = set(file.schema_arrow.names)
    missing = [name for name in (*columns, "durations") if name not in there and not TRACE.field(name).nullable]
    if missing:
        raise ClearschedError(f"{path}: columns do not fit the schema: missing {missing}")
    leaves = [file.schema.column(index).path for index in range(len(file.schema))]
    wanted = [name for name in columns if name in there]
    if durations:
        wanted += [leaf for leaf in leaves if leaf.startswith("durations.") and not leaf.endswith(".wave")]
    rest: pa.Table | None = None
    try:
        for batch in file.iter_batches(ROWS, columns=wanted, row_groups=row_groups, use_threads=False):
            table = pa.table(batch)
            table = table if rest is None else pa.concat_tables([rest, table])
            profile = table["profile"].to_numpy()
            cut = int(np.searchsorted(profile, profile[-1]))
            rest = table.slice(cut)
            if cut:
                yield _filled(table.slice(0, cut), columns)
    except (pa.ArrowException, OSError) as error:
        raise _no_trace(path, _reason(error)) from None
    if rest is not None and len(rest):
        yield _filled(rest, columns)


def rows_of(path: str | Path, jobs: IntArray, first_rows: IntArray) -> pa.Table:
    """The stages of some jobs of a trace: profile, query, size, stage, num_tasks, parents, durations.

    Args:
        path: the trace.
        jobs: their numbers, increasing.
        first_rows: `Measures.first_rows`; only the row groups that hold the jobs are read.

    Raises:
        ClearschedError: the file is damaged.
    """
    columns = ["profile", "query", "size", "stage", "num_tasks", "parents"]
    with open_trace(path) as file:
        lengths = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        ends = np.cumsum(lengths)
        first = np.searchsorted(ends, first_rows[jobs], side="right")
        last = np.searchsorted(ends, first_rows[jobs + 1] - 1, side="right")
        groups = sorted(
            {group for a, b in zip(first.tolist(), last.tolist(), strict=True) for group in range(a, b + 1)}
        )
        found = [
            table.filter(np.isin(table["profile"].to_numpy(), jobs))
            for table in pieces(file, Path(path), columns, durations=True, row_groups=groups)
        ]
    return pa.concat_tables(found).combine_chunks()


def _filled(table: pa.Table, columns: list[str]) -> pa.Table:
    """`table` in one chunk, with the columns that it lacks."""
    for name in columns:
        if name not in table.schema.names:
            table = table.append_column(name, pa.nulls(len(table), TRACE.field(name).type))
    return table.combine_chunks()


def _measure_piece(table: pa.Table) -> dict[str, Any]:
    """The attributes of `Measures` for the rows of whole jobs."""
    profile = table["profile"].to_numpy()
    start = np.flatnonzero(np.r_[True, profile[1:] != profile[:-1]])
    row_start = np.repeat(start, np.diff(np.append(start, len(profile))))
    num_tasks = table["num_tasks"].to_numpy()
    stage_s, levels = mean_durations_s(table)
    parent, child = edges_of(table, row_start)
    depth, path_s = longest_chains(parent, child, stage_s, len(profile))
    arrival = table["arrival_ms"].to_numpy(zero_copy_only=False).astype(np.float64)
    return {
        "stages": np.diff(np.append(start, len(profile))).astype(np.int32),
        "tasks": np.add.reduceat(num_tasks.astype(np.int64), start),
        "depth": np.maximum.reduceat(depth, start).astype(np.int32),
        "work_s": np.add.reduceat(num_tasks * stage_s, start),
        "path_s": np.maximum.reduceat(path_s, start),
        "arrival_s": arrival[start] / 1000.0,
        "stage_tasks": num_tasks.astype(np.int32),
        "stage_s": stage_s.astype(np.float32),
        "cpu": table["cpu"].to_numpy(zero_copy_only=False).astype(np.float32),
        "memory": table["memory"].to_numpy(zero_copy_only=False).astype(np.float32),
        "edges": len(parent),
        "levels": levels,
    }


def mean_durations_s(table: pa.Table) -> tuple[FloatArray, list[int]]:
    """Mean of all durations of each stage in seconds, float64[rows] (NaN without any), and the levels that occur."""
    lists = table["durations"].combine_chunks()
    entries = lists.flatten()
    durations = entries.field("duration_ms")
    # A flattened array starts at its own first value; the offsets of the lists inside do so too once they are rebased.
    offsets = durations.offsets.to_numpy()
    values = durations.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]]
    totals = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    of_stage = lists.offsets.to_numpy() - lists.offsets[0].as_py()
    ends = (offsets - offsets[0])[of_stage]
    with np.errstate(invalid="ignore"):
        means = np.diff(totals[ends]) / np.diff(ends) / 1000.0
    return means, np.unique(entries.field("level").to_numpy(zero_copy_only=False)).tolist()


def edges_of(table: pa.Table, row_start: IntArray) -> tuple[IntArray, IntArray]:
    """Parent and child of every edge, as rows of the table; `row_start`: the first row of each row's job."""
    lists = table["parents"].combine_chunks()
    child = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
    parent = row_start[child] + lists.flatten().to_numpy(zero_copy_only=False)
    if len(parent) and (parent.min() < 0 or parent.max() >= len(lists)):
        raise ValueError("a parent is no stage of the profile")
    return parent, child


def longest_chains(
    parent: IntArray, child: IntArray, length: FloatArray, num_rows: int
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Of each stage, int64[rows] and float64[rows]: stages, and sum of `length`, on the longest chain that ends in it.

    Raises:
        ValueError: the edges have a cycle.
    """
    depth = np.ones(num_rows, np.int64)
    waiting = np.arange(len(parent))
    while len(waiting):
        before = depth.copy()
        np.maximum.at(depth, child[waiting], depth[parent[waiting]] + 1)
        if depth.max() > num_rows:
            raise ValueError("the DAG of a job has a cycle")
        # Only stages that moved can move their children.
        waiting = np.flatnonzero((depth > before)[parent])
    total = length.copy()
    if not len(parent):
        return depth, total
    order = np.argsort(depth[child], kind="stable")
    parent, child = parent[order], child[order]
    cuts = np.flatnonzero(np.diff(depth[child], prepend=0))
    best = np.zeros(num_rows)
    for first, last in zip(cuts, np.append(cuts[1:], len(child)), strict=True):
        of = slice(int(first), int(last))
        np.maximum.at(best, child[of], total[parent[of]])
        total[child[of]] = length[child[of]] + best[child[of]]
    return depth, total


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _no_trace(path: Path, reason: str) -> ClearschedError:
    return ClearschedError(f"{path}: truncated or not a trace ({reason}); see `clearsched traces validate {path}`")
