"""Students: what is printed is what runs, and it runs like the expert it was learned from."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow.dataset
import pytest

from clearsched import reading
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.compiled.trees import pack
from clearsched.decisions.choices import Choices, take
from clearsched.decisions.experts import load_expert
from clearsched.decisions.reader import read_metadata
from clearsched.errors import ClearschedError
from clearsched.evaluation.seeds import trained_scored
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, FEATURES, NUM_FEATURES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.declarations import Choice, Measure
from clearsched.problems.episodes import NONE
from clearsched.registry import load
from clearsched.scorers.conditions import Condition, Rule, as_list, first_rule
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.steps import StepList
from clearsched.scorers.text import render
from clearsched.students import boosted_trees, fitting, limit_tree, load_policy, ranking, rule_list
from clearsched.students.assembly import assemble, none_place, numbered
from clearsched.students.bench import Bench, Fitted, smallest_good, worse_by
from clearsched.students.dataset import Dataset, best_rows, ranks, subset, without_none
from clearsched.students.fitting import check_log, distilled, picked
from clearsched.students.flat_trees import from_sklearn
from clearsched.students.kinds import STUDENTS
from clearsched.students.levels import level_scorers
from clearsched.students.mining import Mined
from clearsched.students.neighbours import neighbours
from clearsched.students.refining import refine
from clearsched.students.rounding import Columns, simplify
from clearsched.students.sampling import importance, sampled
from clearsched.students.seeds import best_of_fits, best_of_seeds, kept_to_trees, seeded
from clearsched.students.settings import (
    BoostedTreesParams,
    LimitCapsParams,
    LimitTreeParams,
    RankingParams,
    RefineParams,
    RuleListParams,
    RulesFromNothingParams,
    SamplingParams,
    StudentsParams,
)
from clearsched.students.sizes import resized, sizes_of
from clearsched.students.task import Task
from random_trees import SIGNS, tree_scores
from toys import stage, toy_trace, toy_workload

CHAIN = [stage(14), stage(8, [0]), stage(5, [1])]
FORK = [stage(40), stage(20), stage(25, [0, 1]), stage(9, [0])]
WIDE = [stage(90), stage(40), stage(10, [1])]
EXECUTORS = 4
SETTINGS = {
    "rule_list": RuleListParams(max_rules=4, rescoring=RankingParams(trees=12, depth=3, learning_rate=0.3)),
    "boosted_trees": BoostedTreesParams(trees=12, depth=3),
}
"""The kinds that are distilled."""

EXPERTS = {False: heuristic("capped_srpt"), True: heuristic("local_srpt", p=0.5, m=0.7)}
"""By whether "none of these" is an answer: the second leaves executors idle at times."""


class Toys(DagJobsInstance):
    """Episodes of eight jobs on four executors, drawn here."""

    def __init__(self, idling: bool) -> None:
        super().__init__(compile_profiles(toy_trace([CHAIN, FORK, WIDE]), warmup_delay_ms=10))
        self.idling = idling

    most = EXECUTORS

    @property
    def none(self) -> bool:
        return self.idling

    def split(self, name: str, limit: int | None = None) -> list[Workload]:
        rng = np.random.default_rng(["train", "validation", "test"].index(name))
        found = []
        for seed in range(10 if name == "train" else 4):
            arrivals = np.cumsum(rng.exponential(320, 8)).astype(int)
            profile, rules = rng.integers(3, size=8), {"idling": self.idling}
            found.append(
                toy_workload(
                    arrivals, EXECUTORS, profile=profile, moving_delay_ms=50, seed=seed, mean_durations=False, **rules
                )
            )
        return found[:limit]


def recorded(instance: Toys, expert: Any, episodes: Sequence[Workload]) -> Dataset:
    """What an expert chose, as the decision log would have it."""
    lockstep = instance.lockstep(episodes)
    rank: list[tuple] = []
    level: list[tuple] = []
    count = np.zeros(len(episodes), int)
    while lockstep.advance():
        seen, answers, lanes = lockstep.observe(), lockstep.ask(expert.compiled), lockstep.pending
        for b, lane in enumerate(lanes.tolist()):
            first, last = seen.candidate_start[b : b + 2]
            at = int(answers.candidate[b])
            features, ids = seen.candidates[first:last].copy(), seen.candidate_id[first:last].copy()
            groups = seen.candidate_group[first:last].copy()
            if at == NONE and not seen.none_allowed[b]:
                continue
            if at != NONE:
                low, high = seen.levels[first + at]
                levels = np.arange(low, high + 1)
                same = np.repeat(features[at : at + 1], len(levels), axis=0)
                position = int(answers.level[b] - low)
                level.append((same, levels, np.full(len(levels), groups[at]), position, lane, count[lane]))
            if seen.none_allowed[b]:
                features = np.concatenate([features, np.full((1, NUM_FEATURES), np.nan, np.float32)])
                ids, groups = np.append(ids, NONE), np.append(groups, NONE)
            rank.append((features, ids, groups, len(ids) - 1 if at == NONE else at, lane, count[lane]))
            count[lane] += 1
        lockstep.answer(answers, by_heuristic=True)
    return Dataset(_choices(rank), _choices(level), EXECUTORS, PROBLEM.choices)


def _choices(rows: list[tuple]) -> Choices:
    features, ids, groups, at, episode, decision = zip(*rows, strict=True)
    starts = np.cumsum([0, *map(len, ids)])
    chosen = starts[:-1] + np.array(at)
    score = np.zeros(starts[-1])
    score[chosen] = 1.0
    numbers = np.array(episode), np.array(decision), np.zeros(len(rows))
    joined = (np.concatenate(part) for part in (features, ids, groups))
    features, ids, groups = joined
    return Choices(features, starts, chosen, ids, groups, score, score, *numbers)


class Fits(NamedTuple):
    """Everything that a test of fitted students asks for."""

    task: Task  # of the rule list
    folder: Path  # with both students


def task_of(kind: str, instance: Toys) -> Task:
    train = instance.split("train")
    bench = Bench(instance, instance.objective, train[:4], instance.split("validation"))
    common = StudentsParams(
        limit_tree=LimitTreeParams(leaves=6), limit_caps=LimitCapsParams(terms=0), dagger_rounds=0, dagger_episodes=3
    )
    dataset = recorded(instance, EXPERTS[instance.idling], train[:6])
    return Task(kind, PROBLEM, dataset, bench, SETTINGS[kind], common, 1)


def fit_both(instance: Toys, folder: Path) -> Fits:
    for kind in SETTINGS:
        task = task_of(kind, instance)
        student, _ = distilled(task, load(f"{STUDENTS[kind].module}:learn"), None, [])
        student.write(folder / f"{kind}.json")
        (folder / f"{kind}.txt").write_text(render(student))
    return Fits(task_of("rule_list", instance), folder)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fits:
    """Both students, learned from capped SRPT, where nobody may answer "none of these"."""
    return fit_both(Toys(idling=False), tmp_path_factory.mktemp("students"))


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Fits:
    """The same where "none of these" is an answer."""
    return fit_both(Toys(idling=True), tmp_path_factory.mktemp("idle"))


@pytest.fixture(scope="module")
def rows(fitted: Fits) -> np.ndarray:
    """Feature rows of candidates, float32[n, F]."""
    return fitted.task.dataset.rank.features


def test_ranks_by_hand(fitted):
    choices = fitted.task.dataset.rank
    first, second = 2, 3
    choices = choices._replace(
        features=choices.features[:5],
        starts=np.array([0, first, first + second]),
        chosen=np.array([0, 3]),
        score=np.array([1.0, 2.0, 5.0, 5.0, 1.0]),
    )
    assert ranks(choices).tolist() == [1, 0, 0, 0, 2]
    assert best_rows(choices).tolist() == [1, 2]


def test_a_subset_keeps_whole_decisions(fitted):
    choices = fitted.task.dataset.rank
    keep = ~choices.trivial
    real = subset(choices, keep)
    assert len(real.chosen) == keep.sum()
    assert np.all(real.sizes > 1)
    np.testing.assert_array_equal(real.features[real.chosen], choices.features[choices.chosen[keep]])


def test_rounding_splits_the_rows_as_before():
    features = np.zeros((1000, NUM_FEATURES), np.float32)
    features[:, 1] = np.arange(1000) % 7
    features[:, 2] = np.linspace(0, 1, 1000)
    columns = Columns(features)
    assert columns.round(1, 2.3) == 3.0
    assert columns.round(2, 0.49871) == 0.5
    assert columns.round(2, 0.5387) == 0.54
    lumped = np.where(features > 0.5, 1.0004, 1.0).astype(np.float32)
    assert columns.round(2, 1.00021) != Columns(lumped).round(2, 1.00021) == 1.0002


def test_what_no_row_needs_is_dropped():
    features = np.zeros((100, NUM_FEATURES), np.float32)
    features[:, 0] = np.arange(100) % 2
    features[:, 1] = np.arange(100)
    always, half = Condition(1, True, 1000.0), Condition(0, True, 1.0)
    rules = [Rule((half, always), 3.0), Rule((Condition(1, False, 5000.0),), 2.0), Rule((always,), 1.0)]
    assert simplify(rules, features) == [Rule((half,), 3.0), Rule((), 1.0)]


def test_exported_boosted_trees_equal_xgboost(fitted, rows):
    import xgboost

    booster = ranking.train(fitted.task.dataset.rank, FEATURES, SETTINGS["boosted_trees"], 1)
    trees = ranking.export(booster)
    assert len(trees) == 12
    thresholds = np.array(
        [(f, t) for tree in trees for f, t in zip(tree["feature"], tree["threshold"], strict=True) if f >= 0]
    )
    edges = np.repeat(rows[:1], len(thresholds), axis=0)  # rows that lie exactly on a threshold go right
    edges[np.arange(len(edges)), thresholds[:, 0].astype(int)] = thresholds[:, 1]
    features = np.concatenate([rows, edges])
    expected = booster.predict(xgboost.DMatrix(features), output_margin=True)
    np.testing.assert_allclose(tree_scores(trees, features), expected, atol=1e-5)


def test_students_ask_for_no_more_than_their_budget(fitted):
    """Of features and conditions a rule; what all rows lack no tree asks for, and those kept gain the most."""
    task = fitted.task
    wide = SETTINGS["rule_list"].model_copy(update={"ties": 0})
    settings = wide.model_copy(update={"features": 2, "conditions": 1})
    free, held = (
        rule_list.learn(replace(task, name="rule_list", settings=each)).scorers["stage"].rules
        for each in (wide, settings)
    )
    assert max(len(rule.conditions) for rule in free) > 1 == max(len(rule.conditions) for rule in held)
    assert 0 < len({condition.feature for rule in held for condition in rule.conditions}) <= 2
    few = SETTINGS["boosted_trees"].model_copy(update={"features": 3})
    every, three = (
        boosted_trees.learn(replace(task, name="boosted_trees", settings=each)).scorers["stage"].trees
        for each in (SETTINGS["boosted_trees"], few)
    )
    asked = {feature for tree in three for feature in tree["feature"] if feature >= 0}
    assert 0 < len(asked) <= 3 and asked <= set(boosted_trees.most_used(every, 3))
    assert len(boosted_trees.most_used(every, 1000)) > 3


def test_monotone_trees_keep_the_direction_of_every_feature(fitted, rows):
    """Whatever the other features are: more work left never raises the score, to be the source never lowers it."""
    choices, settings = fitted.task.dataset.rank, SETTINGS["boosted_trees"]
    free, held = (
        pack(ranking.learn(choices, FEATURES, settings, 1, monotone=monotone), NUM_FEATURES, "test")
        for monotone in (False, True)
    )
    falls = {"free": 0, "held": 0}
    for column, feature in enumerate(FEATURES):
        if feature.monotone == 0:
            continue
        values = np.unique(rows[:, column])[:: feature.monotone]
        for name, trees in (("free", free), ("held", held)):
            changed = np.repeat(rows[::7], len(values), axis=0)
            changed[:, column] = np.tile(values, len(rows[::7]))
            steps = np.diff(scores_of(Packed(trees=trees), changed).reshape(-1, len(values)), axis=1)
            falls[name] += int((steps < -1e-6).sum())
    assert falls["free"] > 0
    assert falls["held"] == 0


def test_the_limit_tree_equals_scikit_learn(rows):
    from sklearn.tree import DecisionTreeRegressor

    target = np.sin(rows[:, 2]) + rows[:, 1]
    model = DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(rows, target)
    flat = from_sklearn(model.tree_)
    np.testing.assert_allclose(tree_scores([flat], rows), model.predict(rows))


def test_equal_leaves_of_the_limit_tree_are_merged():
    tree = {
        "feature": [0, -1, 1, -1, -1],
        "threshold": [0.5, 0.0, 0.5, 0.0, 0.0],
        "left": [1, 0, 3, 0, 0],
        "right": [2, 0, 4, 0, 0],
        "value": [0.0, 0.301, 0.0, 0.498, 0.502],
    }
    assert [(rule.text(FEATURE_NAMES), rule.value) for rule in as_list(limit_tree.merge(tree))] == [
        ("job_is_source < 0.5", 0.3),
        ("otherwise", 0.5),
    ]


def test_levels_follow_the_expert(fitted):
    sizes = [len(rules) for rules in limit_tree.variants(fitted.task.dataset, 6)]
    assert sizes[0] == 1
    assert sizes == sorted(sizes)
    assert max(sizes) <= 6


def test_the_smallest_of_the_good_ones():
    assert smallest_good([("a", 10.4), ("b", 10.05), ("c", 10.0)], 0.01) == ("b", 10.05)


def test_neighbours_are_lists_that_end_and_are_no_longer_than_allowed():
    rules = [Rule((Condition(0, True, 1.0),), 2.0), Rule((Condition(1, True, 1.0),), 1.0), Rule((), 0.0)]
    found = neighbours(rules, Columns(np.zeros((2, NUM_FEATURES), np.float32)), 4)
    assert {len(changed) for changed in found} == {1, 2, 3, 4}
    assert {len(changed) for changed in neighbours(rules, Columns(np.ones((2, 25))), 3)} == {1, 2, 3}
    for changed in found:
        assert [bool(rule.conditions) for rule in changed] == [True] * (len(changed) - 1) + [False]
        assert [rule.value for rule in changed] == sorted((rule.value for rule in changed), reverse=True)


def test_rules_are_put_in_the_order_that_serves_best():
    """Ten decisions of three candidates: the best has feature 0 unless none has; then it is the one with feature 1."""
    features = np.zeros((30, NUM_FEATURES), np.float32)
    features[0:12:3, 0] = 1  # the first candidate of decisions 0 to 3
    features[1::3, 1] = 1  # the second of all
    best = np.array([0, 3, 6, 9, 13, 16, 19, 22, 25, 28])
    score = np.full(30, -5.0)
    score[best] = 0.0
    choices = Choices(
        features, np.arange(0, 31, 3), best, *np.zeros((2, 30), int), score, score, *np.zeros((2, 10), int), score[:10]
    )
    conditions = [(Condition(feature, False, 1.0),) for feature in (1, 0, 2)]
    mined = [Mined(c, first_rule([Rule(c, 1.0)], features) == 0) for c in conditions]
    rules = assemble(mined, choices, RuleListParams(max_rules=8))
    assert [rule.conditions for rule in rules] == [conditions[1], conditions[0], ()]
    assert len(assemble(mined, choices, RuleListParams(max_rules=2))) == 2


def test_a_measure_may_be_better_when_it_is_higher(fitted):
    """Its cost is negative; the cost at the end is told as the measure."""
    student, bench = load_policy(fitted.folder / "rule_list.json"), fitted.task.bench
    upwards = replace(bench, measure=bench.measure._replace(lower_is_better=False))
    assert upwards.validation_cost(student) == -bench.validation_cost(student)
    assert upwards.value(upwards.train_cost(student)) == bench.train_cost(student)
    assert worse_by(10.0, 0.1) == pytest.approx(11) and worse_by(-10.0, 0.1) == pytest.approx(-9)
    assert smallest_good([("a", -9.0), ("b", -9.96), ("c", -10.0)], 0.01) == ("b", -9.96)


@pytest.mark.parametrize("name", list(SETTINGS))
@pytest.mark.parametrize("case", ["fitted", "idle"])
def test_students_schedule_about_as_well_as_the_expert(case, name, request):
    bench, student = (found := request.getfixturevalue(case)).task.bench, load_policy(found.folder / f"{name}.json")
    assert (student.name, student.kind, student.mode, student.none) == (name, "student", "argmax", case == "idle")
    expert = EXPERTS[case == "idle"]
    cost = {p.name: bench.validation_cost(p) for p in (student, expert, heuristic("fifo"))}
    assert cost[name] < 1.1 * cost[expert.name]
    assert cost[name] < cost["fifo"]


def test_rules_from_nothing_take_nothing_from_the_teacher():
    """First come, first served with all executors, whatever the teacher answered."""
    instance = Toys(idling=False)
    task = replace(task_of("rule_list", instance), name="rules_from_nothing", settings=RulesFromNothingParams())
    student = load(f"{STUDENTS['rules_from_nothing'].module}:learn")(task)
    dataset = task.dataset
    other = dataset._replace(rank=dataset.rank._replace(chosen=dataset.rank.starts[:-1].copy()))
    assert load(f"{STUDENTS['rules_from_nothing'].module}:learn")(replace(task, dataset=other)) == student
    assert {name: scorer.complexity() for name, scorer in student.scorers.items()} == {"stage": 1, "limit": 1}
    assert student.level_share(dataset.rank.features[:3]).tolist() == [1.0, 1.0, 1.0]


def test_no_step_of_rules_from_nothing_asks_what_the_teacher_answered():
    """Neither which candidate nor how many executors: whoever answered otherwise, the control comes to the same."""
    own, settings = task_of("rule_list", Toys(idling=False)), RefineParams(rounds=2, evaluations=24)
    task = replace(own, name="rules_from_nothing", settings=RulesFromNothingParams())

    def first(choices: Choices) -> Choices:
        return choices._replace(chosen=choices.starts[:-1].copy(), score=-np.arange(len(choices.score), dtype=float))

    answered = task.dataset._replace(rank=first(task.dataset.rank), level=first(task.dataset.level))
    nothing = load(f"{STUDENTS['rules_from_nothing'].module}:learn")(task)
    found, same = (refine(each, nothing, settings) for each in (task, replace(task, dataset=answered)))
    assert found == same and found.policy != nothing
    given = replace(nothing, name="rule_list")
    assert refine(own, given, settings).costs != refine(replace(own, dataset=answered), given, settings).costs


@pytest.mark.parametrize("case", ["fitted", "idle"])
def test_printed_rules_are_what_runs(case, request):
    """Read the rules of the text as a person does, and score every candidate by hand."""
    task, folder = request.getfixturevalue(case)
    rows = without_none(task.dataset.rank).features
    text = (folder / "rule_list.txt").read_text()
    student = load_policy(folder / "rule_list.json")
    assert text == reading.show(folder / "rule_list.json")
    rank_part, level_part = text.split("How many executors")
    above, idles, _ = rank_part.partition("below here: leave the executors idle")
    list_of_rules = student.scorers["stage"]
    scored = replace(list_of_rules, ties=()).scores(rows, FEATURE_NAMES)  # ties: tests/test_refining.py
    numbered_lines = re.findall(r"\n +(\d+)\. ", above if idles else rank_part)
    assert sum(rule.value > 0 for rule in student.scorers["stage"].rules) == len(numbered_lines) or not student.none
    units = {feature.name: feature.unit for feature in FEATURES}
    rank_part = rank_part.replace("     below here: leave the executors idle\n", "")
    for part, values in (
        (rank_part, scored),
        (level_part.split("What the features")[0], student.level_share(rows)),
    ):
        lines = re.split(r"\n +\d+\. ", re.sub(r"\n {8}", " ", part))[1:]
        rules = []
        for line in lines:
            condition, result = line.split("  ->  ") if "  ->  " in line else line.split(" -> ")
            found = re.search(r"score (-?[\d.]+)|([\d.]+) % of the executors", result)
            value = float(found[1]) if found[1] else float(found[2]) / 100
            tests = re.findall(r"(\w+) (<|>=) ([-+.\de]+)( \w+)?(?= and|$|\s*$)", condition)
            assert len(tests) == condition.count(" and ") + 1 or condition.strip() == "otherwise"
            for name, _, _, unit in tests:
                assert unit.strip() == units[name]
            rules.append((tests, value))
        for row, expected in zip(rows[::5], values[::5], strict=True):
            first = next(
                value
                for tests, value in rules
                if all(SIGNS[s](row[FEATURE_NAMES.index(n)], np.float32(t)) for n, s, t, _ in tests)
            )
            assert first == pytest.approx(expected)


def test_a_patched_condition_changes_the_decision(fitted, tmp_path, rows):
    content = json.loads((fitted.folder / "rule_list.json").read_text())
    content["stage"] = {"rules": [{"if": "stage_tasks_left >= 20", "then": 1}, {"if": "otherwise", "then": 0}]}
    path = tmp_path / "patched.json"
    path.write_text(json.dumps(content))
    features = rows[:2].copy()
    features[:, FEATURE_NAMES.index("stage_tasks_left")] = (15, 25)
    assert load_policy(path).scores(features).tolist() == [0, 1]
    path.write_text(path.read_text().replace("stage_tasks_left >= 20", "stage_tasks_left < 20"))
    assert load_policy(path).scores(features).tolist() == [1, 0]


def test_trees_name_their_features_by_the_list_of_the_file(fitted, tmp_path, rows):
    content = json.loads((fitted.folder / "boosted_trees.json").read_text())
    expected = load_policy(fitted.folder / "boosted_trees.json").scores(rows)
    order = np.random.default_rng(0).permutation(NUM_FEATURES)
    content["stage"]["features"] = [FEATURE_NAMES[i] for i in order]
    for tree in content["stage"]["trees"]:
        tree["feature"] = [f if f < 0 else int(np.flatnonzero(order == f)[0]) for f in tree["feature"]]
    (tmp_path / "renumbered.json").write_text(json.dumps(content))
    np.testing.assert_array_equal(load_policy(tmp_path / "renumbered.json").scores(rows), expected)


def test_the_same_work_gives_the_same_bytes(fitted, tmp_path):
    fit_both(Toys(idling=False), tmp_path)
    names = sorted(path.name for path in fitted.folder.iterdir())
    assert names == ["boosted_trees.json", "boosted_trees.txt", "rule_list.json", "rule_list.txt"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (fitted.folder / name).read_bytes(), name


@pytest.mark.parametrize("name", list(SETTINGS))
@pytest.mark.parametrize("case", ["fitted", "idle"])
def test_a_written_student_reads_back_the_same(case, name, request, tmp_path):
    path = request.getfixturevalue(case).folder / f"{name}.json"
    load_policy(path).write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()
    assert json.loads(path.read_text())["problem"] == "dag_jobs"


def test_the_text_of_boosted_trees_tells_what_they_look_at(fitted):
    text = reading.show(fitted.folder / "boosted_trees.json")
    assert "sum over 12 trees" in text
    assert "Tree 1 of 12 adds" in text
    assert "% of the executors" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "teacher"}, "no policy"),
        ({"name": 3}, "name: a text expected"),
        ({"problem": 3}, "problem: a text expected"),
        ({"problem": "dag_job"}, "unknown problem 'dag_job': known are .*; did you mean dag_jobs?"),
        ({"none": "yes"}, "none: true or false expected"),
        ({"stage": None}, "stage: weights by feature, a number, or an object with weights or rules"),
        ({"stage": {"rules": [], "trees": []}}, "stage: give either 'rules' or 'trees', and not both"),
        ({"features": ["job_age"]}, "unknown feature 'job_age'; did you mean job_age_s"),
        ({"features": 3}, "features: a list of names expected"),
        ({"rules": []}, "give either 'rules' or 'stage', and not both"),
        ({"stage": {"rules": []}}, "stage.rules: a list of rules expected"),
        (
            {"stage": {"rules": [{"if": "job_age_s ? 3", "then": 1}]}},
            r"stage\.rules\[0\]: 'job_age_s \? 3': expected `feature < number`",
        ),
        ({"stage": {"rules": [{"if": "job_age_s < 1e", "then": 1}]}}, "expected `feature < number`"),
        ({"stage": {"rules": [{"if": "job_ages < 3", "then": 1}]}}, "'job_ages'; did you mean job_age_s"),
        ({"stage": {"rules": [{"if": "job_age_s < 3", "then": "high"}]}}, "then: a number expected"),
        ({"stage": {"rules": [{"if": "job_age_s < 3", "then": 1}]}}, "the last rule must be `otherwise`"),
        ({"stage": {"rules": [{"then": 1}]}}, "if: a text expected"),
        ({"limit": {"rules": [{"if": "otherwise"}]}}, r"limit\.rules\[0\]: then: a number expected"),
        ({"stress": None}, "stress: an object expected"),
        ({"stress": {"worst": 1.0, "hard": "much"}}, "stress: hard: a number expected"),
        ({"stress": {"worst": True}}, "stress: worst: a number expected"),
        ({"stress": {"worst": 1.0, "heuristic": 3}}, "stress: heuristic: a text expected"),
        ({"stress": {"worst": 1.0, "rules": "back_up_parked"}}, "stress: rules: a list of texts expected"),
    ],
)
def test_a_broken_file_is_told_in_one_line(fitted, tmp_path, change, message):
    content = json.loads((fitted.folder / "rule_list.json").read_text()) | change
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match=message) as raised:
        load_policy(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"feature": [NUM_FEATURES, -1, -1]}, f"feature: a list of -1 .leaf. to {NUM_FEATURES - 1} expected"),
        ({"left": [1, 0]}, "unequal length"),
        ({"left": [0, 0, 0]}, "left child is no later node"),
        ({"threshold": [float("nan"), 0, 0]}, "not finite"),
        ({"value": ["a", 0, 0]}, "not finite, or no number"),
    ],
)
def test_a_broken_tree_is_told_in_one_line(fitted, tmp_path, tree, message):
    content = json.loads((fitted.folder / "boosted_trees.json").read_text())
    whole = {"feature": [0, -1, -1], "threshold": [1, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0], "value": [0, 1, 2]}
    content["stage"]["trees"] = [whole | tree]
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match=message):
        load_policy(path)


def test_missing_files_are_told_in_one_line(fitted, tmp_path):
    with pytest.raises(ClearschedError, match="no such file"):
        load_policy(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('{"name": ')
    with pytest.raises(ClearschedError, match="not valid JSON"):
        load_policy(tmp_path / "cut.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ClearschedError, match="no policy"):
        load_policy(tmp_path / "list.json")
    content = json.loads((fitted.folder / "rule_list.json").read_text())
    del content["limit"]
    (tmp_path / "half.json").write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match="limit: missing: dag_jobs asks 'How many executors"):
        load_policy(tmp_path / "half.json")
    rules = [{"if": "otherwise", "then": 1.0}]
    (tmp_path / "ties.json").write_text(
        json.dumps({"kind": "student", "stage": {"rules": rules}, "limit": {"rules": rules, "ties": ["job_age_s"]}})
    )
    with pytest.raises(ClearschedError, match="limit: ties: they tell which candidate comes first"):
        load_policy(tmp_path / "ties.json")


def test_a_log_of_another_cluster_is_refused(monkeypatch):
    logged = {"problem": "dag_jobs", "facts": {"num_executors": 5}}
    monkeypatch.setattr("clearsched.students.fitting.read_metadata", lambda path: logged)
    instance = Toys(idling=False)
    with pytest.raises(ClearschedError, match="decisions: logged with num_executors 5, workloads has 4; log again"):
        check_log(Path("decisions"), PROBLEM, instance, Path("workloads"))
    logged["facts"] = {"num_executors": 4}
    check_log(Path("decisions"), PROBLEM, instance, Path("workloads"))
    logged["problem"] = "others"
    with pytest.raises(ClearschedError, match="decisions: decisions of the problem others, not of dag_jobs"):
        check_log(Path("decisions"), PROBLEM, instance, Path("workloads"))


def test_a_student_of_another_problem_is_refused(fitted):
    path = fitted.folder / "rule_list.json"
    assert load_policy(path, PROBLEM).problem is PROBLEM
    with pytest.raises(ClearschedError, match="a student of the problem 'dag_jobs', not of 'beds'") as raised:
        load_policy(path, Beds())
    assert str(raised.value).startswith(f"{path}: ")


# Files of the first format -------------------------------------------------------------------------------------------


def as_before(content: dict, folder: Path) -> Path:
    """A student's file as it was written before choices had names."""
    shared = {key: value for key, value in content.items() if key not in ("problem", "none", "stage", "limit", "most")}
    older = {**shared, "features": list(FEATURE_NAMES), "num_executors": content["most"]}
    for key, choice, value in (("rules", "stage", "score"), ("limit_rules", "limit", "limit_share")):
        section = content[choice]
        if "trees" in section:
            older[choice] = {"trees": section["trees"]}
        else:
            told = {"if": "if", "then": value, "share": "share"}
            older[key] = [{told[k]: v for k, v in rule.items()} for rule in section["rules"]]
    path = folder / "older.json"
    path.write_text(json.dumps(older))
    return path


