"""The measures that policies of a problem are made for and compared by."""

from __future__ import annotations

from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Problem


def objectives(problem: Problem) -> tuple[Measure, ...]:
    """The measures that policies may be trained, tuned and compared by; the first is the default."""
    first, *others = problem.measures
    return (first, *(measure for measure in others if measure.objective))


def find_objective(problem: Problem, name: object, where: object) -> Measure:
    """The objective of a name that a file tells.

    Raises:
        ClearschedError: the problem has no such objective.
    """
    for measure in objectives(problem):
        if measure.name == name:
            return measure
    known = ", ".join(measure.name for measure in objectives(problem))
    raise ClearschedError(f"{where}: {name!r} is no objective of {problem.name} ({known}); build it again")


def told_measures(problem: Problem, objective: Measure) -> list[Measure]:
    """The measures that a comparison has rows of: the objective first, those compared, those told beside it."""
    others = [measure for measure in problem.measures if measure != objective]
    return [objective, *(m for m in others if m.compared), *(m for m in others if m.beside and not m.compared)]
