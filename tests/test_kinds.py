"""The kinds of student that are fitted to single candidates: their models are turned into scorers that say the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.compiled.features import new_rows
from clearsched.compiled.scoring import best_candidate
from clearsched.compiled.trees import BLOCK
from clearsched.decisions.answers import rank_answers
from clearsched.decisions.choices import Choices
from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import NONE
from clearsched.registry import load
from clearsched.scorers.conditions import Condition, Rule, first_rule, holds
from clearsched.scorers.pairs import PairForest
from clearsched.scorers.points import PointSum
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.text import render
from clearsched.students import boosted_rules, figs, integer_score, pruned_tree, skope_rules
from clearsched.students.assembly import Regret
from clearsched.students.bench import Bench
from clearsched.students.dataset import Dataset, subset
from clearsched.students.elimination import elimination_list
from clearsched.students.examples import Examples
from clearsched.students.flat_trees import from_figs
from clearsched.students.kinds import STUDENTS
from clearsched.students.placing import bar, ranked_leaves, rounded_tree
from clearsched.students.settings import (
    BoostedTreesParams,
    LimitCapsParams,
    LimitTreeParams,
    PairwiseForestParams,
    RankingParams,
    RuleListParams,
    StudentsParams,
)
from clearsched.students.task import Task
from random_trees import grid_rows, random_tree, tree_scores
from test_students import EXPERTS, Toys, recorded

KINDS = tuple(name for name in STUDENTS if name != "switch")
"""A switch is made of others (tests/test_refining.py)."""
FITTED_TO_CANDIDATES = (
    "pruned_tree",
    "figs",
    "shrunk_tree",
    "greedy_rules",
    "boosted_rules",
    "skope_rules",
    "integer_score",
    "pairwise_forest",
    "fair_limit",
)
CHEAP = {
    "rule_list": RuleListParams(max_rules=4, rescoring=RankingParams(trees=12)),
    "boosted_trees": BoostedTreesParams(trees=12),
    "pairwise_forest": PairwiseForestParams(trees=5, depth=5, opponents=2),
}
RANDOM_DECISIONS = 10_000
DEFERRABLE = find_problem("deferrable_jobs")
DAG_JOBS = find_problem("dag_jobs")
COMMON = StudentsParams(
    limit_tree=LimitTreeParams(leaves=4), limit_caps=LimitCapsParams(terms=0), dagger_rounds=0, dagger_episodes=1
)


def learned(task: Task) -> ScoredPolicy:
    """What the module of its kind makes of a task."""
    student: ScoredPolicy = load(f"{STUDENTS[task.name].module}:learn")(task)
    return student


def settings_of(kind: str) -> Any:
    return CHEAP.get(kind) or STUDENTS[kind].settings()


def decisions(
    generator: np.random.Generator, features: np.ndarray, size: int, best: np.ndarray, *, none: bool = False
) -> Choices:
    """Decisions of up to `size` candidates, the best of which by float[n] is chosen; none beats what is not above 0.

    Every other decision has "none of these" as an answer if `none`.
    """
    rows, scores, ids, starts, chosen = [], [], [], [0], []
    for number, first in enumerate(range(0, len(features) - size + 1, size)):
        count = int(generator.integers(1, size + 1))
        part, own = features[first : first + count], best[first : first + count]
        named = np.arange(count)
        if none and number % 2 == 0:
            part = np.concatenate([part, np.full((1, features.shape[1]), np.nan, np.float32)])
            own, named = np.append(own, 0.0), np.append(named, NONE)
        answer = int(np.argmax(own))
        chosen.append(starts[-1] + answer)
        scores.append(np.arange(len(own)) == answer)
        rows.append(part)
        ids.append(named)
        starts.append(starts[-1] + len(own))
    score, candidate = np.concatenate(scores).astype(np.float64), np.concatenate(ids)
    numbers = np.arange(len(chosen))
    return Choices(
        np.concatenate(rows),
        np.array(starts),
        np.array(chosen),
        candidate,
        candidate,
        score,
        score,
        0 * numbers,
        numbers,
        numbers * 1.0,
    )


def random_features(generator: np.random.Generator, choice: Choice, count: int) -> np.ndarray:
    """float32[count, F] on coarse grids, so that values often equal thresholds; 0 or 1 where a name says so."""
    features = (generator.integers(0, 12, (count, len(choice.features))) / 2).astype(np.float32)
    for place, feature in enumerate(choice.features):
        if "_is_" in feature.name:
            features[:, place] = features[:, place] > 3
    return features


def deferrable_task(kind: str, none: bool) -> Task:
    """Random decisions of the problem that has no level: short jobs first, and where it is allowed only with room."""
    choice, generator = DEFERRABLE.choices[0], np.random.default_rng(3)
    names = names_of(choice)
    features = random_features(generator, choice, 1_500)
    best = 3.5 - features[:, names.index("job_duration_min")] + features[:, names.index("room_now")] / 4
    rank = decisions(generator, features, 5, best, none=none)
    return Task(kind, DEFERRABLE, Dataset(rank, None, 0, DEFERRABLE.choices), None, settings_of(kind), COMMON, 1)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def toys() -> dict[bool, tuple[Toys, Dataset]]:
    """DAG jobs with and without "none of these", and what an expert chose there."""
    found = {}
    for idling in (False, True):
        instance = Toys(idling)
        found[idling] = instance, recorded(instance, EXPERTS[idling], instance.split("train")[:6])
    return found


def dag_task(kind: str, toys: dict[bool, tuple[Toys, Dataset]], none: bool) -> Task:
    instance, dataset = toys[none]
    bench = Bench(instance, instance.objective, instance.split("train")[:4], instance.split("validation"))
    return Task(kind, DAG_JOBS, dataset, bench, settings_of(kind), COMMON, 1)


@pytest.fixture(scope="module")
def students(toys: dict[bool, tuple[Toys, Dataset]]) -> dict[tuple[str, str, bool], ScoredPolicy]:
    """Every kind, learned for both problems, with and without "none of these" as an answer."""
    found = {}
    for kind in KINDS:
        for none in (False, True):
            found[kind, "dag_jobs", none] = learned(dag_task(kind, toys, none))
            if kind != "fair_limit":
                found[kind, "deferrable_jobs", none] = learned(deferrable_task(kind, none))
    return found


CASES = [
    (kind, problem, none)
    for kind in KINDS
    for problem in ("dag_jobs", "deferrable_jobs")
    for none in (False, True)
    if (kind, problem) != ("fair_limit", "deferrable_jobs")
]


# What every kind does ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_back_prints_and_chooses_the_same(case: Any, students: Any, tmp_path: Any) -> None:
    """On random decisions, inside the loop as outside, to the bit; whether the text says so: tests/test_printed.py."""
    student = students[case]
    student.write(tmp_path / "student.json")
    again = load_policy(tmp_path / "student.json", student.problem)
    assert render(again) == render(student)
    again.write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "student.json").read_text()
    generator = np.random.default_rng(7)
    choices = decisions(
        generator,
        random_features(generator, student.rank, 3 * RANDOM_DECISIONS),
        3,
        generator.random(3 * RANDOM_DECISIONS),
        none=student.none,
    )
    assert len(choices.chosen) == RANDOM_DECISIONS
    told = again.scores(choices.features, choices.starts)
    np.testing.assert_array_equal(told, student.scores(choices.features, choices.starts))
    answers = rank_answers(again, choices)
    inside = looped(again, choices, told)
    np.testing.assert_array_equal(inside, answers)


def looped(student: ScoredPolicy, choices: Choices, told: np.ndarray) -> np.ndarray:
    """int64[d]: the row that the loop's code chooses; its scores must be those that are told outside."""
    packed = student.scorers[student.rank.name].pack(names_of(student.rank))._replace(none=student.none)
    width = choices.features.shape[1]
    rows, values = new_rows(4, width), np.empty(4 + BLOCK)
    found = []
    for first, last in zip(choices.starts[:-1].tolist(), choices.starts[1:].tolist(), strict=True):
        none = bool(choices.is_none[last - 1])
        count = last - first - none
        rows[:count] = choices.features[first : first + count]
        best = best_candidate(packed, rows, count, values, none)
        assert (values[:count] == told[first : first + count]).all()
        found.append(last - 1 if best == NONE else first + best)
    return np.array(found)