@pytest.mark.parametrize("name", list(SETTINGS))
def test_older_files_run_and_read_the_same(fitted, tmp_path, rows, name):
    content = json.loads((fitted.folder / f"{name}.json").read_text())
    content["stage"].pop("ties", None)  # there were none
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(content))
    older, student = load_policy(as_before(json.loads(path.read_text()), tmp_path)), load_policy(path)
    assert (older.problem, older.none) == (PROBLEM, False)
    np.testing.assert_array_equal(older.scores(rows), student.scores(rows))
    np.testing.assert_array_equal(older.level_share(rows), student.level_share(rows))
    assert render(older) == render(student)
    older.write(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(path.read_text())


# "None of these" -----------------------------------------------------------------------------------------------------


def test_none_is_learned_as_a_score_of_0(idle):
    """The trees tell candidates from none as xgboost does, which sees a row without a value."""
    import xgboost

    choices = idle.task.dataset.rank
    assert choices.is_none[choices.chosen].any(), "the expert leaves executors idle at times"
    booster = ranking.train(choices, FEATURES, SETTINGS["boosted_trees"], 1)
    told = booster.predict(xgboost.DMatrix(choices.features), output_margin=True).astype(float)
    of_none = told[choices.is_none]
    assert np.ptp(of_none) == 0
    assert ranking.score_of_missing(booster) == pytest.approx(of_none[0], abs=1e-6)
    student = load_policy(idle.folder / "boosted_trees.json")
    again = ranking.rescored(choices, FEATURES, SETTINGS["boosted_trees"], 1)
    for found in (student.scores(choices.features), again.score):
        assert (found[choices.is_none] == 0).all()
        np.testing.assert_allclose(found[~choices.is_none], told[~choices.is_none] - of_none[0], atol=1e-5)


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_students_learn_when_to_idle(idle, kind):
    """They answer none about where the expert did. Polishing may undo it: these toys are better off without."""
    task, choices = task_of(kind, idle.task.bench.instance), idle.task.dataset.rank
    if kind == "rule_list":
        task = replace(task, settings=task.settings.model_copy(update={"max_rules": 6}))
    student = load(f"{STUDENTS[kind].module}:learn")(task)
    assert ("below here: leave" in render(student)) == (kind == "rule_list")
    asked = np.flatnonzero(np.add.reduceat(choices.is_none.astype(int), choices.starts[:-1]))
    score = student.scores(choices.features)
    bounds = zip(choices.starts[asked], choices.starts[asked + 1], strict=True)
    idles = np.array([score[first : last - 1].max() for first, last in bounds]) <= 0
    wanted = choices.is_none[choices.chosen[asked]]
    assert idles[wanted].mean() > 0.5 > 0.1 > idles[~wanted].mean()


@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_none_is_never_answered_when_it_is_refused(weight):
    """A student that always idles ends its episodes: the simulator takes its best candidate when nothing else comes."""
    instance = Toys(idling=True)
    scorers = {"stage": WeightedSum({"constant": weight}), "limit": WeightedSum({"constant": 0.3})}
    student = ScoredPolicy("test", PROBLEM, scorers, none=True)
    lockstep, answered = instance.lockstep(instance.split("validation")), set()
    while lockstep.advance():
        seen, answers = lockstep.observe(), lockstep.ask(student.compiled)
        assert not np.any((answers.candidate == NONE) & ~seen.none_allowed)
        assert np.all((answers.candidate == NONE) == (seen.none_allowed if weight < 0 else False))
        answered |= set((answers.candidate == NONE).tolist())
        lockstep.answer(answers)
    assert answered == ({True, False} if weight < 0 else {False})
    scores = student.scores(np.array([[0.0] * NUM_FEATURES, [np.nan] * NUM_FEATURES], np.float32))
    assert scores.tolist() == [weight, 0.0]
    assert replace(student, none=False).scores(np.full((1, NUM_FEATURES), np.nan, np.float32)).tolist() == [-np.inf]


def test_a_problem_without_such_an_answer_has_no_student_that_gives_it(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"kind": "formula", "none": True, "problem": "beds", "bed": {"stay_d": -1}}))
    with pytest.raises(
        ClearschedError, match="none: true or false expected, and true only where 'bed' has such an answer"
    ):
        load_policy(path, Beds())


