"""imodels' greedy rule list, turned round: each rule sets aside what is surely not the best, the rest is chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.students.flat_trees import FlatTree, from_greedy_list, seeded_ties


def elimination_list(
    features: np.ndarray, columns: Sequence[int], best: np.ndarray, weight: np.ndarray, max_rules: int
) -> FlatTree:
    """A list of at most `max_rules` rules as a chain, whose leaves are minus the share of what is not the best there.

    Fitted to "the best" the model peels off a few sure cases and ends there.

    Args:
        features: float32[n, F] of candidates.
        columns: the column of each feature.
        best: float64[n], 1 or 0.
        weight: float64[n], by which rows are drawn.
        max_rules: of the list.
    """
    from imodels import GreedyRuleListClassifier

    drawn = balanced(best, weight)
    model = GreedyRuleListClassifier(max_depth=max(1, max_rules - 1), criterion="entropy")
    with seeded_ties():
        model.fit(features[drawn], 1.0 - best[drawn], feature_names=[f"f{i}" for i in columns])
    tree = from_greedy_list(model.rules_, columns)
    return {**tree, "value": [-value for value in tree["value"]]}


def balanced(best: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """int64: a fixed draw of twice as many rows as there are best ones, by their weights.

    For models that take no weights: with weights that even them out, best and not best are equally frequent.
    """
    return np.random.default_rng(0).choice(len(best), 2 * int(best.sum()), p=weight / weight.sum())