@pytest.mark.parametrize("case", CASES)
def test_the_text_has_every_feature_with_its_unit(case: Any, students: Any) -> None:
    student = students[case]
    text = " ".join(render(student).split())
    units = {feature.name: feature.unit for feature in student.rank.features}
    for scorer in student.scorers.values():
        for name in scorer.used:
            assert f" {name} " in text or f" {name}," in text or f" {name}." in text, name
            assert not units[name] or f"[{units[name]}]" in text
    assert (student.rank.none in text) == (student.none and idles(student))


def idles(student: ScoredPolicy) -> bool:
    """Whether its text tells when none is the answer: a rule list does where some rule is below it."""
    scorer = student.scorers[student.rank.name]
    return not isinstance(scorer, RuleList) or scorer.none_place < len(scorer.rules)


@pytest.mark.parametrize("kind", FITTED_TO_CANDIDATES)
@pytest.mark.parametrize("none", [False, True])
def test_they_learn_what_the_expert_does(kind: str, none: bool, toys: Any, students: Any) -> None:
    """More often as the expert than the first candidate is; and they idle where it does, more often than elsewhere."""
    student = students[kind, "dag_jobs", none]
    choices = toys[none][1].rank
    real = subset(choices, ~choices.trivial)
    answers = rank_answers(student, real)
    assert (answers == real.chosen).mean() > max(0.7, (real.starts[:-1] == real.chosen).mean())
    assert student.none == none
    if none:
        wanted, idle = real.is_none[real.chosen], real.is_none[answers]
        assert idle[wanted].mean() > 0.5 > 0.2 > idle[~wanted].mean()


