"""One tree with hierarchical shrinkage: a leaf of few candidates leans on the leaves around it.

Source: A. Agarwal et al., Hierarchical shrinkage: improving the accuracy and interpretability of tree-based models,
ICML 2022; the implementation of imodels.
"""

from __future__ import annotations

from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.examples import LARGE, Examples, distilled
from clearsched.students.flat_trees import from_sklearn
from clearsched.students.levels import with_level
from clearsched.students.placing import listed, ranked_leaves, rounded_tree
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Grow and shrink the tree, then fit the level."""
    return with_level(task, distilled(task, fit, LARGE))


def fit(examples: Examples, task: Task) -> Scorer:
    """The leaves, the best first; the tree is fitted to the places of the candidates, and first places count most."""
    from imodels import HSTreeRegressor
    from sklearn.tree import DecisionTreeRegressor

    place, settings = examples.told.place, task.settings
    tree = DecisionTreeRegressor(max_leaf_nodes=settings.leaves, max_depth=settings.conditions, random_state=0)
    model = HSTreeRegressor(tree, reg_param=settings.shrinkage)
    model.fit(examples.features, place, sample_weight=place)
    grown = from_sklearn(model.estimator_.tree_, examples.columns)
    return listed(ranked_leaves(rounded_tree(grown, examples.values)), examples, task)
