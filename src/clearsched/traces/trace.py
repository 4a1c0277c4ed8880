"""A trace: the job profiles that a workload draws its jobs from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.schemas import TRACE, WAVES, conform, read_table, write_table


@dataclass(frozen=True)
class Trace:
    """Job profiles: each a DAG of stages with measured task durations (docs/simulator.md §1).

    Attributes:
        stages: table of schema `TRACE`, one row a stage, sorted by (profile, stage).
        levels: parallelism levels (executors of a job) at which durations were measured, increasing.
        metadata: provenance: source, versions, licence notes.
    """

    stages: pa.Table
    levels: tuple[int, ...]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def num_profiles(self) -> int:
        """Number of job profiles."""
        return len(self.profile_starts) - 1

    @cached_property
    def profile_starts(self) -> np.ndarray:
        """int64[num_profiles + 1]: first row of each profile in `stages`, then the number of rows."""
        profile = self.stages["profile"].to_numpy()
        first = np.flatnonzero(np.r_[True, profile[1:] != profile[:-1]])
        return np.append(first, len(profile))

    @cached_property
    def jobs(self) -> pa.Table:
        """One row a profile: profile, query, size, stages, tasks."""
        grouped = self.stages.group_by(["profile", "query", "size"], use_threads=False).aggregate(
            [("stage", "count"), ("num_tasks", "sum")]
        )
        return grouped.rename_columns(["profile", "query", "size", "stages", "tasks"])

    @cached_property
    def edges(self) -> pa.Table:
        """One row an edge of a DAG: profile, parent, child (stage indices within the profile)."""
        parent = pc.list_flatten(self.stages["parents"])
        row = pc.list_parent_indices(self.stages["parents"])
        return pa.table(
            {
                "profile": self.stages["profile"].take(row),
                "parent": parent,
                "child": self.stages["stage"].take(row),
            }
        )

    @cached_property
    def durations(self) -> pa.Table:
        """One row a list of measurements: profile, stage, wave, level (executors), duration_ms (list)."""
        entry = pc.list_flatten(self.stages["durations"])
        row = pc.list_parent_indices(self.stages["durations"])
        columns = {name: self.stages[name].take(row) for name in ("profile", "stage")}
        return pa.table(columns | {name: pc.struct_field(entry, name) for name in ("wave", "level", "duration_ms")})

    def find(self, query: str, size: str) -> int:
        """Index of the profile of a query at an input size.

        Raises:
            ClearschedError: the trace has no such profile.
        """
        try:
            return self._index[(query, size)]
        except KeyError:
            sizes = sorted({s for _, s in self._index})
            raise ClearschedError(
                f"no profile of query {query} at size {size}: the trace has sizes {', '.join(sizes)}"
            ) from None

    @cached_property
    def _index(self) -> dict[tuple[str, str], int]:
        jobs = self.jobs
        names = zip(jobs["query"].to_pylist(), jobs["size"].to_pylist(), strict=True)
        return {name: profile for profile, name in enumerate(names)}


def make_trace(rows: list[dict[str, Any]], metadata: dict[str, Any], where: str) -> Trace:
    """Build and check a trace from one dict a stage with the fields of schema `TRACE`."""
    table = pa.Table.from_pylist(rows, schema=TRACE)
    return check_trace(Trace(table, _levels(table, metadata, where), metadata), where)


def read_trace(path: str | Path) -> Trace:
    """Read and check a Parquet trace.

    Raises:
        ClearschedError: missing, truncated, of another schema, or a row breaks a rule of `check_trace`.
    """
    table, metadata = read_table(path, TRACE)
    return check_trace(Trace(table, _levels(table, metadata, str(path)), metadata), str(path))


def write_trace(path: str | Path, trace: Trace) -> None:
    """Write a trace as Parquet, atomically."""
    write_table(path, trace.stages, TRACE, trace.metadata)


def check_trace(trace: Trace, where: str) -> Trace:
    """Return `trace` if it is sound.

    Raises:
        ClearschedError: with file, row and reason: no stages; profiles or stages not numbered in order; a stage
            without tasks or without durations; a negative duration; an unknown wave; a parent that is no stage;
            a cyclic DAG.
    """
    table = conform(trace.stages, TRACE, where)
    if not len(table):
        raise ClearschedError(f"{where}: the trace is empty")
    _check_numbering(table, where)
    rows = table.select(["query", "size", "stage", "num_tasks", "parents"]).to_pylist()
    for row, stage in enumerate(rows):
        name = f"{where}: row {row} (query {stage['query']}, size {stage['size']}, stage {stage['stage']})"
        if stage["num_tasks"] < 1:
            raise ClearschedError(f"{name}: a stage without tasks (num_tasks = {stage['num_tasks']})")
    _check_durations(trace, where)
    for start, stop in zip(trace.profile_starts[:-1], trace.profile_starts[1:], strict=True):
        parents = [stage["parents"] for stage in rows[start:stop]]
        name = f"{where}: query {rows[start]['query']}, size {rows[start]['size']}"
        topological_order(parents, name)
    return trace


def topological_order(parents: list[list[int]], where: str) -> list[int]:
    """Stages in an order in which every parent precedes its children.

    Raises:
        ClearschedError: a parent is no stage of the profile, or the DAG has a cycle.
    """
    children: list[list[int]] = [[] for _ in parents]
    waiting = [len(set(p)) for p in parents]
    for child, its_parents in enumerate(parents):
        for parent in set(its_parents):
            if not 0 <= parent < len(parents):
                raise ClearschedError(f"{where}: stage {child}: parent {parent} is no stage of the profile")
            children[parent].append(child)
    order = [stage for stage, count in enumerate(waiting) if count == 0]
    for stage in order:
        for child in children[stage]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(parents):
        stuck = [stage for stage, count in enumerate(waiting) if count]
        raise ClearschedError(f"{where}: the DAG has a cycle through stages {stuck}")
    return order


def _check_numbering(table: pa.Table, where: str) -> None:
    profile, stage = table["profile"].to_numpy(), table["stage"].to_numpy()
    new = np.r_[True, profile[1:] != profile[:-1]]
    expected_profile = np.cumsum(new) - 1
    first = np.maximum.accumulate(np.where(new, np.arange(len(profile)), 0))
    for name, found, wanted in (
        ("profile", profile, expected_profile),
        ("stage", stage, np.arange(len(stage)) - first),
    ):
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            row = int(wrong[0])
            raise ClearschedError(f"{where}: row {row}: {name} is {found[row]}, expected {wanted[row]}: out of order")


def _check_durations(trace: Trace, where: str) -> None:
    table = trace.durations
    waves = np.asarray(table["wave"].to_pylist(), dtype=object)
    lists = table["duration_ms"].combine_chunks()
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)

    def fail(entry: int, reason: str) -> None:
        profile, stage = table["profile"][entry].as_py(), table["stage"][entry].as_py()
        row = int(trace.profile_starts[profile]) + stage
        name = f"query {trace.stages['query'][row]}, size {trace.stages['size'][row]}"
        raise ClearschedError(f"{where}: row {row} ({name}, stage {stage}): {reason}")

    for entry in np.flatnonzero(~np.isin(waves, WAVES))[:1]:
        fail(int(entry), f"unknown wave {waves[entry]}: known are {', '.join(WAVES)}")
    for entry in np.flatnonzero(table["level"].to_numpy() < 1)[:1]:
        fail(int(entry), f"parallelism level {table['level'][entry]} is not positive")
    values = pc.list_flatten(lists).to_numpy()
    for position in np.flatnonzero(values < 0)[:1]:
        entry = int(np.searchsorted(np.cumsum(lengths), position, side="right"))
        fail(entry, f"negative duration ({values[position]} ms)")
    total = np.zeros(len(trace.stages), np.int64)
    row = trace.profile_starts[table["profile"].to_numpy()] + table["stage"].to_numpy()
    np.add.at(total, row, lengths)
    for bare in np.flatnonzero(total == 0)[:1]:
        name = f"query {trace.stages['query'][bare]}, size {trace.stages['size'][bare]}"
        raise ClearschedError(f"{where}: row {bare} ({name}): the stage has no task durations")


def _levels(table: pa.Table, metadata: dict[str, Any], where: str) -> tuple[int, ...]:
    """The levels that the source declares, else those that occur."""
    if "levels" in metadata:
        levels = metadata["levels"]
        whole = isinstance(levels, list | tuple) and all(type(level) is int and level > 0 for level in levels)
        if not whole or not levels or sorted(set(levels)) != list(levels):
            raise ClearschedError(f"{where}: its metadata gives the levels {levels}: increasing numbers expected")
        return tuple(levels)
    entries = pc.list_flatten(table["durations"])
    return tuple(sorted(int(level) for level in pc.unique(pc.struct_field(entries, "level")).to_pylist()))
