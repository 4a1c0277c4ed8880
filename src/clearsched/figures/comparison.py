"""The objective of every policy with its interval, and beside it the paired difference to the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.figures.marks import arrow, better, legend_of_kinds, scale_of, spread
from clearsched.layout import decimals, with_unit
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import find_objective
from clearsched.schemas import COMPARISON, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = dict[str, Any]


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
    _draw_differences(differences, rows, subject, objective)
    legend_of_kinds(figure, (row["kind"] for row in rows))
    header = list(COMPARISON.names)
    return style.Drawing(figure, header, [[row[name] for name in header] for row in rows])


def _look(row: Row, subject: style.Subject) -> dict[str, Any]:
    shown = subject.shown(row["policy"], row["kind"])
    return {"linestyle": "none", "elinewidth": 1.6, "capsize": 2.5, **style.points(shown, 7)}


def _draw_means(axes: Axes, rows: list[Row], subject: style.Subject, objective: Measure) -> None:
    places = decimals(max(abs(row["mean"]) for row in rows))
    for place, row in enumerate(rows):
        mean = row["mean"]
        axes.errorbar([mean], [place], xerr=spread(mean, row["ci_low"], row["ci_high"]), **_look(row, subject))
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
    axes.set_xlabel(style.wrapped(f"{with_unit(objective.label, objective.unit)}, {better(objective)}", 48))
    style.grid(axes, "x")


def _draw_differences(axes: Axes, rows: list[Row], subject: style.Subject, objective: Measure) -> None:
    scale = scale_of(rows[0])
    worse = scale.factor if objective.lower_is_better else -scale.factor
    near = [
        abs(scale.factor * row[name])
        for row in rows
        for name in ("difference_low", "difference_high", "difference")
        if worse * row["difference"] <= scale.zoom and np.isfinite(row[name])
    ]
    edge = 1.15 * max([*near, 1.0] if scale.unit == "%" else near) or 1.0
    places = 1 if scale.unit == "%" else decimals(edge)
    for place, row in enumerate(rows):
        difference = scale.factor * row["difference"]
        look = _look(row, subject)
        if abs(difference) > edge:
            marker = ">" if difference > 0 else "<"
            at = float(np.clip(difference, -edge, edge))
            arrow(axes, (at, place), marker, look["color"], 7)
        else:
            low, high = scale.factor * row["difference_low"], scale.factor * row["difference_high"]
            axes.errorbar([difference], [place], xerr=spread(difference, low, high), **look)
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
