"""A panel an experiment: how far each policy is from tuned weighted fair, paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clearsched.figures import style
from clearsched.figures.marks import arrow, legend_of_kinds, spread
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.marks import strength, wide_bar
from clearsched.paper.material import HEADER, YARDSTICK, Material, Runs, row

COLUMNS = 4
ZOOM_PERCENT = 60.0
"""Policies further away stand as an arrow at the edge."""


def draw_panels(material: Material, experiments: Sequence[str], left_out: Sequence[str] = ("fifo",)) -> style.Drawing:
    """One row a policy, the best on average over the experiments on top; `left_out` stand in the CSV alone."""
    of = {name: material.runs(name) for name in experiments}
    order = _order(of)
    drawn = [name for name in order if name not in left_out]
    lines = -(-len(of) // COLUMNS)
    figure = style.new_figure(height_in=1.1 + lines * (0.5 + 0.21 * len(drawn)))
    grid = figure.subplots(lines, min(COLUMNS, len(of)), sharex=True, sharey=True, squeeze=False)
    kinds = next(iter(of.values())).kinds
    rows = []
    for axes, (experiment, runs) in zip(grid.ravel(), of.items(), strict=False):
        for name in order:
            told = runs.difference(name, YARDSTICK)
            rows.append(row("mean_jct_s", name, kinds[name], experiment, runs.mean(name)))
            rows.append(row("difference_percent", name, kinds[name], experiment, told))
            if name not in drawn:
                continue
            look = style.points(material.subject.shown(name, kinds[name]), 5) | strength(told)
            place = drawn.index(name)
            if abs(told.mean) > ZOOM_PERCENT:
                side = 1 if told.mean > 0 else -1
                arrow(axes, (side * ZOOM_PERCENT, place), ">" if side > 0 else "<", look["color"], 5)
                continue
            wide_bar(axes, told, place, look["color"])
            error = spread(told.mean, told.low, told.high)
            axes.errorbar([told.mean], [place], xerr=error, linestyle="none", elinewidth=1.2, capsize=2, **look)
        axes.axvline(0.0, color=style.BLACK, linewidth=0.9, zorder=0.5)
        axes.set_title(EXPERIMENTS[experiment].label, loc="left", fontsize=8.5)
        axes.set_xlim(-1.05 * ZOOM_PERCENT, 1.05 * ZOOM_PERCENT)
        axes.tick_params(axis="y", length=0)
        style.grid(axes, "x")
    for axes in grid.ravel()[len(of) :]:
        axes.set_visible(False)
    grid[0, 0].set_yticks(range(len(drawn)), [material.subject.shown(name, kinds[name]).label for name in drawn])
    grid[0, 0].set_ylim(len(drawn) - 0.4, -0.6)
    yardstick = material.subject.shown(YARDSTICK).label
    title = (
        f"Paired difference of the mean JCT to {yardstick} in %; arrows: beyond {ZOOM_PERCENT:g} %; "
        "faint: no difference shown"
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=9)
    legend_of_kinds(figure, kinds.values())
    return style.Drawing(figure, HEADER, rows)


def _order(of: Mapping[str, Runs]) -> list[str]:
    """The policies, the best on average over the experiments first."""
    first = next(iter(of.values()))
    total = {
        name: sum(runs.means[name] / runs.means[YARDSTICK] for runs in of.values())
        for name in first.kinds
        if all(name in runs.kinds for runs in of.values())
    }
    return sorted(total, key=lambda name: (total[name], name))
