"""The kinds of student side by side: what each costs and how bad it can be, against how faithful it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.evaluation.students import flattened
from clearsched.figures import style
from clearsched.figures.marks import ZOOM_PERCENT, arrow, better, spread
from clearsched.layout import with_unit
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import find_objective
from clearsched.schemas import STUDENTS, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = dict[str, Any]
SIZE = 7.0
"""Of a mark, in points."""


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `evaluation/students.parquet` and draw a mark a student.

    Raises:
        ClearschedError: the file is missing or broken.
        NothingToDraw: no student was run beside the teacher, or none of them was asked about logged decisions.
    """
    path = results_dir / "evaluation" / "students.parquet"
    table, metadata = read_table(path, STUDENTS)
    objective = find_objective(subject.problem, metadata.get("objective"), f"{path}: objective")
    rows = table.to_pylist()
    shown = [row for row in rows if row["top1"] is not None]
    if not shown:
        raise style.NothingToDraw("no student was run beside the teacher and asked about its logged decisions")
    figure = style.new_figure(height_in=3.9)
    cost, worst = figure.subplots(1, 2)
    for row in shown:
        look = style.points(subject.shown(row["policy"], "student"), SIZE)
        _mark_cost(cost, row, look, subject.shown(row["policy"], "student").label)
        worst.plot([100 * row["top1"]], [row["worst"]], linestyle="none", **look)
    _finish(cost, worst, shown, objective, metadata.get("confidence"))
    handles, labels = cost.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5))
    told = flattened(rows)
    return style.Drawing(figure, list(told[0]), [list(row.values()) for row in told])


def _mark_cost(axes: Axes, row: Row, look: dict[str, Any], label: str) -> None:
    """The difference to the teacher with its interval; an arrow with the number where it is far off."""
    share, middle = 100 * row["top1"], row["difference_percent"]
    if abs(middle) <= ZOOM_PERCENT:
        ends = spread(middle, row["difference_low"], row["difference_high"])
        axes.errorbar([share], [middle], yerr=ends, linestyle="none", elinewidth=1.4, capsize=2.5, label=label, **look)
        return
    side = 1 if middle > 0 else -1
    axes.plot([], [], linestyle="none", label=label, **look)
    arrow(axes, (share, side * ZOOM_PERCENT), "^" if side > 0 else "v", look["color"], SIZE)
    axes.annotate(
        f"{middle:+.0f} %",
        (share, side * ZOOM_PERCENT),
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
    )


def _finish(cost: Axes, worst: Axes, rows: Sequence[Row], objective: Measure, confidence: float | None) -> None:
    """Axes, titles, and where the teacher's cost is."""
    for axes in (cost, worst):
        axes.set_xlabel("first choice is the teacher's, % of the real choices")
        axes.margins(x=0.12)
        style.grid(axes, "both")
    cost.axhline(0.0, color=style.BLACK, linestyle="--", linewidth=1.1)
    if any(abs(row["difference_percent"]) > ZOOM_PERCENT for row in rows):
        low, high = cost.get_ylim()
        cost.set_ylim(max(low, -1.1 * ZOOM_PERCENT), min(high, 1.1 * ZOOM_PERCENT))
    cost.set_ylabel(style.wrapped(f"{objective.short}: difference to the teacher, % ({better(objective)})", 36))
    told = f", {100 * confidence:g} % intervals" if confidence else ""
    cost.set_title(f"cost on test episodes{told}", loc="left")
    worst.set_ylabel(style.wrapped(f"{with_unit(objective.label, objective.unit)} ({better(objective)})", 36))
    worst.set_title("the worst test episode", loc="left")
