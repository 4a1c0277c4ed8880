"""The students side by side: what each costs next to the teacher, how much there is to read, how faithful it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from clearsched.decisions.parts import WHOLE
from clearsched.evaluation.comparison import difference_interval, difference_of
from clearsched.evaluation.policies import label
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.significance import direction, p_values, told_p
from clearsched.evaluation.statistics import Bootstrap
from clearsched.layout import decimals, layout, with_unit
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Problem
from clearsched.schemas import STUDENTS
from clearsched.search.safety import worst_ratio
from clearsched.students.kinds import STUDENTS as KINDS

Row = dict[str, Any]


def student_table(
    problem: Problem, rollouts: Sequence[Rollout], fidelity: Iterable[Row], bootstrap: Bootstrap
) -> pa.Table:
    """A row a student, of schema STUDENTS, the best first; no row where the teacher was not run.

    Args:
        problem: what was scheduled.
        rollouts: of all policies on the same episodes.
        fidelity: of schema FIDELITY.
        bootstrap: how intervals are drawn.
    """
    teacher = next((rollout for rollout in rollouts if rollout.kind == "teacher"), None)
    plain = next((rollout for rollout in rollouts if rollout.name == problem.baseline), None)
    if teacher is None:
        return STUDENTS.empty_table()
    students = [rollout for rollout in rollouts if rollout.kind == "student"]
    rows = student_rows(students, teacher, plain, faithful_in(problem, fidelity), bootstrap)
    sign = 1.0 if rollouts[0].measures[0].lower_is_better else -1.0
    rows.sort(key=lambda row: (sign * row["mean"], row["policy"]))
    return pa.Table.from_pylist(rows, schema=STUDENTS)


def student_rows(
    students: Sequence[Rollout],
    teacher: Rollout,
    plain: Rollout | None,
    faithful: Mapping[str, float],
    bootstrap: Bootstrap,
) -> list[Row]:
    """Students next to the teacher, those that one table tells: their p are adjusted together.

    Args:
        students: each of a `scorers.policy.ScoredPolicy`, no name twice.
        teacher: on the same episodes.
        plain: the baseline heuristic, if it was run.
        faithful: see `faithful_in`.
        bootstrap: how intervals are drawn.
    """
    values = {rollout.name: rollout.objective for rollout in (teacher, *students)}
    tests = p_values(values, teacher.name, bootstrap.seed)
    return [_student_row(rollout, teacher, plain, faithful, tests[rollout.name], bootstrap) for rollout in students]


def _student_row(
    rollout: Rollout,
    teacher: Rollout,
    plain: Rollout | None,
    faithful: Mapping[str, float],
    test: tuple[float, float],
    bootstrap: Bootstrap,
) -> Row:
    objective, policy = rollout.measures[0], rollout.policy
    values, mean = rollout.objective, float(teacher.objective.mean())
    difference = difference_interval(rollout, teacher, objective, bootstrap)
    percent = difference.scaled(100.0 / abs(mean) if mean else 1.0)
    ratio = worst_ratio(values, plain.objective) if plain and objective.lower_is_better else 0.0
    return {
        "policy": rollout.name,
        "complexity": sum(scorer.complexity() for scorer in getattr(policy, "scorers", {}).values()),
        "mean": float(values.mean()),
        "difference_percent": percent.mean,
        "difference_low": percent.low,
        "difference_high": percent.high,
        "p": test[0],
        "p_holm": test[1],
        "worst": float(values.max() if objective.lower_is_better else values.min()),
        "worst_to_baseline": ratio or None,
        "beside": [(each.name, beside_of(rollout, each)) for each in rollout.measures[1:] if each.beside],
        "top1": faithful.get(rollout.name),
    }


def beside_of(rollout: Rollout, measure: Measure) -> float:
    """The mean over the episodes, or the worst of them, as the measure says."""
    values = rollout.values(measure)
    if measure.beside == "mean":
        return float(values.mean())
    return float(values.max() if measure.lower_is_better else values.min())


def flattened(rows: Sequence[Row]) -> list[Row]:
    """The rows with the measures in `beside` as columns of their own, for a file that has no columns of columns."""
    return [{name: row[name] for name in row if name != "beside"} | dict(row["beside"]) for row in rows]


def beside_columns(problem: Problem, rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """The headers of the measures in `beside`, and the cells of each row."""
    told, found = {measure.name: measure for measure in problem.measures}, [dict(row["beside"]) for row in rows]
    header: list[str] = []
    cells: list[list[str]] = [[] for _ in rows]
    for name in found[0]:
        places = decimals(max(abs(each[name]) for each in found))
        header.append(with_unit(told[name].short, told[name].unit))
        for line, each in zip(cells, found, strict=True):
            line.append(f"{each[name]:.{places}f}")
    return header, cells


def faithful_in(problem: Problem, fidelity: Iterable[Row]) -> dict[str, float]:
    """By student, the share of the real choices in which its first choice is the teacher's; of all where none is."""
    rows = [
        row
        for row in fidelity
        if row["choice"] == problem.choices[0].name and row["part"] == WHOLE and row["top1"] is not None
    ]
    return {row["policy"]: row["top1"] for subset in ("all", "real") for row in rows if row["decisions_of"] == subset}


