"""Decima, fig. 13: what policies for one objective cost by the other, with and without a cost of moving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clearsched.evaluation.significance import p_values
from clearsched.evaluation.statistics import generator, paired_difference
from clearsched.figures import style
from clearsched.figures.marks import spread
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.marks import shown_of
from clearsched.paper.material import HEADER, Levels, Material, Runs, levels, row

PANELS = ("jct_to_fair_percent", "makespan_to_fair_percent")


def draw(material: Material) -> style.Drawing:
    """A panel an experiment: the mean JCT and the makespan of each policy, both paired with fair's."""
    figure = style.new_figure(height_in=3.8)
    panels = figure.subplots(1, len(material.experiments), sharex=True, sharey=True)
    rows = []
    for axes, experiment in zip(panels, material.experiments, strict=True):
        runs = material.runs(experiment)
        names = shown_of(runs.kinds, without=("fifo", "fair"))
        makespans = makespans_to_fair(runs, names)
        for name in names:
            shown = material.subject.shown(name, runs.kinds[name])
            jct, makespan = runs.difference(name, "fair", names), makespans[name]
            rows += [
                row(panel, name, shown.kind, experiment, told)
                for panel, told in zip(PANELS, (jct, makespan), strict=True)
            ]
            axes.errorbar(
                [jct.mean],
                [makespan.mean],
                xerr=spread(jct.mean, jct.low, jct.high),
                yerr=spread(makespan.mean, makespan.low, makespan.high),
                linestyle="none",
                elinewidth=1.0,
                label=shown.label,
                **style.points(shown, 6),
            )
        axes.axhline(0.0, color=style.BLACK, linewidth=0.8)
        axes.axvline(0.0, color=style.BLACK, linewidth=0.8)
        axes.set_title(style.wrapped(EXPERIMENTS[experiment].label, 30), loc="left", fontsize=8.5)
        axes.set_xlabel("mean JCT, to fair (%)")
        style.grid(axes, "both")
    panels[0].set_ylabel("makespan, to fair (%)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return style.Drawing(figure, HEADER, rows)


def makespans_to_fair(runs: Runs, policies: Sequence[str]) -> dict[str, Levels]:
    """The paired difference of each policy's makespan to fair's, in % of its mean, of the policies as they are."""
    bootstrap, fair = runs.bootstrap, runs.makespans("fair")
    values = {name: runs.makespans(name) for name in policies}
    tests = p_values(values | {"fair": fair}, "fair", bootstrap.seed)
    found = {}
    for name, own in values.items():
        rng = generator(bootstrap.seed, "paper", runs.settings["experiment"], name, "makespan")
        gap = paired_difference(own, fair, rng, bootstrap.confidence, bootstrap.resamples)
        p, p_holm = tests[name]
        told = replace(levels(gap, None, 1), p=p, p_holm=p_holm, confidence=bootstrap.confidence)
        found[name] = told.scaled(100 / float(fair.mean()))
    return found
