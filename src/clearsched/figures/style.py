"""One look for all figures: colours, markers, fonts, sizes, and writing them so that equal data gives equal bytes."""

from __future__ import annotations

import csv
import io
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clearsched.errors import ClearschedError, in_a_line
from clearsched.files import atomic_path, write_text
from clearsched.problems.problem import Problem
from clearsched.registry import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of M. Okabe and K. Ito, Color Universal Design (2008): told apart with any common colour blindness. Brown
# stands in place of its yellow, which is faint on white.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BROWN, BLUE, VERMILION, PURPLE, GREY = "#7A4B12", "#0072B2", "#D55E00", "#CC79A7", "#8C8C8C"

PALETTE = (
    *(Look(colour, "o") for colour in (BLUE, VERMILION)),
    *(Look(colour, "s") for colour in (GREEN, ORANGE)),
    *(Look(colour, "D") for colour in (VERMILION, BLUE)),
    *(Look(colour, "^") for colour in (SKY, BROWN)),
    *(Look(colour, "v") for colour in (ORANGE, GREEN)),
    *(Look(colour, "P") for colour in (PURPLE, BLACK)),
    *(Look(colour, "X") for colour in (BLACK, PURPLE)),
    *(Look(colour, "*") for colour in (BROWN, SKY)),
    *(Look(colour, "p") for colour in (BLUE, VERMILION)),
    *(Look(colour, "h") for colour in (GREEN, ORANGE)),
    *(Look(colour, "<") for colour in (SKY, BROWN)),
    *(Look(colour, ">") for colour in (PURPLE, BLACK)),
)
"""Looks that the registries choose from: eight colours, each with three markers; looks of one marker are far apart."""

KIND_FILLS: dict[str, Any] = {"heuristic": "none", "searched": "left", "teacher": "full", "student": "bottom"}
"""How much of its marker a kind of policy fills."""

KIND_DASHES: dict[str, Any] = {
    "heuristic": (0, (4, 1.5)),
    "searched": (0, (6, 1, 1, 1)),
    "teacher": "-",
    "student": "-",
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


class NothingToDraw(ClearschedError):
    """Data without a picture, though nothing is wrong with it: a page with the reason stands in the figure's place."""


@dataclass(frozen=True)
class Drawing:
    """A finished figure and the data behind it: one header and rows of plain values."""

    figure: Figure
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Shown(NamedTuple):
    """How a policy is shown."""

    label: str
    look: Look
    kind: str  # one of `problems.policy.KINDS`


class Subject(NamedTuple):
    """What a figure is about: a problem, and how its policies are shown. Handed to the `draw` of every figure."""

    problem: Problem
    policies: Mapping[str, Shown]

    def shown(self, policy: str, kind: str = "heuristic") -> Shown:
        """How a policy is shown; one that stands in no registry in grey, under its own name."""
        return self.policies.get(policy) or Shown(plain(policy).replace("_", " "), Look(GREY, "h"), kind)


def points(shown: Shown, size: float = 6.0) -> dict[str, Any]:
    """The marker of a policy, as far as its kind fills it, for matplotlib's `plot` and `errorbar`."""
    return {"color": shown.look.colour, "marker": shown.look.marker, "markersize": size} | fill(shown.kind)


def fill(kind: str) -> dict[str, Any]:
    """How much of its marker a kind fills."""
    how = KIND_FILLS.get(kind, "full")
    if how == "none":  # white, so that no line is seen through it
        return {"markerfacecolor": "white"}
    return {"fillstyle": how, "markerfacecoloralt": "white"}


def kind_rank(kind: str) -> int:
    """Where a kind of policy stands in legends."""
    kinds = list(KIND_FILLS)
    return kinds.index(kind) if kind in kinds else len(kinds)


def note(title: str, reason: str) -> Drawing:
    """A page that says why there is no picture."""
    figure = new_figure(height_in=1.2)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    figure.text(0.01, 0.4, reason, wrap=True, parse_math=False)
    return Drawing(figure, ["figure", "note"], [[title, reason]])


def plain(text: str) -> str:
    """Text of a user, in which no dollar sign begins a formula."""
    return text.replace("$", r"\$")


def draw_or_say(label: str, draw: Callable[[], Drawing], stem: Path, dpi: int) -> list[Path]:
    """Draw and write `stem`.svg, .png and .csv; where that can't be done a page that says why, since no picture is
    worth the run that it belongs to.

    `label`: heads that page.

    Raises:
        ClearschedError: a file that the picture is made of is missing or not of its schema, or nothing can be written.
    """
    import matplotlib

    with matplotlib.rc_context(RC):
        try:
            return save(draw(), stem, dpi)
        except NothingToDraw as reason:
            why = str(reason)
        except ClearschedError:
            raise
        except Exception as error:
            why = f"Could not be drawn: {in_a_line(error)}"
            print(f"clearsched: {stem.name}: {why}", file=sys.stderr)
        return save(note(label, why), stem, dpi)


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


def wrapped(text: str, characters: int) -> str:
    """A label in lines of at most so many characters, for objectives whose names are sentences."""
    return textwrap.fill(text, characters)


def format_csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """CSV text with "\\n" line ends; numbers in full precision, an empty field for a missing value."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return stream.getvalue()
