"""The edge cases as text: two tables of all policies and cases, what they say in sentences, and a table a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clearsched.edge_cases.case import Case, Row, order_of
from clearsched.evaluation.guards import MEASURES as GUARDED
from clearsched.evaluation.policies import label
from clearsched.evaluation.seeds import LEARNED
from clearsched.evaluation.significance import direction_of
from clearsched.evaluation.statistics import Bootstrap
from clearsched.evaluation.verdicts import Verdict, verdicts_on
from clearsched.evaluation.worst import stray_lines
from clearsched.layout import decimals, layout, with_unit
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import objectives
from clearsched.problems.problem import Problem


def render(problem: Problem, objective: Measure, cases: Sequence[Case], bootstrap: Bootstrap) -> str:
    """The whole text.

    Args:
        problem: what was scheduled.
        objective: the measure that policies are compared by.
        cases: each with the same policies.
        bootstrap: how intervals are drawn.
    """
    reference = label(problem, cases[0].rows[0]["reference"])
    measured = f"{objective.label[:1].upper()}{objective.label[1:]}"
    better = "lower" if objective.lower_is_better else "higher"
    lines = [
        f"{measured} ({objective.short}) of every policy on every edge case; {better} is better.",
        f"Paired difference to {reference} in % of its mean on the same episodes; in brackets where no difference",
        f"is shown: its {100 * bootstrap.confidence:g} % interval holds 0, or its p, adjusted by Holm over policies,"
        f" is above {1 - bootstrap.confidence:.2g}.",
        "All policies are as tuned, searched and trained on the normal load.",
        "",
        *_matrix(problem, objective, cases, partial(_difference, bootstrap)),
        "",
        *_ratios(problem, objective, cases),
        *_sentences(problem, objective, cases, bootstrap),
        "",
        *_legend(problem, objective, cases),
    ]
    for case in cases:
        lines += ["", f"{case.label}: {case.setting}", "", *_case_lines(problem, objective, case, bootstrap)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _matrix(problem: Problem, objective: Measure, cases: Sequence[Case], told: Any) -> list[str]:
    """Policies by cases; `told` of a row is its cell."""
    by_case: list[Mapping[str, Row]] = [{row["policy"]: row for row in case.of(objective)} for case in cases]
    body = [
        [label(problem, policy), *(told(rows[policy]) if policy in rows else "" for rows in by_case)]
        for policy in order_of(cases, objective)
    ]
    return layout(["policy", *(case.label for case in cases)], body, left=1)


def _difference(bootstrap: Bootstrap, row: Row) -> str:
    if row["policy"] == row["reference"]:
        return "reference"
    percent = row["difference_percent"]
    told = f"{row['difference']:+.3g}" if percent is None else f"{percent:+.1f}"
    return f"{told} " if direction_of(row, bootstrap.confidence) else f"({told})"


def _ratio(row: Row) -> str:
    return "" if row["worst_to_baseline"] is None else f"{row['worst_to_baseline']:.2f}"


def _ratios(problem: Problem, objective: Measure, cases: Sequence[Case]) -> list[str]:
    """The worst episode of each policy next to the baseline, where that was run."""
    if all(row["worst_to_baseline"] is None for case in cases for row in case.of(objective)):
        return []
    plain = label(problem, problem.baseline)
    return [
        f"The most, on any episode, that a policy takes next to {plain} (x {plain})",
        "",
        *_matrix(problem, objective, cases, _ratio),
        "",
    ]


def _sentences(problem: Problem, objective: Measure, cases: Sequence[Case], bootstrap: Bootstrap) -> Iterator[str]:
    """Which learned policies lose to the reference or a yardstick, on which case, and who strays from the baseline."""
    found = [
        f"* {case.label}: {verdict}"
        for case in cases
        for verdict in verdicts_of(problem, objective, case, bootstrap)
        if verdict.is_worse
    ]
    if not found and any(row["kind"] in LEARNED for row in cases[0].of(objective)):
        others = dict.fromkeys((cases[0].of(objective)[0]["reference"], *problem.yardsticks))
        told = ", ".join(label(problem, name) for name in others if name in cases[0].values)
        found = [f"* no learned policy is shown to be worse than {told} on any edge case"]
    yield from found
    yield from dict.fromkeys(line for case in cases for line in case.unsafe)
    for case in cases:
        yield from stray_lines(problem, case.of(objective), f"{case.label}: ")


def verdicts_of(problem: Problem, objective: Measure, case: Case, bootstrap: Bootstrap) -> list[Verdict]:
    """Every learned policy against the reference and the yardsticks of the problem, in % of their mean on the case."""
    rows = case.of(objective)
    others = dict.fromkeys((rows[0]["reference"], *(name for name in problem.yardsticks if name in case.values)))
    learned = [row["policy"] for row in rows if row["kind"] in LEARNED]
    return verdicts_on(problem, objective, case.values, learned, list(others), bootstrap)


def _case_lines(problem: Problem, objective: Measure, case: Case, bootstrap: Bootstrap) -> list[str]:
    """A table of one case: the objective with its difference, what else may be one, and what belongs beside a mean."""
    rows = case.of(objective)
    columns = [(measure, *_column(case, measure)) for measure in _others(problem, objective) if case.of(measure)]
    places = decimals(max(abs(row["mean"]) for row in rows))
    header = ["policy", "kind", with_unit(objective.short, objective.unit), "difference (%)", "CI (%)", "worst"]
    header += [f"x {label(problem, problem.baseline)}"]
    header += [with_unit(measure.short, measure.unit) for measure, _, _ in columns]
    body = []
    for row in rows:
        base = row["mean"] - row["difference"]
        ends = [100 * row[name] / abs(base) if base else float("nan") for name in ("difference_low", "difference_high")]
        told = f"{ends[0]:+.1f} to {ends[1]:+.1f}" if np.isfinite(sum(ends)) else ""
        cells = [
            label(problem, row["policy"]),
            row["kind"],
            f"{row['mean']:.{places}f}",
            _difference(bootstrap, row).strip(),
        ]
        cells += ["" if row["policy"] == row["reference"] else told, f"{row['worst']:.{places}f}", _ratio(row)]
        cells += [f"{values[row['policy']]:.{digits}f}" for _, values, digits in columns]
        body.append(cells)
    return layout(header, body, left=2)


def _others(problem: Problem, objective: Measure) -> list[Measure]:
    """What is told beside the objective, as far as a case has it."""
    told = (*objectives(problem), *(measure for measure in (*problem.measures, *GUARDED) if measure.beside))
    return [measure for measure in dict.fromkeys(told) if measure != objective]


def _column(case: Case, measure: Measure) -> tuple[dict[str, float], int]:
    """A measure of each policy, and how many digits to tell of it."""
    values = {row["policy"]: row[measure.beside or "mean"] for row in case.of(measure)}
    return values, decimals(max(map(abs, values.values())))


def _legend(problem: Problem, objective: Measure, cases: Sequence[Case]) -> Iterator[str]:
    """What the columns of the tables of the cases are: a line each."""
    yield "A table of each case. worst: the worst episode."
    for measure in _others(problem, objective):
        if any(case.of(measure) for case in cases):
            over = "on the worst episode" if measure.beside == "worst" else "mean over the episodes"
            yield f"{measure.short}: {measure.label}, {over}."
