"""The most precise rules of many small trees, one after another: what the first ones miss, the next ones cover.

Source: imodels' SkopeRules, after the package skope-rules of F. Goix et al.; J. Friedman, B. Popescu, Predictive
learning via rule ensembles, Annals of Applied Statistics 2, 2008.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clearsched.scorers.conditions import Condition, Rule, first_rule
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.elimination import balanced
from clearsched.students.examples import SMALL, Examples, distilled
from clearsched.students.flat_trees import seeded_ties
from clearsched.students.levels import with_level
from clearsched.students.placing import listed
from clearsched.students.task import Task


def learn(task: Task) -> ScoredPolicy:
    """Fit the trees and choose rules, then fit the level."""
    return with_level(task, distilled(task, fit, SMALL))


def fit(examples: Examples, task: Task) -> Scorer:
    """The rules by precision, each of which must cover best candidates that those before it do not."""
    settings = task.settings
    found = examples.values.round_rules(list(mined(examples, settings)))
    best, kept = examples.told.best, [Rule((), 0.0)]
    for rule in found:
        longer = [*kept[:-1], rule, kept[-1]]
        own = first_rule(longer, examples.all_features) == len(kept) - 1
        if len(kept) < settings.max_rules and best[own].sum() >= settings.recall * best.sum():
            kept = longer
    return listed(kept, examples, task)


def mined(examples: Examples, settings: Any) -> Iterator[Rule]:
    """The rules of imodels' model, the most precise first, and of those the one that covers most."""
    from imodels import SkopeRulesClassifier

    told = examples.told
    drawn = balanced(told.best, told.even)
    model = SkopeRulesClassifier(
        precision_min=settings.precision,
        recall_min=settings.recall,
        n_estimators=settings.trees,
        max_depth=settings.conditions,
        random_state=0,
    )
    names = [f"f{i}" for i in examples.columns]
    with seeded_ties():
        model.fit(examples.features[drawn], told.best[drawn], feature_names=names)
    for rule in sorted(model.rules_without_feature_names_, key=lambda rule: (*(-x for x in rule.args[:2]), str(rule))):
        conditions = list(_conditions(rule, list(model.feature_dict_), examples.columns))
        if conditions:
            yield Rule(tuple(conditions), float(rule.args[0]))


def _conditions(rule: Any, placeholders: Sequence[str], columns: Sequence[int]) -> Iterator[Condition]:
    """Its conditions; `x <= t` becomes `x < the next float32`, `x > t` is `x >=` the same."""
    for (name, sign), value in sorted(rule.agg_dict.items()):
        if sign in ("<=", ">"):
            threshold = float(np.nextafter(np.float32(value), np.float32(np.inf)))
            yield Condition(columns[placeholders.index(name)], sign == "<=", threshold)
