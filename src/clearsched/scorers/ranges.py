"""What a feature can be at all, as far as its declaration tells."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from clearsched.compiled.feature import Feature
from clearsched.problems.declarations import Choice, rank_choice
from clearsched.scorers.conditions import Comparison, Condition, tighten

COUNTED = ("number of ", "how often ")
"""How the meaning of a count begins where it does not begin with its unit."""


def is_flag(feature: Feature, choices: Sequence[Choice]) -> bool:
    """Whether it is 0 or 1: the problem says so, or it is a comparison."""
    rank = rank_choice(choices)
    return feature.name in (rank.keeps, rank.ready) or (
        bool(feature.formula) and isinstance(ast.parse(feature.formula, mode="eval").body, ast.Compare)
    )


def is_count(feature: Feature) -> bool:
    """Whether it is a number of things, as `jobs that wait`, in jobs, is: one quantity, not a difference of two."""
    counted = (*COUNTED, *([f"{feature.unit} "] if feature.unit else []))
    return feature.formula.isidentifier() and feature.meaning.startswith(counted)


def never(conditions: Sequence[Condition], choice: Choice, choices: Sequence[Choice]) -> str:
    """Why no row can meet conditions on the features of a choice: "job_is_late is 0 or 1"; empty if one may."""
    for column in dict.fromkeys(condition.feature for condition in conditions):
        feature = choice.features[column]
        if not (is_flag(feature, choices) or is_count(feature)):
            continue
        asked = [condition for condition in conditions if condition.feature == column]
        known, told = [Condition(column, False, 0.0)], "is never below 0"
        if is_flag(feature, choices):
            known, told = [*known, Comparison(feature.name, "<=", 1.0, "").condition(column)], "is 0 or 1"
        if tighten([*asked, *known]) is None:
            return f"{feature.name} {told}"
    return ""
