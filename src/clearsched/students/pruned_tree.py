"""One tree, grown large and pruned by cost complexity to a few leaves, written as the list of its leaves.

Source: Z. Meng et al., Interpreting Deep Learning-Based Networking Systems (Metis), SIGCOMM 2020, section 3: a tree of
the teacher's decisions, pruned as in L. Breiman et al., Classification and Regression Trees, 1984.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.examples import LARGE, Examples, distilled
from clearsched.students.flat_trees import FlatTree, from_sklearn
from clearsched.students.levels import with_level
from clearsched.students.placing import listed, ranked_leaves, rounded_tree
from clearsched.students.task import Task

MIN_SAMPLES = 20
"""Candidates that a leaf must cover."""

UNPRUNED_LEAVES = 512
"""Leaves before pruning, at most."""


def learn(task: Task) -> ScoredPolicy:
    """Grow and prune the tree, then fit the level."""
    return with_level(task, distilled(task, fit, LARGE))


def fit(examples: Examples, task: Task) -> Scorer:
    """The leaves of the pruned tree, the best first."""
    settings = task.settings
    tree = grown(examples, settings.target, settings.leaves, settings.conditions)
    return listed(ranked_leaves(rounded_tree(tree, examples.values)), examples, task)


def grown(examples: Examples, target: str, leaves: int, depth: int) -> FlatTree:
    """The tree with the least cost of those that pruning by cost complexity leaves with at most so many leaves.

    It is at most so deep: no leaf has more conditions.
    """
    from sklearn.tree import DecisionTreeRegressor

    told = examples.told
    values, weights = (told.place, told.place) if target == "place" else (told.best, told.even)

    def pruned(alpha: float) -> Any:
        model = DecisionTreeRegressor(
            max_leaf_nodes=UNPRUNED_LEAVES,
            max_depth=depth,
            min_samples_leaf=MIN_SAMPLES,
            random_state=0,
            ccp_alpha=alpha,
        )
        return model.fit(examples.features, values, weights)

    alphas = pruned(0.0).cost_complexity_pruning_path(examples.features, values, weights).ccp_alphas.clip(0.0)
    first = bisect_left(alphas, True, key=lambda alpha: pruned(alpha).get_n_leaves() <= leaves)
    return from_sklearn(pruned(alphas[min(first, len(alphas) - 1)]).tree_, examples.columns)