@pytest.mark.parametrize("kind", FITTED_TO_CANDIDATES)
def test_they_keep_to_their_budgets(kind: str, students: Any, toys: Any) -> None:
    least = {
        "leaves": 3,
        "max_rules": 3,
        "rules": 3,
        "conditions": 1,
        "trees": 2,
        "depth": 2,
        "pairs": 1,
        "features": 2,
        "points": 2,
        "ties": 0,
    }
    fields = STUDENTS[kind].settings.model_fields
    chosen = STUDENTS[kind].settings(**{name: value for name, value in least.items() if name in fields})
    student = learned(replace(dag_task(kind, toys, True), settings=chosen))
    scorer: Any = student.scorers["stage"]
    assert 1 <= len(scorer.used) <= 2
    if isinstance(scorer, RuleList):
        assert len(scorer.rules) <= 3 and scorer.ties == ()
        assert max(len(rule.conditions) for rule in scorer.rules) <= 1
    elif isinstance(scorer, PointSum):
        entries = [entry for entry in scorer.points if entry.conditions]
        assert len(entries) == 1 and abs(entries[0].value) <= 2
    elif isinstance(scorer, PairForest):
        trees = scorer.pairs, scorer.against_none
        assert [len(part) for part in trees] == [2, 2]
        assert all(sum(f == -1 for f in tree["feature"]) <= 4 for part in trees for tree in part)
    else:
        grown = [tree for tree in scorer.trees if len(tree["feature"]) > 1]
        assert sum(feature >= 0 for tree in grown for feature in tree["feature"]) <= 3


