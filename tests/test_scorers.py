"""Scorers: each kind says what it runs, reads back what it writes, and scores in the loop as it does by hand."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clearsched.compiled.cap_terms import NO_CAP_TERMS
from clearsched.compiled.feature import Feature
from clearsched.compiled.features import new_rows
from clearsched.compiled.pairs import DIFFERENCE, OTHER, OWN
from clearsched.compiled.scoring import NONE, Packed, best_candidate, columns_read, scores_of, with_patches
from clearsched.compiled.steps import ASKED, MANY, NO_COLUMN, pack_steps
from clearsched.compiled.trees import BLOCK, add_scores, pack
from clearsched.errors import ClearschedError
from clearsched.problems.declarations import Choice
from clearsched.registry import load
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.conditions import (
    Condition,
    Rule,
    as_list,
    compile_rules,
    first_rule,
    flatten,
    number,
    parse_conditions,
    tighten,
)
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.kinds import SCORERS
from clearsched.scorers.network import Perceptron
from clearsched.scorers.pairs import Column, PairForest
from clearsched.scorers.points import PointSum
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer, read_scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.switch import Case, Switch
from clearsched.scorers.trees import TreeSum
from random_trees import COLUMNS, grid_rows, random_tree, tree_scores, walk

FEATURES = (
    Feature("age_s", "s", "how long it has waited"),
    Feature("size", "", "how large it is"),
    Feature("share", "", "its share of all"),
    Feature("work_s", "s", "how much work is left"),
    Feature("rank", "items", "how many are before it"),
    Feature("is_kept", "", "1 if it has the machine"),
)
NAMES = tuple(feature.name for feature in FEATURES)
RANK = Choice("pick", "rank", "Which item?", FEATURES, none="wait")
LEVEL = Choice("amount", "level", "How many machines?", FEATURES, unit="machines")
IN_LOOP = list(SCORERS)
RULES = {"rules": [{"if": "otherwise", "then": 1}]}
STEPS = {"steps": [{"if": "otherwise", "then": 1}]}


def random_scorer(kind: str, rng: np.random.Generator) -> Scorer:
    """A scorer whose numbers a file can hold."""
    if kind == "formula":
        used = rng.permutation(COLUMNS)[:3]
        weights = {NAMES[i]: float(rng.normal()) for i in used} | {"constant": float(rng.normal())}
        return WeightedSum(weights, {NAMES[used[0]]: {"weight": float(rng.normal()), "scale": 2.5}})
    if kind == "steps":
        terms = ({"times": float(rng.random() * 2), "size": 1.0}, {"times": 0.5, "share": 0.5})
        condition = Condition(int(rng.integers(COLUMNS)), bool(rng.integers(2)), 1.0)
        return StepList(
            (
                Step((condition,), "work_s", terms, 3.0, {"rank": -0.25, "age_s": float(rng.normal())}),
                Step((), "share", terms[:1]),
                Step((condition,), value=1.0),
                Step((), below=terms[1:]),
            ),
            NAMES,
        )
    if kind == "rules":
        rules = [
            Rule(
                tuple(
                    Condition(int(f), bool(rng.integers(2)), float(rng.integers(1, 5)) / 2)
                    for f in rng.permutation(COLUMNS)[: rng.integers(1, 4)]
                ),
                float(3 - i),
            )
            for i in range(5)
        ]
        return RuleList((*rules, Rule((), -2.5)), NAMES, tuple(np.round(rng.random(6), 4).tolist()))
    if kind == "points":
        entries = [
            Rule(
                tuple(
                    Condition(int(f), bool(rng.integers(2)), float(rng.integers(1, 5)) / 2)
                    for f in rng.permutation(COLUMNS)[:count]
                ),
                float(rng.integers(-4, 5)),
            )
            for count in (1, 2, 1, 3, 0)
        ]
        return PointSum(tuple(entries), NAMES)
    if kind == "trees":
        order = tuple(NAMES[i] for i in rng.permutation(COLUMNS))
        return TreeSum(tuple(random_tree(rng, depth) for depth in (3, 2, 3, 0)), order)
    if kind == "switch":
        asked = [Condition(int(rng.integers(COLUMNS)), bool(rng.integers(2)), 1.0) for _ in range(2)]
        tied = replace(random_scorer("rules", rng), shares=(), ties=("-work_s", "rank"))
        return Switch(
            (
                Case(asked[0], random_scorer("rules", rng)),
                Case(asked[1], tied),
                Case(None, random_scorer("trees", rng)),
            ),
            NAMES,
        )
    if kind == "pairs":
        asked = [Column(asks, NAMES[i]) for asks in (OWN, OTHER, DIFFERENCE) for i in rng.permutation(COLUMNS)[:2]]
        trees = [random_tree(rng, depth) for depth in (4, 1, 3, 2)]
        shares = [{**tree, "value": [round(abs(math.tanh(v)), 3) for v in tree["value"]]} for tree in trees]
        return PairForest(tuple(shares[:2]), tuple(asked), tuple(shares[2:]), opponents=5)
    if kind == "cap_terms":
        terms = [{"times": float(rng.random() * 3), NAMES[i]: float(rng.integers(1, 4)) / 2} for i in range(3)]
        return LeastTerm((*terms, {"times": 1.5}))
    layers = [(rng.normal(size=(2, 3)), rng.normal(size=3)), (rng.normal(size=(3, 1)), rng.normal(size=1))]
    return Perceptron(tuple(layers), ("work_s", "age_s"), (0.0, 1.5))


def by_hand(scorer: Scorer, row: np.ndarray) -> float:
    """The score of one row in plain Python."""
    value = {name: float(x) for name, x in zip(NAMES, row, strict=True)}
    if isinstance(scorer, WeightedSum):
        weights = dict(scorer.weights)
        total = weights.pop("constant", 0.0)
        for name, weight in weights.items():
            total += weight * value[name]
        for name, term in scorer.log_weights.items():
            total += term["weight"] * math.copysign(math.log(1 + abs(value[name]) / term["scale"]), value[name])
        return total
    if isinstance(scorer, Perceptron):
        inputs = [
            math.copysign(math.log(1 + abs(value[name]) / scale), value[name]) if scale else value[name]
            for name, scale in zip(scorer.names, scorer.scales, strict=True)
        ]
        (matrix, shift), (weight, bias) = scorer.layers
        hidden = [max(0.0, x) for x in np.array(inputs) @ matrix + shift]
        return float(np.array(hidden) @ weight[:, 0] + bias[0])
    if isinstance(scorer, StepList):
        for step in scorer.steps:
            cap = min((product(term, value) for term in step.below), default=math.inf)
            if all((value[NAMES[c.feature]] < c.threshold) == c.below for c in step.conditions) and (
                not step.of or value[step.of] < cap
            ):
                first = cap if step.value is None else step.value
                return first + sum(weight * value[name] for name, weight in step.plus.items())
    if isinstance(scorer, Switch):
        for condition, case in scorer.cases:
            if condition is None or (value[NAMES[condition.feature]] < condition.threshold) == condition.below:
                return by_hand(case, row)
    if isinstance(scorer, RuleList):
        for rule in scorer.rules:
            if all((value[NAMES[c.feature]] < c.threshold) == c.below for c in rule.conditions):
                return by_ties(scorer, rule.value, value)
    if isinstance(scorer, PointSum):
        return sum(
            entry.value
            for entry in scorer.points
            if all((value[NAMES[c.feature]] < c.threshold) == c.below for c in entry.conditions)
        )
    if isinstance(scorer, TreeSum):
        return walk(list(scorer.trees), np.array([value[name] for name in scorer.names], np.float32))
    assert isinstance(scorer, LeastTerm)
    return min(product(term, value) for term in scorer.terms)


def wins_by_hand(scorer: PairForest, features: np.ndarray) -> list[float]:
    """What each row of one decision wins against the others and against none, less what none wins."""
    step = -(-len(features) // scorer.opponents)
    met = range(0, len(features), step)

    def better(trees: Any, first: np.ndarray, second: np.ndarray) -> float:
        parts = {OWN: first, OTHER: second, DIFFERENCE: first - second}
        row = np.array([parts[asks][NAMES.index(name)] for asks, name in scorer.columns], np.float32)
        return walk(list(trees), row) / len(trees)

    alone = [2 * better(scorer.against_none, row, row) - 1 for row in features]
    lost_by_none = sum(alone[j] for j in met)
    return [
        alone[i]
        + lost_by_none
        + sum(better(scorer.pairs, row, features[j]) - better(scorer.pairs, features[j], row) for j in met if j != i)
        for i, row in enumerate(features)
    ]


def by_ties(scorer: RuleList, first: float, value: Mapping[str, float]) -> float:
    """A rule's value, far from those of others where there are ties."""
    if not scorer.ties:
        return first
    signs = {tie: 1.0 if tie.startswith("-") else -1.0 for tie in scorer.ties}
    finer = [signs[tie] * 1e-3**place * value[tie.removeprefix("-")] for place, tie in enumerate(scorer.ties)]
    return 1e9 * (first if first > 0 else first - 0.5) + sum(finer)


