"""Cost and fidelity against size: two panels, a line a kind of student."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clearsched.evaluation.students import flattened
from clearsched.figures import style
from clearsched.figures.marks import better, spread
from clearsched.pareto.series import called, series_of
from clearsched.problems.declarations import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(
    rows: Sequence[dict[str, Any]], objective: Measure, subject: style.Subject, confidence: float
) -> style.Drawing:
    """Left the paired difference to the teacher with its interval, right the share of equal choices."""
    figure = style.new_figure(height_in=3.4)
    cost, fidelity = figure.subplots(1, 2)
    series = series_of(rows)
    across = "size" if len(series) == 1 else "complexity"
    for own in series:
        _draw_kind(cost, fidelity, own, across, subject.shown(own[0]["kind"], "student"))
    for axes in (cost, fidelity):
        _scale_sizes(axes, rows, across)
    cost.axhline(0.0, color=style.BLACK, linestyle="--", linewidth=1.1)
    cost.set_ylabel(style.wrapped(f"{objective.short}: difference to the teacher, % ({better(objective)})", 40))
    cost.set_title(f"cost on test episodes, {100 * confidence:g} % intervals", loc="left")
    fidelity.set_ylabel("% of the real choices")
    fidelity.set_title("first choice is the teacher's", loc="left")
    handles, labels = cost.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4))
    told = flattened(rows)
    return style.Drawing(figure, list(told[0]), [list(row.values()) for row in told])


def _scale_sizes(axes: Axes, rows: Sequence[dict[str, Any]], across: str) -> None:
    """Sizes of one kind by their number; of several by what a person must read, which they have in common."""
    if across == "size":
        sizes = sorted({row["size"] for row in rows})
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("size: rules, leaves or trees")
    else:
        axes.set_xscale("log")
        axes.set_xlabel("to read: conditions, rules, terms, nodes")
    style.grid(axes, "y")


def _draw_kind(cost: Axes, fidelity: Axes, rows: Sequence[dict[str, Any]], across: str, shown: style.Shown) -> None:
    """The sizes of a kind; a ring round the one that would be picked. Dashed where another setting says the size."""
    by = rows[0]["by"]
    look = style.points(shown, 5) | ({"linestyle": "--"} if by else {})
    sizes, means = [row[across] for row in rows], [row["difference_percent"] for row in rows]
    cost.plot(sizes, means, linewidth=1.2, label=called(shown.label, by), **look)
    for row in rows:
        middle = row["difference_percent"]
        ends = spread(middle, row["difference_low"], row["difference_high"])
        cost.errorbar([row[across]], [middle], yerr=ends, linestyle="none", color=look["color"], capsize=2)
    told = [(row[across], 100 * row["top1"]) for row in rows if row["top1"] is not None]
    fidelity.plot([size for size, _ in told], [share for _, share in told], linewidth=1.2, **look)
    picked = [row for row in rows if row["picked"]]
    cost.plot(
        [row[across] for row in picked],
        [row["difference_percent"] for row in picked],
        linestyle="none",
        marker="o",
        markersize=12,
        markerfacecolor="none",
        markeredgecolor=style.BLACK,
    )
