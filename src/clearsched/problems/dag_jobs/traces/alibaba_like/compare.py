"""A trace held against the published quantiles of Alibaba's batch jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.alibaba_like.marginals import LAST_GIVEN, PROBABILITIES, Marginal, marginals

COMPARISON = pa.schema(
    [
        pa.field("quantity", pa.string(), False, {"meaning": "what is counted, with its unit"}),
        pa.field("quantile", pa.float64(), False, {"meaning": "probability, 0 to 1"}),
        pa.field("published", pa.float64(), False, {"meaning": "the published quantile, rounded up"}),
        pa.field("generated", pa.float64(), False, {"meaning": "the quantile in the trace"}),
    ]
)

TITLES = {
    "stages": "stages a job",
    "tasks": "tasks a stage",
    "stage_s": "mean task duration (s)",
    "cpu": "cpu of a task (cores)",
    "memory": "memory of a task (% of a machine)",
    "interval_s": "between two arrivals (s)",
    "critical_path": "critical path of a job of {given} stages",
    "level": "level of a stage, critical path of {given} stages",
}

Values = dict[tuple[str, int | None], np.ndarray]


def compare_with_published(trace_path: str | Path) -> pa.Table:
    """Published and generated quantiles of each quantity: quantity, quantile, published, generated (`COMPARISON`).

    Critical paths and levels are told for each number that they are given and that occurs in the trace. The last row of
    a quantity is its maximum, which grows with the number of jobs.

    Raises:
        ClearschedError: the file is no trace, or knows no arrivals, cpu or memory.
    """
    found = measure(trace_path)
    tables = []
    for (quantity, given), table in marginals().items():
        values = found.get((quantity, given))
        if values is None or not len(values):
            continue
        tables.append(_quantiles(TITLES[quantity].format(given=_given(quantity, given)), table, values))
    return pa.concat_tables(tables)


def measure(trace_path: str | Path) -> Values:
    """All values of each quantity in a trace, by quantity and the number that it is given, in the units of the
    published tables; one row group is read at a time.

    Raises:
        ClearschedError: the file is no trace, or knows no arrivals, cpu or memory.
    """
    columns = ["profile", "num_tasks", "parents", "durations", "arrival_ms", "cpu", "memory"]
    parts: dict[tuple[str, int | None], list[np.ndarray]] = {}
    try:
        with pq.ParquetFile(trace_path) as file:
            if not set(columns) <= set(file.schema_arrow.names):
                raise ClearschedError(f"{trace_path}: cannot be compared: it has no columns {', '.join(columns[-3:])}")
            for group in _whole_jobs(file, columns):
                for key, values in _measure_rows(group).items():
                    parts.setdefault(key, []).append(values)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ClearschedError(f"{trace_path}: cannot be compared with published quantiles: {reason}") from None
    found = {key: np.concatenate(arrays) for key, arrays in parts.items()}
    arrivals = found.pop(("arrival_s", None), np.empty(0))
    if len(arrivals) < 2 or not all(len(found.get((name, None), ())) for name in ("cpu", "memory")):
        raise ClearschedError(
            f"{trace_path}: cannot be compared: it does not know arrivals, cpu and memory of two jobs"
        )
    found["interval_s", None] = np.diff(arrivals)
    return found


def _whole_jobs(file: pq.ParquetFile, columns: list[str]) -> Iterator[pa.Table]:
    """The tables of the row groups, cut between jobs."""
    rest = None
    for index in range(file.num_row_groups):
        table = file.read_row_group(index, columns=columns)
        if rest is not None:
            table = pa.concat_tables([rest, table])
        profile = table["profile"].to_numpy()
        last = int(np.searchsorted(profile, profile[-1])) if index < file.num_row_groups - 1 else len(profile)
        rest = table.slice(last)
        if last:
            yield table.slice(0, last).combine_chunks()


def _measure_rows(table: pa.Table) -> Values:
    """The quantities of whole jobs; `arrival_s` stands for the intervals."""
    profile = table["profile"].to_numpy()
    first = np.flatnonzero(np.r_[True, profile[1:] != profile[:-1]])
    stages = np.diff(np.append(first, len(profile)))
    level = levels(table["parents"].combine_chunks(), first, stages)
    path = np.maximum.reduceat(level, first)
    entries = table["durations"].combine_chunks()
    found: Values = {
        ("stages", None): stages,
        ("tasks", None): table["num_tasks"].to_numpy(),
        ("stage_s", None): _mean_s(entries),
        ("cpu", None): pc.drop_null(table["cpu"]).to_numpy().astype(float) * 100,
        ("memory", None): pc.drop_null(table["memory"]).to_numpy().astype(float),
        ("arrival_s", None): pc.drop_null(table["arrival_ms"].take(pa.array(first))).to_numpy() / 1000,
    }
    for quantity, given, values in (
        ("critical_path", stages, path),
        ("level", np.repeat(path, stages), level),
    ):
        given = np.minimum(given, LAST_GIVEN[quantity])
        for number in np.unique(given[given > 1]).tolist():
            found[quantity, number] = values[given == number]
    return found


def levels(parents: pa.ListArray, first: np.ndarray, stages: np.ndarray) -> np.ndarray:
    """int64[G]: the level of each stage: 1 without parents, else 1 more than the highest of its parents."""
    counts = pc.fill_null(pc.list_value_length(parents), 0).to_numpy()
    child = np.repeat(np.arange(len(counts)), counts)
    parent = pc.list_flatten(parents).to_numpy() + np.repeat(first, stages)[child]
    level = np.ones(len(counts), np.int64)
    while True:
        higher = level.copy()
        np.maximum.at(higher, child, level[parent] + 1)
        if np.array_equal(higher, level):
            return level
        level = higher


def _mean_s(durations: pa.ListArray) -> np.ndarray:
    """float64[G]: mean of all durations of each stage, s."""
    entries = pc.list_flatten(durations)
    lists = pc.struct_field(entries, "duration_ms")
    row = pc.list_parent_indices(durations).to_numpy()
    row = row[pc.list_parent_indices(lists).to_numpy()]
    values = pc.list_flatten(lists).to_numpy()
    return np.asarray(np.bincount(row, values, len(durations)) / np.bincount(row, minlength=len(durations)) / 1000)


def _quantiles(title: str, table: Marginal, values: np.ndarray) -> pa.Table:
    """The rows of one quantity."""
    probabilities = PROBABILITIES
    unit = 100.0 if table.quantity == "cpu" else 1.0
    generated = np.quantile(values, probabilities, method="inverted_cdf")
    columns = [
        [title] * len(probabilities),
        probabilities,
        table.quantile(probabilities) / unit,
        generated / unit,
    ]
    return pa.table(columns, schema=COMPARISON)


def _given(quantity: str, given: int | None) -> str:
    return f"{given} or more" if given == LAST_GIVEN.get(quantity) else str(given)
