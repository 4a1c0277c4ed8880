"""A pruned tree for the candidates beside equal shares for the level: only the first is learned.

Source: Z. Hu et al., Learning Interpretable Scheduling Algorithms for Data Processing Clusters, arXiv 2405.19131: a
decision tree chooses the stage, fair executor allocation says how many its job gets.
"""

from __future__ import annotations

from clearsched.errors import ClearschedError
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.policy import ScoredPolicy
from clearsched.students import pruned_tree
from clearsched.students.examples import LARGE, distilled
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Grow and prune the tree; the level is the problem's equal share, rounded up, as fair scheduling has it.

    Raises:
        ClearschedError: the problem has no level, or says no equal share of it (`Choice.fair`).
    """
    if task.level is None or not task.level.fair:
        what = "no equal share of its level" if task.level else "no level"
        raise ClearschedError(f"{task.name}: {task.problem.name} has {what}: leave this student out of students.names")
    return task.student(distilled(task, pruned_tree.fit, LARGE), LeastTerm((dict(task.level.fair),), up=True))
