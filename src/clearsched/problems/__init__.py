"""What is scheduled: one folder a problem, and here the one line that makes it known."""

from __future__ import annotations

from difflib import get_close_matches

from clearsched.errors import ClearschedError
from clearsched.problems.problem import Problem
from clearsched.registry import load

PROBLEMS = {
    "dag_jobs": "clearsched.problems.dag_jobs.problem:PROBLEM",
    "deferrable_jobs": "clearsched.problems.deferrable_jobs.problem:PROBLEM",
}
"""Every problem by name."""

DEFAULT = "dag_jobs"


def find_problem(name: str) -> Problem:
    """The problem of a name.

    Raises:
        ClearschedError: there is none.
    """
    if name not in PROBLEMS:
        near = get_close_matches(name, PROBLEMS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ClearschedError(f"problem: unknown problem {name!r}: known are {', '.join(PROBLEMS)}{hint}")
    problem: Problem = load(PROBLEMS[name])
    return problem
