"""The figures that every problem has; its own are told by the problem."""

from __future__ import annotations

from clearsched.problems.problem import Figure, Problem
from clearsched.registry import Registry

ROOM = "clearsched.figures"

FIGURES: Registry[Figure] = Registry(
    "figure",
    (
        Figure(
            "learning_curve", "how the teacher learned", f"{ROOM}.learning_curve", ("teacher/learning_curve.parquet",)
        ),
        Figure("rules", "rule lists", f"{ROOM}.rules", ("students/{student}.json",)),
    ),
)
"""Beside these every problem has its comparison, whose name comes from the objective."""


def comparison_figure(problem: Problem) -> Figure:
    """The figure of all policies by the objective: jct_by_policy, cost_by_policy."""
    short = problem.measures[0].short
    name = f"{'_'.join(short.lower().split())}_by_policy"
    return Figure(name, f"{short} by policy", f"{ROOM}.comparison", ("evaluation/comparison.parquet",))


def figures_of(problem: Problem) -> Registry[Figure]:
    """All figures of a problem: the comparison, those that every problem has, its own.

    Raises:
        ClearschedError: two of them have one name.
    """
    return Registry("figure", (comparison_figure(problem), *FIGURES.values(), *problem.figures.values()))
