"""Decima, fig. 15b, and Metis: how long a decision takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from clearsched.evaluation.statistics import Interval, bootstrap_ratio, generator
from clearsched.figures import style
from clearsched.paper.marks import distribution, dots, logarithmic
from clearsched.paper.material import HEADER, Material, row
from clearsched.paper.tables import LATENCY
from clearsched.schemas import read_table

TAIL = 0.95
"""The share of decisions that the interval of a time spans: its ends are quantiles of single decisions."""


def draw_events(material: Material) -> style.Drawing:
    """The network's times to a decision, and the simulated times between scheduling events, as distributions."""
    table, _ = _read(material)
    times = _latencies(table)["teacher"]
    gaps = 1000 * between_events(table)
    figure = style.new_figure(height_in=3.4)
    axes = figure.subplots()
    shown = material.subject.shown("teacher")
    distribution(axes, times, shown._replace(label="CPU time to a decision of the network"))
    if len(gaps):
        between = style.Shown("simulated time between scheduling events", shown.look._replace(colour=style.BLACK), "")
        distribution(axes, gaps, between, 0.5)
    axes.axvline(15.0, color=style.GREY, linewidth=0.9, linestyle=":")
    axes.annotate("15 ms", (15.0, 0.02), xytext=(3, 0), textcoords="offset points", fontsize=7.5, color=style.GREY)
    logarithmic(axes, subs=(1.0,))
    axes.set_xlabel("milliseconds, logarithmic")
    axes.set_ylabel("share")
    axes.set_ylim(0.0, 1.0)
    style.grid(axes, "both")
    figure.legend(loc="outside lower center", ncols=2)
    rows = [row("latency_ms", "teacher", "teacher", "", spread_of(times))]
    rows += [
        row("latency_ms_quantile", "teacher", "teacher", q, float(np.quantile(times, q / 100))) for q in range(1, 100)
    ]
    if len(gaps):
        rows += [row("between_events_ms_quantile", "", "", q, float(np.quantile(gaps, q / 100))) for q in range(1, 100)]
        rows.append(row("events_over_latency", "teacher", "teacher", "", float(gaps.mean() / times.mean())))
    return style.Drawing(figure, HEADER, rows)


def draw_policies(material: Material) -> style.Drawing:
    """Times to a decision, bytes on disk and in memory, of the network and of what was distilled from it."""
    table, told = _read(material)
    kinds = dict(zip(table["policy"].to_pylist(), table["kind"].to_pylist(), strict=True))
    latencies = dict(sorted(_latencies(table).items(), key=lambda item: float(np.median(item[1]))))
    figure = style.new_figure(height_in=1.3 + 0.3 * len(latencies))
    left, middle, right = figure.subplots(1, 3)
    dots(left, {name: spread_of(v) for name, v in latencies.items()}, kinds, material.subject, "{:.3f}")
    logarithmic(left, subs=(1.0, 3.0))
    left.set_xlabel(f"CPU ms a decision ({100 * TAIL:g} % of them)")
    sizes = {name: told["bytes"][name] / 1024 for name in latencies if name in told["bytes"]}
    memory = {name: told["memory_mib"][name] for name in sizes}
    for axes, values, label in ((middle, sizes, "file (KiB)"), (right, memory, "memory held (MiB)")):
        shown = {name: Interval(value, np.nan, np.nan, np.nan, 1) for name, value in values.items()}
        dots(axes, shown, kinds, material.subject)
        axes.set_xlabel(label)
    logarithmic(middle, subs=(1.0, 3.0))
    base = latencies["teacher"]
    rows = [row("latency_ms", name, kinds[name], "", spread_of(values)) for name, values in latencies.items()]
    rows += [
        row("times_faster", name, kinds[name], "teacher", float(base.mean() / values.mean()))
        for name, values in latencies.items()
        if name != "teacher"
    ]
    students = {name: values for name, values in latencies.items() if kinds[name] == "student"}
    if students:
        slowest = max(students, key=lambda name: float(students[name].mean()))
        faster = bootstrap_ratio(base, students[slowest], generator(material.bootstrap.seed, "paper", "faster"))
        rows.append(row("slowest_student_times_faster", slowest, "student", "teacher", faster))
    rows += [row("file_kib", name, kinds[name], "", value) for name, value in sizes.items()]
    rows += [row("memory_mib", name, kinds[name], "", value) for name, value in memory.items()]
    rows += [row("parameters", name, "teacher", "", float(value)) for name, value in told["parameters"].items()]
    return style.Drawing(figure, HEADER, rows)


def _read(material: Material) -> tuple[pa.Table, Mapping[str, Any]]:
    table, told = read_table(material.file("stream", "paper/latency.parquet"), LATENCY)
    if not len(table):
        raise style.NothingToDraw("the first test episode has too few decisions to be timed")
    return table, told


def _latencies(table: pa.Table) -> dict[str, np.ndarray]:
    """float64[decisions] by policy, ms."""
    policy, values = np.array(table["policy"].to_pylist()), table["latency_ms"].to_numpy()
    return {name: values[policy == name] for name in dict.fromkeys(policy.tolist())}


def between_events(table: pa.Table) -> np.ndarray:
    """float64: simulated time between the moments at which something was decided, s; a moment counts once."""
    moments = np.unique(table["time_s"].to_numpy())
    return np.diff(moments)


def spread_of(values: np.ndarray) -> Interval:
    """The mean; low and high are the quantiles that hold TAIL of the single values."""
    low, high = np.quantile(values, [(1 - TAIL) / 2, (1 + TAIL) / 2])
    return Interval(float(values.mean()), float(low), float(high), float(values.std()), len(values))
