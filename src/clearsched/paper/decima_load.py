"""Decima: what policies win at each load of the cluster."""

from __future__ import annotations

from clearsched.figures import style
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.marks import BESIDE, banded, line, logarithmic, shown_of
from clearsched.paper.material import HEADER, YARDSTICK, Material, row


def draw(material: Material) -> style.Drawing:
    """The mean JCT by load, and how far it is from tuned weighted fair's, paired."""
    subject = material.subject
    loads = {int(name.removeprefix("load_")): material.runs(name) for name in material.experiments}
    figure = style.new_figure(height_in=3.8)
    left, right = figure.subplots(1, 2)
    first = next(iter(loads.values()))
    rows, drawn = [], shown_of(first.kinds)
    for name in first.kinds:
        kind = first.kinds[name]
        means = [runs.mean(name) for runs in loads.values()]
        rows += [row("mean_jct_s", name, kind, load, told) for load, told in zip(loads, means, strict=True)]
        gaps = [runs.difference(name, YARDSTICK) for runs in loads.values()] if name != YARDSTICK else []
        rows += [
            row("difference_percent", name, kind, load, told) for load, told in zip(loads, gaps, strict=bool(gaps))
        ]
        if name not in drawn:
            continue
        shown = subject.shown(name, kind)
        line(left, list(loads), [told.mean for told in means], shown)
        if gaps and name != "fifo":
            banded(right, list(loads), gaps, shown, aside=BESIDE * (drawn.index(name) - len(drawn) / 2))
    logarithmic(left, "y")
    left.set_ylabel("mean JCT (s), logarithmic")
    right.axhline(0.0, color=style.BLACK, linewidth=0.9)
    right.set_ylabel(f"to {subject.shown(YARDSTICK).label} (%)")
    for axes in (left, right):
        axes.set_xlabel("load (%)")
        style.grid(axes, "both")
    figure.suptitle(
        f"policies of the base {EXPERIMENTS[material.experiments[0]].base}, tuned and made on its own load",
        x=0.01,
        ha="left",
        fontsize=9,
    )
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return style.Drawing(figure, HEADER, rows)
