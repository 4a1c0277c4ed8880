"""Random DAGs of a chosen shape with heavy-tailed work, for scaling studies and property tests.

Every template and every job has its own random stream, named by (seed, kind, number), so job 7 is the same however
many jobs there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched import __version__
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.settings.sources import SyntheticParams
from clearsched.problems.dag_jobs.traces.storage import TraceWriter
from clearsched.problems.dag_jobs.traces.summary import Summary

CHUNK = 2000
"""Jobs that are written at once."""

TEMPLATE, JOB = range(2)
"""Kinds of random streams."""

LONGEST_MS = 2**31 - 1
"""A longer task does not fit into the schema; a Pareto tail has no end."""

Parents = list[list[int]]


@dataclass(frozen=True)
class Template:
    """What the jobs of a template have in common; G stages.

    Attributes:
        name: shape and number.
        parents: for each stage its parents.
        num_tasks: float64[G], median number of tasks.
        duration_ms: float64[G], median task duration with one executor.
    """

    name: str
    parents: Parents
    num_tasks: np.ndarray
    duration_ms: np.ndarray


def write(path: Path | None, out: Path, options: SyntheticParams, seed: int) -> Summary:
    """Generate jobs and write them as a trace.

    Args:
        path: must be None, nothing is read.
        out: the trace, Parquet or Arrow.
        options: how many jobs of what kind.
        seed: the same seed gives the same bytes.

    Raises:
        ClearschedError: a path is given, or the options contradict each other.
    """
    if path is not None:
        raise ClearschedError(f"traces.path: {path}: the source synthetic reads no file: leave it empty")
    if options.stages_min > options.stages_max:
        raise ClearschedError("traces.synthetic: stages_min must not be above stages_max")
    levels = list(options.levels)
    if sorted(set(levels)) != levels:
        raise ClearschedError(f"traces.synthetic.levels: {levels}: increasing numbers expected")
    metadata = {
        "source": "synthetic",
        "version": __version__,
        "options": options.model_dump(mode="json"),
        "seed": seed,
        "levels": levels,
    }
    summary = Summary("synthetic")
    arrival_s = 0.0
    templates: dict[int, Template] = {}
    with TraceWriter(out, metadata) as writer:
        for first in range(0, options.jobs, CHUNK):
            rows: list[dict[str, Any]] = []
            for job in range(first, min(first + CHUNK, options.jobs)):
                generator = np.random.default_rng([seed, JOB, job])
                gap_s = generator.exponential(options.interarrival_s)
                arrival_s += gap_s if job else 0.0
                number = job if options.templates is None else int(generator.integers(options.templates))
                if number not in templates:
                    templates[number] = make_template(options, seed, number)
                rows += _job(templates[number], options, generator, job, int(arrival_s * 1000))
                if options.templates is None:
                    templates.clear()
            table = pa.Table.from_pylist(rows, schema=TRACE)
            summary.count(table)
            writer.write(table)
        writer.metadata["summary"] = summary.to_metadata()
    return summary


def make_template(options: SyntheticParams, seed: int, number: int) -> Template:
    """Draw a template: its shape, and the median number and duration of the tasks of each stage."""
    generator = np.random.default_rng([seed, TEMPLATE, number])
    shape: str = options.shape
    if shape == "mixed":
        shape = tuple(SHAPES)[int(generator.integers(len(SHAPES)))]
    count = int(generator.integers(options.stages_min, options.stages_max + 1))
    parents = SHAPES[shape](generator, count, options)
    num_tasks = generator.lognormal(np.log(options.tasks_median), options.tasks_sigma, count)
    median_ms = options.duration_median_s * 1000
    if options.duration_tail == "pareto":
        # A Pareto variable 1, ..., infinity has the median 2^(1 / alpha).
        scale = (1 + generator.pareto(options.pareto_alpha, count)) / 2 ** (1 / options.pareto_alpha)
    else:
        scale = generator.lognormal(0.0, options.duration_sigma, count)
    return Template(f"{shape}-{number}", parents, num_tasks, median_ms * scale)


def _job(
    template: Template, options: SyntheticParams, generator: np.random.Generator, job: int, arrival_ms: int
) -> list[dict[str, Any]]:
    """Rows of a job: as large as the template times one lognormal factor, task durations with a spread of their own."""
    size = generator.lognormal(0.0, options.size_sigma)
    rows = []
    for stage, parents in enumerate(template.parents):
        num_tasks = int(np.clip(round(template.num_tasks[stage] * size), 1, options.tasks_max))
        samples = template.duration_ms[stage] * generator.lognormal(0.0, options.task_spread, options.samples)
        durations = []
        for wave, factor in (("first_wave", options.first_wave), ("rest_wave", 1.0)):
            for level in options.levels:
                longer = samples * factor * level**options.contention
                values = np.clip(np.round(longer), 1, LONGEST_MS).astype(np.int64).tolist()
                durations.append({"wave": wave, "level": level, "duration_ms": values})
        rows.append(
            {
                "profile": job,
                "query": template.name,
                "size": "",
                "stage": stage,
                "num_tasks": num_tasks,
                "parents": parents,
                "durations": durations,
                "arrival_ms": arrival_ms,
            }
        )
    return rows


# Shapes -----------------------------------------------------------------------------------------------------------


def layers(generator: np.random.Generator, count: int, options: SyntheticParams) -> Parents:
    """Layers of 1 to 2 x width - 1 stages, each with 1 to `fan_in` parents in the layer above."""
    parents: Parents = []
    above: list[int] = []
    while len(parents) < count:
        size = min(int(generator.integers(1, 2 * options.width)), count - len(parents))
        layer = list(range(len(parents), len(parents) + size))
        for _ in layer:
            number = int(generator.integers(1, options.fan_in + 1))
            chosen = generator.permutation(above)[:number]
            parents.append(sorted(map(int, chosen)))
        above = layer
    return parents


def map_reduce(generator: np.random.Generator, count: int, options: SyntheticParams) -> Parents:
    """Rounds: 1 to `fan_in` maps feed one reduce, and that feeds the maps of the next round."""
    parents: Parents = []
    before: list[int] = []
    while len(parents) < count:
        maps = min(int(generator.integers(1, options.fan_in + 1)), max(count - len(parents) - 1, 1))
        first = len(parents)
        parents += [list(before) for _ in range(maps)]
        if len(parents) < count:
            before = [len(parents)]
            parents.append(list(range(first, first + maps)))
    return parents


def diamond(generator: np.random.Generator, count: int, options: SyntheticParams) -> Parents:
    """One stage fans out to all others but the last, which joins them."""
    if count < 3:
        return chain(generator, count, options)
    return [[], *([0] for _ in range(count - 2)), list(range(1, count - 1))]


def chain(generator: np.random.Generator, count: int, options: SyntheticParams) -> Parents:
    """One stage after another."""
    return [[stage - 1] if stage else [] for stage in range(count)]


SHAPES: dict[str, Callable[[np.random.Generator, int, SyntheticParams], Parents]] = {
    "layers": layers,
    "map_reduce": map_reduce,
    "diamond": diamond,
    "chain": chain,
}
