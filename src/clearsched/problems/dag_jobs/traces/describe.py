"""A trace in numbers: counts, quantiles, load, and what its source left out or mended."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.sources import SOURCES
from clearsched.problems.dag_jobs.traces.measures import Measures, measure
from clearsched.problems.dag_jobs.traces.sources import options_of, write

QUANTILES = {"min": 0.0, "p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "max": 1.0}

GIVEN = ("critical path of a job of", "level of a stage,")
"""Quantities that are published for each number of stages: too many for a table, they stand in the JSON."""


def describe(
    source: str | Path, executors: int | None = None, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Describe a Parquet trace, a folder of tpch-decima files, or what a source gives with its defaults.

    Args:
        source: a file or folder, or one of `SOURCES`.
        executors: of the cluster that the load is told for; None: left out.
        settings: options of the source, where a source is named.

    Returns:
        JSON values: source, counts, quantiles (of each quantity: `QUANTILES` and the mean), load, defects, published.

    Raises:
        ClearschedError: neither a file nor a source, or it is broken.
    """
    path = Path(source)
    if path.is_file():
        if settings:
            raise ClearschedError(f"{path}: --set goes with the name of a source, not with a file")
        return describe_file(path, executors)
    name = "tpch-decima" if path.is_dir() else str(source)
    if name not in SOURCES:
        raise ClearschedError(f"{source}: neither a file nor a source; sources are {', '.join(SOURCES)}")
    with tempfile.TemporaryDirectory(prefix="clearsched-") as folder:
        built = Path(folder, "trace.parquet")
        write(name, path if path.is_dir() else None, built, options_of(name, settings or {}), seed=1)
        return describe_file(built, executors)


def describe_file(path: Path, executors: int | None = None) -> dict[str, Any]:
    """Describe a Parquet trace; see `describe`."""
    measures = measure(path)
    summary = measures.metadata.get("summary")
    defects = {name: summary.get(name, {}) for name in ("skipped", "survived")} if isinstance(summary, dict) else None
    return {
        "source": measures.source,
        "counts": {
            "jobs": len(measures.stages),
            "templates": measures.templates,
            "stages": len(measures.stage_tasks),
            "tasks": int(measures.tasks.sum()),
            "edges": measures.edges,
            "levels_executors": list(measures.levels),
        },
        "quantiles": quantiles(measures),
        "load": load_of(measures, executors),
        "defects": defects,
        "published": _published(measures),
    }


def quantiles(measures: Measures) -> dict[str, dict[str, float]]:
    """The quantiles and the mean of each quantity that the trace knows; units in the names."""
    columns: dict[str, npt.NDArray[Any]] = {
        "stages a job": measures.stages,
        "tasks a job": measures.tasks,
        "depth of a job (stages)": measures.depth,
        "work of a job (executor-s)": measures.work_s,
        "longest chain of a job (s)": measures.path_s,
        "parallelism of a job (executors)": measures.parallelism,
        "tasks a stage": measures.stage_tasks,
        "task duration, mean of a stage (s)": measures.stage_s,
        "cpu of a task (cores)": measures.cpu,
        "memory of a task (% of a machine)": measures.memory,
        "between two arrivals (s)": np.diff(np.sort(measures.arrival_s[np.isfinite(measures.arrival_s)])),
    }
    found = {}
    for name, values in columns.items():
        known = values[np.isfinite(values)]
        if not len(known):
            continue
        at = np.quantile(known, list(QUANTILES.values()))
        found[name] = dict(zip(QUANTILES, map(float, at), strict=True)) | {"mean": float(known.mean(dtype=np.float64))}
    return found


def load_of(measures: Measures, executors: int | None) -> dict[str, float | int | None]:
    """Work of all jobs, and, where arrivals are known, what share of a cluster it would keep busy while they arrive."""
    work_s = float(np.nansum(measures.work_s))
    load: dict[str, float | int | None] = {"work_executor_s": work_s}
    known = np.isfinite(measures.arrival_s)
    span_s = float(np.ptp(measures.arrival_s[known])) if known.any() else 0.0
    if span_s == 0.0:
        return load | {"arrival_span_s": None}
    load |= {
        "arrival_span_s": span_s,
        "jobs_per_hour": float(3600 * known.sum() / span_s),
        "busy_executors": float(measures.work_s[known].sum()) / span_s,
    }
    if executors is not None:
        load |= {"executors": executors, "load": float(measures.work_s[known].sum()) / span_s / executors}
    return load


