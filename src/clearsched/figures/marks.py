"""What figures of policies share: error bars, differences in percent, arrows at the edge, the legend of kinds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearsched.figures import style
from clearsched.problems.declarations import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ZOOM_PERCENT = 25.0
"""Policies further than this from the reference are shown as an arrow at the edge: else one flattens all others.

The comparison and the edge cases do so with those that are worse alone: what is shown reaches to whoever is better.
"""


class Scale(NamedTuple):
    """What differences are told in: % of the reference's mean; where that is 0, the objective's own unit."""

    factor: float
    unit: str
    zoom: float  # largest difference to the worse that is not cut off


def scale_of(row: dict[str, Any]) -> Scale:
    """The scale of a row of COMPARISON."""
    base = row["mean"] - row["difference"]
    return Scale(100.0 / abs(base), "%", ZOOM_PERCENT) if base else Scale(1.0, row["unit"], float("inf"))


def spread(value: float, low: float, high: float) -> list[list[float]] | None:
    """The two lengths of an error bar; an interval of a skewed sample need not hold the mean. None without one."""
    return [[max(value - low, 0.0)], [max(high - value, 0.0)]] if np.isfinite(low + high) else None


def arrow(axes: Axes, at: tuple[float, float], marker: str, colour: str, size: float) -> None:
    """A mark at the edge for what lies beyond it."""
    axes.plot([at[0]], [at[1]], marker=marker, markersize=size, color=colour, clip_on=False)


def better(objective: Measure) -> str:
    """Which way is better, in words."""
    return "lower is better" if objective.lower_is_better else "higher is better"


def legend_of_kinds(figure: Figure, kinds: Iterable[str]) -> None:
    """The kinds of policy by how much of a marker they fill; who is who stands at the axis."""
    from matplotlib.lines import Line2D

    told = sorted(set(kinds), key=style.kind_rank)
    handles = [
        Line2D([], [], linestyle="none", color=style.BLACK, marker="o", markersize=6, **style.fill(kind))
        for kind in told
    ]
    figure.legend(handles, told, loc="outside lower center", ncols=len(told))