def test_rules_without_none_are_told_from_those_above_it():
    rules = [Rule((Condition(i, True, 1.0),), value) for i, value in enumerate((7.0, 2.0, 2.0, 0.5))] + [Rule((), -3.0)]
    assert [rule.value for rule in numbered(rules, none=False)] == [3, 2, 2, 1, 0]
    assert [rule.value for rule in numbered(rules, none=True)] == [3, 2, 2, 1, -1]
    rules[3] = rules[3]._replace(value=0.0)  # not above 0
    assert [rule.value for rule in numbered(rules, none=True)] == [2, 1, 1, -1, -2]
    assert none_place(numbered(rules, none=True)) == 3


def test_none_is_placed_where_it_lowers_the_regret_most():
    """Of ten decisions six have a candidate with feature 0, which is better than none; the others are worse."""
    features = np.full((20, NUM_FEATURES), np.nan, np.float32)
    features[::2] = 0
    features[0:12:2, 0] = 1
    candidate = np.where(np.arange(20) % 2, NONE, 0)
    score = np.where(np.arange(20) % 2, 0.0, np.where(np.arange(20) < 12, 2.0, -2.0))
    chosen = np.where(np.arange(10) < 6, np.arange(10) * 2, np.arange(10) * 2 + 1)
    choices = Choices(
        features, np.arange(0, 21, 2), chosen, candidate, candidate, score, score, *np.zeros((2, 10), int), score[:10]
    )
    condition = (Condition(0, False, 1.0),)
    mined = [Mined(condition, first_rule([Rule(condition, 1.0)], features[::2]) == 0)]
    rules = assemble(mined, choices, RuleListParams())
    assert rules == [Rule(condition, 1.0), Rule((), -1.0)]
    candidates = without_none(choices)
    assert len(candidates.features) == 10 and candidates.trivial.all()
    np.testing.assert_array_equal(candidates.chosen, np.arange(10))
    moved = neighbours(rules, Columns(features[::2]), 8, none=True)[:2]
    assert [[rule.value for rule in option] for option in moved] == [[2, 1], [-1, -2]]
    for option in neighbours(rules, Columns(features[::2]), 8, none=True)[2:]:
        assert [rule.value > 0 for rule in option] in ([False], [True], [True, False], [True, True, False])


