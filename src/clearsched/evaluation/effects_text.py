"""How plain and how large the differences to the reference are, as text: a table below that of the means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clearsched.evaluation.policies import label
from clearsched.evaluation.significance import told_p
from clearsched.layout import layout
from clearsched.problems.problem import Problem

Row = dict[str, Any]


def effect_lines(problem: Problem, rows: Sequence[Row], confidence: float) -> list[str]:
    """The table with its legend, and the rule that the sentences follow; nothing where the reference is alone.

    Args:
        problem: what was scheduled.
        rows: those of the objective, of schema COMPARISON.
        confidence: level of the intervals.
    """
    others = [row for row in rows if row["policy"] != row["reference"]]
    if not others:
        return []
    header = ["policy", "better in (%)", "CI (%)", "effect", "p", "p (Holm)"]
    body = [
        [
            label(problem, row["policy"]),
            f"{100 * row['better_share']:.0f}",
            f"{100 * row['better_low']:.0f} to {100 * row['better_high']:.0f}",
            "-" if row["effect"] is None else f"{row['effect']:+.2f}",
            told_p(row["p"]),
            told_p(row["p_holm"]),
        ]
        for row in others
    ]
    reference, policies = (
        label(problem, rows[0]["reference"]),
        "1 policy" if len(others) == 1 else f"{len(others)} policies",
    )
    return [
        f"Next to {reference}, episode by episode. Better in: share of episodes, equal ones half.",
        "Effect: mean difference over the standard deviation of the differences. p: paired sign-flip test of the mean;",
        f"Holm: adjusted over {policies}. A difference is shown where that is at most {1 - confidence:.2g} and no",
        "interval that is told of it holds 0.",
        "",
        *layout(header, body, left=1),
    ]
