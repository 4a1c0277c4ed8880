"""How the teacher learned: the objective on validation while cloning and while improving on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.layout import with_unit
from clearsched.problems.objectives import find_objective
from clearsched.registry import Look
from clearsched.schemas import LEARNING_CURVE, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PHASES = {"clone": "cloning", "improve": "improving by policy gradient", "published": "a published network as it came"}


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `teacher/learning_curve.parquet` and draw one panel a phase."""
    path = results_dir / "teacher" / "learning_curve.parquet"
    table, metadata = read_table(path, LEARNING_CURVE)
    phases = [name for name in PHASES if name in table["phase"].to_pylist()]
    if not phases:
        raise ClearschedError(f"{path}: no iterations of the phases {', '.join(PHASES)}; train the teacher again")
    figure = style.new_figure(height_in=3.6)
    widths = [1.0 if name == "clone" else 1.8 for name in phases]
    panels = figure.subplots(1, len(phases), width_ratios=widths, squeeze=False)[0]
    for axes, name in zip(panels, phases, strict=True):
        _draw_phase(axes, name, table.filter(pc.equal(table["phase"], name)), subject.shown("teacher", "teacher").look)
    objective = find_objective(subject.problem, metadata.get("measure"), f"{path}: measure")
    panels[0].set_ylabel(style.wrapped(with_unit(objective.label, objective.unit), 36))
    handles, labels = _legend_entries(panels)
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    rows = [list(row.values()) for row in table.to_pylist()]
    return style.Drawing(figure, LEARNING_CURVE.names, rows)


def _draw_phase(axes: Axes, phase: str, table: pa.Table, look: Look) -> None:
    """Each phase has a scale of its own: cloning falls by tens of percent, improving by a few."""
    episodes = table["episodes"].to_numpy()
    # A phase that learns from episodes logged once is told by its passes over them, not by new episodes.
    moving = len(np.unique(episodes)) > 1
    place = episodes if moving else table["iteration"].to_numpy()
    train = table["train_objective"].to_numpy(zero_copy_only=False).astype(np.float64)
    validation = table["validation_objective"].to_numpy(zero_copy_only=False).astype(np.float64)
    reference = table["reference_objective"].to_numpy()
    if np.isfinite(train).any():
        axes.plot(place, train, color=style.ORANGE, linewidth=1.0, alpha=0.8, label="training rollouts (sampled)")
    seen = np.isfinite(validation)
    axes.plot(
        place[seen],
        validation[seen],
        color=look.colour,
        marker=look.marker,
        markersize=3.5,
        label="validation episodes (argmax)",
    )
    trained = phase != "published"
    told = "policy that was cloned (validation)" if trained else "best tuned heuristic (validation)"
    axes.axhline(reference[-1], color=style.BLACK, linestyle="--", linewidth=1.1, label=told)
    axes.set_title(PHASES[phase], loc="left")
    passes = f"passes over {int(episodes[0]):,} logged episodes" if trained else "nothing was trained here"
    axes.set_xlabel("training episodes simulated" if moving else passes)
    axes.margins(y=0.12)
    axes.xaxis.set_major_locator(_integer_ticks())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    style.grid(axes, "y")


def _integer_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, integer=True)


def _legend_entries(panels: Any) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(text, handle)
    return list(found.values()), list(found)