def product(term: Mapping[str, float], value: Mapping[str, float]) -> float:
    """A term of caps."""
    return term.get("times", 1.0) * math.prod(value[name] ** power for name, power in term.items() if name != "times")


# What every kind does ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(SCORERS))
@pytest.mark.parametrize("seed", range(3))
def test_what_is_written_reads_back_the_same(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scorer, features = random_scorer(kind, rng), grid_rows(rng, 50)
    assert type(scorer) is load(SCORERS[kind].scorer)
    text = json.dumps(scorer.to_json())
    again = read_scorer(json.loads(text), NAMES, "test")
    assert type(again) is type(scorer)
    assert json.dumps(again.to_json()) == text
    assert again.complexity() == scorer.complexity() > 0
    np.testing.assert_array_equal(again.scores(features, NAMES), scorer.scores(features, NAMES))


@pytest.mark.parametrize("kind", IN_LOOP)
@pytest.mark.parametrize("seed", range(3))
def test_the_loop_scores_as_by_hand(kind: str, seed: int) -> None:
    """Also where the columns of the loop stand in another order than those of the scorer."""
    rng = np.random.default_rng(seed)
    scorer, features = random_scorer(kind, rng), grid_rows(rng, 100)
    pairs = isinstance(scorer, PairForest)
    expected = wins_by_hand(scorer, features) if pairs else [by_hand(scorer, row) for row in features]
    np.testing.assert_allclose(scorer.scores(features, NAMES), expected, rtol=1e-12, atol=1e-12)
    order = rng.permutation(COLUMNS)
    names = ("further", *(NAMES[i] for i in order))
    wider = np.concatenate([np.full((100, 1), 9, np.float32), features[:, order]], axis=1)
    np.testing.assert_array_equal(scorer.scores(wider, names), scorer.scores(features, NAMES))


@pytest.mark.parametrize("kind", list(SCORERS))
@pytest.mark.parametrize("choice", [RANK, LEVEL], ids=["rank", "level"])
def test_the_text_has_the_question_and_every_feature(kind: str, choice: Choice) -> None:
    scorer = random_scorer(kind, np.random.default_rng(1))
    text = "\n".join(scorer.render(choice, {"most": 10}))
    assert text.startswith(choice.question)
    assert set(scorer.used) <= set(NAMES)
    for name in scorer.used:
        assert re.search(rf"\b{name}\b", text), name
    assert "wait" not in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("kind", list(SCORERS))
def test_none_is_told_where_it_is_an_answer(kind: str) -> None:
    scorer = random_scorer(kind, np.random.default_rng(1))
    text = " ".join(scorer.render(RANK, {"none": True}))
    assert ("below here: wait" if kind == "rules" else "not above 0: wait") in text
    assert "wait" not in "\n".join(scorer.render(RANK._replace(none=""), {"none": True}))


@pytest.mark.parametrize("kind", IN_LOOP)
def test_none_is_taken_where_no_score_is_above_0(kind: str) -> None:
    """And the best candidate where none is refused, or the scorer never answers so."""
    rng = np.random.default_rng(2)
    seen = set()
    for count in rng.integers(1, 4, size=200).tolist():
        packed = random_scorer(kind, rng).pack(NAMES)
        features, rows, values = grid_rows(rng, count) - np.float32(0.5), new_rows(count, COLUMNS), np.empty(3 + BLOCK)
        rows[:count] = features
        score = scores_of(packed, features)
        if not np.isfinite(score).all():
            continue
        best = int(score.argmax())
        assert best_candidate(packed, rows, count, values, True) == best
        assert best_candidate(packed._replace(none=True), rows, count, values, False) == best
        expected = best if score[best] > 0 else NONE
        assert best_candidate(packed._replace(none=True), rows, count, values, True) == expected
        seen.add(expected == NONE)
    assert seen == {True, False}


@pytest.mark.parametrize("kind", IN_LOOP)
@pytest.mark.parametrize("patched", [False, True])
def test_a_scorer_reads_no_other_column_than_it_says(kind: str, patched: bool) -> None:
    """Whatever stands there: what nobody reads is not written in the loop."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        packed = random_scorer(kind, rng).pack(NAMES)
        if patched:
            patch = {"conditions": [(1, True, 1.0)], "of": NO_COLUMN, "terms": 0, "value": 1.0, "plus": []}
            packed = with_patches(packed, pack_steps([patch], NO_CAP_TERMS))
        read, rows, values = columns_read(packed, COLUMNS), new_rows(20, COLUMNS), np.empty(20 + BLOCK)
        assert read[1] or not patched
        rows[:20] = grid_rows(rng, 20)
        best, scores = best_candidate(packed, rows, 20, values, True), values[:20].copy()
        rows[:, ~read] = np.nan
        assert best_candidate(packed, rows, 20, values, True) == best
        np.testing.assert_array_equal(values[:20], scores)


@pytest.mark.parametrize("ties", [(), ("-work_s",), ("-work_s", "rank"), ("age_s", "-rank", "size")])
@pytest.mark.parametrize("most", [4, 5])
def test_rules_ask_many_rows_as_they_ask_one(ties: tuple[str, ...], most: int) -> None:
    """To the bit; those of more than four conditions row by row."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        rules = [
            Rule(
                tuple(
                    Condition(int(f), bool(rng.integers(2)), float(rng.integers(1, 5)) / 2)
                    for f in rng.permutation(COLUMNS)[: rng.integers(0 if place else most, most + 1)]
                ),
                float(rng.integers(-3, 4)),
            )
            for place in range(rng.integers(1, 6))
        ]
        scorer = RuleList((*rules, Rule((), 0.5)), NAMES, ties=ties)
        packed, rows = scorer.pack(NAMES), grid_rows(rng, int(rng.integers(MANY, 40)))
        assert packed.steps.plain[0] == (most <= ASKED)
        together, alone = scorer.scores(rows, NAMES), [scorer.scores(row[None], NAMES)[0] for row in rows]
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_allclose(together, [by_hand(scorer, row) for row in rows], rtol=1e-12)


