"""Decima, table 2: networks trained at the arrival rate of the test, at another, on several; and on other queries."""

from __future__ import annotations

from clearsched.figures import style
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.marks import dots
from clearsched.paper.material import HEADER, YARDSTICK, Material, adjusted, row

LEARNED = ("teacher", "stay_and_move")


def draw(material: Material) -> style.Drawing:
    """What was made by each training, on the same streams, paired with weighted fair as tuned for the first of them."""
    of = {name: material.runs(name) for name in material.experiments}
    first = next(iter(of.values()))
    figure = style.new_figure(height_in=1.6 + 0.3 * len(of))
    panels = figure.subplots(1, len(LEARNED), sharex=True)
    rows = [row("mean_jct_s", YARDSTICK, "heuristic", "", first.mean(YARDSTICK))]
    for axes, policy in zip(panels, LEARNED, strict=True):
        kind = first.kinds.get(policy, "teacher")
        found = adjusted(
            {name: runs.difference_to(policy, first, YARDSTICK) for name, runs in of.items() if policy in runs.kinds}
        )
        rows += [row("difference_percent", policy, kind, name, told) for name, told in found.items()]
        shown = material.subject.shown(policy, kind)
        subject = style.Subject(
            material.subject.problem, {name: shown._replace(label=EXPERIMENTS[name].label) for name in found}
        )
        dots(axes, found, dict.fromkeys(found, kind), subject, "{:+.1f} %")
        axes.axvline(0.0, color=style.BLACK, linewidth=0.9)
        axes.set_title(shown.label, loc="left")
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel(f"mean JCT, to {material.subject.shown(YARDSTICK).label} (%)", fontsize=8)
    panels[-1].set_yticks([])
    return style.Drawing(figure, HEADER, rows)