# A problem with one choice -------------------------------------------------------------------------------------------


class Beds:
    """Who gets the bed: a rank choice alone, and a measure of which more is better."""

    name = "beds"
    choices = (Choice("bed", "rank", "Who gets the bed?", (FEATURES[6]._replace(name="stay_d", unit="d"),)),)
    measures = (Measure("patients", "", "patients treated", "patients", lower_is_better=False),)

    def compile(self, rank: Any, level: Any) -> Any:
        return rank, level


class Ward:
    """Its instance: of each decision the patient whom the student prefers is treated for a short stay only."""

    most = 0

    def __init__(self, features: np.ndarray) -> None:
        self.features = features

    def simulate(self, policy: Any, episodes: Sequence[int], *, record: bool = False) -> list[Any]:
        from clearsched.compiled.scoring import scores_of

        rank, _ = policy
        chosen = [rows[scores_of(rank, rows).argmax(), 0] for rows in (self.features[e : e + 4] for e in episodes)]
        return [SimpleNamespace(measures={"patients": 1 / stay}) for stay in chosen]


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_a_problem_with_a_rank_choice_alone_is_learned(kind, tmp_path):
    rng = np.random.default_rng(0)
    features = rng.integers(1, 60, size=(400, 1)).astype(np.float32)
    starts = np.arange(0, 401, 4)
    score = np.zeros(400)
    chosen = np.array([a + features[a : a + 4, 0].argmin() for a in starts[:-1]])
    score[chosen] = 1
    ids = np.tile(np.arange(4), 100)
    rank = Choices(features, starts, chosen, ids, ids, score, score, *np.zeros((2, 100), int), score[:100])
    problem, episodes = Beds(), starts[:8].tolist()
    bench = Bench(Ward(features), problem.measures[0], episodes, episodes)
    dataset = Dataset(rank, None, 0, problem.choices)
    common = StudentsParams(dagger_rounds=0, dagger_episodes=1)
    task = Task(kind, problem, dataset, bench, SETTINGS[kind], common, 1)
    student, _ = distilled(task, load(f"{STUDENTS[kind].module}:learn"), None, [])
    right = [rows[student.scores(rows).argmax()] == rows.min() for rows in (features[a : a + 4] for a in starts[:-1])]
    assert np.mean(right) > 0.5
    assert student.evidence["validation_patients"][0] > 0
    student.write(tmp_path / "beds.json")
    again = load_policy(tmp_path / "beds.json", problem)
    np.testing.assert_array_equal(again.scores(features), student.scores(features))
    assert render(again) == render(student)
    assert "stay_d" in render(student) and "executors" not in render(student)
    with pytest.raises(ClearschedError, match="beds has no choice of a level"):
        student.level_share(features)


