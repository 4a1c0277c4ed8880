"""Figures: each module reads result files and draws one picture, with the data behind it as CSV.

A figure never runs anything: delete the folder `figures` and it is drawn again from the files of the other stages.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.figures.kinds import compared_figures, figures_of
from clearsched.figures.settings import DEFAULT_DPI
from clearsched.problems import DEFAULT, find_problem
from clearsched.problems.problem import Problem
from clearsched.registry import Registry, load

if TYPE_CHECKING:
    from clearsched.figures.style import Subject

__all__ = ["compare", "draw", "draw_module", "draw_trace", "figures_of"]


def draw(name: str, results_dir: str | Path, params: Mapping[str, Any] | None = None) -> list[Path]:
    """Draw one figure from the files of a scenario and write `figures/<name>.svg`, `.png` and `.csv` below it.

    Data that has no picture does not stop a run: a page with the reason stands in the figure's place.

    Args:
        name: one of `figures_of(problem)`.
        results_dir: folder of the scenario, `results/<scenario>`.
        params: settings of the stage; `problem` is what was scheduled, `figures.dpi` the resolution of the PNG, dots
            an inch.

    Returns:
        The three paths.

    Raises:
        ClearschedError: the figure is unknown, or a file it reads is missing or not of its schema.
    """
    params = params or {}
    problem = find_problem(params.get("problem", DEFAULT))
    figure = figures_of(problem)[name]
    results_dir, dpi = Path(results_dir), int((params.get("figures") or {}).get("dpi", DEFAULT_DPI))
    return draw_module(figure.module, figure.label, problem, results_dir, results_dir / "figures" / name, dpi)


def draw_module(
    name: str, label: str, problem: Problem, results_dir: Path, stem: Path, dpi: int = DEFAULT_DPI
) -> list[Path]:
    """Draw by a module with `draw(results_dir, subject)`; write `stem`.svg, .png and .csv; the three paths.

    `label`: heads the page that stands in place of a picture where there is none.

    Raises:
        ClearschedError: a file that it reads is missing or not of its schema.
    """
    from clearsched.figures import style

    module = importlib.import_module(name)
    return style.draw_or_say(label, lambda: module.draw(results_dir, subject(problem)), stem, dpi)


def subject(problem: Problem) -> Subject:
    """The problem, and how its policies are shown by the registries."""
    from clearsched.evaluation.policies import policies_of
    from clearsched.figures.style import Shown, Subject

    known = policies_of(problem).values()
    return Subject(problem, {policy.name: Shown(policy.label, policy.look, policy.kind) for policy in known})


def draw_trace(
    path: str | Path,
    folder: str | Path,
    names: Sequence[str] | None = None,
    dpi: int = DEFAULT_DPI,
    problem: str = DEFAULT,
) -> list[Path]:
    """Draw a trace into a folder: `<name>.svg`, `.png` and `.csv` of each figure.

    Args:
        path: a trace, Parquet.
        folder: made if it is not there.
        names: of the problem's figures that show a trace; None for all that the trace has the data for.
        dpi: resolution of the PNG, dots an inch.
        problem: whose trace it is.

    Returns:
        The paths.

    Raises:
        ClearschedError: the figure is unknown, the file is no trace, or lacks what a figure asked for shows.
    """
    own = find_problem(problem).figures.values()
    known = Registry("figure of a trace", (figure for figure in own if figure.shows_trace))
    wanted = [known[name] for name in names or known]
    from clearsched.figures import style

    # All figures of a trace read it once.
    measured = {reader: load(reader)(path) for reader in dict.fromkeys(figure.measure for figure in wanted)}
    written = []
    for figure in wanted:
        module, seen = importlib.import_module(figure.module), measured[figure.measure]
        applies = getattr(module, "applies", None)
        if not names and applies is not None and not applies(seen):
            continue
        written += style.draw_or_say(figure.label, partial(module.draw_trace, seen), Path(folder) / figure.name, dpi)
    return written


def compare(folders: Sequence[str | Path], out: str | Path, dpi: int = DEFAULT_DPI) -> list[Path]:
    """Draw the evaluations of several scenarios: `<name>.svg`, `.png` and `.csv` of each figure in the folder `out`.

    `data_sets` puts them side by side; where their objectives differ, `objectives` draws one against another.

    Args:
        folders: `results/<scenario>` each.
        out: made if it is not there.
        dpi: resolution of the PNG, dots an inch.

    Raises:
        ClearschedError: a folder has no evaluation, two have the same name, or they are of different problems.
    """
    from clearsched.figures import style
    from clearsched.figures.objectives import objectives_of

    scenarios = [Path(folder) for folder in folders]
    written = []
    for figure in compared_figures([measure.name for measure in objectives_of(scenarios)]):
        module = importlib.import_module(figure.module)
        written += style.draw_or_say(
            figure.label, partial(module.draw_folders, scenarios), Path(out) / figure.name, dpi
        )
    return written