@pytest.mark.parametrize("kind", FITTED_TO_CANDIDATES)
def test_fitting_twice_gives_the_same(kind: str, students: Any, toys: Any) -> None:
    np.random.seed(5)
    assert learned(dag_task(kind, toys, True)) == students[kind, "dag_jobs", True]


@pytest.mark.parametrize("kind", FITTED_TO_CANDIDATES)
@pytest.mark.parametrize("size", [1, 3], ids=["nothing to choose", "nothing to choose by"])
def test_a_log_that_tells_nothing_makes_one_rule(kind: str, size: int, toys: Any) -> None:
    task = dag_task(kind, toys, False)
    generator = np.random.default_rng(0)
    features = np.ones((60, len(task.rank.features)), np.float32)
    rank = decisions(generator, features, size, np.zeros(60))
    student = learned(replace(task, dataset=task.dataset._replace(rank=rank)))
    assert student.scorers["stage"] == RuleList((Rule((), 1.0),), task.names)


# Trees as lists ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_leaves_in_order_give_every_row_the_value_of_the_tree(seed: int, depth: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng, depth), grid_rows(rng, 400)
    rules = ranked_leaves(tree)
    values = [rule.value for rule in rules]
    assert values == sorted(values, reverse=True) and not rules[-1].conditions
    np.testing.assert_array_equal(np.array(values)[first_rule(rules, rows)], tree_scores([tree], rows))


def test_a_leaf_needs_no_condition_that_better_leaves_imply() -> None:
    """feature 0 < 1: value 3; else feature 1 < 2: value 2, else 1. The second best need not say feature 0 >= 1."""
    tree = {
        "feature": [0, -1, 1, -1, -1],
        "threshold": [1.0, 0.0, 2.0, 0.0, 0.0],
        "left": [1, 0, 3, 0, 0],
        "right": [2, 0, 4, 0, 0],
        "value": [0.0, 3.0, 0.0, 2.0, 1.0],
    }
    first, second = Condition(0, True, 1.0), Condition(1, True, 2.0)
    assert ranked_leaves(tree) == [Rule((first,), 3.0), Rule((second,), 2.0), Rule((), 1.0)]
    worst_first = {**tree, "value": [0.0, 1.0, 0.0, 2.0, 3.0]}
    assert ranked_leaves(worst_first)[0] == Rule((first._replace(below=False), second._replace(below=False)), 3.0)


def test_none_stands_where_the_scores_part_good_from_bad() -> None:
    """Of four single candidates those of score 5 and 4 are better than none, that of 1 is not, the last had no none."""
    features, none = np.zeros((7, 1), np.float32), np.array([0, NONE, 0, NONE, 0, NONE, 0])
    score = np.array([1.0, 0.0, 2.0, 0.0, -1.0, 0.0, 0.0])
    starts = np.array([0, 2, 4, 6, 7])
    choices = Choices(features, starts, starts[:-1], none, none, score, score, *np.zeros((3, 4), np.int64))
    assert bar(np.array([5.0, 4.0, 1.0, 0.0]), Regret(choices)) == 2.5
    assert bar(np.array([5.0, 4.0, 3.1416, 0.0]), Regret(choices)) == 3.57
    assert bar(np.array([5.0, 1.23454, 1.23456, 0.0]), Regret(choices)) < 1.23454
    assert bar(np.array([5.0, 4.0, 6.0, 0.0]), Regret(choices)) < 4.0, "rather one idle moment less than two"
    never = choices._replace(score=-np.abs(score))
    assert bar(np.array([5.0, 4.0, 1.0, 0.0]), Regret(never)) > 5.0


# Each model ----------------------------------------------------------------------------------------------------------


STAGE = DAG_JOBS.choices[0]
NAMES = names_of(STAGE)
WORK, RANK, LOAD = (NAMES.index(name) for name in ("job_work_left_s", "stage_rank", "job_sqrt_load"))