def test_points_with_ties_choose_the_most_points_then_by_the_ties() -> None:
    """To the last: the sums of whole points are exact, so among equal sums and ties the first wins."""
    rng = np.random.default_rng(5)
    plain = random_scorer("points", rng)
    assert isinstance(plain, PointSum)
    scorer = replace(plain, ties=("work_s", "-age_s"))
    features = grid_rows(rng, 400)
    points = plain.scores(features, NAMES)
    keys = (-features[:, NAMES.index("age_s")], features[:, NAMES.index("work_s")], -points)
    scores = scorer.scores(features, NAMES)
    np.testing.assert_array_equal(scores > 0, points > 0)
    order = np.lexsort(keys)
    ahead, behind = order[:-1], order[1:]
    same = np.all([key[ahead] == key[behind] for key in keys], axis=0)
    np.testing.assert_array_equal(scores[ahead] == scores[behind], same)
    assert (scores[ahead] >= scores[behind]).all()
    again = read_scorer(json.loads(json.dumps(scorer.to_json())), NAMES, "test")
    assert again == scorer
    assert "among equals the one with the least work_s, then the most age_s" in " ".join(scorer.render(RANK, {}))


def test_pairs_are_counted_within_a_decision() -> None:
    """Rows of other decisions have no say, nor does the order of the rows."""
    rng = np.random.default_rng(3)
    scorer, features = random_scorer("pairs", rng), grid_rows(rng, 12)
    starts = np.array([0, 1, 5, 5, 8, 12])
    parts = [scorer.scores(features[a:b], NAMES) for a, b in itertools.pairwise(starts)]
    np.testing.assert_array_equal(scorer.scores(features, NAMES, starts), np.concatenate(parts))
    order = rng.permutation(4)
    np.testing.assert_allclose(scorer.scores(features[8:][order], NAMES), parts[-1][order], atol=1e-12)
    assert isinstance(scorer, PairForest)
    share = scorer.share(features[0], features[1], NAMES)
    assert share == pytest.approx(1 - scorer.share(features[1], features[0], NAMES)) and 0 <= share <= 1


