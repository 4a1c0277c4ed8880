"""A dozen jobs of a trace as layered DAGs: number of tasks and mean task duration on every stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from clearsched.figures import style
from clearsched.problems.dag_jobs.figures.layering import Layout, lay_out
from clearsched.problems.dag_jobs.traces.durations import mean_task_ms
from clearsched.problems.dag_jobs.traces.measures import Measures, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COUNT, COLUMNS = 12, 2
MOST_STAGES, MOST_LAYERS, MOST_SLOTS = 40, 10, 7.0
"""Larger jobs do not fit into a panel with numbers that can be read."""
CANDIDATES = 200
"""Jobs among which the dozen is chosen."""
SLOT_IN = 0.34
"""Height of a slot, inches."""
HALF_WIDTH, HALF_HEIGHT = 0.39, 0.36
"""Of a stage's box, in layers and slots."""


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `traces/trace.parquet` and draw it."""
    return draw_trace(measure(results_dir / "traces" / "trace.parquet"))


def draw_trace(measures: Measures) -> style.Drawing:
    """Draw jobs of different templates and sizes, small ones first."""
    chosen = choose(measures)
    deepest = max(max(layout.layer) for _, layout in chosen) + 1
    lines = [chosen[first : first + COLUMNS] for first in range(0, len(chosen), COLUMNS)]
    heights = [max(layout.height for _, layout in line) + 1.0 for line in lines]
    figure = style.new_figure(height_in=0.8 + sum(SLOT_IN * height + 0.26 for height in heights))
    panels = figure.subplots(len(lines), COLUMNS, squeeze=False, height_ratios=heights)
    rows: list[list[Any]] = []
    for axes in panels.flat:
        axes.set_axis_off()
    for line, line_panels, height in zip(lines, panels, heights, strict=True):
        for (stages, layout), axes in zip(line, line_panels, strict=False):
            rows += _draw_panel(axes, stages, layout, deepest, height)
    _colour_bar(figure, panels)
    header = [
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
    ]
    return style.Drawing(figure, header, rows)


def choose(measures: Measures) -> list[tuple[pa.Table, Layout]]:
    """The rows and places of at most `COUNT` jobs that fit, with edges if any has, spread over the numbers of stages.

    Raises:
        ClearschedError: no job fits.
    """
    fits = (measures.stages <= MOST_STAGES) & (measures.depth <= MOST_LAYERS)
    with_edges = fits & (measures.depth > 1)
    jobs = np.flatnonzero(with_edges if with_edges.any() else fits)
    if not len(jobs):
        raise style.NothingToDraw(
            f"{measures.path}: every job is too large to draw: over {MOST_STAGES} stages, or {MOST_LAYERS} in a chain"
        )
    jobs = jobs[np.lexsort((jobs, measures.depth[jobs], measures.stages[jobs]))]
    jobs = np.sort(jobs[_evenly(len(jobs), CANDIDATES)])
    rows = measures.rows_of(jobs)
    starts = np.flatnonzero(np.r_[True, np.diff(rows["profile"].to_numpy()) != 0])
    tables = [rows.slice(a, b - a) for a, b in zip(starts, np.append(starts[1:], len(rows)), strict=True)]
    placed: dict[str, tuple[pa.Table, Layout]] = {}
    for table in tables:
        layout = lay_out(table["parents"].to_pylist())
        if layout.height < MOST_SLOTS:
            placed.setdefault(table["query"][0].as_py(), (table, layout))
    if not placed:
        raise style.NothingToDraw(
            f"{measures.path}: every job is too wide to draw (over {MOST_SLOTS:g} stages side by side)"
        )
    found = sorted(placed.values(), key=lambda item: (len(item[0]), item[1].height, item[0]["profile"][0].as_py()))
    dozen = [found[place] for place in _evenly(len(found), COUNT)]
    return sorted(dozen, key=lambda item: (item[1].height, len(item[0]), item[0]["profile"][0].as_py()))


def _evenly(length: int, count: int) -> list[int]:
    """At most `count` of `length` places, evenly spread, the first and the last among them."""
    return sorted({round(float(place)) for place in np.linspace(0, length - 1, min(count, length))})


def _draw_panel(axes: Axes, stages: pa.Table, layout: Layout, deepest: int, height: float) -> list[list[Any]]:
    """Draw one job; return its rows of the CSV."""
    from matplotlib import colormaps
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path as Curve

    means_s = mean_task_ms(stages["durations"]) / 1000
    num_tasks = stages["num_tasks"].to_numpy()
    work = num_tasks * means_s
    share = work / work.sum() if work.sum() > 0 else np.zeros(len(work))
    query, size = stages["query"][0].as_py(), stages["size"][0].as_py()
    middle = (height - 1 - layout.height) / 2
    for parent, child, passed in layout.edges:
        ends = [(layout.layer[parent], layout.y[parent]), *passed, (layout.layer[child], layout.y[child])]
        points, codes = edge_path([(x, y + middle) for x, y in ends])
        axes.add_patch(PathPatch(Curve(points, codes), fill=False, edgecolor=style.GREY, linewidth=0.7, zorder=1))
    for stage, (x, y) in enumerate(zip(layout.layer, layout.y, strict=True)):
        colour = colormaps["Blues"](0.08 + 0.8 * float(share[stage]))
        corner = (x - HALF_WIDTH, y + middle - HALF_HEIGHT)
        box = FancyBboxPatch(corner, 2 * HALF_WIDTH, 2 * HALF_HEIGHT, "round,pad=0,rounding_size=0.12")
        box.set(facecolor=colour, edgecolor=style.BLACK, linewidth=0.5, zorder=2)
        axes.add_patch(box)
        text = f"{num_tasks[stage]:,}\n{duration(float(means_s[stage]))}"
        ink = "white" if share[stage] > 0.6 else style.BLACK
        axes.text(x, y + middle, text, ha="center", va="center", fontsize=5.4, color=ink, linespacing=1.0, zorder=3)
    axes.set_xlim(-0.5, deepest - 0.5)
    axes.set_ylim(-0.5, height - 0.5)
    named = f"query {query}" if query.isdigit() else query
    name = _short(f"{named}, {size}" if size else named)
    axes.set_title(f"{name}: {duration(float(work.sum()))} of work", loc="left", fontsize=7.5, pad=2)
    return [
        [
            stages["profile"][0].as_py(),
            query,
            size,
            stage,
            " ".join(map(str, stages["parents"][stage].as_py())),
            layout.layer[stage],
            layout.y[stage],
            int(num_tasks[stage]),
            float(means_s[stage]),
            float(share[stage]),
        ]
        for stage in range(len(stages))
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


def _colour_bar(figure: Any, panels: Any) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    shades = ListedColormap(colormaps["Blues"](np.linspace(0.08, 0.88, 128)))
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, 100), shades), ax=list(panels.flat), orientation="horizontal", fraction=0.02,
        aspect=60, pad=0.01,
    )  # fmt: skip
    bar.set_label("share of the job's work (%); on each stage its number of tasks and their mean duration")
    bar.outline.set_visible(False)
