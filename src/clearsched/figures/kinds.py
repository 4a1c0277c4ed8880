"""The figures that every problem has; its own are told by the problem."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from clearsched.imports import PACKAGE
from clearsched.problems.declarations import Figure, Measure
from clearsched.problems.objectives import objectives
from clearsched.problems.problem import Problem
from clearsched.registry import Registry

ROOM = "clearsched.figures"

FIGURES: Registry[Figure] = Registry(
    "figure",
    (
        Figure(
            "learning_curve", "how the teacher learned", f"{ROOM}.learning_curve", ("teacher/learning_curve.parquet",)
        ),
        Figure(
            "students_kinds",
            "kinds of student side by side",
            f"{ROOM}.students_kinds",
            ("evaluation/students.parquet",),
        ),
        Figure("rules", "rule lists", f"{ROOM}.rules", ("students/{student}.json",)),
    ),
)
"""Beside these every problem has its comparison, whose name comes from the objective."""

_EVALUATION = ("evaluation/comparison.parquet", "evaluation/episodes.parquet")

COMPARED: Registry[Figure] = Registry(
    "figure of several scenarios",
    (
        Figure("data_sets", "data sets side by side", f"{ROOM}.data_sets", _EVALUATION),
        Figure("objectives", "one objective against another", f"{ROOM}.objectives", _EVALUATION),
    ),
)
"""Figures of several scenarios: modules with `draw_folders(folders) -> Drawing`."""


def compared_figures(objectives: Collection[str]) -> list[Figure]:
    """The figures that scenarios of these objectives have together."""
    return [figure for figure in COMPARED.values() if figure.name != "objectives" or len(set(objectives)) > 1]


def comparison_figure(measure: Measure) -> Figure:
    """The figure of all policies by an objective: jct_by_policy, cost_by_policy."""
    name = f"{'_'.join(measure.short.lower().split())}_by_policy"
    files = ("evaluation/comparison.parquet",)
    return Figure(name, f"{measure.short} by policy", f"{ROOM}.comparison", files, objective=measure.name)


def figures_of(problem: Problem) -> Registry[Figure]:
    """All figures of a problem: the comparison by each objective, those that every problem has, its own.

    Raises:
        ClearschedError: two of them have one name.
    """
    comparisons = (comparison_figure(measure) for measure in objectives(problem))
    return Registry("figure", (*comparisons, *FIGURES.values(), *problem.figures.values()))


def caption(figure: Figure) -> Path:
    """The caption of a figure: it stands beside its module."""
    return PACKAGE.parent / f"{figure.module.replace('.', '/')}.rst"