def test_the_candidate_that_beats_all_others_wins() -> None:
    """One tree: the one of less work is better. The sum of the wins puts the rows in the order of their work."""
    tree = {
        "feature": [0, -1, -1],
        "threshold": [0.0, 0.0, 0.0],
        "left": [1, 0, 0],
        "right": [2, 0, 0],
        "value": [0.5, 1.0, 0.25],
    }
    forest = PairForest((tree,), (Column(DIFFERENCE, "work_s"),))
    rows = np.zeros((4, COLUMNS), np.float32)
    rows[:, NAMES.index("work_s")] = [5, 1, 9, 5]
    assert forest.scores(rows, NAMES).tolist() == [0.0, 2.25, -2.25, 0.0]  # a win and its loss: 1 - 0.25
    assert forest.scores(rows[:1], NAMES).tolist() == [0.0]
    idling = replace(forest, against_none=({**tree, "feature": [-1] * 3, "value": [0.25, 0.0, 0.0]},))
    assert idling.scores(rows[:1], NAMES).tolist() == [-1.0]  # it loses by a half to none, which wins as much
    text = " ".join(forest.render(RANK, {}))
    assert "work_s less that of the other < 0 s  ->  better in 100 %" in text
    with pytest.raises(ClearschedError, match="x: pairs: they compare candidates, and this choice has none: use trees"):
        forest.check(LEVEL, "x")