# What a fit learns from ----------------------------------------------------------------------------------------------


def some_choices() -> Choices:
    """Three decisions: one row; two near ties; three, one of which is far behind."""
    score = np.array([0.0, -1.0, -1.1, -0.1, -4.1, -0.2])
    starts = np.array([0, 1, 3, 6])
    features = np.arange(6, dtype=np.float32)[:, None]
    ids = np.array([0, 0, 1, 0, 1, 2])
    return Choices(
        features, starts, np.array([0, 1, 3]), ids, ids, score, score, *np.arange(6).reshape(2, 3), np.zeros(3)
    )


def test_decisions_are_taken_in_any_order_and_several_times():
    taken = take(some_choices(), np.array([2, 0, 2]))
    assert taken.features[:, 0].tolist() == [3, 4, 5, 0, 3, 4, 5]
    assert taken.starts.tolist() == [0, 3, 4, 7] and taken.chosen.tolist() == [0, 3, 4]
    assert taken.episode.tolist() == [2, 0, 2] and taken.decision.tolist() == [5, 3, 5]


def test_a_choice_matters_as_much_as_its_worst_answer_is_worse():
    np.testing.assert_allclose(importance(some_choices()), [0.0, 0.1, 4.0])
    unable = some_choices()._replace(score=np.array([0.0, -np.inf, -1.0, -0.1, -4.1, -0.2]))
    np.testing.assert_allclose(importance(unable), [0.0, 0.0, 4.0])


