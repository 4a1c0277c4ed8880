"""A sum of a few small trees that grow together, question by question.

Source: Y. S. Tan et al., Fast interpretable greedy-tree sums (FIGS), arXiv 2201.11931; the implementation of imodels.
"""

from __future__ import annotations

from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.examples import SMALL, Examples, distilled
from clearsched.students.flat_trees import from_figs, seeded_ties
from clearsched.students.levels import with_level
from clearsched.students.placing import rounded_tree, summed
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Grow the trees, then fit the level."""
    return with_level(task, distilled(task, fit, SMALL))


def fit(examples: Examples, task: Task) -> Scorer:
    """The trees, fitted to the places of the candidates; the first places count most."""
    from imodels import FIGSRegressor

    place = examples.told.place
    model = FIGSRegressor(max_rules=task.settings.rules, max_trees=task.settings.trees)
    with seeded_ties():
        model.fit(examples.features, place, sample_weight=place)
    trees = [rounded_tree(from_figs(tree, examples.columns), examples.values) for tree in model.trees_]
    return summed(trees, examples, task)
