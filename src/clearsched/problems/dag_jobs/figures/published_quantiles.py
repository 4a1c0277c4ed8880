"""Generated jobs against the published quantiles that they were drawn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clearsched.figures import style
from clearsched.problems.dag_jobs.traces import alibaba_like
from clearsched.problems.dag_jobs.traces.describe import GIVEN
from clearsched.problems.dag_jobs.traces.measures import Measures, measure

COLUMNS = 3


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `traces/trace.parquet`, which source alibaba-like wrote, and draw it."""
    return draw_trace(measure(results_dir / "traces" / "trace.parquet"))


def applies(measures: Measures) -> bool:
    """Whether the trace's source has published quantiles."""
    return measures.source == alibaba_like.SOURCE


def draw_trace(measures: Measures) -> style.Drawing:
    """Draw a panel a quantity: published quantiles as a line, generated ones as points.

    Raises:
        ClearschedError: the trace knows no arrivals, cpu or memory.
    """
    return draw_table(alibaba_like.compare_with_published(measures).to_pylist())


def draw_table(table: list[dict[str, Any]]) -> style.Drawing:
    """Draw rows of quantity, quantile, published, generated."""
    rows = [row for row in table if not row["quantity"].startswith(GIVEN)]
    quantities = list(dict.fromkeys(row["quantity"] for row in rows))
    lines = -(-len(quantities) // COLUMNS)
    figure = style.new_figure(height_in=0.6 + 2.1 * lines)
    panels = figure.subplots(lines, COLUMNS, squeeze=False, sharex=True)
    for axes in panels.flat[len(quantities) :]:
        axes.set_axis_off()
    for axes, quantity in zip(panels.flat, quantities, strict=False):
        of = [row for row in rows if row["quantity"] == quantity]
        quantiles = [row["quantile"] for row in of]
        published, generated = ([row[name] for row in of] for name in ("published", "generated"))
        (line,) = axes.plot(quantiles, published, color=style.GREY, linewidth=2.2, label="published")
        (points,) = axes.plot(quantiles, generated, "o", color=style.VERMILION, markersize=4, label="generated")
        positive = [value for value in (*published, *generated) if value > 0]
        if positive and max(positive) > 20 * min(positive):
            axes.set_yscale("symlog", linthresh=min(positive))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_title(quantity, loc="left", fontsize=8.5)
        style.grid(axes, "both")
    for axes in panels[-1]:
        axes.set_xlabel("quantile")
    figure.legend(handles=[line, points], loc="outside lower center", ncols=2)
    header = ["quantity", "quantile", "published", "generated"]
    return style.Drawing(figure, header, [[row[name] for name in header] for row in table])