LEAF_TREE = {"feature": [-1], "threshold": [0.0], "left": [0], "right": [0], "value": [0.5]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pairs": []}, "x.pairs: a list of trees expected"),
        ({"opponents": 0}, "x.opponents: a whole number from 1 to 1,000,000 expected"),
        ({"opponents": 10**20}, "x.opponents: a whole number from 1 to 1,000,000 expected"),
        ({"pairs": [LEAF_TREE | {"gain": []}]}, "x.pairs: tree 0: gain: a number for each of the 1 nodes expected"),
        ({"pairs": [LEAF_TREE | {"left": [0.5]}]}, "x.pairs: tree 0: left: a list of whole numbers expected"),
        ({"features": ["other sise"]}, "x.features: unknown feature 'sise'; did you mean size?"),
        ({"features": "size"}, "pairs need a list `features`"),
        ({"pairs": [{"feature": [1], "value": [0.5]}]}, "x.pairs: tree 0: feature: a list of -1 .leaf. to 0 expected"),
        ({"pairs": [{"feature": [-1], "value": [1.5]}]}, "x.pairs: tree 0: value: a list of shares from 0 to 1"),
        ({"pairs": [{"feature": [-1], "value": [0.5]}]}, "x: tree 0: needs the lists"),
        ({"against_none": 3}, "x.against_none: a list of trees expected"),
    ],
)
def test_a_broken_forest_of_pairs_is_told(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ClearschedError, match=message):
        read_scorer({"pairs": [LEAF_TREE], "features": ["difference size"]} | changed, NAMES, "x")


def test_points_with_ties_can_be_switched_on_and_off() -> None:
    rng = np.random.default_rng(8)
    plain = random_scorer("points", rng)
    assert isinstance(plain, PointSum)
    points, other = replace(plain, ties=("work_s",)), random_scorer("rules", rng)
    few = Condition(NAMES.index("size"), True, 1.0)
    switch = Switch((Case(few, points), Case(None, other)), NAMES)
    rows = grid_rows(rng, 200)
    below = rows[:, NAMES.index("size")] < 1
    assert 0 < below.mean() < 1
    expected = np.where(below, points.scores(rows, NAMES), other.scores(rows, NAMES))
    np.testing.assert_array_equal(switch.scores(rows, NAMES), expected)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({"points": []}, "x.points: a list of entries expected"),
        ({"points": [{"if": "size < 2"}]}, "x.points.0.: add: a number expected"),
        ({"points": [{"if": "sise < 2", "add": 1}]}, "unknown feature 'sise'; did you mean size?"),
        ({"points": [{"add": 1.5}], "ties": ["size"]}, "whole numbers expected, since there are ties"),
        ({"points": [{"add": 1}], "ties": ["sise"]}, "x: ties: unknown feature 'sise'"),
    ],
)
def test_broken_points_are_told_in_one_line(points: dict, message: str) -> None:
    with pytest.raises(ClearschedError, match=message):
        read_scorer(points, NAMES, "x")


def test_a_large_network_says_that_it_does_not_run_in_the_loop() -> None:
    small = random_scorer("network", np.random.default_rng(0))
    assert isinstance(small, Perceptron)
    inner = (np.eye(3), np.zeros(3))
    with pytest.raises(ClearschedError, match=r"^mine: in the simulator's loop runs a network of one hidden layer"):
        Perceptron((small.layers[0], inner, small.layers[1]), small.names).pack(NAMES, "mine")
    wide = ((np.ones((2, 16)), np.zeros(16)), (np.ones((16, 1)), np.zeros(1)))
    with pytest.raises(ClearschedError, match="at most 15 units"):
        Perceptron(wide, small.names).pack(NAMES, "mine")