def examples(best: Any, *, seed: int = 0, size: int = 4, count: int = 4_000) -> Examples:
    """Random decisions whose best candidate is that of the highest `best(features)`."""
    generator = np.random.default_rng(seed)
    features = random_features(generator, STAGE, count)
    choices = decisions(generator, features, size, best(features))
    real = subset(choices, ~choices.trivial)
    return Examples(real._replace(score=best(real.features).astype(np.float64)), STAGE, 12)


def task_for(kind: str, **values: Any) -> Task:
    chosen = STUDENTS[kind].settings(**values)
    dataset: Any = Dataset(
        decisions(np.random.default_rng(0), np.zeros((4, len(NAMES)), np.float32), 2, np.zeros(4)),
        None,
        0,
        DAG_JOBS.choices,
    )
    return Task(kind, DAG_JOBS, dataset, None, chosen, COMMON, 1)  # type: ignore[arg-type]


def small_and_first(features: np.ndarray) -> np.ndarray:
    """3 for small jobs, 1 more for their first stage, as a person would count."""
    return 3.0 * (features[:, WORK] < 2) + 1.0 * (features[:, RANK] < 1)


def test_the_pruned_tree_finds_what_there_is_and_no_more() -> None:
    found = examples(small_and_first)
    grown = pruned_tree.grown(found, "best", 64, 50)
    few = pruned_tree.grown(found, "best", 4, 50)
    assert sum(feature < 0 for feature in few["feature"]) <= 4 < sum(feature < 0 for feature in grown["feature"])
    assert {NAMES[feature] for feature in few["feature"] if feature >= 0} == {"job_work_left_s", "stage_rank"}
    rules = ranked_leaves(rounded_tree(few, found.values))
    sure = (found.all_features[:, WORK] < 2) & (found.all_features[:, RANK] < 1)
    np.testing.assert_array_equal(first_rule(rules, found.all_features) == 0, sure)
    flat = pruned_tree.grown(found, "best", 64, 2)
    assert 2 < sum(feature < 0 for feature in flat["feature"]) <= 4, "no leaf has more than two conditions"
    one = pruned_tree.grown(found, "place", 2, 50)
    assert [NAMES[feature] for feature in one["feature"] if feature >= 0] == ["job_work_left_s"]


