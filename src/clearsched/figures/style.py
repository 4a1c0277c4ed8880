"""One look for all figures: colours, fonts, sizes, and writing them so that equal data gives equal bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.evaluation.names import KINDS
from clearsched.files import atomic_path, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of M. Okabe and K. Ito, Color Universal Design (2008): told apart with any common colour blindness.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE, GREY = "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#8C8C8C"
BROWN = "#7A4B12"

KIND_COLOURS = {"heuristic": BLUE, "teacher": VERMILION, "student": GREEN}
KIND_MARKERS = {"heuristic": "o", "teacher": "D", "student": "s"}
KIND_DASHES: dict[str, Any] = {"heuristic": (0, (4, 1.5)), "teacher": "-", "student": "-"}

POLICY_COLOURS = {
    "fifo": GREY,
    "sjf_cp": YELLOW,
    "fair": SKY,
    "weighted_fair": BLUE,
    "wsjf": PURPLE,
    "capped_srpt": BLACK,
    "local_srpt": BROWN,
    "teacher": VERMILION,
    "rule_list": GREEN,
    "boosted_trees": ORANGE,
}

WIDTH_IN = 8.0
"""Width of every figure, inches: the width of a page of the report, so that fonts have one size in all of them."""

RC: Any = {  # matplotlib types its keys one by one
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the figures are the same on every machine
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "clearsched",  # else the identifiers inside an SVG differ from run to run
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Drawing:
    """A finished figure and the data behind it: one header and rows of plain values."""

    figure: Figure
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


def policy_colour(policy: str, kind: str) -> str:
    """The fixed colour of a policy; of its kind where the policy has none of its own."""
    return POLICY_COLOURS.get(policy, KIND_COLOURS.get(kind, GREY))


def kind_rank(kind: str) -> int:
    """Where a kind of policy stands in legends."""
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def new_figure(height_in: float, width_in: float = WIDTH_IN) -> Figure:
    """An empty figure that no global state knows of, so drawing in a worker process leaves nothing behind."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def grid(axes: Axes, axis: str) -> None:
    """Light lines along one axis ("x", "y" or "both")."""
    axes.grid(True, axis=axis)  # type: ignore[arg-type]


def save(drawing: Drawing, stem: Path, dpi: int) -> list[Path]:
    """Write `stem`.svg, .png and .csv, each whole or not at all; equal drawings give equal bytes.

    Must be called under the style (`matplotlib.rc_context(RC)`), which the salt of the SVG is part of.
    """
    paths = [stem.with_suffix(suffix) for suffix in (".svg", ".png", ".csv")]
    with atomic_path(paths[0]) as temporary:
        drawing.figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None})
    with atomic_path(paths[1]) as temporary:
        drawing.figure.savefig(temporary, format="png", dpi=dpi, metadata={"Software": None})
    write_text(paths[2], format_csv(drawing.header, drawing.rows))
    return paths


def format_csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """CSV text with "\\n" line ends; numbers in full precision, an empty field for a missing value."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return stream.getvalue()
