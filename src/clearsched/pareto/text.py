"""The sizes of students as a table of fixed width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clearsched.evaluation.policies import label
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.students import beside_columns, difference_cells
from clearsched.layout import decimals, layout, with_unit
from clearsched.pareto.series import called
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Instance, Problem
from clearsched.search.safety import LIMIT

if TYPE_CHECKING:
    from clearsched.params import Params

HEADER = ("student", "size", "to read", "unseen", "test", "to teacher (%)", "CI (%)", "p", "first choice")


def render(problem: Problem, instance: Instance, rows: Sequence[dict[str, Any]], base: Rollout, params: Params) -> str:
    """What was run, and a line a size."""
    objective, within = instance.objective, 100 * params.students.pareto.within
    test = instance.describe("test", instance.split("test"))
    places, confidence = decimals(max(abs(row["mean"]) for row in rows)), 100 * params.evaluation.confidence
    lines = [
        f"{with_unit(objective.label.capitalize(), objective.unit)} of students of several sizes, over {test}.",
        f"The teacher: {base.objective.mean():.{places}f}. CI: {confidence:g} %, bootstrap, paired;",
        "p: of the paired test, adjusted by Holm over all rows.",
        "To read: conditions, rules, terms, nodes. Unseen: mean over the episodes that sizes are chosen on;",
        f"*: the smallest size within {within:g} % of the best there.",
        "First choice: share of the real choices in which it is the teacher's.",
        "",
    ]
    lines += layout(HEADER, [_cells(problem, row, places) for row in rows], 1)
    lines += _beside_lines(problem, objective, rows, places)
    return "\n".join(lines + _unsafe_lines(problem, rows) + _stray_lines(problem, rows)) + "\n"


def _beside_lines(problem: Problem, objective: Measure, rows: Sequence[dict[str, Any]], places: int) -> Iterator[str]:
    """What a mean hides, a row a size."""
    beside, cells = beside_columns(problem, rows)
    plain = label(problem, problem.baseline)
    yield from ("", f"Beside the mean. Worst: the worst episode. x {plain}: the most next to {plain} on any.", "")
    body = [
        [
            called(label(problem, row["kind"]), row["by"]),
            str(row["size"]),
            f"{row['worst']:.{places}f}",
            "" if row["worst_to_baseline"] is None else f"{row['worst_to_baseline']:.2f}",
            *own,
        ]
        for row, own in zip(rows, cells, strict=True)
    ]
    yield from layout(["student", "size", with_unit("worst", objective.unit), f"x {plain}", *beside], body, left=1)


def _stray_lines(problem: Problem, rows: Sequence[dict[str, Any]]) -> list[str]:
    """The sizes that are far worse than the baseline on a test episode, in a sentence."""
    found = [
        f"{called(label(problem, row['kind']), row['by'])} {row['size']}: {row['worst_to_baseline']:.2f}"
        for row in rows
        if (row["worst_to_baseline"] or 0.0) > LIMIT
    ]
    plain = label(problem, problem.baseline)
    return ["", f"Above {LIMIT:g} times {plain} on a test episode: {', '.join(found)}."] if found else []


def _unsafe_lines(problem: Problem, rows: Sequence[dict[str, Any]]) -> list[str]:
    """The sizes that are not safe, in a sentence; apart those that are picked since no other of the kind is safe."""
    lines = []
    for picked, told in ((False, "so not picked"), (True, "picked since no size of the kind is safe")):
        found = [
            f"{called(label(problem, row['kind']), row['by'])} {row['size']}"
            for row in rows
            if not row["safe"] and row["picked"] == picked
        ]
        if found:
            lines += ["", f"Not safe, since they stray under stress, and {told}: {', '.join(found)}."]
    return lines


def _cells(problem: Problem, row: dict[str, Any], places: int) -> tuple[str, ...]:
    return (
        called(label(problem, row["kind"]), row["by"]),
        f"{row['size']}{'*' if row['picked'] else ' '}",
        str(row["complexity"]),
        "-" if row["unseen"] is None else f"{row['unseen']:.{places}f}",
        f"{row['mean']:.{places}f}",
        *difference_cells(row),
        "-" if row["top1"] is None else f"{100 * row['top1']:.1f} %",
    )
