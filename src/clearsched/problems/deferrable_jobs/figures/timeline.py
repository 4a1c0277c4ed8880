"""The first test episode over time: capacity, its forecast, what jobs use of it and how many wait, for two policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.problems.deferrable_jobs.schemas import JOBS, SLOTS
from clearsched.schemas import read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

YARDSTICK = "fifo"
"""The left panel, where it was evaluated; the right one is the policy of the lowest cost."""

COLUMNS = ("time_h", "capacity", "forecast", "used", "waiting", "evicted")


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `evaluation/slots.parquet` and `evaluation/jobs.parquet`; two panels a policy on the same axes.

    Raises:
        ClearschedError: a table is broken or holds no slot.
    """
    path = results_dir / "evaluation" / "slots.parquet"
    slots, _ = read_table(path, SLOTS)
    jobs, _ = read_table(results_dir / "evaluation" / "jobs.parquet", JOBS)
    if not len(slots) or not len(jobs):
        raise ClearschedError(f"{path}: no slots; run the evaluation again")
    chosen = two_policies(jobs)
    figure = style.new_figure(height_in=3.6)
    panels = figure.subplots(2, len(chosen), sharex=True, sharey="row", squeeze=False, height_ratios=[3, 1])
    rows: list[list[Any]] = []
    for column, name in enumerate(chosen):
        table = slots.filter(pc.equal(slots["policy"], name))
        values = {key: table[key].to_numpy() for key in COLUMNS}
        _draw_cores(panels[0, column], values)
        _draw_waiting(panels[1, column], values)
        cost = mean_cost(jobs.filter(pc.equal(jobs["episode"], 0)), name)
        panels[0, column].set_title(f"{subject.shown(name).label}: cost {cost:.2f}", loc="left")
        rows += [[name, *(values[key][i].item() for key in COLUMNS)] for i in range(len(table))]
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    panels[0, 0].set_ylabel("cores")
    panels[1, 0].set_ylabel("jobs waiting")
    return style.Drawing(figure, ["policy", *COLUMNS], rows)


def two_policies(jobs: pa.Table) -> list[str]:
    """The yardstick and the policy of the lowest mean cost over all test episodes, the first of equals."""
    names = list(dict.fromkeys(jobs["policy"].to_pylist()))
    first = YARDSTICK if YARDSTICK in names else names[0]
    best = min(names, key=lambda name: mean_cost(jobs, name))
    return list(dict.fromkeys([first, best]))


def mean_cost(jobs: pa.Table, name: str) -> float:
    """Mean cost of a policy's jobs: its objective, since all episodes have as many jobs."""
    return float(np.mean(jobs.filter(pc.equal(jobs["policy"], name))["cost"].to_numpy()))


def _draw_cores(axes: Axes, values: dict[str, np.ndarray]) -> None:
    time_h = values["time_h"]
    axes.fill_between(time_h, values["used"], step="post", color=style.SKY, linewidth=0, label="used by jobs")
    axes.step(
        time_h, values["forecast"], where="post", color=style.ORANGE, linewidth=0.7, label="forecast an hour before"
    )
    axes.step(time_h, values["capacity"], where="post", color=style.BLACK, linewidth=1.0, label="left to jobs")
    evicted = values["evicted"] > 0
    axes.scatter(
        time_h[evicted], values["used"][evicted], marker="x", s=18, color=style.VERMILION, label="eviction", zorder=3
    )
    axes.set_ylim(bottom=0)


def _draw_waiting(axes: Axes, values: dict[str, np.ndarray]) -> None:
    axes.fill_between(values["time_h"], values["waiting"], step="post", color=style.GREY, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time (h)")