def _published(measures: Measures) -> list[dict[str, Any]] | None:
    """For generated jobs: their quantiles beside the published ones that they were drawn from."""
    from clearsched.problems.dag_jobs.traces import alibaba_like

    if measures.source != alibaba_like.SOURCE:
        return None
    return list(alibaba_like.compare_with_published(measures).to_pylist())


def print_description(values: dict[str, Any], name: str) -> None:
    """Print a description as tables for a person."""
    from rich.console import Console

    # A pipe is no terminal of 80 columns: a table in a log is not folded.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=132, markup=False, emoji=False)
    for table in tables_of(values, name):
        console.print(table)
        console.print()
    if values["defects"] is None:
        console.print("What its source left out or mended does not stand in this file.")


def tables_of(values: dict[str, Any], name: str) -> list[Any]:
    """The description as tables of `rich`: counts and load, quantiles, defects, published quantiles."""
    from rich.table import Table

    def table(title: str, columns: list[str]) -> Table:
        made = Table(
            title=title, title_justify="left", box=None, title_style="bold", pad_edge=False, min_width=len(title)
        )
        for place, column in enumerate(columns):
            made.add_column(column, justify="right" if place else "left", overflow="fold")
        return made

    counts = table(f"{name}: jobs of {values['source'] or 'an unnamed source'}", ["", ""])
    for what, count in _count_lines(values):
        counts.add_row(what, count)
    shown = [*QUANTILES, "mean"]
    spread = table("Quantiles", ["", *shown])
    for quantity, found in values["quantiles"].items():
        spread.add_row(quantity, *(number(found[column]) for column in shown))
    made = [counts, spread]
    if values["defects"] is not None:
        defects = table("Left out and mended", ["", ""])
        for kind, word in (("skipped", "left out"), ("survived", "mended")):
            for reason, count in values["defects"][kind].items():
                defects.add_row(f"{word}: {reason}", f"{count:,}")
        if not defects.row_count:
            defects.add_row("nothing", "")
        made.append(defects)
    if values["published"]:
        rows = [row for row in values["published"] if not row["quantity"].startswith(GIVEN)]
        shown = [f"{quantile:g}" for quantile in sorted({row["quantile"] for row in rows})]
        published = table("Published and generated quantiles", ["", *shown])
        for quantity in dict.fromkeys(row["quantity"] for row in rows):
            for kind in ("published", "generated"):
                of = {f"{row['quantile']:g}": number(row[kind]) for row in rows if row["quantity"] == quantity}
                published.add_row(f"{quantity}, {kind}", *(of.get(quantile, "") for quantile in shown))
        made.append(published)
    return made


def _count_lines(values: dict[str, Any]) -> list[tuple[str, str]]:
    counts, load = values["counts"], values["load"]
    lines = [(name, f"{counts[name]:,}") for name in ("jobs", "templates", "stages", "tasks", "edges")]
    lines.append(("measured at (executors)", ", ".join(map(str, counts["levels_executors"]))))
    lines.append(("work (executor-hours)", number(load["work_executor_s"] / 3600)))
    if load["arrival_span_s"] is None:
        return [*lines, ("arrivals", "not in this source: workload.load says how fast jobs come")]
    lines.append(("arrivals over (h)", number(load["arrival_span_s"] / 3600)))
    lines.append(("jobs an hour", number(load["jobs_per_hour"])))
    lines.append(("executors kept busy on average", number(load["busy_executors"])))
    if "load" in load:
        lines.append((f"offered load of {load['executors']:,} executors", number(load["load"])))
    return lines


def number(value: float) -> str:
    """Four digits, whole numbers as such, thousands separated."""
    if value == round(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.1e}"
