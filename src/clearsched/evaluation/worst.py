"""What a mean hides: the worst episode, the slowest jobs, executors that wait; who strays from the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clearsched.evaluation.guards import MEASURES
from clearsched.evaluation.policies import label
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.seeds import LEARNED, Summary
from clearsched.layout import decimals, layout, with_unit
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import told_measures
from clearsched.problems.problem import Problem
from clearsched.search.safety import LIMIT, verdict_in

Row = dict[str, Any]


def worst_lines(problem: Problem, rows: list[Row], objective: Measure) -> list[str]:
    """A table beside the means: the objective on the worst episode, and the measures that belong beside it.

    Args:
        problem: what was scheduled.
        rows: of schema COMPARISON.
        objective: the measure whose rows come first.
    """
    of_objective = [row for row in rows if row["measure"] == objective.name]
    guarded = [measure for measure in MEASURES if any(row["measure"] == measure.name for row in rows)]
    others = [measure for measure in (*told_measures(problem, objective)[1:], *guarded) if measure.beside]
    columns = [(objective, "worst"), *((measure, measure.beside) for measure in others)]
    header, cells = ["policy"], [[label(problem, row["policy"])] for row in of_objective]
    for measure, which in columns:
        found = [row[which] for row in rows if row["measure"] == measure.name]
        places = decimals(max(abs(value) for value in found))
        header.append(with_unit("worst" if measure == objective else measure.short, measure.unit))
        for line, value in zip(cells, found, strict=True):
            line.append(f"{value:.{places}f}")
    plain = label(problem, problem.baseline)
    header.insert(2, f"x {plain}")
    for line, row in zip(cells, of_objective, strict=True):
        line.insert(2, "" if row["worst_to_baseline"] is None else f"{row['worst_to_baseline']:.2f}")
    return [*_legend(problem, of_objective, columns), "", *layout(header, cells, left=1)]


def _legend(problem: Problem, rows: list[Row], columns: Sequence[tuple[Measure, str]]) -> list[str]:
    """What the columns are: a line each."""
    plain = label(problem, problem.baseline)
    lines = ["Beside the mean. worst: the worst episode."]
    if any(row["worst_to_baseline"] is not None for row in rows):
        lines.append(f"x {plain}: the most, on any episode, that a policy takes next to {plain}.")
    for measure, which in columns[1:]:
        over = "mean over the episodes" if which == "mean" else "on the worst episode"
        lines.append(f"{measure.short}: {measure.label}, {over}.")
    return lines


def unsafe_lines(problem: Problem, rollouts: Sequence[Rollout]) -> list[str]:
    """A line for each policy whose own file tells that it did not pass its safety check, however good it looks here."""
    plain, lines = label(problem, problem.baseline), []
    for rollout in rollouts:
        verdict = verdict_in(getattr(rollout.policy, "evidence", {}))
        if verdict.strays:
            why = verdict.told(verdict.beyond[0], plain)
            lines.append(f"* {label(problem, rollout.name)} is not safe by its own check: {why}: do not deploy it")
    return lines


def stray_lines(problem: Problem, rows: list[Row], where: str = "") -> list[str]:
    """Who is far worse than the baseline on some episode, which the mean may hide.

    A line for each policy that was made here, and one for all heuristics.

    `where`: begins each line, for one of several sets of episodes.
    """
    plain = label(problem, problem.baseline)
    stray = [row for row in rows if (row["worst_to_baseline"] or 0.0) > LIMIT]
    lines = [
        f"* {where}{label(problem, row['policy'])}: {row['worst_to_baseline']:.2f} times {plain} on its worst episode: "
        "find out why before it schedules anything"
        for row in stray
        if row["kind"] in LEARNED
    ]
    others = [row for row in stray if row["kind"] not in LEARNED]
    if others:
        told = ", ".join(f"{label(problem, row['policy'])} {row['worst_to_baseline']:.2f}" for row in others)
        lines.append(f"* {where}heuristics above {LIMIT:g} times {plain} on an episode: {told}")
    return lines


def seed_stray_lines(problem: Problem, rows: list[Row], seeds: Sequence[Summary]) -> list[str]:
    """A line for each policy that is not far worse than the baseline on any episode, but is with another training seed.

    `rows`: as of `stray_lines`, which tells of the others.
    """
    plain = label(problem, problem.baseline)
    told = {row["policy"] for row in rows if (row["worst_to_baseline"] or 0.0) > LIMIT}
    return [
        f"* {label(problem, each.name)} with a training seed that is not kept: {each.most:.2f} times {plain} on its "
        "worst episode"
        for each in seeds
        if each.name not in told and (each.most or 0.0) > LIMIT
    ]