def test_a_formula_with_logarithms_by_hand() -> None:
    scorer = read_scorer({"weights": {"constant": 1}, "log_weights": {"size": {"weight": 2, "scale": 4}}}, NAMES, "x")
    rows = np.zeros((3, len(NAMES)), np.float32)
    rows[:, 1] = [0, 4, -12]
    np.testing.assert_allclose(scorer.scores(rows, NAMES), [1, 1 + 2 * math.log(2), 1 - 2 * math.log(4)])
    assert scorer.used == ("size",)
    assert any("log(1 + size / 4)" in line for line in scorer.render(RANK, {}))


def test_steps_by_hand() -> None:
    scorer = read_scorer(
        {
            "steps": [
                {
                    "if": "is_kept >= 1",
                    "of": "share",
                    "below": [{"times": 2, "size": 1}],
                    "then": 3,
                    "plus": {"rank": -1},
                },
                {"if": "otherwise", "of": "share", "below": [{"times": 0.1, "work_s": 1}, {"times": 4}]},
                {"if": "otherwise", "then": -1},
            ]
        },
        NAMES,
        "x",
    )
    rows = np.array(
        [
            [0, 1, 1.5, 90, 2, 1],  # kept, 1.5 < 2 x 1: 3 - 2
            [0, 1, 2.0, 90, 2, 1],  # kept, at its cap: 2 < least of 9 and 4, so the second step gives 4
            [0, 1, 0.5, 30, 2, 0],  # 0.5 < 3
            [0, 1, 3.0, 30, 2, 0],  # at that cap
        ],
        np.float32,
    )
    np.testing.assert_allclose(scorer.scores(rows, NAMES), [1, 4, 3, -1], rtol=1e-6)
    told = "\n".join(scorer.render(RANK, {"none": True}))
    assert "below here: wait" in told
    assert "share below 2 times size" in told


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "a list of steps expected"),
        ([{"then": 1}], r"steps\[0\]: an object with the text `if` expected"),
        ([{"if": "otherwise", "than": 1}], r"unknown key 'than'"),
        ([{"if": "otherwise"}], "`then` is missing"),
        ([{"if": "otherwise", "then": math.nan}], r"then: a number expected"),
        ([{"if": "otherwise", "of": "size", "then": 1}], r"below: a list of terms expected"),
        ([{"if": "otherwise", "of": "siz", "below": [{"times": 1}]}], "unknown feature 'siz'; did you mean size"),
        ([{"if": "size < 1", "then": 1}], "the last step must be `otherwise`"),
        ([{"if": "otherwise", "then": 1, "plus": {"constant": 1}}], "no constant here"),
        ([{"if": "otherwise", "then": 1, "plus": {"size": "a"}}], "a finite number expected, not 'a'"),
    ],
)
def test_broken_steps_are_told(steps: Any, told: str) -> None:
    with pytest.raises(ClearschedError, match=told) as error:
        read_scorer({"steps": steps}, NAMES, "here")
    assert "\n" not in str(error.value)


def test_a_network_is_layers_with_a_bend() -> None:
    layers = (np.array([[1.0, -1.0]]), np.zeros(2)), (np.array([[1.0], [1.0]]), np.array([0.5]))
    rows = np.zeros((2, COLUMNS), np.float32)
    rows[:, 0] = (-2, 3)
    assert Perceptron(layers, ("age_s",)).scores(rows, NAMES).tolist() == [2.5, 3.5]  # |x| + 0.5


