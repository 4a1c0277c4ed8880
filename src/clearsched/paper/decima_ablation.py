"""Decima, fig. 14: what each part of the network and of its training is worth, by the load of the cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from clearsched.figures import style
from clearsched.paper.bases import BASES
from clearsched.paper.experiments import ABLATED
from clearsched.paper.marks import BESIDE, banded, line, logarithmic
from clearsched.paper.material import HEADER, YARDSTICK, Levels, Material, Runs, adjusted, row
from clearsched.registry import Look

WHOLE = "whole"
LOOKS = {
    WHOLE: Look(style.VERMILION, "D"),
    "graph": Look(style.BLUE, "o"),
    "limits": Look(style.GREEN, "s"),
    "baseline": Look(style.PURPLE, "P"),
    "stream": Look(style.BROWN, "^"),
}


def draw(material: Material) -> style.Drawing:
    """The mean JCT of each network by load; beside it how far it is from the whole network's, paired."""
    of = {what: _by_load(material, what) for what in ABLATED}
    loads = list(of[WHOLE])
    figure = style.new_figure(height_in=3.9)
    left, right = figure.subplots(1, 2)
    yardstick = material.subject.shown(YARDSTICK)
    fair = {load: runs.mean(YARDSTICK) for load, runs in of[WHOLE].items()}
    rows = [row("mean_jct_s", YARDSTICK, "heuristic", load, told) for load, told in fair.items()]
    line(left, loads, [told.mean for told in fair.values()], yardstick)
    whole = of[WHOLE]
    to_fair = _together(of, whole, lambda runs, other: runs.difference_to("teacher", other, YARDSTICK))
    parts = {what: runs for what, runs in of.items() if what != WHOLE}
    to_whole = _together(parts, whole, lambda runs, other: runs.ratio_to("teacher", other, "teacher"))
    for what, runs in of.items():
        label = "whole network" if what == WHOLE else BASES[ABLATED[what]].label
        shown = style.Shown(label, LOOKS[what], "teacher")
        means = {load: run.mean("teacher") for load, run in runs.items()}
        rows += [row("mean_jct_s", what, "teacher", load, told) for load, told in means.items()]
        rows += [row("difference_percent", what, "teacher", load, told) for load, told in to_fair[what].items()]
        line(left, loads, [told.mean for told in means.values()], shown)
        if what == WHOLE:
            continue
        rows += [row("ratio_to_whole", what, "teacher", load, told) for load, told in to_whole[what].items()]
        banded(right, loads, list(to_whole[what].values()), shown, aside=BESIDE * (list(of).index(what) - len(of) / 2))
    right.axhline(1.0, color=style.BLACK, linewidth=0.9)
    logarithmic(left, "y")
    logarithmic(right, "y", subs=(1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0, 8.0))
    left.set_ylabel("mean JCT (s), logarithmic")
    right.set_ylabel("times the whole network's")
    for axes in (left, right):
        axes.set_xlabel("load (%)")
        style.grid(axes, "both")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return style.Drawing(figure, HEADER, rows)


def _together(
    of: Mapping[str, Mapping[int, Runs]], whole: Mapping[int, Runs], compared: Callable[[Runs, Runs], Levels]
) -> dict[str, dict[int, Levels]]:
    """Of each network and load, a comparison with the runs of the whole one, told together with the others there."""
    by_load = {
        load: adjusted({what: compared(runs[load], other) for what, runs in of.items()})
        for load, other in whole.items()
    }
    return {what: {load: each[what] for load, each in by_load.items()} for what in of}


def _by_load(material: Material, what: str) -> dict[int, Runs]:
    """The runs of a network by load, %."""
    matched = {name: re.fullmatch(rf"ablated_{what}_(\d+)", name) for name in material.experiments}
    return {int(found[1]): material.runs(name) for name, found in matched.items() if found}
