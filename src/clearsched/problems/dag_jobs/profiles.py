"""A trace compiled to flat arrays: what the simulator's loop reads and never writes.

The fall-back rules for durations (docs/simulator.md §2) are resolved here, once: what is left in the loop is one
look-up in `table[stage, level, wave]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.schemas import WAVES
from clearsched.traces.trace import Trace, topological_order

FIRST_WAVE, REST_WAVE, FRESH = range(3)
"""Waves, in the order of `schemas.WAVES`: what the executor that starts a task did before."""

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
    stages = trace.stages
    starts = trace.profile_starts.astype(np.int64)
    num_tasks = stages["num_tasks"].to_numpy().astype(np.int64)
    parents = stages["parents"].to_pylist()
    table, durations, mean_ms = _compile_durations(trace, warmup_delay_ms)
    stage_work = num_tasks * mean_ms
    levels_below = np.zeros(len(stages), np.int64)
    critical_path = np.zeros(len(stages))
    children: list[list[int]] = [[] for _ in parents]
    for base, stop in pairwise(starts):
        for stage in reversed(topological_order(parents[base:stop], "trace")):
            below = children[base + stage]
            levels_below[base + stage] = 1 + max((levels_below[base + c] for c in below), default=-1)
            longest = max((critical_path[base + c] for c in below), default=0.0)
            critical_path[base + stage] = stage_work[base + stage] + longest
            for parent in sorted(set(parents[base + stage])):
                children[base + parent].append(stage)
    unique_parents = [sorted(set(p)) for p in parents]
    arrays = ProfileArrays(
        starts,
        num_tasks,
        *_ragged(unique_parents),
        *_ragged([sorted(c) for c in children]),
        table,
        durations,
        mean_ms,
        levels_below,
        critical_path,
        np.add.reduceat(stage_work, starts[:-1]),
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


def _ragged(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    start = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(values) for values in lists], out=start[1:])
    return start, np.asarray([v for values in lists for v in values], np.int64)


def _compile_durations(trace: Trace, warmup_delay_ms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The look-up table, the durations it points into, and the mean task duration of each stage.

    The mean is that of the rest-wave durations at all levels (most tasks are of that wave), else of all durations.
    """
    entries = trace.durations
    lists = entries["duration_ms"].combine_chunks()
    offsets = lists.offsets.to_numpy().astype(np.int64)
    values = lists.values.to_numpy().astype(np.int32)
    sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    by_stage: list[dict[tuple[int, int], int]] = [{} for _ in range(len(trace.stages))]
    rows = trace.profile_starts[entries["profile"].to_numpy()] + entries["stage"].to_numpy()
    waves = [WAVES.index(wave) for wave in entries["wave"].to_pylist()]
    for entry, (row, wave, level) in enumerate(zip(rows, waves, entries["level"].to_pylist(), strict=True)):
        by_stage[row][(wave, level)] = entry
    table = np.zeros((len(trace.stages), len(trace.levels), 3, 4), np.int64)
    mean_ms = np.zeros(len(trace.stages))
    for row, found in enumerate(by_stage):
        known = {level for wave, level in found if wave == FIRST_WAVE} or {level for _, level in found}
        for index, wanted in enumerate(trace.levels):
            level = wanted if wanted in known else max(known)
            for wave in range(3):
                entry, add_ms = _resolve(found, offsets, level, wave, warmup_delay_ms)
                if entry < 0:
                    name = f"query {trace.stages['query'][row]}, size {trace.stages['size'][row]}"
                    raise ClearschedError(
                        f"trace row {row} ({name}, stage {trace.stages['stage'][row]}): no duration at level {level}"
                    )
                start, stop = offsets[entry], offsets[entry + 1]
                mean = np.floor((sums[stop] - sums[start]) / (stop - start) + 0.5)
                table[row, index, wave] = start, stop - start, add_ms, mean + add_ms
        for waves_used in ((REST_WAVE,), (FIRST_WAVE, REST_WAVE, FRESH)):
            used = [entry for (wave, _), entry in found.items() if wave in waves_used]
            count = sum(offsets[e + 1] - offsets[e] for e in used)
            if count:
                mean_ms[row] = sum(sums[offsets[e + 1]] - sums[offsets[e]] for e in used) / count
                break
    return table, values, mean_ms


def _resolve(
    found: dict[tuple[int, int], int], offsets: np.ndarray, level: int, wave: int, warmup_delay_ms: int
) -> tuple[int, int]:
    """The entry whose durations serve a wave at a level, and the delay to add; entry -1 if there is none."""
    order = {
        FIRST_WAVE: ((FIRST_WAVE, 0), (FRESH, 0), (REST_WAVE, 0)),
        REST_WAVE: ((REST_WAVE, 0), (FIRST_WAVE, 0), (FRESH, 0)),
        FRESH: ((FRESH, 0), (FIRST_WAVE, warmup_delay_ms), (REST_WAVE, warmup_delay_ms)),
    }[wave]
    for candidate, add_ms in order:
        entry = found.get((candidate, level), -1)
        if entry >= 0 and offsets[entry + 1] > offsets[entry]:
            return entry, add_ms
    return -1, 0
