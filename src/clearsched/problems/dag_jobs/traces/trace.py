"""A trace: the job profiles that a workload draws its jobs from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError, TraceError
from clearsched.problems.dag_jobs.schemas import TRACE, WAVES
from clearsched.problems.dag_jobs.traces.dags import edge_rows, heights, topological_order
from clearsched.schemas import conform

LAST_MS = 2**53
"""Of an arrival: sums of times stay within 64 bits, and a float64 tells each of them."""


@dataclass(frozen=True)
class Part:
    """The profiles of a trace that come from one source; they stand one after another.

    Attributes:
        source: name of the source, unique in the trace.
        weight: share of a workload's jobs that are drawn from it, relative to the other parts.
        profiles: number of its profiles.
        levels: parallelism levels that the source was measured at, increasing.
    """

    source: str
    weight: float
    profiles: int
    levels: tuple[int, ...]


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
    def parts(self) -> tuple[Part, ...]:
        """The sources that were mixed (docs/workloads.md), one part if there is but one source."""
        if "mix" not in self.metadata:
            return (Part(str(self.metadata.get("source", "")), 1.0, self.num_profiles, self.levels),)
        return parts_of(self.metadata, "trace")

    @property
    def arrival_ms(self) -> np.ndarray:
        """int64[num_profiles]: arrival of each job in its source.

        Raises:
            ClearschedError: the source does not know when its jobs arrived.
        """
        arrival = self.stages["arrival_ms"].take(self.profile_starts[:-1])
        if arrival.null_count:
            raise ClearschedError(f"the trace ({self.metadata.get('source', 'no source')}) has no arrival times")
        return arrival.to_numpy()

    @cached_property
    def jobs(self) -> pa.Table:
        """One row a profile: profile, query, size, stages, tasks."""
        # No group_by: it does not keep the order of the profiles.
        first = self.profile_starts[:-1]
        tasks = np.add.reduceat(self.stages["num_tasks"].to_numpy().astype(np.int64), first)
        named = self.stages.select(["profile", "query", "size"]).take(first)
        return named.append_column("stages", pa.array(np.diff(self.profile_starts))).append_column(
            "tasks", pa.array(tasks)
        )

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
    return check_trace(Trace(table, levels_of(table, metadata, where), metadata), where)


def check_trace(trace: Trace, where: str, first_row: int = 0, first_profile: int = 0) -> Trace:
    """Return `trace` if it is sound. Where it is a piece of a larger one, it begins with these two numbers there.

    Raises:
        ClearschedError: with file, row and reason: no stages; profiles or stages not numbered in order; a stage
            without tasks or without durations; a negative duration; an unknown wave; a parent that is no stage;
            a cyclic DAG; an arrival before 0 or beyond `LAST_MS`, or two of one job; a demand below 0 or not finite.
    """
    table = conform(trace.stages, TRACE, where)
    if not len(table):
        raise TraceError(f"{where}: the trace is empty")
    _check_numbering(table, where, first_row, first_profile)
    for row in np.flatnonzero(table["num_tasks"].to_numpy() < 1)[:1]:
        name = _stage_name(table, int(row), where, first_row)
        raise ClearschedError(f"{name}: a stage without tasks (num_tasks = {table['num_tasks'][row]})")
    _check_asked(table, where, first_row)
    _check_arrivals(trace, where, first_row)
    _check_durations(trace, where, first_row)
    _check_dags(trace, where, first_row)
    if "mix" in trace.metadata:
        parts_of(trace.metadata, where)
    return trace


def _stage_name(table: pa.Table, row: int, where: str, first_row: int) -> str:
    query, size, stage = (table[name][row] for name in ("query", "size", "stage"))
    return f"{where}: row {first_row + row} (query {query}, size {size}, stage {stage})"


def _check_numbering(table: pa.Table, where: str, first_row: int, first_profile: int) -> None:
    profile, stage = table["profile"].to_numpy(), table["stage"].to_numpy()
    new = np.r_[True, profile[1:] != profile[:-1]]
    expected_profile = np.cumsum(new) - 1 + first_profile
    first = np.maximum.accumulate(np.where(new, np.arange(len(profile)), 0))
    for name, found, wanted in (
        ("profile", profile, expected_profile),
        ("stage", stage, np.arange(len(stage)) - first),
    ):
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            row = int(wrong[0])
            raise ClearschedError(
                f"{where}: row {first_row + row}: {name} is {found[row]}, expected {wanted[row]}: out of order"
            )


def _check_asked(table: pa.Table, where: str, first_row: int) -> None:
    for name in ("cpu", "memory"):
        asked = table[name].to_numpy()
        known = table[name].is_valid().to_numpy()
        for row in np.flatnonzero(known & ~((asked >= 0) & (asked < np.inf)))[:1]:
            stage = _stage_name(table, int(row), where, first_row)
            raise ClearschedError(f"{stage}: {name} is {asked[row]}: a finite number of at least 0 expected, or none")


def _check_arrivals(trace: Trace, where: str, first_row: int) -> None:
    column = trace.stages["arrival_ms"]
    known = column.is_valid().to_numpy()
    arrival = column.fill_null(0).to_numpy()
    first = np.repeat(trace.profile_starts[:-1], np.diff(trace.profile_starts))
    outside = known & ~((arrival >= 0) & (arrival <= LAST_MS))
    apart = (arrival != arrival[first]) | (known != known[first])
    for wrong, reason in (
        (outside, f"0 to {LAST_MS} expected"),
        (apart, "its job has another one: one a job expected"),
    ):
        for row in np.flatnonzero(wrong)[:1]:
            stage = _stage_name(trace.stages, int(row), where, first_row)
            raise ClearschedError(f"{stage}: arrival_ms is {column[int(row)]}: {reason}")


def _check_durations(trace: Trace, where: str, first_row: int) -> None:
    lists = trace.stages["durations"].combine_chunks()
    entries = pc.list_flatten(lists)
    row_of = pc.list_parent_indices(lists).to_numpy()
    wave, level, durations = (pc.struct_field(entries, name) for name in ("wave", "level", "duration_ms"))

    def fail(entry: int, reason: str) -> None:
        raise ClearschedError(f"{_stage_name(trace.stages, int(row_of[entry]), where, first_row)}: {reason}")

    known = pc.is_in(wave, value_set=pa.array(WAVES)).to_numpy(zero_copy_only=False)
    for entry in np.flatnonzero(~known)[:1]:
        fail(int(entry), f"unknown wave {wave[int(entry)]}: known are {', '.join(WAVES)}")
    for entry in np.flatnonzero(level.to_numpy() < 1)[:1]:
        fail(int(entry), f"parallelism level {level[int(entry)]} is not positive")
    values = pc.list_flatten(durations).to_numpy()
    lengths = pc.list_value_length(durations).to_numpy(zero_copy_only=False)
    for position in np.flatnonzero(values < 0)[:1]:
        entry = int(np.searchsorted(np.cumsum(lengths), position, side="right"))
        fail(entry, f"negative duration ({values[position]} ms)")
    filled = np.zeros(len(trace.stages), bool)
    filled[row_of[lengths > 0]] = True
    for bare in np.flatnonzero(~filled)[:1]:
        query, size = trace.stages["query"][bare], trace.stages["size"][bare]
        raise ClearschedError(
            f"{where}: row {first_row + bare} (query {query}, size {size}): the stage has no task durations"
        )


def _check_dags(trace: Trace, where: str, first_row: int) -> None:
    """All DAGs at once; what is wrong with the first faulty one is then told by the slower `topological_order`."""
    starts = trace.profile_starts
    parent, child, known = edge_rows(trace.stages["parents"], starts)
    if known.all() and (parent < child).all():
        return  # every parent stands before its children: no cycle is possible
    stuck = heights(len(trace.stages), parent[known], child[known]) < 0
    stuck[child[~known]] = True
    for row in np.flatnonzero(stuck)[:1]:
        profile = int(np.searchsorted(starts, row, side="right")) - 1
        rows = trace.stages.slice(starts[profile], starts[profile + 1] - starts[profile])
        name = f"{where}: row {first_row + row} (query {rows['query'][0]}, size {rows['size'][0]})"
        topological_order(rows["parents"].to_pylist(), name)


def parts_of(metadata: dict[str, Any], where: str) -> tuple[Part, ...]:
    """The parts that the metadata of a mixed trace names.

    Raises:
        ClearschedError: they are not of the form that `mixing.mix` writes.
    """
    try:
        return tuple(
            Part(str(part["source"]), float(part["weight"]), int(part["profiles"]), tuple(map(int, part["levels"])))
            for part in metadata["mix"]
        )
    except (KeyError, TypeError, ValueError):
        raise ClearschedError(f"{where}: its metadata gives the mix {metadata['mix']}: build it again") from None


def levels_of(table: pa.Table, metadata: dict[str, Any], where: str) -> tuple[int, ...]:
    """The levels that the source declares, else those that occur."""
    if "levels" in metadata:
        levels = metadata["levels"]
        whole = isinstance(levels, list | tuple) and all(type(level) is int and level > 0 for level in levels)
        if not whole or not levels or sorted(set(levels)) != list(levels):
            raise ClearschedError(f"{where}: its metadata gives the levels {levels}: increasing numbers expected")
        return tuple(levels)
    entries = pc.list_flatten(table["durations"])
    return tuple(sorted(int(level) for level in pc.unique(pc.struct_field(entries, "level")).to_pylist()))