def test_a_feature_of_another_problem_is_refused() -> None:
    for kind in IN_LOOP:
        scorer = random_scorer(kind, np.random.default_rng(0))
        with pytest.raises(ClearschedError, match=r"^mine.*: unknown feature"):
            scorer.pack(("one", "two"), "mine")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rules": [], "trees": []}, "^here: give either 'rules' or 'trees', and not both"),
        ([1], "^here: weights by feature, a number, or an object with weights or rules or"),
        ({}, "^here: weights by feature"),
        ({"weights": 3}, r"^here\.weights: a formula needs a weight"),
        ({"trees": []}, r"^here\.trees: a list of trees expected"),
        ({"trees": [{}]}, "^here: trees need a list `features`"),
        ({"trees": [{}], "features": "age_s"}, "^here: features: a list of names expected"),
        ({"trees": [{}], "features": ["ages"]}, "^here: unknown feature 'ages'; did you mean age_s"),
        ({"trees": [{}], "features": ["age_s", "size", "age_s"]}, "^here: features: age_s stands there twice"),
        ({"trees": [{"feature": [1]}], "features": ["age_s"]}, "^here: tree 0: feature: a list of -1 .leaf. to 0 exp"),
        ({"cap_terms": []}, r"^here\.cap_terms: a list of terms expected"),
        ({"cap_terms": [{"ages": 1}]}, r"^here\.cap_terms\[0\]: unknown feature 'ages'; did you mean age_s"),
        ({"cap_terms": [{"times": "3"}]}, r"^here\.cap_terms\[0\]: times: a finite number expected"),
        ({"network": [], "features": ["age_s"]}, r"^here\.network: a list of layers expected"),
        ({"network": [{}], "features": ["age_s"]}, r"^here\.network\[0\]: lists of numbers `weights` and `bias`"),
        ({"network": [{"weights": [[1]], "bias": 0}], "features": ["age_s"]}, r"network\[0\]: weights of 1 rows"),
        ({"network": [{"weights": [[math.inf]], "bias": [0]}], "features": ["age_s"]}, "a number is not finite"),
        ({"switch": []}, r"^here\.switch: a list of cases expected"),
        ({"switch": [{"if": "size < 1"}]}, r"^here\.switch\[0\]: an object with the text `if` and the scorer `use`"),
        ({"switch": [{"if": "size < 1", "use": RULES}]}, r"^here\.switch: the last case, and no other, must be"),
        (
            {"switch": [{"if": "size < 1 and rank < 2", "use": RULES}]},
            r"\.if: one condition expected, not 2",
        ),
        ({"switch": [{"if": "siz < 1", "use": RULES}]}, "unknown feature 'siz'; did you mean size"),
        ({"switch": [{"if": "otherwise", "use": {"weights": {"ages": 1}}}]}, "unknown feature 'ages'"),
        ({"switch": [{"if": "size < 1", "use": 1}, {"if": "otherwise", "use": RULES}]}, "a formula or network can't"),
        ({"switch": [{"if": "size < 1", "use": STEPS}, {"if": "otherwise", "use": RULES}]}, "one case rounds up"),
        ({"rules": [{"if": "otherwise", "then": math.nan}]}, r"^here\.rules\[0\]: then: a number expected"),
        ({"rules": [{"if": "otherwise", "then": True}]}, r"^here\.rules\[0\]: then: a number expected"),
    ],
)
def test_what_is_malformed_is_told_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(ClearschedError, match=message) as raised:
        read_scorer(value, NAMES, "here")
    assert "\n" not in str(raised.value)


# Words ---------------------------------------------------------------------------------------------------------------


def test_cap_terms_read_as_people_say_them() -> None:
    """A feature with a unit is worth so many machines a unit; without the most a level can be, a share."""
    terms = ({"times": 3, "share": 1}, {"times": 1 / 60, "work_s": 1}, {"times": 0.3}, {"times": 0.2, "age_s": 1})
    scorer = LeastTerm((*terms, {"times": 2, "share": 0.5, "work_s": 1}))
    assert scorer.render(LEVEL, {"most": 10}) == [
        "How many machines? All of this holds, rounded.",
        "",
        "  at most 3 times share,",
        "  and at most one machine for each 6 s of work_s,",
        "  and at most 30 % of the machines (3 of 10),",
        "  and at most 2 machines for each s of age_s,",
        "  and at most 2 x share^0.5 x work_s [s] of the machines.",
    ]
    assert "  and at most 0.0166667 x work_s [s] of the machines," in scorer.render(LEVEL, {})
    rows = np.zeros((2, COLUMNS), np.float32)
    rows[:, NAMES.index("share")], rows[:, NAMES.index("work_s")], rows[:, NAMES.index("age_s")] = 1, (6, 60), 10
    assert scorer.scores(rows, NAMES).tolist() == pytest.approx([0.1, 0.3])


def test_none_stands_among_the_rules() -> None:
    rules = (Rule((Condition(0, True, 3.0),), 1.0), Rule((Condition(4, True, 1.0),), -1.0), Rule((), -2.0))
    scorer = RuleList(rules, NAMES, (0.25, 0.5, 0.25))
    assert scorer.none_place == 1
    assert scorer.render(RANK, {"none": True})[-4:] == [
        "  1. if age_s < 3 s  ->  score 1   (25.0 % of the candidates)",
        "     below here: wait",
        "  2. else if rank < 1 items  ->  score -1   (50.0 % of the candidates)",
        "  3. otherwise  ->  score -2   (25.0 % of the candidates)",
    ]
    assert not any("below here" in line for line in scorer.render(RANK, {}))


