"""Whatever has a name in a registry, with a line of what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from clearsched.edge_cases.cases import cases_of
from clearsched.export.kinds import FORMATS
from clearsched.figures.kinds import COMPARED, caption, figures_of
from clearsched.paper.bases import BASES
from clearsched.paper.experiments import EXPERIMENTS
from clearsched.paper.kinds import PAPER_FIGURES
from clearsched.problems import PROBLEMS, find_problem
from clearsched.problems.objectives import objectives
from clearsched.problems.problem import Problem
from clearsched.scorers.kinds import SCORERS
from clearsched.search.families import families_of
from clearsched.students.kinds import STUDENTS
from site_pages.markdown import code, escaped, sentence, table

HEAD = """\
# Registries

What has a name in params, files and tables. One entry more is a module and a line
([what it takes to add](../architecture.md#what-it-takes-to-add)).
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "## Problems", "", *_of({name: find_problem(name) for name in PROBLEMS}), ""]
    for title, entries in common().items():
        lines += [f"## {title}", "", *_of(entries), ""]
    for name in PROBLEMS:
        lines += [f"## Problem {name}", ""]
        for title, entries in own(find_problem(name)).items():
            lines += [f"### {title} of {name}", "", *_of(entries), ""]
    return "\n".join(lines)


def common() -> dict[str, Mapping[str, Any]]:
    """Registries that all problems share, by title."""
    return {
        "Kinds of student": STUDENTS,
        "Kinds of scorer": SCORERS,
        "Formats of exported rules": FORMATS,
        "Figures of several scenarios": COMPARED,
        "Figures of the papers": PAPER_FIGURES,
        "Experiments of these figures": EXPERIMENTS,
        "Scenarios of these experiments": BASES,
    }


def own(problem: Problem) -> dict[str, Mapping[str, Any]]:
    """What a problem has, by title; what every problem gets is among it."""
    parts: dict[str, Mapping[str, Any]] = {
        "Measures": {measure.name: measure for measure in problem.measures},
        "Objectives": {measure.name: measure for measure in objectives(problem)},
        "Heuristics": problem.heuristics,
        "Sources": problem.sources,
        "Searched families": families_of(problem),
        "Edge cases": cases_of(problem),
        "Published networks": problem.published,
        "Figures": figures_of(problem),
        "Gauges of guards": {gauge.name: gauge for gauge in problem.gauges},
    }
    return {title: entries for title, entries in parts.items() if entries}


def _of(entries: Mapping[str, Any]) -> list[str]:
    rows = [[code(name), escaped(entry.label), escaped(line_of(entry))] for name, entry in entries.items()]
    return table(["name", "label", "what it is"], rows)


def line_of(entry: Any) -> str:
    """What an entry says of itself: its summary, its meaning, its caption, the unit of a measure."""
    for attribute in ("summary", "meaning"):
        if getattr(entry, attribute, ""):
            return sentence(getattr(entry, attribute))
    if hasattr(entry, "caption"):
        return str(entry.caption)
    if hasattr(entry, "inputs"):  # a figure, whose caption stands beside its module
        return " ".join(captions(caption(entry)))
    if hasattr(entry, "lower_is_better"):
        better = "less" if entry.lower_is_better else "more"
        return f"{f'In {entry.unit}' if entry.unit else 'A number without a unit'}; {better} is better."
    return ""


def captions(path: Path) -> Iterable[str]:
    """The sentences of a caption, a few words of reStructuredText."""
    return [sentence(line) for line in path.read_text("utf-8").replace("``", "`").splitlines() if line.strip()]