def student_lines(problem: Problem, rows: Sequence[Row], objective: Measure) -> list[str]:
    """The table as text; nothing without a row."""
    if not rows:
        return []
    plain = label(problem, problem.baseline)
    places = decimals(max(abs(row["mean"]) for row in rows))
    header = ["student", "to read", "real choices", with_unit(objective.short, objective.unit), "to teacher (%)"]
    body = [
        [
            label(problem, row["policy"]),
            f"{row['complexity']:,}",
            "-" if row["top1"] is None else f"{100 * row['top1']:.1f} %",
            f"{row['mean']:.{places}f}",
            *difference_cells(row),
            f"{row['worst']:.{places}f}",
            "" if row["worst_to_baseline"] is None else f"{row['worst_to_baseline']:.2f}",
        ]
        for row in rows
    ]
    return [
        "Students next to the teacher. To read: conditions, rules, terms, nodes. Real choices: share in which the",
        "first choice is the teacher's. Difference, CI and p: same episodes, paired; p adjusted by Holm over the rows.",
        "Worst: the worst episode.",
        "",
        *layout([*header, "CI (%)", "p", "worst", f"x {plain}"], body, left=1),
    ]


def control_lines(problem: Problem, rollouts: Sequence[Rollout], bootstrap: Bootstrap) -> list[str]:
    """What each student has of its teacher: how much better it is than what the same search finds from nothing."""
    found, objective = {rollout.name: rollout for rollout in rollouts}, rollouts[0].measures[0]
    pairs = [(kind.control_of, kind.name) for kind in KINDS.values() if kind.control_of]
    return [
        _added(problem, objective, found[student], found[control], bootstrap)
        for student, control in pairs
        if student in found and control in found
    ]


def _added(problem: Problem, objective: Measure, student: Rollout, control: Rollout, bootstrap: Bootstrap) -> str:
    mean = float(control.objective.mean())
    sign = -1.0 if objective.lower_is_better else 1.0
    factor, unit = (100.0 / abs(mean), " %") if mean else (1.0, f" {objective.unit}".rstrip())
    pair = {each.name: sign * each.objective for each in (student, control)}
    gained = difference_of(pair[student.name], pair[control.name], bootstrap).scaled(factor)
    p = p_values(pair, control.name, bootstrap.seed)[student.name][1]
    told = f"{mean:.{decimals(abs(mean))}f} {objective.unit}".rstrip()
    ends = f"{gained.low:+.1f} to {gained.high:+.1f}" if gained.low == gained.low else "one episode"
    shown = "" if direction(p, bootstrap.confidence, gained) else ", no difference shown"
    return (
        f"* {label(problem, student.name)}: without a teacher the same search comes to {told} "
        f"({label(problem, control.name)}): the teacher added {gained.mean:.1f}{unit} "
        f"({100 * bootstrap.confidence:g} % CI {ends}, p {told_p(p)}{shown})"
    )


def difference_cells(row: Row) -> tuple[str, str, str]:
    """The difference to the teacher in %, its interval, and the adjusted p of its test."""
    low, high = row["difference_low"], row["difference_high"]
    interval = f"{low:+.1f} to {high:+.1f}" if low == low else "-"
    return f"{row['difference_percent']:+.1f}", interval, told_p(row["p_holm"])
