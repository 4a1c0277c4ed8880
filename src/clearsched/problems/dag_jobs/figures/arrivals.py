"""When jobs arrive, and how much work comes with them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.problems.dag_jobs.schemas import WORKLOADS
from clearsched.problems.dag_jobs.traces.describe import number
from clearsched.problems.dag_jobs.traces.measures import Measures, measure
from clearsched.schemas import read_table

BINS_S = {
    1: "second",
    10: "10 s",
    60: "minute",
    600: "10 minutes",
    3600: "hour",
    21_600: "6 hours",
    86_400: "day",
}
"""Widths of an interval, seconds."""
MOST_BINS = 200


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Draw the arrivals of `traces/trace.parquet`; of the first test episode if the trace has none."""
    measures = measure(results_dir / "traces" / "trace.parquet")
    if applies(measures):
        return draw_trace(measures)
    episodes, _ = read_table(results_dir / "traces" / "workloads.parquet", WORKLOADS)
    first = episodes.filter(pc.and_(pc.equal(episodes["split"], "test"), pc.equal(episodes["episode"], 0)))
    if not len(first):
        raise ClearschedError(f"{results_dir / 'traces' / 'workloads.parquet'}: no test episode; build it again")
    work_s = measures.work_s[first["profile"].to_numpy()]
    return _draw(first["arrival_ms"].to_numpy() / 1000.0, work_s, "first test episode")


def draw_trace(measures: Measures) -> style.Drawing:
    """Draw the arrivals that a trace has.

    Raises:
        ClearschedError: its source knows none.
    """
    if not applies(measures):
        raise ClearschedError(f"{measures.path}: has no arrival times: its source does not know when jobs came")
    known = np.isfinite(measures.arrival_s)
    return _draw(measures.arrival_s[known], measures.work_s[known], style.plain(measures.source) or "trace")


def applies(measures: Measures) -> bool:
    """Whether jobs of the trace arrive at different times."""
    known = measures.arrival_s[np.isfinite(measures.arrival_s)]
    return bool(len(known)) and float(np.ptp(known)) > 0


def bin_width_s(span_s: float) -> int:
    """The shortest width with which the span has at most `MOST_BINS` intervals; of years of arrivals whole days."""
    days = math.ceil(span_s / MOST_BINS / max(BINS_S))
    return next((width for width in BINS_S if span_s / width <= MOST_BINS), days * max(BINS_S))


def bin_name(width_s: int) -> str:
    """What an interval is called."""
    return BINS_S.get(width_s) or f"{width_s // max(BINS_S):,} days"


def _draw(arrival_s: npt.NDArray[np.float64], work_s: npt.NDArray[np.float64], what: str) -> style.Drawing:
    arrival_s = arrival_s - arrival_s.min()
    width = bin_width_s(float(arrival_s.max()))
    unit, scale = ("s", 1) if width < 60 else ("min", 60) if width < 600 else ("h", 3600)
    place = (arrival_s // width).astype(np.int64)
    jobs = np.bincount(place)
    busy = np.bincount(place, weights=work_s) / width
    edges = np.arange(len(jobs) + 1) * width / scale
    figure = style.new_figure(height_in=4.4)
    above, below = figure.subplots(2, 1, sharex=True)
    rate = len(arrival_s) / len(jobs)
    for axes, values, colour, label in (
        (above, jobs.astype(np.float64), style.BLUE, f"jobs per {bin_name(width)}"),
        (below, busy, style.VERMILION, "work arriving (busy executors)"),
    ):
        # Now and then a job brings more work than all others: on a linear axis it alone would be seen.
        some = values[values > 0]
        bottom = float(some.min()) / 1.5 if len(some) and some.max() > 30 * np.median(some) else 0.0
        if bottom:
            axes.set_yscale("log")
        shown = np.maximum(values, bottom)
        axes.stairs(shown, edges, fill=True, color=colour, alpha=0.35, baseline=bottom)
        axes.stairs(shown, edges, color=colour, linewidth=1.0, baseline=None)
        axes.yaxis.set_major_formatter(lambda value, _: number(value))
        axes.set_ylabel(label)
        if axes is above and not bottom:
            axes.yaxis.get_major_locator().set_params(integer=True)  # no half jobs
        axes.set_ylim(bottom=bottom)
        axes.set_xlim(edges[0], edges[-1])
        style.grid(axes, "y")
    mean = float(work_s.sum()) / (len(jobs) * width)
    below.axhline(mean, color=style.BLACK, linewidth=0.9, linestyle=(0, (4, 1.5)))
    below.annotate(
        f"mean {number(mean)}", (1.0, mean), xycoords=("axes fraction", "data"), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=8, annotation_clip=False,
    )  # fmt: skip
    below.set_xlabel(f"time since the first job ({unit})")
    above.set_title(f"{what}: {len(arrival_s):,} jobs, {rate:.3g} per {bin_name(width)} on average", loc="left")
    rows: list[list[Any]] = [[i * width, (i + 1) * width, int(jobs[i]), float(busy[i])] for i in range(len(jobs))]
    return style.Drawing(figure, ["start_s", "end_s", "jobs", "busy_executors"], rows)
