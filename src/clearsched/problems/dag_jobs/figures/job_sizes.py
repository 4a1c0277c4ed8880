"""How large the jobs of a trace are: work, tasks, stages, task durations and parallelism as distributions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clearsched.figures import style
from clearsched.problems.dag_jobs.traces.measures import Measures, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 400
"""Points of a curve, at most: a trace has millions of jobs."""


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `traces/trace.parquet` and draw it."""
    return draw_trace(measure(results_dir / "traces" / "trace.parquet"))


def draw_trace(measures: Measures) -> style.Drawing:
    """Draw four panels: tails as the share of jobs above a value, the rest as the share up to it."""
    figure = style.new_figure(height_in=5.2)
    panels = figure.subplots(2, 2)
    rows: list[list[Any]] = []
    curves: list[tuple[Axes, str, str, bool, list[tuple[str, Any, str, Any]]]] = [
        (panels[0, 0], "work of a job (executor-s)", "jobs", True, [("work", measures.work_s, style.BLUE, "-")]),
        (
            panels[0, 1],
            "number",
            "jobs",
            True,
            [
                ("tasks", measures.tasks, style.BLUE, "-"),
                ("stages", measures.stages, style.VERMILION, (0, (4, 1.5))),
                ("depth (stages)", measures.depth, style.GREEN, (0, (1, 1))),
            ],
        ),
        (
            panels[1, 0],
            "mean task duration of a stage (s)",
            "stages",
            False,
            [("duration", measures.stage_s, style.BLUE, "-")],
        ),
        (
            panels[1, 1],
            "work / longest chain of a job (executors)",
            "jobs",
            False,
            [("parallelism", measures.parallelism, style.BLUE, "-")],
        ),
    ]
    for axes, label, of, tail, lines in curves:
        for name, values, colour, dashes in lines:
            x, share = distribution(values, tail)
            axes.plot(x, share, drawstyle="steps-post", color=colour, linestyle=dashes, label=name)
            rows += [
                [name, "above" if tail else "up to", a, b] for a, b in zip(x.tolist(), share.tolist(), strict=True)
            ]
        if not any(np.size(line.get_xdata()) for line in axes.lines):
            axes.text(0.5, 0.5, "no value above 0", ha="center", va="center", transform=axes.transAxes)
            axes.set(xlabel=label, xticks=[], yticks=[])
            continue
        axes.set_xscale("log")
        _label_logarithms(axes)
        axes.set_xlabel(label)
        axes.set_ylabel(f"share of {of} {'above' if tail else 'up to this'}")
        if tail:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_ylim(top=1.3)
        else:
            axes.set_ylim(0.0, 1.02)
        if len(lines) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0.0, 0.97), ncols=len(lines))
        style.grid(axes, "both")
    source = style.plain(measures.source) or "trace"
    figure.suptitle(
        f"{len(measures.stages):,} jobs of {source}, {len(measures.stage_tasks):,} stages",
        x=0.01, ha="left", fontsize=9.5,
    )  # fmt: skip
    return style.Drawing(figure, ["quantity", "share_is_of_values", "value", "share"], rows)


def distribution(values: npt.NDArray[Any], tail: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Values and the share of all that lies above each (`tail`) or up to it; values of 0 or less have no logarithm.

    Each point is exact; of many values, `POINTS` evenly spaced on the logarithmic axis that is drawn are kept.
    """
    known = np.sort(values[np.isfinite(values) & (values > 0)].astype(np.float64))
    if not len(known):
        return known, known
    x, first = np.unique(known, return_index=True)
    up_to = np.append(first[1:], len(known)) / max(len(known), 1)
    share = 1.0 - up_to if tail else up_to
    if tail:
        # The largest value has nothing above it, which a logarithmic axis cannot show; the smallest starts at all.
        x, share = np.concatenate([x[:1], x]), np.concatenate([[1.0], share])
        x, share = x[share > 0], share[share > 0]
    if len(x) > POINTS:
        along = np.log(share) if tail else np.log(x)
        grid = np.linspace(along[0], along[-1], POINTS)
        kept = np.searchsorted(-along if tail else along, -grid if tail else grid)
        kept = np.unique(np.concatenate([[0], np.clip(kept, 0, len(x) - 1), [len(x) - 1]]))
        x, share = x[kept], share[kept]
    return x, share


def _label_logarithms(axes: Axes) -> None:
    """Numbers on the logarithmic x axis: powers of ten, and 2 and 5 between them where there is one decade at most."""
    low, high = axes.get_xlim()

    def major(value: float, _: object) -> str:
        return f"{value:g}" if 1e-4 < value < 1e5 else f"$10^{{{round(np.log10(value))}}}$"

    def minor(value: float, _: object) -> str:
        return f"{value:g}" if f"{value:e}"[0] in "25" else ""

    axes.xaxis.set_major_formatter(major)
    axes.xaxis.set_minor_formatter(minor if high < 20 * low else lambda value, _: "")
