"""Decima, fig. 15a: how the networks learned, over training episodes and over CPU time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from clearsched.figures import style
from clearsched.paper.bases import BASES
from clearsched.paper.marks import line
from clearsched.paper.material import HEADER, Material, row
from clearsched.schemas import LEARNING_CURVE, TRAINING_TIMES, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURED_HERE = "taken, not trained in this run:\nits CPU time was not measured"


class Learned(NamedTuple):
    """A training seed where its network was run on the validation episodes; each n long.

    Attributes:
        episodes: int64, simulated for training.
        percent: float64, how far the objective is from the cloned policy's, %.
        cpu_s: float64, CPU seconds since the training began; empty where nothing was trained.
    """

    episodes: np.ndarray
    percent: np.ndarray
    cpu_s: np.ndarray


def draw(material: Material) -> style.Drawing:
    """The objective on the validation episodes relative to the cloned policy's: a column a base, a line a seed."""
    bases = list(dict.fromkeys(base for base, _ in material.figure.files))
    figure = style.new_figure(height_in=5.0)
    grid = figure.subplots(2, len(bases), sharey="col", squeeze=False)
    rows: list[list[object]] = []
    for column, base in enumerate(bases):
        learned = list(curves_of(material, base))
        for seed, each in enumerate(learned):
            rows += [
                row(f"{base}_{name}_seed_{seed}", "teacher", "teacher", x.item(), float(y))
                for name, places in (("percent", each.episodes), ("percent_by_cpu_s", each.cpu_s))
                for x, y in zip(places, each.percent, strict=bool(len(places)))
            ]
        grid[0, column].set_title(style.wrapped(BASES[base].label, 34), loc="left", fontsize=8.5)
        _lines(grid[0, column], material, [(each.episodes, each.percent) for each in learned])
        grid[0, column].set_xlabel("training episodes simulated")
        _lines(grid[1, column], material, [(each.cpu_s, each.percent) for each in learned if len(each.cpu_s)])
        grid[1, column].set_xlabel("CPU time of the training (s)")
    for axes in grid[:, 0]:
        axes.set_ylabel("validation,\nto the cloned policy (%)")
    return style.Drawing(figure, HEADER, rows)


def _lines(axes: Axes, material: Material, found: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """A line a training seed; a sentence in their place where there is none."""
    for places, percent in found:
        line(axes, places, percent, material.subject.shown("teacher"))
    axes.axhline(0.0, color=style.BLACK, linewidth=0.9)
    style.grid(axes, "both")
    if not found:
        axes.text(0.5, 0.5, MEASURED_HERE, transform=axes.transAxes, ha="center", va="center", fontsize=8)
        axes.set_xticks([])


def curves_of(material: Material, base: str) -> Iterator[Learned]:
    """The training seeds of a base."""
    curves, times_of = (file for own, file in material.figure.files if own == base)
    for seed in range(material.networks[base]):
        curve, _ = read_table(material.file(base, curves.format(seed=seed)), LEARNING_CURVE)
        times, _ = read_table(material.file(base, times_of.format(seed=seed)), TRAINING_TIMES)
        yield curve_of(curve, times)


def curve_of(table: pa.Table, times: pa.Table) -> Learned:
    """What a learning curve and its times say together."""
    found = [(n, each) for n, each in enumerate(table.to_pylist()) if each["validation_objective"] is not None]
    percent = [100 * (each["validation_objective"] / each["reference_objective"] - 1) for _, each in found]
    spent = times["cpu_s"].to_numpy()
    return Learned(
        np.array([each["episodes"] for _, each in found]),
        np.array(percent),
        spent[[n for n, _ in found]] if len(spent) else spent,
    )
