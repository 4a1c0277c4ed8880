"""Boosted rules: each of a few rules of one or two conditions adds or takes away points.

Source: imodels' BoostedRules; Y. Freund, R. E. Schapire, A decision-theoretic generalization of on-line learning and an
application to boosting, Journal of Computer and System Sciences 55, 1997.
"""

from __future__ import annotations

from typing import Any

from clearsched.compiled.trees import LEAF
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.examples import LARGE, Examples, distilled
from clearsched.students.flat_trees import FlatTree, from_sklearn
from clearsched.students.levels import with_level
from clearsched.students.placing import rounded_tree, summed
from clearsched.students.ranking import constant
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Boost the rules, then fit the level."""
    return with_level(task, distilled(task, fit, LARGE))


def fit(examples: Examples, task: Task) -> Scorer:
    """The rules, fitted to which candidate is the best; where no rule tells it, all candidates are equal."""
    model = boosted(examples, task.settings.rules, task.settings.conditions)
    if model is None:
        return summed([constant(1.0)], examples, task)
    trees = [rounded_tree(tree, examples.values) for tree in votes(model, examples.columns)]
    return summed(trees, examples, task)


def boosted(examples: Examples, rules: int, conditions: int) -> Any:
    """imodels' model, or None where no rule is better than a guess."""
    from imodels import BoostedRulesClassifier
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=conditions)
    model = BoostedRulesClassifier(tree, n_estimators=rules, random_state=0)
    try:
        return model.fit(examples.features, examples.told.best, sample_weight=examples.told.even)
    except ValueError:  # scikit-learn's way to say that the first rule is worse than random
        return None


def votes(model: Any, columns: list[int]) -> list[FlatTree]:
    """Trees whose sum is the model's decision function times the sum of its weights: each adds its weight or takes it.

    A tree votes for the best where most of the weight at a leaf is of best candidates.
    """
    found = []
    for estimator, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
        tree, shares = from_sklearn(estimator.tree_, columns), estimator.tree_.value[:, 0, :]
        sides = (shares[:, 1] > shares[:, 0]).tolist() if shares.shape[1] > 1 else [False] * len(shares)
        leaves = [float(weight) if best else -float(weight) for best in sides]
        tree["value"] = [leaf if f == LEAF else 0.0 for leaf, f in zip(leaves, tree["feature"], strict=True)]
        found.append(tree)
    return found
