"""Cost and fidelity against size: two panels, a line a kind of student."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clearsched.figures import style
from clearsched.figures.marks import better, spread
from clearsched.problems.problem import Measure
from clearsched.schemas import STUDENTS_PARETO

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(
    rows: Sequence[dict[str, Any]], objective: Measure, subject: style.Subject, confidence: float
) -> style.Drawing:
    """Left the paired difference to the teacher with its interval, right the share of equal choices."""
    figure = style.new_figure(height_in=3.4)
    cost, fidelity = figure.subplots(1, 2)
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = sorted((row for row in rows if row["kind"] == kind), key=lambda row: int(row["size"]))
        _draw_kind(cost, fidelity, own, subject.shown(kind, "student"))
    sizes = sorted({row["size"] for row in rows})
    for axes in (cost, fidelity):
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("size: rules, leaves or trees")
        style.grid(axes, "y")
    cost.axhline(0.0, color=style.BLACK, linestyle="--", linewidth=1.1)
    cost.set_ylabel(style.wrapped(f"{objective.short}: difference to the teacher, % ({better(objective)})", 40))
    cost.set_title(f"cost on test episodes, {100 * confidence:g} % intervals", loc="left")
    fidelity.set_ylabel("% of the real choices")
    fidelity.set_title("first choice is the teacher's", loc="left")
    handles, labels = cost.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4))
    header = list(STUDENTS_PARETO.names)
    return style.Drawing(figure, header, [[row[name] for name in header] for row in rows])


def _draw_kind(cost: Axes, fidelity: Axes, rows: Sequence[dict[str, Any]], shown: style.Shown) -> None:
    """The sizes of a kind; a ring round the one that would be picked."""
    look = style.points(shown, 5)
    sizes, means = [row["size"] for row in rows], [row["difference_percent"] for row in rows]
    cost.plot(sizes, means, linewidth=1.2, label=shown.label, **look)
    for row in rows:
        middle = row["difference_percent"]
        ends = spread(middle, row["difference_low"], row["difference_high"])
        cost.errorbar([row["size"]], [middle], yerr=ends, linestyle="none", color=look["color"], capsize=2)
    told = [(row["size"], 100 * row["top1"]) for row in rows if row["top1"] is not None]
    fidelity.plot([size for size, _ in told], [share for _, share in told], linewidth=1.2, **look)
    picked = [row for row in rows if row["picked"]]
    cost.plot(
        [row["size"] for row in picked],
        [row["difference_percent"] for row in picked],
        linestyle="none",
        marker="o",
        markersize=12,
        markerfacecolor="none",
        markeredgecolor=style.BLACK,
    )
