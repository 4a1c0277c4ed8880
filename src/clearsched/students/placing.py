"""What a model says of candidates, as a scorer: the order of its answers, with "none of these" where it costs least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.problems.programs import rounded
from clearsched.scorers.conditions import Condition, Rule, first_rule, flatten
from clearsched.scorers.rules import RuleList
from clearsched.scorers.trees import TreeSum
from clearsched.students.assembly import Regret, values_of
from clearsched.students.examples import Examples
from clearsched.students.flat_trees import FlatTree
from clearsched.students.ranking import constant
from clearsched.students.rounding import LEAF_DIGITS, Columns
from clearsched.students.task import Task
from clearsched.students.ties import find_ties, order_of

SAME_SUM = 9
"""Digits after the point by which two sums of leaves differ: the order in which they are added is no difference."""


def listed(rules: Sequence[Rule], examples: Examples, task: Task) -> RuleList:
    """The rules in their order, whatever their values: the first that fits is the rank of a candidate.

    Args:
        rules: the best first; the last has no condition.
        examples: decisions, to place "none of these" and to find ties by.
        task: its settings have `ties`, how many features may tell who is first among candidates of a rule.
    """
    names = task.names
    ties = find_ties(examples.real, task.rank, task.settings.ties)
    regret = Regret(examples.real, order_of(examples.real, ties, names))
    none = regret.of(first_rule(rules, examples.all_features)).none
    if none < 0 and task.dataset.none:
        none = len(rules)  # it was no answer in these decisions: nothing speaks for idling
    values = values_of(len(rules), none)
    return RuleList(tuple(rule._replace(value=v) for rule, v in zip(rules, values, strict=True)), names, ties=ties)


def summed(trees: Sequence[FlatTree], examples: Examples, task: Task) -> TreeSum:
    """The sum of the trees with rounded leaves: their text has all of each.

    Where "none of these" is an answer, a tree of one leaf puts its score, 0, in place.
    """
    told = [{**tree, "value": [rounded(value, LEAF_DIGITS) for value in tree["value"]]} for tree in trees]
    scorer = TreeSum(tuple(told), task.names)
    if not task.dataset.none:
        return scorer
    scores = scorer.scores(examples.all_features, task.names).round(SAME_SUM)
    return TreeSum((*told, constant(-bar(scores, Regret(examples.real)))), task.names)


def bar(scores: np.ndarray, regret: Regret) -> float:
    """The score between two of `scores`, float64[candidates], at which none costs least; or below or above them all.

    Below them all where none was no answer in the decisions: nothing speaks for idling.
    """
    distinct, place = np.unique(-scores, return_inverse=True)
    none = regret.of(place).none
    above = len(distinct) if none < 0 else none
    padded = -np.concatenate([[distinct[0] - 2.0], distinct, [distinct[-1] + 2.0]])
    return between(float(padded[above + 1]), float(padded[above]))


def between(low: float, high: float) -> float:
    """The middle of two numbers, with as few digits as keep it between them."""
    middle = (low + high) / 2
    tried = (rounded(middle, digits) for digits in range(LEAF_DIGITS, 16))
    return next((value for value in tried if low < value < high), middle)


def ranked_leaves(tree: FlatTree) -> list[Rule]:
    """A tree as a list of its leaves by falling value, which gives every row the value that the tree gives.

    A condition is dropped where all rows that fail it alone belong to leaves before its own.
    """
    leaves = sorted(flatten([tree]), key=lambda rule: -rule.value)
    found: list[Rule] = []
    for place, leaf in enumerate(leaves):
        kept = leaf.conditions
        for condition in leaf.conditions:
            rest = tuple(other for other in kept if other != condition)
            beyond = (*rest, condition._replace(below=not condition.below))
            if not any(_meet(beyond, later.conditions) for later in leaves[place + 1 :]):
                kept = rest
        found.append(Rule(kept, leaf.value))
    return found


def rounded_tree(tree: FlatTree, columns: Columns) -> FlatTree:
    """The tree with thresholds of few digits that split the rows nearly as before."""
    told = zip(tree["feature"], tree["threshold"], strict=True)
    return {**tree, "threshold": [columns.round(f, t) if f >= 0 else t for f, t in told]}


def _meet(one: Sequence[Condition], other: Sequence[Condition]) -> bool:
    """Whether some row may meet both."""
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    for feature, below, threshold in (*one, *other):
        if below:
            high[feature] = min(high.get(feature, np.inf), threshold)
        else:
            low[feature] = max(low.get(feature, -np.inf), threshold)
    return all(low.get(feature, -np.inf) < bound for feature, bound in high.items())
