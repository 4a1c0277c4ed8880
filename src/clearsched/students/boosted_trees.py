"""The student of boosted trees: a sum of shallow trees ranks the candidates."""

from __future__ import annotations

from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.trees import TreeSum
from clearsched.students import ranking
from clearsched.students.levels import with_level
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Fit the trees, then the level."""
    trees = ranking.learn(
        task.dataset.rank, task.rank.features, task.settings, task.seed, monotone=task.settings.monotone
    )
    return with_level(task, TreeSum(tuple(trees), task.names))
