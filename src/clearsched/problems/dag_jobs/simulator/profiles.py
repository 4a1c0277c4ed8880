"""A trace compiled to flat arrays: what the simulator's loop reads and never writes.

The fall-back rules for durations (docs/simulator.md §2) are resolved here, once: what is left in the loop is one
look-up in `table[stage, level, wave]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.dags import edge_rows, heights, longest_paths
from clearsched.problems.dag_jobs.traces.durations import duration_lists
from clearsched.problems.dag_jobs.traces.trace import Trace

FIRST_WAVE, REST_WAVE, FRESH = range(3)
"""Waves, in the order of `dag_jobs.schemas.WAVES`: what the executor that starts a task did before."""

MOST_EXECUTORS = 1_000_000
"""Of a cluster: each takes memory in every episode that runs at once."""

OFFSET, LENGTH, ADD_MS, MEAN_MS = range(4)
"""Columns of `table`: where a list of durations lies, its length, the delay added to a value, its rounded mean."""


class ProfileArrays(NamedTuple):
    """The arrays the compiled loop reads. G stages in all, P profiles, L levels."""

    stage_start: np.ndarray  # int64[P + 1]: first stage of each profile
    num_tasks: np.ndarray  # int64[G]
    parent_start: np.ndarray  # int64[G + 1]: where the parents of a stage lie in `parents`
    parents: np.ndarray  # int64[edges]: index within the profile
    child_start: np.ndarray  # int64[G + 1]
    children: np.ndarray  # int64[edges]: index within the profile
    table: np.ndarray  # int64[G, L, 3 waves, 4]
    durations_ms: np.ndarray  # int32[values]
    mean_ms: np.ndarray  # float64[G]: mean task duration of a stage, for work estimates
    levels_below: np.ndarray  # int64[G]: stages on the longest path below the stage
    critical_path_ms: (
        np.ndarray
    )  # float64[G]: largest sum of stage work on a path from the stage downwards, its own included
    work_ms: np.ndarray  # float64[P]: sum of tasks x mean duration
    path_ms: np.ndarray  # float64[P]: longest path of mean task durations: a job of endless executors takes as long


@dataclass(frozen=True)
class Profiles:
    """A compiled trace.

    Attributes:
        trace: where it comes from.
        arrays: what the loop reads.
        warmup_delay_ms: added to a first-wave duration that stands in for a missing fresh one.
    """

    trace: Trace
    arrays: ProfileArrays
    warmup_delay_ms: int

    @property
    def work_ms(self) -> np.ndarray:
        """float64[num_profiles]: work of a job in executor-milliseconds."""
        return self.arrays.work_ms

    @cached_property
    def num_tasks(self) -> np.ndarray:
        """int64[num_profiles]: tasks of a job."""
        return np.add.reduceat(self.arrays.num_tasks, self.arrays.stage_start[:-1])

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """(query, size) of each profile."""
        jobs = self.trace.jobs
        return list(zip(jobs["query"].to_pylist(), jobs["size"].to_pylist(), strict=True))


def compile_profiles(trace: Trace, warmup_delay_ms: int = 1000) -> Profiles:
    """Compile a trace for a cluster whose executors take `warmup_delay_ms` to warm up.

    Raises:
        ClearschedError: a stage has no duration at its largest level.
    """
    starts = trace.profile_starts.astype(np.int64)
    num_tasks = trace.stages["num_tasks"].to_numpy().astype(np.int64)
    count = len(num_tasks)
    parent, child, _ = edge_rows(trace.stages["parents"], starts)
    parent, child = _distinct(parent, child, count)
    durations = compile_durations(trace, warmup_delay_ms)
    stage_work = num_tasks * durations.mean_ms
    height = heights(count, parent, child)
    base = np.repeat(starts[:-1], np.diff(starts))
    by_parent = np.lexsort((child, parent))
    arrays = ProfileArrays(
        starts,
        num_tasks,
        np.searchsorted(child, np.arange(count + 1)),
        (parent - base[child]).astype(np.int64),
        np.searchsorted(parent[by_parent], np.arange(count + 1)),
        (child - base[child])[by_parent].astype(np.int64),
        durations.table,
        durations.values_ms,
        durations.mean_ms,
        height,
        longest_paths(stage_work, height, parent, child),
        np.add.reduceat(stage_work, starts[:-1]),
        np.maximum.reduceat(longest_paths(durations.mean_ms, height, parent, child), starts[:-1]),
    )
    return Profiles(trace, arrays, warmup_delay_ms)


def level_table(levels: tuple[int, ...], num_executors: int, right_interpolation: bool = False) -> np.ndarray:
    """int64[num_executors + 1, 3]: for each number n of executors of a job the level indices to the left and right
    of n, and 2^32 x the probability of taking the right one: 1 - (n - left) / (right - left) strictly between two
    levels (a flaw that is kept, docs/simulator.md §2), else 0. With `right_interpolation`, (n - left) / (right - left).
    """
    count = np.arange(num_executors + 1)
    grid = np.asarray(levels, np.int64)
    left = np.clip(np.searchsorted(grid, count, side="right") - 1, 0, len(grid) - 1)
    right = np.minimum(left + 1, len(grid) - 1)
    between = (count > grid[left]) & (left < right)
    width = np.maximum(grid[right] - grid[left], 1)
    share = (count - grid[left]) / width
    probability = np.where(between, share if right_interpolation else 1 - share, 0.0)
    return np.stack([left, right, np.round(probability * 2**32).astype(np.int64)], axis=1)


def _distinct(parent: np.ndarray, child: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Each edge once, sorted by child and then by parent."""
    edges = np.unique(child * count + parent)
    return edges % count, edges // count