def test_a_budget_keeps_whole_decisions_and_importance_draws_those_that_matter():
    dataset = Dataset(some_choices(), None, 1, PROBLEM.choices)
    assert sampled(dataset, SamplingParams(), 1) == dataset
    two = sampled(dataset, SamplingParams(decisions=2), 1).rank
    assert len(two.chosen) == 2 and len(set(two.episode.tolist())) == 2
    assert set(two.sizes.tolist()) <= {1, 2, 3}
    drawn = sampled(dataset, SamplingParams(decisions=1000, by="importance"), 1).rank
    assert 0 not in drawn.episode
    assert np.mean(drawn.episode == 2) == pytest.approx(4.0 / 4.1, abs=0.02)


def test_the_rounds_of_dagger_are_kept_as_partitions(tmp_path):
    instance = Toys(idling=False)
    task = task_of("boosted_trees", instance)
    task = replace(task, common=task.common.model_copy(update={"dagger_rounds": 2, "dagger_episodes": 2}))
    expert = load_expert(PROBLEM, "capped_srpt")
    expert.policy = replace(expert.policy, help_first=True)
    student, others = distilled(
        task, load(f"{STUDENTS['boosted_trees'].module}:learn"), expert, instance.split("train"), tmp_path
    )
    told = student.evidence["validation_jct_s"]
    assert [task.bench.told(task.bench.validation_cost(each)) for each in (student, *others)] == sorted(told)
    assert len(told) == 3
    rounds = pyarrow.dataset.dataset(tmp_path, partitioning="hive").to_table().to_pandas()
    assert sorted(rounds["round"].unique()) == [1, 2]
    assert rounds["return"].notna().all()
    metadata = read_metadata(tmp_path / "round=1" / "decisions.parquet")
    assert (metadata["actor"], metadata["expert"], metadata["episodes"]) == (
        "boosted_trees",
        "capped_srpt",
        {"train": 2},
    )
    assert metadata["help_first"] is True, "told as the first log does"


