"""Scenarios of different objectives side by side: what a policy made for one of them costs by the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched import schemas
from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import label
from clearsched.evaluation.statistics import bootstrap_mean, generator
from clearsched.figures import style
from clearsched.figures.data_sets import problem_of
from clearsched.layout import with_unit
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import find_objective
from clearsched.problems.problem import Problem
from clearsched.schemas import COMPARISON, read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEARNED = ("searched", "teacher")
"""The kinds of policy that are drawn beside the best heuristic: those that are made for the objective itself."""

BEST = "best heuristic"

COLOURS = (style.BLUE, style.VERMILION, style.GREEN, style.ORANGE, style.PURPLE, style.BROWN, style.SKY, style.BLACK)
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")

Row = dict[str, Any]


def objectives_of(folders: Sequence[Path]) -> list[Measure]:
    """The objectives of scenarios' evaluations, each once, in the order in which they come.

    Raises:
        ClearschedError: a folder has no evaluation, or they are of different problems.
    """
    problem = problem_of(folders)
    return list(dict.fromkeys(_objective(problem, folder) for folder in folders))


def draw_folders(folders: Sequence[Path]) -> style.Drawing:
    """Draw the first objective against the second one, a point a policy and scenario.

    Drawn are the heuristic that was best on the validation episodes and what was searched or trained, as far as it was
    evaluated.

    Args:
        folders: `results/<scenario>` each, with `evaluation/comparison.parquet` and `evaluation/episodes.parquet`;
            their names name the scenarios.

    Raises:
        ClearschedError: a file is missing, the folders are of different problems, or all have one objective.
    """
    problem, measures = problem_of(folders), objectives_of(folders)
    if len(measures) < 2:
        raise ClearschedError(f"figures compare: all scenarios are for {measures[0].name}: two objectives needed")
    across, up = measures[:2]
    rows: list[Row] = []
    for folder in folders:
        rows += _rows(problem, folder, (across, up))
    figure = style.new_figure(height_in=4.6)
    axes = figure.subplots()
    _draw(axes, rows, (across, up))
    for measure, tell in ((across, axes.set_xlabel), (up, axes.set_ylabel)):
        better = "lower is better" if measure.lower_is_better else "higher is better"
        tell(style.wrapped(f"{with_unit(measure.label, measure.unit)}, {better}", 48))
    style.grid(axes, "both")
    _legend(figure, rows, {measure.name: measure.short for measure in measures})
    header = list(rows[0])
    return style.Drawing(figure, header, [[row[name] for name in header] for row in rows])


def _objective(problem: Problem, folder: Path) -> Measure:
    path = folder / "evaluation" / "comparison.parquet"
    _, metadata = read_table(path, COMPARISON)
    return find_objective(problem, metadata.get("objective"), f"{path}: objective")


def _rows(problem: Problem, folder: Path, measures: Sequence[Measure]) -> list[Row]:
    """Of a scenario's policies the mean of each measure over the test episodes, with its bootstrap interval."""
    compared, metadata = read_table(folder / "evaluation" / "comparison.parquet", COMPARISON)
    table, _ = read_table(folder / "evaluation" / "episodes.parquet", schemas.episodes(problem.measures))
    names = np.array(table["policy"].to_pylist())
    rows = []
    for row in compared.to_pylist():
        is_best = row["policy"] == row["reference"]
        if row["measure"] != metadata["objective"] or not (is_best or row["kind"] in LEARNED):
            continue
        told = {"scenario": folder.resolve().name, "objective": row["measure"]}
        told |= {"shown_as": BEST if is_best else label(problem, row["policy"])}
        told |= {name: row[name] for name in ("policy", "kind", "settings", "episodes")}
        for measure in measures:
            values = table[measure.name].to_numpy()[names == row["policy"]]
            found = bootstrap_mean(values, generator(0, "objectives"))
            name = measure.name
            told |= {name: found.mean, f"{name}_ci_low": found.low, f"{name}_ci_high": found.high}
        rows.append(told)
    return rows


def _draw(axes: Axes, rows: list[Row], measures: tuple[Measure, Measure]) -> None:
    """A point a row; those of a policy in different scenarios are joined in the order of the scenarios."""
    across, up = (measure.name for measure in measures)
    scenarios, shown = _names(rows, "scenario"), _names(rows, "shown_as")
    for policy in shown:
        of = [row for row in rows if row["shown_as"] == policy]
        x, y = ([row[name] for row in of] for name in (across, up))
        axes.plot(x, y, color=style.GREY, linewidth=0.8, alpha=0.7, zorder=1)
    for row in rows:
        axes.errorbar(
            [row[across]],
            [row[up]],
            xerr=_ends(row, across),
            yerr=_ends(row, up),
            linestyle="none",
            color=COLOURS[scenarios.index(row["scenario"]) % len(COLOURS)],
            marker=MARKERS[shown.index(row["shown_as"]) % len(MARKERS)],
            markersize=7,
            elinewidth=1.0,
            capsize=2.0,
            **style.fill(row["kind"]),
        )


def _ends(row: Row, name: str) -> list[list[float]] | None:
    """The two lengths of an error bar; None where one episode tells no spread."""
    value, low, high = (row[key] for key in (name, f"{name}_ci_low", f"{name}_ci_high"))
    return [[max(value - low, 0.0)], [max(high - value, 0.0)]] if np.isfinite(low + high) else None


def _legend(figure: Any, rows: list[Row], short: dict[str, str]) -> None:
    """Scenarios by colour, policies by marker."""
    from matplotlib.lines import Line2D

    objective = {row["scenario"]: row["objective"] for row in rows}
    kind = {row["shown_as"]: row["kind"] for row in rows}
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            color=COLOURS[place % len(COLOURS)],
            label=f"{name} (for {short[made]})",
        )
        for place, (name, made) in enumerate(objective.items())
    ]
    handles += [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=MARKERS[place % len(MARKERS)],
            color=style.BLACK,
            label=name,
            **style.fill(of),
        )
        for place, (name, of) in enumerate(kind.items())
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)


def _names(rows: list[Row], column: str) -> list[str]:
    """The values of a column, each once, in the order in which they come."""
    return list(dict.fromkeys(row[column] for row in rows))
