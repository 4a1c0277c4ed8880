"""Jobs with the published quantiles of Alibaba's batch jobs (cluster-trace-v2018), quantities drawn independently.

`quantiles.csv` tells where the numbers come from; docs/deferrable-jobs.md tells what is assumed.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.files import digest_file
from clearsched.problems.deferrable_jobs.settings import AlibabaMarginalsParams
from clearsched.problems.deferrable_jobs.traces.pool import Pool, refuse_path, write_pool

QUANTILES = Path(__file__).with_name("quantiles.csv")

STEP = {"tasks": 1.0, "stage_s": 1.0, "cpu": 50.0, "memory": 0.01, "interval_s": 1.0}
"""What values are rounded up to: the published numbers are of histograms whose bins end at the observed values."""

POINTS = 64
"""Pieces of the last one, from the 99.9 % quantile to the maximum, of times, which is straight in the logarithm."""


def write(path: Path | None, out: Path, options: AlibabaMarginalsParams, seed: int) -> list[tuple[str, str]]:
    """Generate jobs and write them as the trace `out`; the same seed and options give the same bytes.

    Raises:
        ClearschedError: a path is given: nothing is read.
    """
    refuse_path(path, "alibaba-marginals")
    generator = np.random.default_rng([seed])
    count = options.jobs
    tasks = draw(generator, "tasks", count, 1.0, options.tasks_max)
    cpu = tasks * draw(generator, "cpu", count) / 100
    memory = np.minimum(tasks * draw(generator, "memory", count), 100.0)
    duration_s = draw(generator, "stage_s", count, options.duration_min_s, options.duration_max_s)
    pool = Pool(cpu, memory, duration_s, draw(generator, "interval_s", count))
    told = options.model_dump(mode="json") | {"quantiles": digest_file(QUANTILES)}
    return write_pool(out, pool, "alibaba-marginals", told, seed)


def draw(
    generator: np.random.Generator, quantity: str, count: int, low: float | None = None, high: float | None = None
) -> np.ndarray:
    """float64[count]: values of a quantity, of those from `low` to `high`, rounded up as the trace has them."""
    probability, value = curve(quantity)
    # A value is rounded up to `low` from a step below it.
    first = 0.0 if low is None else float(np.interp(low - STEP[quantity], value, probability))
    last = 1.0 if high is None else float(np.interp(high, value, probability))
    drawn = np.interp(generator.uniform(first, last, count), probability, value)
    steps = np.ceil(np.round(drawn / STEP[quantity], 6))
    least = 0.0 if quantity == "interval_s" else 1.0
    return np.asarray(np.round(np.maximum(steps, least) * STEP[quantity], 6))


def curve(quantity: str) -> tuple[np.ndarray, np.ndarray]:
    """The published quantiles of a quantity: probabilities and values, straight lines between them.

    Raises:
        ClearschedError: there is no such quantity.
    """
    lines = QUANTILES.read_text(encoding="ascii").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        if row.pop("quantity") == quantity:
            probability = np.array([0.0, *map(float, row)])
            value = np.array([0.0, *map(float, row.values())])
            value[0] = value[1] - probability[1] * (value[2] - value[1]) / (probability[2] - probability[1])
            if quantity in ("stage_s", "interval_s"):
                tail = np.geomspace(value[-2], value[-1], POINTS + 1)[1:]
                probability = np.concatenate([probability[:-1], np.linspace(probability[-2], 1.0, POINTS + 1)[1:]])
                value = np.concatenate([value[:-1], tail])
            return probability, value
    raise ClearschedError(f"{QUANTILES.name}: no quantity {quantity}")