def test_the_smallest_size_that_does_is_picked():
    task = task_of("rule_list", Toys(idling=False))
    costs = {2: 11.0, 4: 10.04, 8: 10.0}
    fits = {size: replace(task.student(None, None), evidence={"size": size}) for size in costs}
    assert picked(task, list(costs), lambda size: Fitted(fits[size], costs[size])).evidence == {"size": 4}
    assert picked(task, [8], lambda size: Fitted(fits[size], costs[size])).evidence == {"size": 8}
    of = lambda unsafe: lambda size: Fitted(fits[size], costs[size], size not in unsafe)  # noqa: E731
    assert picked(task, list(costs), of({4})).evidence == {"size": 8}, "no mean excuses what is not safe"
    assert picked(task, list(costs), of({2, 4, 8})).evidence == {"size": 4}


def test_sizes_are_those_of_the_kind_or_of_params():
    common = StudentsParams()
    assert sizes_of(common, "rule_list") == [None]
    smallest = common.model_copy(update={"pick": "smallest"})
    assert sizes_of(smallest, "rule_list") == list(common.pareto.sizes) and sizes_of(smallest, "switch") == [None]
    assert resized("rule_list", RuleListParams(), 3).max_rules == 3
    with pytest.raises(ClearschedError, match=r"^switch: this kind of student has no size$"):
        resized("switch", None, 3)
    with pytest.raises(ClearschedError, match=r"^rule_list: max_rules: 1000: "):
        resized("rule_list", RuleListParams(), 1000)


