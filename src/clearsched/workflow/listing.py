"""`clearsched problems`: what a problem has, told from its registries."""

from __future__ import annotations

from clearsched.edge_cases.cases import cases_of
from clearsched.figures.kinds import figures_of
from clearsched.problems.declarations import Choice
from clearsched.problems.objectives import objectives
from clearsched.problems.problem import Problem
from clearsched.search.families import families_of
from clearsched.students.kinds import STUDENTS


def lines_of(problem: Problem) -> list[str]:
    """A problem in lines: choices, measures, heuristics, sources, searched families, students, edge cases, figures."""
    default, *others = objectives(problem)
    told = {measure.name: ", may be the objective" for measure in others}
    told[default.name] = ", the objective" + (" unless another is chosen" if others else "")
    parts = {
        "choices": [(choice.name, _told(choice)) for choice in problem.choices],
        "measures": [
            (measure.name, f"{measure.label}{f' ({measure.unit})' if measure.unit else ''}{told.get(measure.name, '')}")
            for measure in problem.measures
        ],
        "heuristics": [(name, entry.summary) for name, entry in problem.heuristics.items()],
        "sources": [(name, source.summary) for name, source in problem.sources.items()],
        "families": [(name, family.summary) for name, family in families_of(problem).items()],
        "students": [(name, kind.summary) for name, kind in STUDENTS.items()],
        "edge cases": [(name, case.summary) for name, case in cases_of(problem).items()],
        "figures": [(name, figure.label) for name, figure in figures_of(problem).items()],
    }
    lines = [f"{problem.name}: {problem.summary}"]
    for part, entries in parts.items():
        width = max((len(name) for name, _ in entries), default=0)
        lines += [f"  {part}", *(f"    {name:{width}}  {text}" for name, text in entries)]
    return lines


def _told(choice: Choice) -> str:
    """What a choice asks, of how many features, and what else may be answered."""
    answer = f"; or none: {choice.none}" if choice.none else ""
    unit = f", in {choice.unit}" if choice.unit else ""
    return f"{choice.question} ({choice.form}{unit}, {len(choice.features)} features{answer})"
