"""Mean JCT of every policy with its interval, and beside it the paired difference to the reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.evaluation.names import label
from clearsched.figures import style
from clearsched.schemas import COMPARISON, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ZOOM_PERCENT = 25.0
"""Policies further than this from the reference are shown as an arrow at the edge: else FIFO flattens all others."""


def draw(results_dir: Path) -> style.Drawing:
    """Read `evaluation/comparison.parquet` and draw one row a policy, the best on top."""
    table, _ = read_table(results_dir / "evaluation" / "comparison.parquet", COMPARISON)
    rows = table.to_pylist()
    figure = style.new_figure(height_in=1.35 + 0.33 * len(rows))
    means, differences = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1.0))
    _draw_means(means, rows)
    _draw_differences(differences, rows)
    _legend(figure, rows)
    header = list(COMPARISON.names)
    return style.Drawing(figure, header, [[row[name] for name in header] for row in rows])


def _look(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "color": style.KIND_COLOURS.get(row["kind"], style.GREY),
        "marker": style.KIND_MARKERS.get(row["kind"], "o"),
        "markersize": 6,
        "linestyle": "none",
        "elinewidth": 1.6,
        "capsize": 2.5,
    }


def _draw_means(axes: Axes, rows: list[dict[str, Any]]) -> None:
    digits = 1 if max(row["mean_jct_s"] for row in rows) >= 100 else 2
    for place, row in enumerate(rows):
        mean = row["mean_jct_s"]
        below, above = mean - row["ci_low_s"], row["ci_high_s"] - mean
        spread = [[below], [above]] if np.isfinite(below + above) else None
        axes.errorbar([mean], [place], xerr=spread, **_look(row))
        right = max(mean, row["ci_high_s"]) if np.isfinite(row["ci_high_s"]) else mean
        axes.annotate(
            f"{mean:.{digits}f}", (right, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(range(len(rows)), [label(row["policy"]) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    largest = max(np.nanmax([row["mean_jct_s"], row["ci_high_s"]]) for row in rows)
    axes.set_xlim(0.0, 1.16 * largest)  # from zero, so that lengths compare; room for the label on the right
    axes.set_xlabel("mean job completion time (s), lower is better")
    axes.set_title(f"{rows[0]['episodes']} test episodes, 95 % intervals", loc="left")
    style.grid(axes, "x")


def _draw_differences(axes: Axes, rows: list[dict[str, Any]]) -> None:
    base = next(row["mean_jct_s"] for row in rows if row["policy"] == row["reference"])
    near = [
        abs(100.0 * row[name] / base)
        for row in rows
        for name in ("difference_low_s", "difference_high_s", "difference_s")
        if abs(row["difference_percent"]) <= ZOOM_PERCENT and np.isfinite(row[name])
    ]
    edge = 1.15 * max([*near, 1.0])
    for place, row in enumerate(rows):
        percent = row["difference_percent"]
        text, at = f"{percent:+.1f} %", float(np.clip(percent, -edge, edge))
        if row["policy"] == row["reference"]:
            text = "reference"
        if abs(percent) > edge:
            marker = ">" if percent > 0 else "<"
            axes.plot([at], [place], marker=marker, markersize=7, color=_look(row)["color"], clip_on=False)
        else:
            low, high = 100.0 * row["difference_low_s"] / base, 100.0 * row["difference_high_s"] / base
            spread = [[percent - low], [high - percent]] if np.isfinite(low + high) else None
            axes.errorbar([percent], [place], xerr=spread, **_look(row))
        # The numbers stand in a column of their own on the right, where no interval can cross them.
        axes.annotate(
            text,
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
    axes.set_xlabel("paired difference (%)")
    axes.set_title(f"against {label(rows[0]['reference'])}", loc="left")
    style.grid(axes, "x")


def _legend(figure: Any, rows: list[dict[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    kinds = sorted({row["kind"] for row in rows}, key=style.kind_rank)
    handles = [
        Line2D([], [], color=style.KIND_COLOURS.get(kind, style.GREY), marker=style.KIND_MARKERS.get(kind, "o"))
        for kind in kinds
    ]
    figure.legend(handles, kinds, loc="outside lower center", ncols=len(kinds))