def test_shares_of_a_level_are_told_in_whole_things() -> None:
    scorer = RuleList((Rule((Condition(2, True, 0.5),), 0.34), Rule((), 1.0)), NAMES)
    assert scorer.render(LEVEL, {"most": 10})[-2:] == [
        "  1. if share < 0.5  ->  34 % of the machines (3 of 10)",
        "  2. otherwise  ->  100 % of the machines (10 of 10)",
    ]
    assert scorer.render(LEVEL, {})[-1] == "  2. otherwise  ->  100 % of the machines"


def test_shares_count_the_rows_of_each_rule() -> None:
    scorer = RuleList((Rule((Condition(0, True, 1.0),), 1.0), Rule((), 0.0)), NAMES)
    rows = np.zeros((3, COLUMNS), np.float32)
    rows[0, 0] = 5
    assert scorer.with_shares(rows).shares == (0.6667, 0.3333)


# Rules and trees -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_its_list_and_its_rules_give_the_same(seed):
    rng = np.random.default_rng(seed)
    features, tree = grid_rows(rng, 300), random_tree(rng, 4)
    expected = tree_scores([tree], features)
    np.testing.assert_array_equal(tree_scores([compile_rules(as_list(tree))], features), expected)
    np.testing.assert_array_equal(tree_scores([compile_rules(flatten([tree]))], features), expected)


@pytest.mark.parametrize("seed", range(3))
def test_a_sum_of_trees_flattens_to_rules_that_exclude_each_other(seed):
    rng = np.random.default_rng(seed)
    features, trees = grid_rows(rng, 300), [random_tree(rng, 2), random_tree(rng, 3)]
    rules = flatten(trees)
    np.testing.assert_allclose(tree_scores([compile_rules(rules)], features), tree_scores(trees, features))
    fits = [first_rule([rule], features) == 0 for rule in rules]
    assert np.all(np.sum(fits, axis=0) == 1)


@pytest.mark.parametrize("depths", [[3], [0, 1, 2, 3], [3] * 50, [3, 4, 2], []])
@pytest.mark.parametrize("count", [1, 16, 29, 130])
def test_scores_are_those_of_a_plain_walk(depths, count):
    """In Python, tree by tree; an ensemble of at most three levels is evaluated in another way than a deeper one."""
    rng = np.random.default_rng(len(depths))
    features, trees = grid_rows(rng, count), [random_tree(rng, depth) for depth in depths]
    features[0] = np.nan  # fails every comparison
    expected = [walk(trees, row) for row in features]
    packed = pack(trees, COLUMNS, "test")
    np.testing.assert_array_equal(scores_of(Packed(trees=packed), features), expected)
    rows, values = new_rows(count, COLUMNS), np.zeros(count)
    rows[:count] = features
    add_scores(packed, rows, count, values)
    np.testing.assert_array_equal(values, expected)


def test_conditions_of_one_feature_are_tightened():
    below = [Condition(2, True, 5.0), Condition(2, True, 3.0), Condition(1, False, 1.0)]
    assert tighten(below) == (Condition(1, False, 1.0), Condition(2, True, 3.0))
    assert tighten([*below, Condition(2, False, 3.0)]) is None


@pytest.mark.parametrize(
    ("text", "value", "met"),
    [
        ("share < 2.9", 2.9, False),
        ("share <= 2.9", 2.9, True),
        ("share >= 2.9", 2.9, True),
        ("share > 2.9", 2.9, False),
        ("share>1e-3", 0.0011, True),
        ("share < 3 and share >= 2", 2.5, True),
        ("otherwise", 0.0, True),
    ],
)
def test_text_is_read_as_it_is_written(text, value, met):
    features = np.full((1, COLUMNS), value, np.float32)
    assert (first_rule([Rule(parse_conditions(text, NAMES, "test"), 1.0)], features) == 0) == [met]


@pytest.mark.parametrize("value", [0.1, 3.0, 1 / 3, 1e-7, 123456.78, 2.0**24 + 2, 0.0])
def test_a_printed_threshold_is_the_one_that_runs(value):
    condition = Condition(3, True, value)
    (read,) = parse_conditions(condition.text(NAMES), NAMES, "test")
    assert np.float32(read.threshold) == np.float32(value)
    assert float(number(value)) == pytest.approx(value, rel=1e-6)
