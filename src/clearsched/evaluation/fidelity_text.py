"""Fidelity as two tables of text: choices as a whole, and in the parts that people think of."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from clearsched.decisions.parts import WHOLE, question
from clearsched.evaluation.fidelity import TOP, kept_name
from clearsched.evaluation.policies import label
from clearsched.layout import layout
from clearsched.problems.declarations import level_choice
from clearsched.problems.problem import Problem

Row = dict[str, Any]

WIDTH = 116


def fidelity_lines(problem: Problem, rows: Sequence[Row]) -> list[str]:
    """Both tables, of rows of schema FIDELITY; columns without a number are left out."""
    whole = [row for row in rows if row["part"] == WHOLE]
    split = _part_lines(problem, rows) if len(whole) < len(rows) else []
    return [*_whole_lines(problem, whole), *([""] if split else []), *split]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


Cell = Callable[[Any], str]

ORDER: tuple[tuple[str, str, Cell], ...] = (
    ("first", "top1", _share),
    (f"top {TOP}", "top3", _share),
    ("rank", "mean_rank", _number),
    ("tau", "kendall_tau", _number),
    ("regret", "regret", _share),
)
"""Column, field and form of what both tables tell."""


MEANINGS = {
    "top1": "First: the student's first choice is the teacher's.",
    "top3": f"Top {TOP}: it is among the student's first {TOP}.",
    "mean_rank": "Rank: mean place of the teacher's choice in the student's order.",
    "kendall_tau": "Tau: Kendall's, of both orders.",
    "regret": "Regret: how much less probable its answer is to the teacher than the teacher's best.",
}
"""What columns mean, by field."""


def _whole_lines(problem: Problem, rows: Sequence[Row]) -> list[str]:
    rank = problem.choices[0]
    level = level_choice(problem.choices)
    columns = list(ORDER)
    columns.insert(1, (f"same {rank.group}", "same_group", _share))
    columns.append(("error", "level_error", _number))
    columns = [column for column in columns if any(row[column[1]] is not None for row in rows)]
    body = [
        [
            *(label(problem, row["policy"]), row["choice"], row["decisions_of"].replace("_", " ")),
            f"{row['decisions']:,}",
            *(form(row[name]) for _, name, form in columns),
        ]
        for row in rows
    ]
    subsets = {row["decisions_of"] for row in rows}
    words = [rank.kept] if kept_name(rank) in subsets and rank.kept else []
    words += [f"none: {rank.none}"] if "none" in subsets else []
    header = ["student", "choice", "decisions of", "decisions", *(title for title, _, _ in columns)]
    told = ["Fidelity to the teacher on its logged held-out decisions with two answers or more"]
    told[0] += f" ({'; '.join(words)})." if words else "."
    told += [MEANINGS[name] for _, name, _ in columns if name in MEANINGS]
    told += [f"Error: mean distance of the {level.name}s ({level.unit})."] if level else []
    return [
        *textwrap.wrap(" ".join(told), WIDTH),
        "",
        *layout(header, body, left=3),
    ]


def _part_lines(problem: Problem, rows: Sequence[Row]) -> list[str]:
    rank, body = problem.choices[0], list[list[str]]()
    for row in rows:
        if row["decisions_of"] != "all" or (row["part"] == WHOLE and row["choice"] == rank.name):
            continue
        name = label(problem, row["policy"])
        if [name] not in [line[:1] for line in body]:
            body.append([name, *[""] * (len(ORDER) + 5)])
        told = [*(form(row[field]) for _, field, form in ORDER), _count(row["complexity"])]
        counts = [_count(row["decisions"]), _count(row["trivial"])]
        body.append([f"  {_question(problem, row)}", *counts, *told, *_cost_cells(row)])
    header = ["student", "decisions", "trivial", *(title for title, _, _ in ORDER), "to read", "cost (%)", "CI (%)"]
    costs = "Cost: the teacher's objective with the student's answers to that part alone, test episodes, paired."
    return [
        "The same decisions in the parts that people think of, each with the teacher's answers to those before it.",
        "Trivial: decisions in which a part has one answer, left out. To read: conditions and numbers of the student",
        "that can tell the answers of a part from each other.",
        *([costs] if any(row["cost_percent"] is not None for row in rows) else []),
        "",
        *layout(header, body, left=1),
    ]


def _question(problem: Problem, row: Row) -> str:
    """A part in words."""
    choice = next(choice for choice in problem.choices if choice.name == row["choice"])
    if row["part"] == WHOLE:
        return f"how many {choice.unit}" if choice.unit else choice.name
    return question(row["part"], choice)


def _cost_cells(row: Row) -> list[str]:
    """Cost and interval, empty where it was not measured, so that the columns are left out."""
    if row["cost_percent"] is None:
        return ["", ""]
    low, high = row["cost_low"], row["cost_high"]
    return [f"{row['cost_percent']:+.2f}", f"{low:+.2f} to {high:+.2f}" if low == low else "-"]
