"""Equal shares as a rule list: whoever holds least next to an equal share is served, and gets no more than that.

It is no policy to deploy, but one near to the baseline in a student's own words: where a refinement that begins without
a teacher's rules comes to nothing safe, it begins again from here. A cluster in which a few jobs are most of the work
is such a place: all executors for whoever comes first is so far from safe there that no repair leads back.
"""

from __future__ import annotations

from clearsched.scorers.conditions import Rule
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.steps import Step, StepList
from clearsched.students.task import Task


def equal_shares(task: Task) -> ScoredPolicy | None:
    """One rule for all candidates, an order among them and a cap; None where the problem names no equal share.

    See `Choice.load` and `Choice.fair`.
    """
    level = task.level
    if level is None or not level.fair or not task.rank.load:
        return None
    rank = RuleList((Rule((), 1.0),), task.names, ties=(task.rank.load,))
    # As a step, not as the cap alone that `fair_limit` has: to that no case or term could be added.
    return task.student(rank, StepList((Step((), below=(dict(level.fair),)),), names_of(level)))
