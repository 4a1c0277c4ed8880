"""Decima, fig. 10c to e: what jobs of each size get under each policy."""

from __future__ import annotations

import numpy as np

from clearsched.figures import style
from clearsched.paper.marks import line, logarithmic, shown_of
from clearsched.paper.material import HEADER, Material, Runs, row

BINS = 6
"""Sizes of jobs: as many jobs in each."""

PANELS = {
    "jct_to_fair": "mean JCT next to fair's",
    "executors": "mean executors at work",
    "inflation": "work done, to that of the profile",
}


def draw(material: Material) -> style.Drawing:
    """Three panels: by the job's work, the JCT, the executors that it has at work, and what its tasks take in all."""
    runs, subject = material.runs("stream"), material.subject
    figure = style.new_figure(height_in=3.6)
    panels = dict(zip(PANELS, figure.subplots(1, 3), strict=True))
    work = runs.column("fair", "work_s")
    of = bins_of(work)
    centre = [float(np.median(work[of == place])) for place in range(of.max() + 1)]
    rows = []
    for name in shown_of(runs.kinds, without=("fifo",)):
        shown = subject.shown(name, runs.kinds[name])
        for panel, values in by_size(runs, name, of).items():
            line(panels[panel], centre, values, shown)
            rows += [row(panel, name, shown.kind, at, float(v)) for at, v in zip(centre, values, strict=True)]
    for panel, axes in panels.items():
        logarithmic(axes, subs=(1.0, 3.0))
        axes.set_title(PANELS[panel], loc="left", fontsize=8.5)
        axes.set_xlabel("work of the job (executor s)")
        style.grid(axes, "both")
    handles, labels = panels["executors"].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return style.Drawing(figure, HEADER, rows)


def bins_of(work_s: np.ndarray) -> np.ndarray:
    """int64[jobs]: which of the sizes each job has, 0 for the smallest; equal jobs are of one size."""
    edges = np.unique(np.quantile(work_s, np.linspace(0, 1, BINS + 1)[1:-1]))
    _, of = np.unique(np.searchsorted(edges, work_s, side="left"), return_inverse=True)
    return np.asarray(of)


def by_size(runs: Runs, policy: str, of: np.ndarray) -> dict[str, np.ndarray]:
    """float64[sizes] of each panel; of executors and inflation, the mean over jobs of what each had."""
    jct, busy, work = (runs.column(policy, name) for name in ("jct_s", "busy_s", "work_s"))
    counts = np.bincount(of)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(of, weights=values) / counts)

    return {
        "jct_to_fair": mean(jct) / mean(runs.column("fair", "jct_s")),
        "executors": mean(busy / np.maximum(jct, 1e-3)),
        "inflation": mean(busy) / mean(work),
    }
