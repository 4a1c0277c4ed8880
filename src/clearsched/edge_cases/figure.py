"""Every policy on every edge case: a panel a case, the paired difference to the reference with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clearsched.edge_cases.case import Case, Row, order_of
from clearsched.figures import style
from clearsched.figures.marks import ZOOM_PERCENT, arrow, better, legend_of_kinds, scale_of, spread
from clearsched.layout import with_unit
from clearsched.problems.declarations import Measure
from clearsched.schemas import EDGE_CASES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3


def draw(cases: Sequence[Case], objective: Measure, subject: style.Subject, confidence: float) -> style.Drawing:
    """A panel a case; one row a policy, the best on average over the cases on top."""
    policies = order_of(cases, objective)
    rows = -(-len(cases) // COLUMNS)
    edge = _edge(cases, objective)
    figure = style.new_figure(height_in=1.1 + rows * (0.55 + 0.2 * len(policies)))
    grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, case in zip(grid, cases, strict=False):
        _draw_case(axes, case.of(objective), policies, subject, edge)
        axes.set_title(case.label, loc="left")
    for axes in grid[len(cases) :]:
        axes.set_visible(False)
    for axes in grid[: len(cases)][-COLUMNS:]:
        axes.tick_params(axis="x", labelbottom=True)  # also above an empty place
    for axes in grid[::COLUMNS]:
        axes.set_yticks(range(len(policies)), [subject.shown(policy).label for policy in policies])
        axes.set_ylim(len(policies) - 0.4, -0.6)
    legend_of_kinds(figure, (row["kind"] for row in cases[0].of(objective)))
    reference = subject.shown(cases[0].rows[0]["reference"]).label
    figure.suptitle(
        f"Paired difference of {with_unit(objective.short, objective.unit)} to {reference} in %, "
        f"{100 * confidence:g} % intervals; {better(objective)}",
        x=0.01,
        ha="left",
        fontsize=9,
    )
    header = list(EDGE_CASES.names)
    data = [{"edge_case": case.name, "label": case.label} | row for case in cases for row in case.of(objective)]
    return style.Drawing(figure, header, [[row[name] for name in header] for row in data])


def _edge(cases: Sequence[Case], objective: Measure) -> float:
    """How far from the reference is shown, %: whoever is better on any case, and of those that are worse the nearer."""
    gain = -1 if objective.lower_is_better else 1
    gains = (gain * scale_of(row).factor * row["difference"] for case in cases for row in case.of(objective))
    return max(ZOOM_PERCENT, *gains)


def _draw_case(axes: Axes, rows: Sequence[Row], policies: Sequence[str], subject: style.Subject, edge: float) -> None:
    for row in rows:
        place = policies.index(row["policy"])
        look: dict[str, Any] = style.points(subject.shown(row["policy"], row["kind"]), 5)
        factor = scale_of(row).factor
        middle, low, high = (factor * row[name] for name in ("difference", "difference_low", "difference_high"))
        if abs(middle) > edge:
            side = 1 if middle > 0 else -1
            arrow(axes, (side * edge, place), ">" if side > 0 else "<", look["color"], 5)
            axes.annotate(
                f"{middle:+.0f}",
                (side * edge, place),
                xytext=(-side * 6, 0),
                textcoords="offset points",
                ha="right" if side > 0 else "left",
                va="center",
                fontsize=7,
            )
            continue
        axes.errorbar(
            [middle], [place], xerr=spread(middle, low, high), linestyle="none", elinewidth=1.3, capsize=2, **look
        )
    axes.axvline(0.0, color=style.BLACK, linewidth=0.9, zorder=0.5)
    axes.set_xlim(-1.1 * edge, 1.1 * edge)
    axes.tick_params(axis="y", length=0)
    style.grid(axes, "x")
