"""The features of every problem, from the declarations that the simulator's loop is compiled from."""

from __future__ import annotations

from clearsched.compiled.feature import Feature
from clearsched.decisions.schema import log_features
from clearsched.problems import PROBLEMS, find_problem
from clearsched.problems.declarations import Choice
from clearsched.problems.problem import Problem
from site_pages.markdown import code, escaped, sentence, table

HEAD = """\
# Features

What a policy can see of a candidate. The formula is what the simulator compiles, in the names of the quantities that
[the decision log](../decisions.md#the-features) and [deferrable jobs](../deferrable-jobs.md#features) explain.
*Better*: the direction in which a candidate becomes the better choice, all else equal; empty where either can be
defended. *Shared*: all candidates of a decision have the same value.
"""

DIRECTIONS = {+1: "more", -1: "less", 0: ""}


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for name in PROBLEMS:
        lines += _problem(find_problem(name))
    return "\n".join(lines) + "\n"


def _problem(problem: Problem) -> list[str]:
    shown = log_features(problem)
    head = ["feature", "unit", "meaning", "formula", "better", "shared"]
    choices = [_choice(choice, len(shown)) for choice in problem.choices]
    return [f"## {problem.name}", "", *choices, "", *table(head, map(_row, shown)), ""]


def _choice(choice: Choice, count: int) -> str:
    read = f"all {count}" if len(choice.features) == count else ", ".join(f"`{each.name}`" for each in choice.features)
    none = f" *None* means: {escaped(sentence(choice.none))}" if choice.none else ""
    return f"* `{choice.name}`: {escaped(choice.question)} It reads {read}.{none}"


def _row(feature: Feature) -> list[str]:
    return [
        code(feature.name),
        escaped(feature.unit),
        escaped(feature.meaning),
        code(feature.formula),
        DIRECTIONS[feature.monotone],
        "yes" if feature.per_decision else "",
    ]
