"""A dozen jobs of a trace as layered DAGs: number of tasks and mean task duration on every stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.figures import style
from clearsched.problems.dag_jobs.figures.gallery_jobs import Box, Shown, choose
from clearsched.problems.dag_jobs.traces.measures import Measures, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 2
SLOT_IN = 0.34
"""Height of a slot, inches."""
HALF_WIDTH, HALF_HEIGHT = 0.39, 0.36
"""Of a stage's box, in layers and slots."""
HEADER = (
    "profile",
    "query",
    "size",
    "stage",
    "parents",
    "layer",
    "y",
    "num_tasks",
    "mean_duration_s",
    "work_share",
    "stages",
)
"""Of the data: a row a box; one of several stages has no `stage`."""


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `traces/trace.parquet` and draw it."""
    return draw_trace(measure(results_dir / "traces" / "trace.parquet"))


def draw_trace(measures: Measures) -> style.Drawing:
    """Draw jobs of different templates and sizes, small ones first; those that do not fit stage by stage by layers."""
    chosen, left_out = choose(measures)
    deepest = max(max(job.layout.layer) for job in chosen) + 1
    lines = [chosen[first : first + COLUMNS] for first in range(0, len(chosen), COLUMNS)]
    heights = [max(job.layout.height for job in line) + 1.0 for line in lines]
    figure = style.new_figure(height_in=0.8 + sum(SLOT_IN * height + 0.26 for height in heights))
    panels = figure.subplots(len(lines), COLUMNS, squeeze=False, height_ratios=heights)
    rows: list[list[Any]] = []
    for axes in panels.flat:
        axes.set_axis_off()
    for line, line_panels, height in zip(lines, panels, heights, strict=True):
        for job, axes in zip(line, line_panels, strict=False):
            _draw_panel(axes, job, deepest, height)
            rows += _rows_of(job)
    _colour_bar(figure, panels, left_out)
    return style.Drawing(figure, HEADER, rows)


def _draw_panel(axes: Axes, job: Shown, deepest: int, height: float) -> None:
    """Draw one job."""
    from matplotlib import colormaps
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path as Curve

    layout, middle = job.layout, (height - 1 - job.layout.height) / 2
    for parent, child, passed in layout.edges:
        ends = [(layout.layer[parent], layout.y[parent]), *passed, (layout.layer[child], layout.y[child])]
        points, codes = edge_path([(x, y + middle) for x, y in ends])
        axes.add_patch(PathPatch(Curve(points, codes), fill=False, edgecolor=style.GREY, linewidth=0.7, zorder=1))
    for box, x, y in zip(job.boxes, layout.layer, layout.y, strict=True):
        share = _share(box, job)
        corner = (x - HALF_WIDTH, y + middle - HALF_HEIGHT)
        patch = FancyBboxPatch(corner, 2 * HALF_WIDTH, 2 * HALF_HEIGHT, "round,pad=0,rounding_size=0.12")
        patch.set(facecolor=colormaps["Blues"](0.08 + 0.8 * share), edgecolor=style.BLACK, linewidth=0.5, zorder=2)
        axes.add_patch(patch)
        text = f"{box.num_tasks:,}\n{duration(box.mean_s)}" if job.whole else f"{box.stages:,}\nstages"
        ink = "white" if share > 0.6 else style.BLACK
        axes.text(x, y + middle, text, ha="center", va="center", fontsize=5.4, color=ink, linespacing=1.0, zorder=3)
    axes.set_xlim(-0.5, deepest - 0.5)
    axes.set_ylim(-0.5, height - 0.5)
    axes.set_title(_title(job), loc="left", fontsize=7.5, pad=2)


def _title(job: Shown) -> str:
    """The name of a job and its work; of one that is shown by layers how large it is."""
    named = f"query {job.query}" if job.query.isdigit() else job.query
    name = style.plain(_short(f"{named}, {job.size}" if job.size else named))
    told = f"{name}: {duration(job.work_s)} of work"
    return told if job.whole else f"{told}, {job.stages:,} stages in {job.layers:,} layers"


def _share(box: Box, job: Shown) -> float:
    return box.work_s / job.work_s if job.work_s > 0 else 0.0


def _rows_of(job: Shown) -> list[list[Any]]:
    """A job's rows of the CSV: one a box."""
    return [
        [
            job.profile,
            job.query,
            job.size,
            place if job.whole else None,
            " ".join(map(str, box.parents)),
            layer,
            y,
            box.num_tasks,
            box.mean_s,
            _share(box, job),
            box.stages,
        ]
        for place, (box, layer, y) in enumerate(zip(job.boxes, job.layout.layer, job.layout.y, strict=True))
    ]


def edge_path(points: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], list[int]]:
    """Vertices and codes of an edge through `points`: level as wide as a box, bent only in the gaps between layers."""
    move, line, curve = 1, 2, 4  # the codes of matplotlib.path.Path
    x, y = points[0]
    vertices, codes = [(x + HALF_WIDTH, y)], [move]
    for place, (next_x, next_y) in enumerate(points[1:], start=1):
        start, end = x + HALF_WIDTH, next_x - HALF_WIDTH
        half = (start + end) / 2
        vertices += [(half, y), (half, next_y), (end, next_y)]
        codes += [curve] * 3
        if place < len(points) - 1:
            vertices.append((next_x + HALF_WIDTH, next_y))
            codes.append(line)
        x, y = next_x, next_y
    return vertices, codes


def duration(seconds: float) -> str:
    """Three digits at most, in ms, s, min, h or d."""
    for below, unit, size in ((1.0, "ms", 0.001), (100.0, "s", 1.0), (6000.0, "min", 60.0), (172_800.0, "h", 3600.0)):
        if seconds < below:
            value = seconds / size
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"
    return f"{seconds / 86_400:.3g} d"


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def _colour_bar(figure: Any, panels: Any, left_out: str) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    shades = ListedColormap(colormaps["Blues"](np.linspace(0.08, 0.88, 128)))
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, 100), shades), ax=list(panels.flat), orientation="horizontal", fraction=0.02,
        aspect=60, pad=0.01,
    )  # fmt: skip
    told = "share of the job's work (%); on each stage its number of tasks and their mean duration"
    bar.set_label(f"{told}\n{left_out}" if left_out else told)
    bar.outline.set_visible(False)
