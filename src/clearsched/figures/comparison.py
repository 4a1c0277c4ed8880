"""The objective of every policy with its interval, and beside it the paired difference to the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.layout import decimals, with_unit
from clearsched.problems.problem import Measure, find_objective
from clearsched.schemas import COMPARISON, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = dict[str, Any]

ZOOM_PERCENT = 25.0
"""Policies further than this from the reference are shown as an arrow at the edge: else FIFO flattens all others."""


class Scale(NamedTuple):
    """What differences are told in: % of the reference's mean; where that is 0, the objective's own unit."""

    factor: float
    unit: str
    zoom: float  # largest difference that is not cut off


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `evaluation/comparison.parquet` and draw one row a policy, the best on top."""
    path = results_dir / "evaluation" / "comparison.parquet"
    table, metadata = read_table(path, COMPARISON)
    objective = find_objective(subject.problem, metadata.get("objective"), f"{path}: objective")
    rows = [row for row in table.to_pylist() if row["measure"] == objective.name]
    if not rows:
        raise ClearschedError(f"{path}: no rows of {objective.name}: evaluate again")
    figure = style.new_figure(height_in=1.35 + 0.33 * len(rows))
    means, differences = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1.0))
    _draw_means(means, rows, subject, objective)
    told = f"{100 * metadata['confidence']:g} % intervals" if "confidence" in metadata else "bootstrap intervals"
    means.set_title(f"{rows[0]['episodes']} test episodes, {told}", loc="left")
    _draw_differences(differences, rows, subject)
    legend_of_kinds(figure, rows)
    header = list(COMPARISON.names)
    return style.Drawing(figure, header, [[row[name] for name in header] for row in rows])


def _look(row: Row, subject: style.Subject) -> dict[str, Any]:
    shown = subject.shown(row["policy"], row["kind"])
    return {"linestyle": "none", "elinewidth": 1.6, "capsize": 2.5, **style.points(shown, 7)}


def _spread(value: float, low: float, high: float) -> list[list[float]] | None:
    """The two lengths of an error bar; an interval of a skewed sample need not hold the mean. None without one."""
    return [[max(value - low, 0.0)], [max(high - value, 0.0)]] if np.isfinite(low + high) else None


def _draw_means(axes: Axes, rows: list[Row], subject: style.Subject, objective: Measure) -> None:
    places = decimals(max(abs(row["mean"]) for row in rows))
    for place, row in enumerate(rows):
        mean = row["mean"]
        axes.errorbar([mean], [place], xerr=_spread(mean, row["ci_low"], row["ci_high"]), **_look(row, subject))
        right = max(mean, row["ci_high"]) if np.isfinite(row["ci_high"]) else mean
        axes.annotate(
            f"{mean:.{places}f}", (right, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(range(len(rows)), [subject.shown(row["policy"]).label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    ends = [row[name] for row in rows for name in ("mean", "ci_low", "ci_high") if np.isfinite(row[name])]
    left, right = min(0.0, *ends), max(0.0, *ends)  # from zero, so that lengths compare
    if right > left:
        axes.set_xlim(left, right + 0.16 * (right - left))  # room for the label on the right
    better = "lower is better" if objective.lower_is_better else "higher is better"
    axes.set_xlabel(style.wrapped(f"{with_unit(objective.label, objective.unit)}, {better}", 48))
    style.grid(axes, "x")


def _scale(rows: list[Row]) -> Scale:
    base = next(row for row in rows if row["policy"] == row["reference"])
    if base["mean"]:
        return Scale(100.0 / abs(base["mean"]), "%", ZOOM_PERCENT)
    return Scale(1.0, base["unit"], float("inf"))


def _draw_differences(axes: Axes, rows: list[Row], subject: style.Subject) -> None:
    scale = _scale(rows)
    near = [
        abs(scale.factor * row[name])
        for row in rows
        for name in ("difference_low", "difference_high", "difference")
        if abs(scale.factor * row["difference"]) <= scale.zoom and np.isfinite(row[name])
    ]
    edge = 1.15 * max([*near, 1.0] if scale.unit == "%" else near) or 1.0
    places = 1 if scale.unit == "%" else decimals(edge)
    for place, row in enumerate(rows):
        difference = scale.factor * row["difference"]
        look = _look(row, subject)
        if abs(difference) > edge:
            marker = ">" if difference > 0 else "<"
            at = float(np.clip(difference, -edge, edge))
            axes.plot([at], [place], marker=marker, markersize=7, color=look["color"], clip_on=False)
        else:
            low, high = scale.factor * row["difference_low"], scale.factor * row["difference_high"]
            axes.errorbar([difference], [place], xerr=_spread(difference, low, high), **look)
        is_reference = row["policy"] == row["reference"]
        # The numbers stand in a column of their own on the right, where no interval can cross them.
        axes.annotate(
            "reference" if is_reference else f"{difference:+.{places}f} {scale.unit}".rstrip(),
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(50, 0),
            textcoords="offset points",
            va="center",
            ha="right",
            fontsize=8,
            annotation_clip=False,
        )
    axes.axvline(0.0, color=style.BLACK, linewidth=0.9, zorder=0.5)
    axes.set_xlim(-edge, edge)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(with_unit("paired difference", scale.unit))
    axes.set_title(f"against {subject.shown(rows[0]['reference']).label}", loc="left")
    style.grid(axes, "x")


def legend_of_kinds(figure: Any, rows: list[Row]) -> None:
    """The kinds of policy by how much of a marker they fill; who is who stands at the axis."""
    from matplotlib.lines import Line2D

    kinds = sorted({row["kind"] for row in rows}, key=style.kind_rank)
    handles = [
        Line2D([], [], linestyle="none", color=style.BLACK, marker="o", markersize=6, **style.fill(kind))
        for kind in kinds
    ]
    figure.legend(handles, kinds, loc="outside lower center", ncols=len(kinds))
