"""The rule list: models find rules, and the ones that serve best are put in order.

A list is read from the top: it is sorted by falling score, so the candidate that meets the earliest rule is chosen.
"""

from __future__ import annotations

from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice
from clearsched.scorers.conditions import Rule
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.students import ranking
from clearsched.students.assembly import assemble, numbered
from clearsched.students.dataset import subset, thinned
from clearsched.students.levels import with_level
from clearsched.students.mining import mine
from clearsched.students.rounding import simplify
from clearsched.students.settings import RuleListParams
from clearsched.students.task import Task
from clearsched.students.ties import find_ties, order_of

MAX_DECISIONS = 3000
"""Decisions that a list is fitted on, evenly taken from all: imodels' trees take seconds on more."""


def learn(task: Task) -> ScoredPolicy:
    """Distil the list from the scores of boosted trees, fit the level."""
    ranked = ranking.rescored(task.dataset.rank, task.rank.features, task.settings.rescoring, task.seed)
    return with_level(task, distil(ranked, task.rank, task.settings))


def distil(choices: Choices, choice: Choice, settings: RuleListParams) -> RuleList:
    """A list of at most `max_rules` rules, and ties among them, that chooses as the scores of `choices` do.

    The scores must rank all candidates of a decision, and exp(score - best score) say how good a candidate is next to
    the best: the top choice alone does not say what to do when the best candidate is not there.
    """
    real = thinned(subset(choices, ~choices.trivial), MAX_DECISIONS)
    names = names_of(choice)
    if len(real.chosen) == 0:
        return RuleList((Rule((), 0.0),), names)
    ties = find_ties(real, choice, settings.ties)
    rules = assemble(mine(real, choice, settings), real, settings, order_of(real, ties, names))
    simple = numbered(simplify(rules, real.features[~real.is_none]), bool(real.is_none.any()))
    return RuleList(tuple(simple), names, ties=ties)