def test_the_place_of_a_candidate_counts_all_better_answers() -> None:
    """None included, and equals share a place."""
    features = np.arange(8, dtype=np.float32).reshape(8, 1)
    features[3] = np.nan
    score = np.array([2.0, 2.0, -1.0, 0.0, 1.0, 5.0, 3.0, 3.0])
    ids = np.array([0, 1, 2, NONE, 0, 1, 2, 3])
    starts = np.array([0, 4, 8])
    real = Choices(features, starts, np.array([0, 5]), ids, ids, score, score, *np.zeros((3, 2), np.int64))
    told = Examples(real, STAGE._replace(features=STAGE.features[:1]), 1).told
    np.testing.assert_allclose(told.place, [1, 1, 1 / 4, 1 / 4, 1, 1 / 2, 1 / 2])
    np.testing.assert_array_equal(told.best, [1, 0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(told.even, [1, 1 / 3, 1 / 3, 1 / 3, 1, 1 / 3, 1 / 3])


def test_features_that_all_candidates_share_are_left_out_unless_none_is_an_answer() -> None:
    shared = NAMES.index("jobs_in_system")
    generator = np.random.default_rng(0)
    features = random_features(generator, STAGE, 3_000)
    features[:, shared] = np.repeat(generator.integers(0, 2, 1_000), 3)
    best = np.where(features[:, shared] == 1, -1.0, 1.0) * (1 + features[:, WORK])
    for none in (False, True):
        choices = decisions(generator, features, 3, best, none=none)
        score = np.where(choices.is_none, 0.0, np.nan_to_num(choices.features[:, WORK]) + 1)
        score *= np.where(np.nan_to_num(choices.features[:, shared]) == 1, -1.0, 1.0)
        real = subset(choices._replace(score=score), ~choices.trivial)
        assert (shared in Examples(real, STAGE, 3).columns) == none


def test_the_trees_of_figs_add_up_to_its_prediction() -> None:
    from imodels import FIGSRegressor

    found = examples(small_and_first)
    model = FIGSRegressor(max_rules=9, max_trees=3).fit(found.features, found.told.place)
    trees = [from_figs(tree, found.columns) for tree in model.trees_]
    assert 1 < len(trees) <= 3
    np.testing.assert_allclose(tree_scores(trees, found.all_features), model.predict(found.features))


def test_the_chain_of_the_greedy_list_is_its_probability() -> None:
    from imodels import GreedyRuleListClassifier

    found = examples(small_and_first, count=1_200)
    told = found.told
    tree = elimination_list(found.features, found.columns, told.best, told.even, 5)
    assert 2 <= sum(feature < 0 for feature in tree["feature"]) <= 6
    generator = np.random.default_rng(0)
    drawn = generator.choice(len(told.best), 2 * int(told.best.sum()), p=told.even / told.even.sum())
    model = GreedyRuleListClassifier(max_depth=4, criterion="entropy")
    model.fit(found.features[drawn], 1.0 - told.best[drawn], feature_names=[f"f{i}" for i in found.columns])
    np.testing.assert_allclose(tree_scores([tree], found.all_features), -model.predict_proba(found.features)[:, 1])


@pytest.mark.parametrize("conditions", [1, 2])
def test_the_votes_of_boosted_rules_are_its_decision_function(conditions: int) -> None:
    found = examples(small_and_first, count=1_200)
    model = boosted_rules.boosted(found, 8, conditions)
    scores = tree_scores(boosted_rules.votes(model, found.columns), found.all_features)
    weight = model.estimator_weights_.sum()
    np.testing.assert_allclose(2 * scores / weight, model.decision_function(found.features), atol=1e-9)
    assert len(np.unique(scores)) > 3


def test_what_was_no_answer_in_a_sample_does_not_become_the_answer() -> None:
    """None is an answer of the log, but of no decision that the fit drew: every candidate stays above it."""
    found = examples(small_and_first)
    idling = replace(task_for("figs"), dataset=task_for("figs").dataset._replace(rank=with_none()))
    assert idling.dataset.none and not found.real.is_none.any()
    assert (figs.fit(found, idling).scores(found.all_features, NAMES) > 0).all()
    listed = pruned_tree.fit(found, replace(idling, settings=STUDENTS["pruned_tree"].settings()))
    assert (listed.scores(found.all_features, NAMES) > 0).all()


def with_none() -> Choices:
    """A decision with a row of none."""
    rows = np.zeros((2, len(NAMES)), np.float32)
    rows[1] = np.nan
    ids, zero = np.array([0, NONE]), np.zeros(2)
    return Choices(rows, np.array([0, 2]), np.array([0]), ids, ids, zero, zero, *np.zeros((2, 1), int), np.zeros(1))


def test_points_without_a_condition_to_choose_are_none() -> None:
    found = examples(small_and_first)
    stock = integer_score.Stock([], np.zeros((len(found.all_features), 0), np.float32))
    assert integer_score.selected(stock, found, 4).shape == (0,)


def test_skope_rules_find_a_conjunction_first() -> None:
    """One in seven candidates meets both conditions: those that the first rule names nearly all do."""

    def both(features: np.ndarray) -> np.ndarray:
        return (features[:, WORK] < 2) & (features[:, LOAD] >= 4)

    found = examples(lambda features: 1.0 * both(features), size=7, count=8_000)
    rules = list(skope_rules.mined(found, task_for("skope_rules").settings))
    assert {NAMES[c.feature] for c in rules[0].conditions} >= {"job_work_left_s", "job_sqrt_load"}
    assert [rule.value for rule in rules] == sorted((rule.value for rule in rules), reverse=True)
    scorer = skope_rules.fit(found, task_for("skope_rules", ties=0, max_rules=2))
    assert isinstance(scorer, RuleList) and len(scorer.rules) == 2
    scores, meets = scorer.scores(found.all_features, NAMES), both(found.all_features)
    assert meets[scores == 1].mean() > 0.8 > 0.2 > meets.mean()


def test_points_are_found_as_a_person_would_count_them() -> None:
    """Three points for one thing, one for another: the order is recovered without a fault."""
    stock = integer_score.stock_of(examples(small_and_first)).conditions
    small, first = (next(c for c in stock if c.feature == feature) for feature in (WORK, RANK))

    def counted(features: np.ndarray) -> np.ndarray:
        return 3.0 * holds(small, features) + 1.0 * holds(first, features)

    found = examples(counted)
    scorer = integer_score.fit(found, task_for("integer_score", ties=0, conditions=4))
    assert isinstance(scorer, PointSum)
    assert integer_score.cost_of(scorer.scores(found.all_features, NAMES), Regret(found.real))[0] == 0
    told = {entry.conditions[0]: entry.value for entry in scorer.points}
    assert set(told) == {small, first} and told[small] > told[first] > 0


def test_points_by_hand() -> None:
    """Weights become whole points, none of them nothing; what lowers the regret most is changed."""
    assert integer_score.whole(np.array([0.9, -0.3, 0.01, 0.0]), 3).tolist() == [3, -1, 1, 0]
    assert integer_score.whole(np.zeros(2), 3).tolist() == [0, 0]
    met = np.array([[1, 0], [0, 1]] * 4, np.float32)  # the second of two is the best
    score = np.array([0.0, 2.0] * 4)
    ids, starts = np.tile([0, 1], 4), np.arange(0, 9, 2)
    choices = Choices(met, starts, starts[1:] - 1, ids, ids, score, score, *np.zeros((3, 4), np.int64))
    limits = task_for("integer_score", points=2, conditions=1).settings
    points, always = integer_score.descended(met, np.array([2, 0]), Regret(choices), limits)
    assert (points.tolist() in ([-2, 0], [-1, 0], [0, 1], [0, 2])) and always == 0


# The level -----------------------------------------------------------------------------------------------------------


def test_equal_shares_are_those_of_fair_scheduling(students: Any) -> None:
    """Ten executors in all: each of so many jobs may hold so many, rounded up; the text says so."""
    student = students["fair_limit", "dag_jobs", True]
    rows = np.zeros((4, len(NAMES)), np.float32)
    rows[:, NAMES.index("jobs_in_system")] = [1, 2, 3, 4]
    assert student.rounds_up
    assert np.ceil(10 * student.level_share(rows) - 1e-9).tolist() == [10, 5, 4, 3]
    assert "at most 1 / jobs_in_system [jobs] of the executors." in render(student)


def test_equal_shares_need_a_level() -> None:
    with pytest.raises(ClearschedError, match=r"^fair_limit: deferrable_jobs has no level: leave this student out"):
        learned(deferrable_task("fair_limit", False))
    unsaid: Any = type("Unsaid", (), {"name": "unsaid", "choices": (STAGE, DAG_JOBS.choices[1]._replace(fair=()))})()
    with pytest.raises(ClearschedError, match=r"^fair_limit: unsaid has no equal share of its level"):
        learned(replace(task_for("fair_limit"), problem=unsaid))


@pytest.mark.parametrize("kind", FITTED_TO_CANDIDATES)
def test_they_run_through_whole_episodes(kind: str, toys: Any, students: Any) -> None:
    """In closed loop, idling allowed: every episode ends, and none is twice as bad as first come, first served."""
    from clearsched.problems.dag_jobs.problem import heuristic

    bench = dag_task(kind, toys, True).bench
    assert bench.validation_cost(students[kind, "dag_jobs", True]) < 2 * bench.validation_cost(heuristic("fifo"))