@pytest.mark.parametrize("kind", [kind.name for kind in STUDENTS.values() if kind.size])
def test_every_size_is_a_setting(kind):
    assert STUDENTS[kind].size in STUDENTS[kind].settings.model_fields


def test_the_best_training_seed_is_kept_with_the_others(fitted):
    student, bench = load_policy(fitted.folder / "rule_list.json"), fitted.task.bench
    others = [replace(student, none=not student.none), student, student]
    told: list[str] = []
    kept, cost, _ = best_of_seeds(lambda seed: Fitted(others[seed], [3.0, 1.0, 2.0][seed]), 3, bench, told.append)
    assert cost == 1.0 and kept.none == student.none and "training seed 1 of 3" in told[0]
    assert [(each["seed"], each["unseen"]) for each in kept.evidence["restarts"]] == [(0, 3.0), (1, 1.0), (2, 2.0)]
    trained = trained_scored(kept)
    assert [one.chosen for one in trained] == [False, True, False]
    assert trained[0].policy.none != student.none  # type: ignore[attr-defined]


def test_a_training_seed_that_is_not_safe_is_kept_only_where_none_is(fitted):
    student, bench = load_policy(fitted.folder / "rule_list.json"), fitted.task.bench
    told: list[str] = []

    def kept(safe: tuple[bool, ...]) -> Fitted:
        return best_of_seeds(lambda seed: Fitted(student, [3.0, 1.0, 2.0][seed], safe[seed]), 3, bench, told.append)

    best = kept((True, False, True))
    assert best.cost == 2.0 and best.is_safe and "not safe, and count last: [1]" in told[-1]
    assert [each["safe"] for each in best.policy.evidence["restarts"]] == [True, False, True]
    assert kept((False, False, False)).cost == 1.0


def test_a_training_seed_may_be_the_best_of_several_fits(fitted):
    """Three fits a seed, with numbers that no other seed has; the best of seed 0 is not safe, and so not taken."""
    student = load_policy(fitted.folder / "rule_list.json")
    costs, ran = [1.0, 4.0, 3.0, 5.0, 2.5, 6.0], []

    def fit(number: int) -> Fitted:
        ran.append(number)
        return Fitted(student, costs[number], number != 0)

    assert [best_of_fits(fit, seed, 3).cost for seed in (0, 1)] == [3.0, 2.5] and ran == [0, 1, 2, 3, 4, 5]
    assert best_of_fits(fit, 5, 1).cost == 6.0 and ran[-1] == 5


def test_one_training_seed_is_the_student_itself_and_the_params_seed(fitted):
    student = load_policy(fitted.folder / "rule_list.json")
    assert best_of_seeds(lambda seed: Fitted(student, 2.0), 1, fitted.task.bench, print) == Fitted(student, 2.0)
    task = fitted.task
    assert seeded(task, 0) is task and [seeded(task, seed).seed - task.seed for seed in (1, 2)] == [1, 2]


def test_other_training_seeds_learn_from_samples_of_the_log(fitted):
    """As many decisions, each with the rows and the answer of the log, some twice; other ones for each seed."""
    task = fitted.task
    first, second = (seeded(task, seed).dataset for seed in (1, 2))
    for form in ("rank", "level"):
        logged, drawn, other = (getattr(dataset, form) for dataset in (task.dataset, first, second))
        identities = [list(zip(each.episode.tolist(), each.decision.tolist(), strict=True)) for each in (drawn, other)]
        known = {pair: place for place, pair in enumerate(zip(logged.episode, logged.decision, strict=True))}
        assert len(drawn.chosen) == len(logged.chosen) and identities[0] != identities[1]
        assert 0.5 < len(set(identities[0])) / len(logged.chosen) < 0.75  # 1 - 1/e of them
        for place, pair in enumerate(identities[0]):
            rows = slice(*drawn.starts[place : place + 2])
            there = slice(*logged.starts[known[pair] : known[pair] + 2])
            np.testing.assert_array_equal(drawn.features[rows], logged.features[there])
            assert drawn.chosen[place] - rows.start == logged.chosen[known[pair]] - there.start
    again = seeded(task, 1).dataset
    np.testing.assert_array_equal(again.rank.features, first.rank.features)


def test_every_second_fit_of_a_training_seed_keeps_to_trees(fitted, monkeypatch):
    """Of each seed anew, whatever number its fits have among all; the tree's own budget stays."""
    common = fitted.task.common.model_copy(update={"limit_caps": LimitCapsParams(terms=3)})
    task = replace(fitted.task, common=common)
    assert kept_to_trees(task, 0) is task and kept_to_trees(task, 2) is task
    assert {type(scorer) for scorer in level_scorers(task)} == {RuleList, StepList}
    assert {type(scorer) for scorer in level_scorers(kept_to_trees(task, 1))} == {RuleList}
    assert kept_to_trees(task, 1).common.limit_tree == common.limit_tree

    student, terms = load_policy(fitted.folder / "rule_list.json"), []

    def distilled_with(own, *_):
        terms.append(own.common.limit_caps.terms)
        return student, []

    monkeypatch.setattr(fitting, "distilled", distilled_with)
    monkeypatch.setattr(fitting, "refined", lambda *_: Fitted(student, 1.0))
    fitting.fit_size(task, None, None, [], Path("visits"), seeds=2, fits=3)
    assert terms == [3, 0, 3] * 2
