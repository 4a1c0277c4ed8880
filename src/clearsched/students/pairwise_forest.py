"""A forest that compares two candidates at a time: the one that wins most of its comparisons is chosen.

It is fitted to pairs of the expert's choice and another candidate of the same decision, each asked both ways round.
Source: S. Zhang et al., Multi-level explanation of deep reinforcement learning-based scheduling, arXiv 2209.09645,
which has 15 trees of depth 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.compiled.pairs import DIFFERENCE, OTHER, OWN
from clearsched.compiled.trees import LEAF
from clearsched.problems.programs import rounded
from clearsched.scorers.pairs import Column, PairForest
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import Scorer
from clearsched.students.dataset import best_rows
from clearsched.students.examples import Examples, distilled
from clearsched.students.flat_trees import FlatTree, from_sklearn
from clearsched.students.levels import with_level
from clearsched.students.placing import rounded_tree
from clearsched.students.rounding import Columns
from clearsched.students.task import Task

DECISIONS = 10_000
"""Decisions that the forest is fitted on, evenly taken from all."""

MIN_SAMPLES = 5
"""Pairs that a leaf must cover."""

DIGITS = 3
"""Of the share of the pairs at a node in which the first candidate is the better one."""

ASKED = {"difference": (DIFFERENCE,), "rows": (OWN, OTHER), "both": (OWN, OTHER, DIFFERENCE)}
"""What the trees may ask of a pair, by the setting `ask`."""


class Pairs(NamedTuple):
    """Two rows each, of the candidates of all decisions; p pairs."""

    first: np.ndarray  # int64[p]
    second: np.ndarray  # int64[p]
    better: np.ndarray  # bool[p]: the first is the expert's choice
    weight: np.ndarray  # float64[p]: those of a decision weigh 1 together


def learn(task: Task) -> ScoredPolicy:
    """Fit the forest, then the level."""
    return with_level(task, distilled(task, fit, DECISIONS, rescored=False))


def fit(examples: Examples, task: Task) -> Scorer:
    """The forest over pairs; where "none of these" is an answer, one that holds each candidate against it."""
    settings, names = task.settings, task.names
    asked = ASKED[settings.ask]
    alone, compared = (
        (OWN,) if task.dataset.none else (),
        tuple(Column(a, names[c]) for a in asked for c in examples.columns),
    )
    columns = tuple(dict.fromkeys((*compared, *(Column(a, names[c]) for a in alone for c in examples.columns))))
    pairs = pairs_of(examples, settings.pairs, task.seed)
    rows = _asked_of(examples.features, pairs.first, pairs.second, asked)
    forest = grown(rows, pairs.better, pairs.weight, settings, task.seed, [columns.index(c) for c in compared])
    against_none: Sequence[FlatTree] = ()
    if task.dataset.none:
        single = singles_of(examples, settings.pairs, task.seed)
        own = [columns.index(Column(OWN, names[c])) for c in examples.columns]
        against_none = grown(examples.features[single.first], single.better, single.weight, settings, task.seed, own)
    return PairForest(tuple(forest), columns, tuple(against_none), settings.opponents)


def pairs_of(examples: Examples, most: int, seed: int) -> Pairs:
    """The expert's choice against at most `most` others of each decision, and each pair the other way round."""
    best, others, weight = _drawn(examples, most, seed, none=False)
    better = np.repeat([True, False], len(best))
    first, second = np.concatenate([best, others]), np.concatenate([others, best])
    return Pairs(first, second, better, np.concatenate([weight, weight]) / 2)


def singles_of(examples: Examples, most: int, seed: int) -> Pairs:
    """Candidates against "none of these", where it was an answer; the second of each pair is the first.

    The chosen one is better; where none was chosen, all are worse.
    """
    real, place = examples.real, _place(examples)
    asked = np.flatnonzero(np.logical_or.reduceat(real.is_none, real.starts[:-1]))
    chosen = best_rows(real)
    better = asked[~real.is_none[chosen[asked]]]
    _, worse, weight = _drawn(examples, most, seed, none=True)
    first = np.concatenate([place[chosen[better]], worse])
    told = np.concatenate([np.ones(len(better), bool), np.zeros(len(worse), bool)])
    return Pairs(first, first, told, np.concatenate([np.ones(len(better)), weight]))


def _drawn(examples: Examples, most: int, seed: int, *, none: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The answer and at most `most` other candidates, drawn, of the decisions whose answer is (not) none; weights.

    The answer that is none has no row: its place means nothing.
    """
    real, place = examples.real, _place(examples)
    chosen = best_rows(real)
    of_kind = real.is_none[chosen] == none
    rows = np.flatnonzero(~real.is_none & of_kind[real.owner] & (np.arange(len(real.features)) != chosen[real.owner]))
    rows = np.random.default_rng([seed, none]).permutation(rows)
    rows = rows[np.argsort(real.owner[rows], kind="stable")]
    owner = real.owner[rows]
    number = np.arange(len(rows)) - np.searchsorted(owner, owner)  # of the others of its decision
    rows, owner = rows[number < most], owner[number < most]
    weight = 1.0 / np.bincount(owner, minlength=len(chosen))[owner]
    return place[chosen[owner]], place[rows], weight


def _place(examples: Examples) -> np.ndarray:
    """int64[n]: the place of each row among the candidates."""
    return np.cumsum(~examples.real.is_none) - 1


def _asked_of(features: np.ndarray, first: np.ndarray, second: np.ndarray, asked: Sequence[int]) -> np.ndarray:
    """float32[p, len(asked) * F]: what the trees see of pairs of rows of float32[n, F]."""
    own, other = features[first], features[second]
    seen = {OWN: own, OTHER: other, DIFFERENCE: own - other}
    return np.concatenate([seen[each] for each in asked], axis=1)


def grown(
    rows: np.ndarray, better: np.ndarray, weight: np.ndarray, settings: Any, seed: int, columns: Sequence[int]
) -> list[FlatTree]:
    """scikit-learn's forest as flat trees, each node with the share of its pairs in which the first is better.

    Args:
        rows: float32[p, columns], what the trees may ask.
        better: bool[p].
        weight: float64[p].
        settings: number and depth of the trees.
        seed: of the forest.
        columns: the number of each column of `rows`.
    """
    if better.all() or not better.any():
        share = float(bool(better.any()))
        return [{"feature": [LEAF], "threshold": [0.0], "left": [0], "right": [0], "value": [share], "gain": [0.0]}]
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        settings.trees, max_depth=settings.depth, min_samples_leaf=MIN_SAMPLES, random_state=seed, n_jobs=1
    )
    model.fit(rows, better, sample_weight=weight)
    values = Columns(rows)
    return [_flat(estimator.tree_, values, columns) for estimator in model.estimators_]


def _flat(tree: Any, values: Columns, columns: Sequence[int]) -> FlatTree:
    """A tree of the forest with thresholds of few digits, and the impurity that each split takes away."""
    shares = tree.value[:, 0, -1] / tree.value[:, 0, :].sum(axis=1)
    left, right, mass = tree.children_left, tree.children_right, tree.weighted_n_node_samples
    lost = mass * tree.impurity - mass[left] * tree.impurity[left] - mass[right] * tree.impurity[right]
    gain = np.where(tree.feature < 0, 0.0, np.maximum(lost, 0.0) / mass[0])
    flat = rounded_tree(from_sklearn(tree), values)
    return {
        **flat,
        "feature": [LEAF if f == LEAF else columns[f] for f in flat["feature"]],
        "value": np.round(shares, DIGITS).tolist(),
        "gain": [rounded(value, 3) for value in gain],
    }
