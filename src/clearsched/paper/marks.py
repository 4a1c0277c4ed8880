"""What several of the papers' figures draw: policies by a number with its interval, lines by policy, distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clearsched.evaluation.statistics import Interval
from clearsched.figures import style
from clearsched.figures.marks import spread
from clearsched.paper.material import Levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEURISTICS = ("fifo", "fair", "weighted_fair", "capped_srpt")
"""Those that are drawn where all policies would be too many."""

STUDENTS = 2
"""So many of them, the first that were fitted."""


def shown_of(kinds: Mapping[str, str], without: Sequence[str] = (), students: int = STUDENTS) -> list[str]:
    """Of the policies that were run, by kind: a few heuristics, all searched ones, the teacher, some students."""
    found = [name for name in HEURISTICS if name in kinds]
    found += [name for kind in ("searched", "teacher") for name, own in kinds.items() if own == kind]
    found += [name for name, kind in kinds.items() if kind == "student"][:students]
    return [name for name in found if name not in without]


def dots(
    axes: Axes, values: Mapping[str, Interval], kinds: Mapping[str, str], subject: style.Subject, told: str = "{:.1f}"
) -> None:
    """A row a policy, in the order of `values`: the number, its interval, and the number in words.

    Faint, and in brackets: a comparison in which no difference is shown.
    """
    for place, (name, value) in enumerate(values.items()):
        look: dict[str, Any] = style.points(subject.shown(name, kinds[name]), 6)
        wide_bar(axes, value, place, look["color"])
        words, look = told.format(value.mean), look | strength(value)
        axes.errorbar(
            [value.mean],
            [place],
            xerr=spread(value.mean, value.low, value.high),
            linestyle="none",
            elinewidth=1.3,
            capsize=2.5,
            **look,
        )
        axes.annotate(
            f"({words})" if "alpha" in look else words,
            (1.0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            annotation_clip=False,
        )
    axes.set_yticks(range(len(values)), [subject.shown(name, kinds[name]).label for name in values])
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    style.grid(axes, "x")


BESIDE = 5.0
"""Points of type from a bar to the next where those of several policies stand at one place."""

WIDE: Mapping[str, Any] = {"alpha": 0.3, "linewidth": 5, "solid_capstyle": "butt"}
"""How an interval over training seeds and episodes looks."""


FAINT = 0.4


def strength(value: Interval, nothing: float = 0.0) -> dict[str, Any]:
    """A comparison in which no difference is shown is drawn faint; `nothing`: what it comes to of policies alike."""
    unshown = isinstance(value, Levels) and value.p is not None and not value.shown_from(nothing)
    return {"alpha": FAINT} if unshown else {}


def wide_bar(axes: Axes, value: Interval, place: float, colour: str) -> None:
    """The interval over training seeds and episodes, a pale band behind that over episodes; none with one seed."""
    both = value.both if isinstance(value, Levels) else None
    if both is not None:
        axes.plot([both.low, both.high], [place] * 2, color=colour, **WIDE)


def logarithmic(axes: Axes, which: Literal["x", "y"] = "x", subs: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """A logarithmic axis with plain numbers at `subs` of each decade, so that less than one decade has some too."""
    from matplotlib.ticker import LogLocator, NullFormatter

    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def distribution(axes: Axes, values: np.ndarray, shown: style.Shown, place: float = 0.0) -> None:
    """The share of `values` up to each of them, as steps; `place`: where its markers begin, 0 to 1."""
    ordered = np.sort(values)
    axes.plot(
        np.append(ordered, ordered[-1]),
        np.append(np.arange(len(ordered)), len(ordered)) / len(ordered),
        drawstyle="steps-post",
        linestyle=style.KIND_DASHES.get(shown.kind, "-"),
        linewidth=1.2 if shown.kind == "heuristic" else 1.7,
        markevery=(0.05 + 0.2 * place, 0.25),
        label=shown.label,
        **style.points(shown, 5),
    )


def line(axes: Axes, x: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray, shown: style.Shown) -> None:
    """A line by policy with its markers."""
    axes.plot(
        x,
        values,
        linestyle=style.KIND_DASHES.get(shown.kind, "-"),
        linewidth=1.2 if shown.kind == "heuristic" else 1.7,
        label=shown.label,
        **style.points(shown, 5),
    )


def banded(axes: Axes, x: Sequence[float], values: Sequence[Interval], shown: style.Shown, aside: float = 0.0) -> None:
    """A line with its intervals: over episodes a band, over training seeds and episodes a pale bar at each point.

    `aside`: points of type by which the bars stand to the right, so that those of several policies are told apart.
    """
    from matplotlib.transforms import ScaledTranslation

    colour = shown.look.colour
    line(axes, x, [value.mean for value in values], shown)
    axes.fill_between(
        x, [value.low for value in values], [value.high for value in values], color=colour, alpha=0.12, linewidth=0
    )
    moved = axes.transData + ScaledTranslation(aside / 72, 0, axes.figure.dpi_scale_trans)
    for place, value in zip(x, values, strict=True):
        both = value.both if isinstance(value, Levels) else None
        if both is not None:
            axes.plot([place] * 2, [both.low, both.high], color=colour, transform=moved, **WIDE)
