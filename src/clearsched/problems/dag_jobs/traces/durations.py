"""Task durations of many stages at once, and the one mean that work is reckoned by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.problems.dag_jobs.schemas import WAVES

REST_WAVE = WAVES.index("rest_wave")


class DurationLists(NamedTuple):
    """The lists of measurements of G stages, each to be found by its wave and level; L levels occur.

    Attributes:
        levels: int64[L], executors of a job, increasing.
        at: int32[G, 3 waves, L], number of the list; -1 where there is none; of two, the last counts.
        offsets: int64[lists + 1], where each list lies in `values_ms`.
        values_ms: int32[values].
    """

    levels: npt.NDArray[np.int64]
    at: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    values_ms: npt.NDArray[np.int32]

    @property
    def totals_ms(self) -> npt.NDArray[np.int64]:
        """int64[lists]: the sum of each list."""
        sums = np.concatenate([[0], np.cumsum(self.values_ms, dtype=np.int64)])
        return np.asarray(sums[self.offsets[1:]] - sums[self.offsets[:-1]])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """int64[lists]: the number of measurements in each list."""
        return np.diff(self.offsets)

    def mean_ms(self) -> npt.NDArray[np.float64]:
        """float64[G]: mean task duration of a stage, for all estimates of work (`mean_task_ms`)."""
        total, length = np.append(self.totals_ms, 0), np.append(self.lengths, 0)  # entry -1 counts nothing
        sums, counts = (of[self.at].sum(axis=2) for of in (total, length))
        rest = counts[:, REST_WAVE] > 0
        sums = np.where(rest, sums[:, REST_WAVE], sums.sum(axis=1))
        counts = np.where(rest, counts[:, REST_WAVE], counts.sum(axis=1))
        return np.where(counts > 0, sums / np.maximum(counts, 1), 0.0)


def duration_lists(durations: pa.ChunkedArray, more_levels: npt.ArrayLike = ()) -> DurationLists:
    """The column `durations` of a checked trace as arrays; `levels` has the levels that occur and `more_levels`."""
    lists = durations.combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    rows = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    entries = pc.list_flatten(lists)
    of_entry = pc.struct_field(entries, "duration_ms")
    # A flattened array keeps the values of the whole column that it was cut from.
    offsets = of_entry.offsets.to_numpy().astype(np.int64)
    values = of_entry.values.to_numpy()[offsets[0] : offsets[-1]].astype(np.int32)
    wave = pc.index_in(pc.struct_field(entries, "wave"), value_set=pa.array(WAVES)).to_numpy().astype(np.int64)
    level = pc.struct_field(entries, "level").to_numpy()
    levels, place = np.unique(np.concatenate([level, np.ravel(more_levels)]).astype(np.int64), return_inverse=True)
    at = np.full((len(lists), len(WAVES), len(levels)), -1, np.int32)
    at[rows, wave, place[: len(rows)]] = np.arange(len(rows), dtype=np.int32)
    return DurationLists(levels, at, offsets - offsets[0], values)


def mean_task_ms(durations: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """float64[G]: mean task duration of each stage: of its rest-wave durations at all levels, of all without any.

    Most tasks of a stage are of the rest wave. A stage's work is its number of tasks times this mean, wherever work is
    told: in summaries, descriptions and figures as in the simulator, its features and its heuristics.
    """
    return duration_lists(durations).mean_ms()
