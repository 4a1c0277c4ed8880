"""The control: what the refinement of a rule list finds without a teacher's rules to begin with.

A rule list is distilled, then refined in the simulator. Beside it stands the same refinement, with the same budget, of
the list that knows nothing, so that a table says what the teacher added. Of the log only the values that features take
are read, to tell which thresholds to try: in the states that its expert came to, for the level of the candidates that
it chose. It is asked the same safety check as the list, on the same further episodes (`students.safety_episodes`).
Where it comes to nothing safe it begins again from equal shares (`equal_shares`), which are no teacher's either.
"""

from __future__ import annotations

from clearsched.scorers.conditions import Rule
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """One rule for all candidates, the first of which is chosen and may hold all there is."""
    level = RuleList((Rule((), 1.0),), names_of(task.level)) if task.level else None
    return task.student(RuleList((Rule((), 1.0),), task.names), level)