class CompiledDurations(NamedTuple):
    """Task durations, ready to be looked up. G stages, L levels."""

    table: np.ndarray  # int64[G, L, 3 waves, 4]
    values_ms: np.ndarray  # int32[values]: what the table points into
    mean_ms: np.ndarray  # float64[G]: mean task duration of a stage


def compile_durations(trace: Trace, warmup_delay_ms: int) -> CompiledDurations:
    """The look-up table, the durations it points into, and the mean task duration of each stage.

    The mean is that of `traces.durations.mean_task_ms`.

    Raises:
        ClearschedError: a stage has no duration at its largest level.
    """
    wanted = _wanted_levels(trace)
    lists = duration_lists(trace.stages["durations"], wanted)
    grid, offsets, total, length = lists.levels, lists.offsets, lists.totals_ms, lists.lengths
    used = np.searchsorted(grid, wanted)[np.repeat(np.arange(len(trace.parts)), _stages_of_parts(trace))]
    chosen = _fall_back(lists.at, used)
    table = np.zeros((len(trace.stages), len(trace.levels), 3, 4), np.int64)
    stage = np.arange(len(trace.stages))[:, None]
    for served in range(3):
        entry, add_ms = _resolve(lists.at[stage, :, chosen], np.append(length, 0), served, warmup_delay_ms)
        for row, index in np.argwhere(entry < 0)[:1]:
            query, size, name = (trace.stages[c][int(row)] for c in ("query", "size", "stage"))
            raise ClearschedError(
                f"trace row {row} (query {query}, size {size}, stage {name}): "
                f"no duration at level {grid[chosen[row, index]]}"
            )
        mean = np.floor(total[entry] / length[entry] + 0.5)
        for column, content in ((OFFSET, offsets[entry]), (LENGTH, length[entry]), (ADD_MS, add_ms)):
            table[:, :, served, column] = content
        table[:, :, served, MEAN_MS] = mean + add_ms
    return CompiledDurations(table, lists.values_ms, lists.mean_ms())


def _wanted_levels(trace: Trace) -> np.ndarray:
    """int64[parts, L]: for each level of the trace, the level that the sources in it were measured at and that counts.

    A trace of one source has its own levels. In a mix, a level that only another source has counts as the nearest
    of its own (of two, the lower): below its smallest the smallest, above its largest the largest.
    """
    levels = np.asarray(trace.levels, np.int64)
    own = [np.asarray(part.levels, np.int64) for part in trace.parts]
    return np.stack([of[np.argmin(np.abs(levels[:, None] - of[None, :]), axis=1)] for of in own])


def _stages_of_parts(trace: Trace) -> np.ndarray:
    """int64[parts]: number of stages of each source."""
    ends = np.cumsum([part.profiles for part in trace.parts])
    if ends[-1] != trace.num_profiles:
        raise ClearschedError(f"trace: its metadata counts {ends[-1]} profiles, it has {trace.num_profiles}")
    return np.diff(trace.profile_starts[ends], prepend=0)


def _fall_back(entry_at: np.ndarray, used: np.ndarray) -> np.ndarray:
    """int64[G, L]: the level (its index) that is looked up; one that the stage was not measured at is its largest.

    The levels of a stage are those of its first wave, if it has any, else those of all waves.
    """
    measured = entry_at >= 0
    first = measured[:, FIRST_WAVE]
    known = np.where(first.any(axis=1, keepdims=True), first, measured.any(axis=1))
    largest = known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    return np.where(np.take_along_axis(known, used, axis=1), used, largest[:, None])


def _resolve(entry: np.ndarray, length: np.ndarray, wave: int, warmup_delay_ms: int) -> tuple[np.ndarray, np.ndarray]:
    """The entries whose durations serve a wave, and the delay to add; entry -1 where there is none.

    Args:
        entry: int32[G, L, 3 waves], entries at the levels looked up, -1 for none.
        length: number of durations of each entry, then 0 for entry -1.
    """
    order = {
        FIRST_WAVE: ((FIRST_WAVE, 0), (FRESH, 0), (REST_WAVE, 0)),
        REST_WAVE: ((REST_WAVE, 0), (FIRST_WAVE, 0), (FRESH, 0)),
        FRESH: ((FRESH, 0), (FIRST_WAVE, warmup_delay_ms), (REST_WAVE, warmup_delay_ms)),
    }[wave]
    found = np.full(entry.shape[:2], -1, np.int64)
    add_ms = np.zeros(entry.shape[:2], np.int64)
    for candidate, delay in reversed(order):
        there = length[entry[:, :, candidate]] > 0
        found[there] = entry[there, candidate]
        add_ms[there] = delay
    return found, add_ms
