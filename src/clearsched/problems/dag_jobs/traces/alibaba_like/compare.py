"""A trace held against the published quantiles of Alibaba's batch jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.alibaba_like.marginals import LAST_GIVEN, PROBABILITIES, Marginal, marginals
from clearsched.problems.dag_jobs.traces.measures import Measures, measure

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


def compare_with_published(trace: str | Path | Measures) -> pa.Table:
    """Published and generated quantiles of each quantity: quantity, quantile, published, generated (`COMPARISON`).

    Critical paths and levels are told for each number that they are given and that occurs in the trace. The last row of
    a quantity is its maximum, which grows with the number of jobs.

    Args:
        trace: a file, or what was counted in it.

    Raises:
        ClearschedError: the file is no trace, or knows no arrivals, cpu or memory.
    """
    found = values_of(trace if isinstance(trace, Measures) else measure(trace))
    tables = []
    for (quantity, given), table in marginals().items():
        values = found.get((quantity, given))
        if values is None or not len(values):
            continue
        tables.append(_quantiles(TITLES[quantity].format(given=_given(quantity, given)), table, values))
    return pa.concat_tables(tables)


def values_of(measures: Measures) -> Values:
    """All values of each quantity in a trace, by quantity and the number that it is given, in the units of the
    published tables.

    Raises:
        ClearschedError: the trace knows no arrivals, cpu or memory.
    """
    arrival_s, cpu, memory = (values[np.isfinite(values)] for values in _asked_for(measures))
    if len(arrival_s) < 2 or not len(cpu) or not len(memory):
        raise ClearschedError(
            f"{measures.path}: cannot be compared: it does not know arrivals, cpu and memory of two jobs"
        )
    found: Values = {
        ("stages", None): measures.stages,
        ("tasks", None): measures.stage_tasks,
        ("stage_s", None): measures.stage_s,
        ("cpu", None): cpu * 100,
        ("memory", None): memory,
        ("interval_s", None): np.diff(arrival_s),
    }
    for quantity, given, values in (
        ("critical_path", measures.stages, measures.depth),
        ("level", np.repeat(measures.depth, measures.stages), measures.stage_level),
    ):
        given = np.minimum(given, LAST_GIVEN[quantity])
        for number in np.unique(given[given > 1]).tolist():
            found[quantity, number] = values[given == number]
    return found


def _asked_for(measures: Measures) -> tuple[np.ndarray, ...]:
    return measures.arrival_s, measures.cpu.astype(np.float64), measures.memory.astype(np.float64)


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
