"""Decima, fig. 9b: how the completion times of a stream's jobs are distributed."""

from __future__ import annotations

import numpy as np

from clearsched.figures import style
from clearsched.paper.marks import distribution, logarithmic
from clearsched.paper.material import HEADER, Material, row

QUANTILES = tuple(range(1, 100))
"""Percent: what the CSV tells of a distribution."""


def draw(material: Material) -> style.Drawing:
    """One curve a policy, all jobs of all streams."""
    runs, subject = material.runs("stream"), material.subject
    figure = style.new_figure(height_in=4.0)
    axes = figure.subplots()
    rows = []
    for place, name in enumerate(runs.means):
        shown, values = subject.shown(name, runs.kinds[name]), runs.column(name, "jct_s")
        told = shown._replace(label=f"{shown.label}: {np.median(values):.3g} / {np.quantile(values, 0.95):.3g}")
        distribution(axes, values, told, place / len(runs.means))
        rows += [
            row("jct_s_quantile", name, shown.kind, percent, float(value))
            for percent, value in zip(QUANTILES, np.quantile(values, np.array(QUANTILES) / 100), strict=True)
        ]
    logarithmic(axes)
    axes.set_xlabel("job completion time (s), logarithmic")
    axes.set_ylabel("share of the jobs")
    axes.set_ylim(0.0, 1.0)
    axes.set_title(f"{len(runs.column('fair', 'jct_s')):,} jobs", loc="left")
    style.grid(axes, "both")
    figure.legend(title="median / 95th percentile (s)", loc="outside right center", alignment="left", title_fontsize=8)
    return style.Drawing(figure, HEADER, rows)
