"""Decima, fig. 15a: how the networks learned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from clearsched.figures import style
from clearsched.paper.bases import BASES
from clearsched.paper.marks import line
from clearsched.paper.material import HEADER, Material, row
from clearsched.schemas import LEARNING_CURVE, read_table


def draw(material: Material) -> style.Drawing:
    """A panel a base: the objective on the validation episodes, relative to the policy that was cloned."""
    figure = style.new_figure(height_in=3.2)
    panels = figure.subplots(1, len(material.figure.files))
    shown, rows = material.subject.shown("teacher"), []
    for axes, (base, name) in zip(panels, material.figure.files, strict=True):
        table, _ = read_table(material.file(base, name), LEARNING_CURVE)
        episodes, percent = curve_of(table)
        line(axes, episodes, percent, shown)
        axes.axhline(0.0, color=style.BLACK, linewidth=0.9)
        axes.set_title(BASES[base].label, loc="left")
        axes.set_xlabel("training episodes simulated")
        style.grid(axes, "both")
        rows += [
            row(f"{base}_percent", "teacher", "teacher", int(x), y) for x, y in zip(episodes, percent, strict=True)
        ]
    panels[0].set_ylabel("validation, to the cloned policy (%)")
    return style.Drawing(figure, HEADER, rows)


def curve_of(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Episodes simulated, int64[n], and how far the objective is from the cloned policy's, %, float64[n]."""
    found = [each for each in table.to_pylist() if each["validation_objective"] is not None]
    percent = [100 * (each["validation_objective"] / each["reference_objective"] - 1) for each in found]
    return np.array([each["episodes"] for each in found]), np.array(percent)
