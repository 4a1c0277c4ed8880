"""Decima, fig. 13: what policies for one objective cost by the other, with and without a cost of moving."""

from __future__ import annotations

from clearsched.evaluation.statistics import Interval, generator, paired_difference
from clearsched.figures import style
from clearsched.figures.marks import spread
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.marks import shown_of
from clearsched.paper.material import HEADER, Material, Runs, row

PANELS = ("jct_to_fair_percent", "makespan_to_fair_percent")


def draw(material: Material) -> style.Drawing:
    """A panel an experiment: the mean JCT and the makespan of each policy, both paired with fair's."""
    figure = style.new_figure(height_in=3.8)
    panels = figure.subplots(1, len(material.experiments), sharex=True, sharey=True)
    rows = []
    for axes, experiment in zip(panels, material.experiments, strict=True):
        runs = material.runs(experiment)
        for name in shown_of(runs.kinds, without=("fifo", "fair")):
            shown = material.subject.shown(name, runs.kinds[name])
            jct, makespan = to_fair(runs, name)
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


def to_fair(runs: Runs, policy: str) -> tuple[Interval, Interval]:
    """The paired differences of mean JCT and makespan to fair's, in % of its mean."""
    own, fair = runs.makespans(policy), runs.makespans("fair")
    rng = generator(runs.bootstrap.seed, "paper", runs.settings["experiment"], policy, "makespan")
    gap = paired_difference(own, fair, rng, runs.bootstrap.confidence, runs.bootstrap.resamples)
    return runs.difference(policy, "fair"), gap.scaled(100 / float(fair.mean()))
