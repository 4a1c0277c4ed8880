"""A greedy rule list: each rule is the one condition that tells most of the candidates that are left.

Source: imodels' GreedyRuleList, after R. L. Rivest, Learning decision lists, Machine Learning 2, 1987.
"""

from __future__ import annotations

from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.elimination import elimination_list
from clearsched.students.examples import SMALL, Examples, distilled
from clearsched.students.levels import with_level
from clearsched.students.placing import listed, ranked_leaves, rounded_tree
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Fit the list, then the level."""
    return with_level(task, distilled(task, fit, SMALL))


def fit(examples: Examples, task: Task) -> Scorer:
    """The rules, the one with the highest share of best candidates first.

    Out of the order in which they were found a rule needs conditions of those before it, so a chain is no longer than a
    rule may have.
    """
    told, settings = examples.told, task.settings
    length = min(settings.max_rules, settings.conditions + 1)
    tree = elimination_list(examples.features, examples.columns, told.best, told.even, length)
    return listed(ranked_leaves(rounded_tree(tree, examples.values)), examples, task)
