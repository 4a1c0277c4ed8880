"""Students: what is printed is what runs, and it runs like the expert it was learned from."""

from __future__ import annotations

import json
import operator
import re
from pathlib import Path

import numpy as np
import pytest
from clearsched.policies import load_policy as load_any

from clearsched import students
from clearsched.compiled.features import new_rows
from clearsched.compiled.trees import add_scores, pack, score, scores
from clearsched.decisions import Choices, log, read_choices
from clearsched.errors import ClearschedError
from clearsched.params import Params, parse
from clearsched.params.models import RuleListParams
from clearsched.problems.dag_jobs import workloads
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, FEATURES, NUM_FEATURES
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.workloads import load_inputs
from clearsched.students import boosted_trees, limit_tree, load_policy, rule_list
from clearsched.students.bench import Bench, smallest_good
from clearsched.students.dataset import best_rows, ranks, read_dataset, subset
from clearsched.students.rounding import Columns, simplify
from clearsched.students.rules import (
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
from toys import stage, toy_trace

CHAIN = [stage(14), stage(8, [0]), stage(5, [1])]
FORK = [stage(40), stage(20), stage(25, [0, 1]), stage(9, [0])]
WIDE = [stage(90), stage(40), stage(10, [1])]
SIGNS = {"<": operator.lt, ">=": operator.ge}

Files = tuple[Params, Path, Path, Path, Path]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Params, trace, workloads, log of capped SRPT, and the folder with both students fitted on it."""
    folder = tmp_path_factory.mktemp("students")
    params = parse(
        {
            "workload": {
                "executors": 4,
                "jobs": 8,
                "moving_delay_s": 0.05,
                "warmup_delay_s": 0.01,
                "episodes": {"train": 8, "validation": 4, "test": 1},
            },
            "decisions": {"episodes": 5, "held_out": 2},
            "students": {
                "rule_list": {"max_rules": 4, "polish_rounds": 1},
                "boosted_trees": {"trees": 12, "depth": 3},
                "limit_tree": {"leaves": 6},
                "dagger_rounds": 1,
                "dagger_episodes": 3,
            },
        },
        "test",
        whole=False,
    )
    trace, drawn, logged = (folder / f"{name}.parquet" for name in ("trace", "workloads", "decisions"))
    write_trace(trace, toy_trace([CHAIN, FORK, WIDE]))
    workloads.build(params, trace, drawn)
    log(params, trace, drawn, None, "capped_srpt", logged)
    students.fit(params, trace, drawn, None, "capped_srpt", logged, folder / "students")
    return params, trace, drawn, logged, folder / "students"


@pytest.fixture(scope="module")
def rows(files: Files) -> np.ndarray:
    """Feature rows of logged candidates, float32[n, F]."""
    return read_choices(files[3], "stage").features


def random_tree(rng: np.random.Generator, depth: int) -> dict[str, list]:
    """A tree over the first six features with thresholds on a coarse grid, so that values often equal them."""
    tree: dict[str, list] = {name: [] for name in ("feature", "threshold", "left", "right", "value")}

    def grow(level: int) -> int:
        place, leaf = len(tree["feature"]), level == 0 or rng.random() < 0.15
        row = (-1 if leaf else int(rng.integers(6)), float(rng.integers(5)) / 2, 0, 0, float(rng.normal()))
        for column, value in zip(tree.values(), row, strict=True):
            column.append(value)
        if not leaf:
            tree["left"][place], tree["right"][place] = grow(level - 1), grow(level - 1)
        return place

    grow(depth)
    return tree


def grid_rows(rng: np.random.Generator, count: int) -> np.ndarray:
    return (rng.integers(5, size=(count, NUM_FEATURES)) / 2).astype(np.float32)


def tree_scores(trees: list[dict[str, list]], features: np.ndarray) -> np.ndarray:
    return scores(pack(trees, NUM_FEATURES, "test"), features)


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
    features[0, :6] = np.nan  # fails every comparison
    expected = []
    for row in features:
        total = 0.0
        for tree in trees:
            node = 0
            while tree["feature"][node] >= 0:
                below = row[tree["feature"][node]] < np.float32(tree["threshold"][node])
                node = tree["left"][node] if below else tree["right"][node]
            total += tree["value"][node]
        expected.append(total)
    packed = pack(trees, NUM_FEATURES, "test")
    np.testing.assert_array_equal(scores(packed, features), expected)
    rows, values = new_rows(count, NUM_FEATURES), np.zeros(count)
    rows[:count] = features
    add_scores(packed, rows, count, values)
    np.testing.assert_array_equal(values, expected)
    assert [score(packed, row) for row in features] == expected


def test_conditions_of_one_feature_are_tightened():
    below = [Condition(2, True, 5.0), Condition(2, True, 3.0), Condition(1, False, 1.0)]
    assert tighten(below) == (Condition(1, False, 1.0), Condition(2, True, 3.0))
    assert tighten([*below, Condition(2, False, 3.0)]) is None


@pytest.mark.parametrize(
    ("text", "value", "met"),
    [
        ("job_sqrt_load < 2.9", 2.9, False),
        ("job_sqrt_load <= 2.9", 2.9, True),
        ("job_sqrt_load >= 2.9", 2.9, True),
        ("job_sqrt_load > 2.9", 2.9, False),
        ("job_sqrt_load>1e-3", 0.0011, True),
        ("job_sqrt_load < 3 and job_sqrt_load >= 2", 2.5, True),
        ("otherwise", 0.0, True),
    ],
)
def test_text_is_read_as_it_is_written(text, value, met):
    features = np.full((1, NUM_FEATURES), value, np.float32)
    assert (first_rule([Rule(parse_conditions(text, "test"), 1.0)], features) == 0) == [met]


@pytest.mark.parametrize("value", [0.1, 3.0, 1 / 3, 1e-7, 123456.78, 2.0**24 + 2, 0.0])
def test_a_printed_threshold_is_the_one_that_runs(value):
    condition = Condition(3, True, value)
    (read,) = parse_conditions(str(condition), "test")
    assert np.float32(read.threshold) == np.float32(value)
    assert float(number(value)) == pytest.approx(value, rel=1e-6)


def test_ranks_by_hand(files):
    choices = read_choices(files[3], "stage", "train")
    first, second = 2, 3
    choices = choices._replace(
        features=choices.features[:5],
        starts=np.array([0, first, first + second]),
        chosen=np.array([0, 3]),
        score=np.array([1.0, 2.0, 5.0, 5.0, 1.0]),
    )
    assert ranks(choices).tolist() == [1, 0, 0, 0, 2]
    assert best_rows(choices).tolist() == [1, 2]


def test_a_subset_keeps_whole_decisions(files):
    choices = read_choices(files[3], "stage", "train")
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


def test_exported_boosted_trees_equal_xgboost(files, rows):
    import xgboost

    choices = read_choices(files[3], "stage", "train")
    booster = boosted_trees.train(choices, files[0].students.boosted_trees, 1)
    trees = boosted_trees.export(booster)
    assert len(trees) == 12
    thresholds = np.array(
        [(f, t) for tree in trees for f, t in zip(tree["feature"], tree["threshold"], strict=True) if f >= 0]
    )
    edges = np.repeat(rows[:1], len(thresholds), axis=0)  # rows that lie exactly on a threshold go right
    edges[np.arange(len(edges)), thresholds[:, 0].astype(int)] = thresholds[:, 1]
    features = np.concatenate([rows, edges])
    expected = booster.predict(xgboost.DMatrix(features), output_margin=True)
    np.testing.assert_allclose(tree_scores(trees, features), expected, atol=1e-5)


def test_monotone_trees_keep_the_direction_of_every_feature(files, rows):
    """Whatever the other features are: more work left never raises the score, to be the source never lowers it."""
    choices = read_choices(files[3], "stage", "train")
    settings = files[0].students.boosted_trees
    free, held = (
        pack(boosted_trees.learn(choices, settings.model_copy(update={"monotone": monotone}), 1), NUM_FEATURES, "test")
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
            steps = np.diff(scores(trees, changed).reshape(-1, len(values)), axis=1)
            falls[name] += int((steps < -1e-6).sum())
    assert falls["free"] > 0
    assert falls["held"] == 0


def test_the_limit_tree_equals_scikit_learn(rows):
    from sklearn.tree import DecisionTreeRegressor

    target = np.sin(rows[:, 2]) + rows[:, 1]
    model = DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(rows, target)
    flat = limit_tree.from_sklearn(model.tree_)
    np.testing.assert_allclose(tree_scores([flat], rows), model.predict(rows))


def test_equal_leaves_of_the_limit_tree_are_merged():
    tree = {
        "feature": [0, -1, 1, -1, -1],
        "threshold": [0.5, 0.0, 0.5, 0.0, 0.0],
        "left": [1, 0, 3, 0, 0],
        "right": [2, 0, 4, 0, 0],
        "value": [0.0, 0.301, 0.0, 0.498, 0.502],
    }
    assert [(str(rule), rule.value) for rule in as_list(limit_tree.merge(tree))] == [
        ("job_is_source < 0.5", 0.3),
        ("otherwise", 0.5),
    ]


def test_limits_follow_the_expert(files):
    dataset = read_dataset(files[3], "train", 4)
    sizes = [len(rules) for rules in limit_tree.variants(dataset, 6)]
    assert sizes[0] == 1
    assert sizes == sorted(sizes)
    assert max(sizes) <= 6


def test_the_smallest_of_the_good_ones():
    assert smallest_good([("a", 10.4), ("b", 10.05), ("c", 10.0)], 0.01) == ("b", 10.05)


def test_polishing_finds_a_threshold_and_drops_what_is_useless():
    useless = Condition(1, True, 1e6)
    rules = [Rule((Condition(2, True, 1.0), useless), 1.0), Rule((), 0.0)]

    def costs(rules: list[Rule], rival: np.ndarray | None) -> np.ndarray | None:
        thresholds = [c.threshold for rule in rules for c in rule.conditions if c.feature == 2]
        cost = 100.0 + (abs(thresholds[0] - 2.0) if thresholds else 50.0)
        return None if rival is not None and cost > rival.mean() else np.array([cost, cost])

    features = np.random.default_rng(0).random((50, NUM_FEATURES)).astype(np.float32)
    settings = RuleListParams(max_rules=2, polish_rounds=10)
    polished = rule_list.polish(rules, costs, Columns(features), settings)
    assert polished[0].conditions == (Condition(2, True, pytest.approx(2.0, abs=0.1)),)
    assert rule_list.polish(rules, costs, Columns(features), RuleListParams(polish_rounds=0)) == rules


def test_neighbours_are_lists_that_end_and_are_no_longer_than_allowed():
    rules = [Rule((Condition(0, True, 1.0),), 2.0), Rule((Condition(1, True, 1.0),), 1.0), Rule((), 0.0)]
    found = rule_list.neighbours(rules, Columns(np.zeros((2, NUM_FEATURES), np.float32)), 4)
    assert {len(changed) for changed in found} == {1, 2, 3, 4}
    assert {len(changed) for changed in rule_list.neighbours(rules, Columns(np.ones((2, 25))), 3)} == {1, 2, 3}
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
    mined = [rule_list.Mined(c, first_rule([Rule(c, 1.0)], features) == 0) for c in conditions]
    rules = rule_list.assemble(mined, choices, RuleListParams(max_rules=8))
    assert [str(rule) for rule in rules] == [str(Rule(conditions[1], 0)), str(Rule(conditions[0], 0)), "otherwise"]
    assert len(rule_list.assemble(mined, choices, RuleListParams(max_rules=2))) == 2


def test_a_race_gives_up_on_who_falls_behind(files):
    _, trace, drawn, _, folder = files
    profiles, episodes = load_inputs(trace, drawn)
    bench = Bench(profiles, episodes.split("train"), episodes.split("validation"))
    student = load_policy(folder / "rule_list.json")
    whole = bench.race(student)
    assert whole.shape == (8,)
    assert whole.mean() == bench.train_jct_s(student)
    np.testing.assert_array_equal(bench.race(student, whole), whole)
    assert bench.race(student, 0.9 * whole) is None


@pytest.mark.parametrize("name", ["rule_list", "boosted_trees"])
def test_students_schedule_about_as_well_as_the_expert(files, name):
    _, trace, drawn, _, folder = files
    profiles, episodes = load_inputs(trace, drawn)
    student = load_any(folder / f"{name}.json")
    assert (student.name, student.kind, student.mode) == (name, "student", "argmax")
    jct = {
        policy.name: np.mean([r.avg_jct_s for r in policy.run(profiles, episodes.split("validation"))])
        for policy in (student, heuristic("capped_srpt"), heuristic("fifo"))
    }
    assert jct[name] < 1.1 * jct["capped_srpt"]
    assert jct[name] < jct["fifo"]


def test_printed_rules_are_what_runs(files, rows):
    """Read the rules of the text as a person does, and score every candidate by hand."""
    text = (files[4] / "rule_list.txt").read_text()
    student = load_policy(files[4] / "rule_list.json")
    assert text == students.show(files[4] / "rule_list.json")
    stage_part, limit_part = text.split("How many executors")
    units = {feature.name: feature.unit for feature in FEATURES}
    for part, values in (
        (stage_part, student.scores(rows)),
        (limit_part.split("What the features")[0], student.limit_share(rows)),
    ):
        numbered = re.split(r"\n +\d+\. ", re.sub(r"\n {8}", " ", part))[1:]
        rules = []
        for line in numbered:
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


def test_a_patched_condition_changes_the_decision(files, tmp_path, rows):
    content = json.loads((files[4] / "rule_list.json").read_text())
    content["rules"] = [{"if": "stage_tasks_left >= 20", "score": 1}, {"if": "otherwise", "score": 0}]
    path = tmp_path / "patched.json"
    path.write_text(json.dumps(content))
    features = rows[:2].copy()
    features[:, FEATURE_NAMES.index("stage_tasks_left")] = (15, 25)
    assert load_policy(path).scores(features).tolist() == [0, 1]
    path.write_text(path.read_text().replace("stage_tasks_left >= 20", "stage_tasks_left < 20"))
    assert load_policy(path).scores(features).tolist() == [1, 0]


def test_trees_name_their_features_by_the_list_of_the_file(files, tmp_path, rows):
    content = json.loads((files[4] / "boosted_trees.json").read_text())
    expected = load_policy(files[4] / "boosted_trees.json").scores(rows)
    order = np.random.default_rng(0).permutation(NUM_FEATURES)
    content["features"] = [FEATURE_NAMES[i] for i in order]
    for tree in content["stage"]["trees"]:
        tree["feature"] = [f if f < 0 else int(np.flatnonzero(order == f)[0]) for f in tree["feature"]]
    (tmp_path / "renumbered.json").write_text(json.dumps(content))
    np.testing.assert_array_equal(load_policy(tmp_path / "renumbered.json").scores(rows), expected)


def test_the_same_work_gives_the_same_bytes(files, tmp_path):
    params, trace, drawn, logged, folder = files
    students.fit(params, trace, drawn, None, "capped_srpt", logged, tmp_path)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["boosted_trees.json", "boosted_trees.txt", "rule_list.json", "rule_list.txt"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_a_written_student_reads_back_the_same(files, tmp_path):
    for name in ("rule_list", "boosted_trees"):
        path = files[4] / f"{name}.json"
        load_policy(path).write(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_text() == path.read_text()


def test_the_text_of_boosted_trees_tells_what_they_look_at(files):
    text = students.show(files[4] / "boosted_trees.json")
    assert "sum over 12 trees" in text
    assert "Tree 1 of 12 adds" in text
    assert "% of the executors" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "teacher"}, "no student"),
        ({"name": 3}, "name: a text expected"),
        ({"features": ["job_age"]}, "unknown feature 'job_age'; did you mean job_age_s"),
        ({"features": None}, "features: a list of names expected"),
        ({"stage": {"trees": []}}, "either 'rules' or 'stage'"),
        ({"rules": []}, "rules: a list of rules expected"),
        (
            {"rules": [{"if": "job_age_s ? 3", "score": 1}]},
            r"rules\[0\]: 'job_age_s \? 3': expected `feature < number`",
        ),
        ({"rules": [{"if": "job_age_s < 1e", "score": 1}]}, "expected `feature < number`"),
        ({"rules": [{"if": "job_ages < 3", "score": 1}]}, "unknown feature 'job_ages'; did you mean job_age_s"),
        ({"rules": [{"if": "job_age_s < 3", "score": "high"}]}, "score: a number expected"),
        ({"rules": [{"if": "job_age_s < 3", "score": 1}]}, "the last rule must be `otherwise`"),
        ({"rules": [{"score": 1}]}, "if: a text expected"),
        ({"limit_rules": [{"if": "otherwise", "score": 1}]}, r"limit_rules\[0\]: limit_share: a number expected"),
    ],
)
def test_a_broken_file_is_told_in_one_line(files, tmp_path, change, message):
    content = json.loads((files[4] / "rule_list.json").read_text()) | change
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match=message) as raised:
        load_policy(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"feature": [25, -1, -1]}, "feature: a list of -1 .leaf. to 24 expected"),
        ({"left": [1, 0]}, "unequal length"),
        ({"left": [0, 0, 0]}, "left child is no later node"),
        ({"threshold": [float("nan"), 0, 0]}, "not finite"),
        ({"value": ["a", 0, 0]}, "needs the lists"),
    ],
)
def test_a_broken_tree_is_told_in_one_line(files, tmp_path, tree, message):
    content = json.loads((files[4] / "boosted_trees.json").read_text())
    whole = {"feature": [0, -1, -1], "threshold": [1, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0], "value": [0, 1, 2]}
    content["stage"]["trees"] = [whole | tree]
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ClearschedError, match=message):
        load_policy(path)


def test_missing_files_are_told_in_one_line(tmp_path):
    with pytest.raises(ClearschedError, match="no such file"):
        load_policy(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('{"name": ')
    with pytest.raises(ClearschedError, match="not valid JSON"):
        load_policy(tmp_path / "cut.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ClearschedError, match="no student"):
        load_policy(tmp_path / "list.json")


def test_a_log_of_another_cluster_is_refused(files, tmp_path):
    params, trace, _, logged, _ = files
    other = params.model_copy(update={"workload": params.workload.model_copy(update={"executors": 5})})
    workloads.build(other, trace, tmp_path / "workloads.parquet")
    with pytest.raises(ClearschedError, match="logged on 4 executors"):
        students.fit(other, trace, tmp_path / "workloads.parquet", None, "capped_srpt", logged, tmp_path)
