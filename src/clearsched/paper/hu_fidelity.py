"""Hu et al.: how often each student answers as the network, by kind of choice, and what it costs next to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from clearsched.evaluation.statistics import Interval
from clearsched.figures import style
from clearsched.figures.marks import spread
from clearsched.paper.material import HEADER, Levels, Material, row
from clearsched.schemas import FIDELITY, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORDS = {
    ("all", "whole"): "stage, all decisions",
    ("real", "whole"): "stage, real choices",
    ("all", "none"): "none or not",
    ("all", "keep"): "kept local or not",
    ("all", "group"): "which job",
    ("all", "one"): "which stage of it",
}
"""Subsets and parts of the rank choice, as `evaluation.fidelity` names them."""

LEVEL = "how many executors"
TEACHER = "teacher"

STATES = {"imitated": "as distilled", "stream": "refined"}
"""By base, and by the experiment of the same name: what has become of its students."""

NOT_ASKED = Interval(float("nan"), float("nan"), float("nan"), float("nan"), 0)
"""Of a student that a kind of choice tells nothing of."""


class Faithful(NamedTuple):
    """The students of a base beside its network."""

    top1: Mapping[str, Mapping[str, Interval]]  # by kind of choice and student, over held-out episodes of the log
    decisions: Mapping[str, int]  # by kind of choice
    costs: Mapping[str, Levels]  # mean JCT to the network's, %, by student


def draw(material: Material) -> style.Drawing:
    """Two panels of kinds of choice, students as distilled and refined; below, what both cost next to the network."""
    of = {state: read(material, base) for base, state in STATES.items()}
    order = [word for word in (*WORDS.values(), LEVEL) if any(word in each.top1 for each in of.values())]
    if not order:
        raise style.NothingToDraw("the log holds no decision of two answers or more")
    students = list(dict.fromkeys(name for each in of.values() for name in each.costs))
    shown = {name: material.subject.shown(name, "student") for name in students}
    figure = style.new_figure(height_in=2.2 + 0.42 * len(order) + 0.24 * len(students))
    grid = figure.add_gridspec(2, 2, height_ratios=[0.42 * len(order), 0.4 + 0.24 * len(students)])
    first = figure.add_subplot(grid[0, 0])
    panels = [first, figure.add_subplot(grid[0, 1], sharex=first, sharey=first)]
    for axes, (state, each) in zip(panels, of.items(), strict=True):
        _mark_shares(axes, each, order, shown)
        axes.set_title(state, loc="left")
        axes.set_xlabel("first choice is the network's")
    first.set_yticks(range(len(order)), [f"{word} ({of['as distilled'].decisions.get(word, 0):,})" for word in order])
    first.set_ylim(len(order) - 0.4, -0.6)
    first.set_xlim(right=1.01)
    panels[1].tick_params(labelleft=False)
    _mark_costs(figure.add_subplot(grid[1, :]), of, shown)
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return style.Drawing(figure, HEADER, [line for state, each in of.items() for line in rows_of(state, each, order)])


def read(material: Material, base: str) -> Faithful:
    """What the log of a base and its episodes tell of its students."""
    table, _ = read_table(material.file(base, "paper/fidelity.parquet"), FIDELITY)
    rank = material.subject.problem.choices[0].name
    top1: dict[str, dict[str, Interval]] = {}
    decisions: dict[str, int] = {}
    for told in table.to_pylist():
        word = WORDS.get((told["decisions_of"], told["part"]))
        if told["choice"] != rank:
            word = LEVEL if (told["decisions_of"], told["part"]) == ("all", "whole") else None
        if word and told["top1"] is not None:
            top1.setdefault(word, {})[told["policy"]] = _share(told)
            decisions[word] = max(decisions.get(word, 0), told["decisions"])
    runs = material.runs(base)
    students = [name for name, kind in runs.kinds.items() if kind == "student"]
    return Faithful(top1, decisions, {name: runs.difference(name, TEACHER) for name in students})


def _share(told: Mapping[str, Any]) -> Interval:
    """How often the first choice is the network's, with its interval if it has one; of a row of schema FIDELITY."""
    low, high = (float("nan") if told[end] is None else told[end] for end in ("top1_low", "top1_high"))
    return Interval(told["top1"], low, high, float("nan"), told["decisions"])


def rows_of(state: str, each: Faithful, order: list[str]) -> list[list[object]]:
    """Shares, decisions and costs of the students in one state."""
    rows = [
        row("top1", name, "student", f"{word}, {state}", value)
        for word in order
        for name, value in each.top1.get(word, {}).items()
    ]
    rows += [
        row("decisions", "", "", f"{word}, {state}", float(each.decisions[word]))
        for word in order
        if word in each.decisions
    ]
    return rows + [row("to_network_percent", name, "student", state, cost) for name, cost in each.costs.items()]


def _mark_shares(axes: Axes, each: Faithful, order: list[str], shown: Mapping[str, style.Shown]) -> None:
    """A group of marks for each kind of choice, a mark a student, with thin bars for the intervals."""
    for place, (name, look) in enumerate(shown.items()):
        at = [line + 0.13 * (place - (len(shown) - 1) / 2) for line in range(len(order))]
        values = [each.top1.get(word, {}).get(name, NOT_ASKED) for word in order]
        axes.plot([told.mean for told in values], at, linestyle="none", label=look.label, **style.points(look, 5))
        for told, line in zip(values, at, strict=True):
            if (error := spread(told.mean, told.low, told.high)) is not None:
                axes.errorbar([told.mean], [line], xerr=error, fmt="none", elinewidth=0.8, ecolor=look.look.colour)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    axes.tick_params(axis="y", length=0)
    style.grid(axes, "x")


def _mark_costs(axes: Axes, of: Mapping[str, Faithful], shown: Mapping[str, style.Shown]) -> None:
    """A row a student: hollow as distilled, full as refined, with the intervals over episodes."""
    for place, (name, look) in enumerate(shown.items()):
        for aside, (state, each) in zip((-0.17, 0.17), of.items(), strict=True):
            if name not in each.costs:
                continue
            told = each.costs[name]
            points = style.points(look, 5) | ({"markerfacecolor": "white"} if state == "as distilled" else {})
            error = spread(told.mean, told.low, told.high)
            axes.errorbar(
                [told.mean], [place + aside], xerr=error, linestyle="none", elinewidth=1.2, capsize=2, **points
            )
    axes.axvline(0.0, color=style.BLACK, linewidth=0.9, zorder=0.5)
    axes.set_yticks(range(len(shown)), [look.label for look in shown.values()])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("mean JCT to the network's, % (hollow: as distilled)")
    axes.tick_params(axis="y", length=0)
    style.grid(axes, "x")
