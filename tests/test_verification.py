"""Verification against brute force on small grids of whole numbers, and by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched import reading
from clearsched.compiled.scoring import choose
from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import NONE, Answers
from clearsched.problems.policy import heuristic
from clearsched.reading.verification.bounds import score_bounds
from clearsched.reading.verification.box import Box, cells, unbounded
from clearsched.reading.verification.monotone import monotone
from clearsched.reading.verification.structure import structure_of, told
from clearsched.reading.verification.switches import boxes_of
from clearsched.reading.verification.verify import lines_of
from clearsched.reading.verification.waiting import AgeRule, age_rule, longest_wait, patched_age_rule
from clearsched.scorers.conditions import Condition, Rule, first_rule, parse_conditions
from clearsched.scorers.patches import read_patches
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import read_scorer
from clearsched.scorers.switch import Case, Switch
from clearsched.scorers.trees import TreeSum
from conformance.cases import CASES
from random_trees import random_tree

DAG_JOBS = find_problem("dag_jobs")
RANK = DAG_JOBS.choices[0]
NAMES = ("age", "load", "ready")
SIDE = 4
GRID = np.array(list(product(range(SIDE), repeat=3)), np.float32)
BOX = Box(np.zeros(3), np.full(3, SIDE - 1.0), np.ones(3, bool), np.ones(3))


@st.composite
def rule_lists(draw: Any) -> RuleList:
    """Rules on three features of whole numbers; thresholds may lie between them, and outside of the box."""
    condition = st.builds(Condition, st.integers(0, 2), st.booleans(), st.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0, 4.0]))
    found = draw(st.lists(st.tuples(st.lists(condition, max_size=3), st.integers(0, 3)), max_size=5))
    rules = [Rule(tuple(conditions), float(value)) for conditions, value in found]
    ties = draw(st.sampled_from([(), ("age",), ("-age",), ("load", "-age")]))
    return RuleList((*rules, Rule((), float(draw(st.integers(0, 3))))), NAMES, ties=ties)


@settings(deadline=None)
@given(rule_lists())
def test_cells_are_where_a_rule_is_the_first_that_fits(rules: RuleList) -> None:
    found = cells([rule.conditions for rule in rules.rules], BOX)
    place = np.full(len(GRID), -1)
    for number, regions in enumerate(found):
        for region in regions:
            inside = np.all((region.low <= GRID) & (region.high > GRID), axis=1)
            assert inside.any() and np.all(place[inside] == -1), "cells are not empty and do not overlap"
            place[inside] = number
    assert place.tolist() == first_rule(rules.rules, GRID).tolist()


@settings(deadline=None)
@given(rule_lists())
def test_dead_rules_are_those_that_no_row_meets_first(rules: RuleList) -> None:
    met = first_rule(rules.rules, GRID)
    found = structure_of(rules, BOX)
    assert found.dead == tuple(place for place in range(len(rules.rules)) if place not in met)


def refuted(scorer: Any, feature: int, direction: int) -> bool:
    """Whether two rows of the grid that differ in one feature say no."""
    scores = scorer.scores(GRID, NAMES).reshape(SIDE, SIDE, SIDE)
    return bool((direction * np.diff(scores, axis=feature) < -1e-12).any())


def check(scorer: Any, feature: int, direction: int) -> None:
    verdict = monotone(scorer, feature, direction, BOX, NAMES)
    assert verdict.holds == (not refuted(scorer, feature, direction))
    if verdict.pair is not None:
        low, high = verdict.pair
        assert low[feature] < high[feature] and np.all(np.delete(low == high, feature))
        assert np.all((BOX.low <= verdict.pair) & (verdict.pair <= BOX.high)) and np.all(low == np.round(low))
        assert verdict.scores == tuple(scorer.scores(verdict.pair, NAMES).tolist())
        assert direction * (verdict.scores[1] - verdict.scores[0]) < 0


@settings(deadline=None)
@given(rule_lists(), st.integers(0, 2), st.sampled_from([-1, 1]))
def test_rules_go_one_way_or_two_rows_say_no(rules: RuleList, feature: int, direction: int) -> None:
    check(rules, feature, direction)


@st.composite
def switches(draw: Any) -> Switch:
    """Rule lists, of which load tells the one that answers."""
    load = st.builds(Condition, st.just(1), st.booleans(), st.sampled_from([0.0, 1.0, 1.5, 3.0]))
    cases = [Case(condition, draw(rule_lists())) for condition in draw(st.lists(load, max_size=2))]
    return Switch((*cases, Case(None, draw(rule_lists()))), NAMES)


def case_of(switch: Switch) -> np.ndarray:
    """int64[n]: the case of each row of the grid."""
    conditions = [(case.condition,) if case.condition else () for case in switch.cases]
    return first_rule([Rule(each, 0.0) for each in conditions], GRID)


@settings(deadline=None)
@given(switches(), st.sampled_from([0, 2]), st.sampled_from([-1, 1]))
def test_switches_go_one_way_or_two_rows_say_no(switch: Switch, feature: int, direction: int) -> None:
    check(switch, feature, direction)


@settings(deadline=None)
@given(switches())
def test_cases_are_looked_into_where_they_answer(switch: Switch) -> None:
    place, values = case_of(switch), set()
    assert switch.firing(GRID, NAMES) is not None and np.array_equal(switch.firing(GRID, NAMES), place)
    for number, (case, part) in enumerate(zip(switch.cases, boxes_of(switch, BOX), strict=True)):
        own = GRID[place == number]
        assert (part is None) == (len(own) == 0)
        if part is not None:
            assert part.low.tolist() == own.min(axis=0).tolist() and part.high.tolist() == own.max(axis=0).tolist()
            met = first_rule(case.scorer.rules, own)
            assert structure_of(case.scorer, part).dead == tuple(set(range(len(case.scorer.rules))) - set(met))
            values |= {case.scorer.rules[rule].value for rule in met}
    assert score_bounds(switch, cells([()], BOX)[0][0], BOX) == (min(values), max(values))


def test_a_switch_in_words() -> None:
    quiet = dag_rules(("job_age_s < 9 and job_age_s >= 9", 3), *OTHERS)
    crowded = dag_rules(("jobs_in_system < 4", 3), *OTHERS)
    jobs = Condition(COLUMN["jobs_in_system"], True, 5.0)
    policy = student(Switch((Case(jobs, quiet), Case(jobs, quiet), Case(None, crowded)), FEATURE_NAMES))
    text = "\n".join(lines_of(policy, {}, None))
    assert "case 1, jobs_in_system < 5:\n    contradictions: rule 1" in text
    assert "case 2, jobs_in_system < 5: dead: no row comes to it" in text
    assert "case 3, otherwise:\n    contradictions: none\n    dead rules: rule 1" in text
    assert "more job_is_source never lowers the score: proved" in text
    pieces = {piece.name: piece.without for piece in policy.scorers["stage"].pieces()}
    assert list(pieces)[:4] == ["case 1", "case 2", "case 3", "case 1: rule 1"]
    less = pieces["case 1: rule 1"]
    assert (
        less is not None
        and less.cases[0].scorer.rules == quiet.rules[1:]
        and less.cases[1:] == policy.scorers["stage"].cases[1:]
    )


def a_sum(seed: int, count: int = 4, depth: int = 3) -> TreeSum:
    generator = np.random.default_rng(seed)
    trees = [random_tree(generator, depth) for _ in range(count)]
    for tree in trees:
        tree["feature"] = [f if f < 0 else f % 3 for f in tree["feature"]]
        tree["threshold"] = [2 * threshold for threshold in tree["threshold"]]
        tree["value"] = np.round(tree["value"], 1).tolist()
    return TreeSum(tuple(trees), NAMES)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2), st.sampled_from([-1, 1]))
def test_sums_of_trees_go_one_way_or_two_rows_say_no(seed: int, feature: int, direction: int) -> None:
    check(a_sum(seed), feature, direction)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2))
def test_sums_that_go_one_way_are_proved(seed: int, feature: int) -> None:
    """Each tree asks once, and gives more to those at the threshold or above."""
    generator = np.random.default_rng(seed)
    trees = []
    for _ in range(6):
        low, more = generator.normal(), generator.random()
        trees.append(
            {
                "feature": [int(generator.integers(3)), -1, -1],
                "threshold": [float(generator.integers(5)), 0.0, 0.0],
                "left": [1, 0, 0],
                "right": [2, 0, 0],
                "value": [0.0, low, low + more],
            }
        )
    assert monotone(TreeSum(tuple(trees), NAMES), feature, 1, BOX, NAMES).holds


def test_trees_that_make_up_for_each_other_are_proved() -> None:
    """One tree falls by 1 at the threshold, the other rises by 2: tree by tree it could not be told."""
    step = {"feature": [0, -1, -1], "threshold": [2.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    falls, rises = {**step, "value": [0, 1.0, 0.0]}, {**step, "value": [0, 0.0, 2.0]}
    assert monotone(TreeSum((falls, rises), NAMES), 0, 1, BOX, NAMES).holds
    assert monotone(TreeSum((falls,), NAMES), 0, 1, BOX, NAMES).holds is False


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_unreachable_leaves_are_those_that_no_row_reaches(seed: int) -> None:
    scorer = a_sum(seed, count=1, depth=4)
    tree = scorer.trees[0]
    reached = set()
    for row in GRID:
        node = 0
        while tree["feature"][node] >= 0:
            below = row[tree["feature"][node]] < tree["threshold"][node]
            node = tree["left"][node] if below else tree["right"][node]
        reached.add(node)
    leaves = {node for node, feature in enumerate(tree["feature"]) if feature < 0}
    assert {leaf for _, leaf in structure_of(scorer, BOX).unreachable} == leaves - reached


def test_what_is_found_in_words() -> None:
    rules = RuleList(
        (
            Rule(parse_conditions("age >= 2", NAMES, "test"), 3),
            Rule(parse_conditions("age >= 2 and load < 1", NAMES, "test"), 2),
            Rule(parse_conditions("load < 1 and load >= 1", NAMES, "test"), 1),
            Rule(parse_conditions("ready > 2.5 and ready < 3", NAMES, "test"), 1),
            Rule((), 0),
        ),
        NAMES,
    )
    assert told(structure_of(rules, BOX), [True, False, False, False, True]) == [
        "contradictions: rule 3",
        "dead rules: rule 2, rule 3, rule 4",  # no whole number lies between 2.5 and 3
        "rules that never fired in the log: rule 2, rule 3, rule 4",
    ]
    assert structure_of(rules, unbounded(3)).dead == (1, 2)
    tree = {"feature": [0, -1, -1], "threshold": [9.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0], "value": [0, 1, 2]}
    assert told(structure_of(TreeSum((tree,), NAMES), BOX), None) == ["unreachable leaves: 1 of 2 (leaf 2 of tree 1)"]


def test_other_scorers() -> None:
    weights = read_scorer({"age": 2.0, "load": -1.0}, NAMES, "test")
    assert [monotone(weights, 0, d, BOX, NAMES).holds for d in (1, -1)] == [True, False]
    steps = {
        "steps": [
            {"if": "ready >= 1", "of": "load", "below": [{"times": 2}], "then": 5, "plus": {"age": 1.0}},
            {"if": "otherwise", "then": 0, "plus": {"age": 0.5}},
        ]
    }
    capped = read_scorer(steps, NAMES, "test")
    assert monotone(capped, 0, 1, BOX, NAMES).holds, "only weights ask for it"
    refused = monotone(capped, 1, 1, BOX, NAMES)
    assert refused.holds is False and refused.scores[1] < refused.scores[0]
    assert monotone(capped, 1, -1, BOX, NAMES).holds, "who is below the cap stays there, and the step scores highest"
    for value, expected in ((1, None), (-3, False)):  # 1 + age is always more than age / 2, but not by the form
        steps["steps"][0]["then"] = value
        assert monotone(read_scorer(steps, NAMES, "test"), 2, 1, BOX, NAMES).holds is expected


@st.composite
def step_lists(draw: Any) -> Any:
    """Steps with conditions, caps of a feature or two, and weights."""
    mark = st.sampled_from(["age < 2", "age >= 1", "load < 3", "load >= 2", "ready >= 1", "ready < 1"])
    power = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-1.0, 0.5, 1.0]), max_size=2)
    steps = []
    for _ in range(draw(st.integers(0, 3))):
        conditions = draw(st.lists(mark, min_size=1, max_size=2, unique=True))
        step: dict[str, Any] = {"if": " and ".join(conditions), "then": draw(st.integers(0, 9))}
        if draw(st.booleans()):
            step |= {"of": draw(st.sampled_from(NAMES)), "below": [draw(power) | {"times": draw(st.integers(1, 2))}]}
        if draw(st.booleans()):
            step["plus"] = {draw(st.sampled_from(NAMES)): draw(st.sampled_from([-1.0, 0.5]))}
        steps.append(step)
    steps.append({"if": "otherwise", "then": draw(st.integers(0, 9))})
    return read_scorer({"steps": steps}, NAMES, "test")


FROM_ONE = Box(np.ones(3), np.full(3, float(SIDE)), np.ones(3, bool), np.ones(3))
"""Without 0, over which a negative power would divide."""


@settings(deadline=None)
@given(step_lists(), st.integers(0, 2), st.sampled_from([-1, 1]))
def test_what_is_proved_of_steps_no_two_rows_refute(steps: Any, feature: int, direction: int) -> None:
    verdict = monotone(steps, feature, direction, FROM_ONE, NAMES)
    scores = steps.scores(GRID + 1, NAMES).reshape(SIDE, SIDE, SIDE)
    refuted = bool((direction * np.diff(scores, axis=feature) < -1e-12).any())
    assert verdict.holds is None or verdict.holds == (not refuted)


# Waiting ------------------------------------------------------------------------------------------------------------

SHOP = Choice("order", "rank", "Which?", RANK.features, group="job", ready="stage_is_ready", served="stage_executors")
COLUMN = {name: place for place, name in enumerate(FEATURE_NAMES)}


class Script:
    """A lockstep of one episode as it is written down: time, (job, ready, served) of each candidate, the answer."""

    def __init__(self, steps: list[tuple[float, list[tuple[int, int, int]], int]]) -> None:
        self.steps, self.place = steps, -1
        self.pending = np.array([0])

    def advance(self) -> int:
        self.place += 1
        return int(self.place < len(self.steps))

    @property
    def time_s(self) -> np.ndarray:
        return np.array([self.steps[self.place][0]])

    def observe(self) -> Any:
        rows = self.steps[self.place][1]
        features = np.zeros((len(rows), len(FEATURE_NAMES)), np.float32)
        for row, (_, ready, served) in zip(features, rows, strict=True):
            row[[COLUMN["stage_is_ready"], COLUMN["stage_executors"]]] = ready, served
        jobs = np.array([job for job, _, _ in rows])
        return SimpleNamespace(
            candidates=features, candidate_group=jobs, candidate_id=jobs, candidate_start=np.array([0, len(rows)])
        )

    def ask(self, policy: Any) -> Answers:
        return Answers(np.array([self.steps[self.place][2]]), np.array([1]))

    def answer(self, answers: Answers) -> None:
        pass


def waited(*steps: tuple[float, list[tuple[int, int, int]], int]) -> tuple[float, int, float]:
    instance: Any = SimpleNamespace(lockstep=lambda episodes: Script(list(steps)))
    found = longest_wait(None, instance, [None], SHOP)
    return found.seconds, found.group, found.since_s


def test_a_wait_lasts_until_a_job_is_chosen_or_served() -> None:
    a, b = (1, 1, 0), (2, 1, 0)
    assert waited((0.0, [a, b], 0), (5.0, [a, b], 0), (9.0, [a, b], 1), (12.0, [b], 0)) == (9.0, 2, 0.0)
    # Job 2 is served from second 5 on; at second 9 it begins to wait anew.
    served = (2, 1, 3)
    assert waited((0.0, [a, b], 0), (5.0, [a, served], 0), (9.0, [a, b], 0), (13.0, [b], 0)) == (4.0, 2, 9.0)
    # Not ready: no wait. One of its stages served: none either. None of these: all go on waiting.
    assert waited((0.0, [(1, 0, 0)], NONE), (8.0, [(1, 0, 0)], 0)) == (0.0, -1, 0.0)
    assert waited((0.0, [a, (1, 0, 2)], NONE), (8.0, [a, (1, 0, 2)], 0)) == (0.0, -1, 0.0)
    assert waited((0.0, [a], NONE), (8.0, [a], NONE)) == (8.0, 1, 0.0)


def dag_rules(*texts: tuple[str, float], ties: tuple[str, ...] = ()) -> RuleList:
    found = [Rule(parse_conditions(text, FEATURE_NAMES, "test"), value) for text, value in texts]
    return RuleList(tuple(found), FEATURE_NAMES, ties=ties)


OTHERS = (("job_is_source >= 1", 2.0), ("otherwise", 1.0))
ANY = unbounded(len(FEATURE_NAMES))


def rule_of(scorer: Any) -> AgeRule | None:
    return age_rule(scorer, RANK, ANY, FEATURE_NAMES)


def test_a_rule_of_age_is_proved() -> None:
    assert rule_of(dag_rules(("job_age_s >= 600", 3), *OTHERS, ties=("-job_age_s",))) == AgeRule(600, True, True)
    # Among the old the score decides before the tie does: not the oldest comes first, but the smaller score never.
    old = (("job_age_s >= 600 and job_is_source >= 1", 4), ("job_age_s >= 600", 3))
    assert rule_of(dag_rules(*old, *OTHERS, ties=("-job_age_s",))) == AgeRule(600, False, True)
    # Only ready stages need come first; and whoever is old comes to the rule in whatever order rules are written.
    assert rule_of(dag_rules(("job_age_s >= 600 and stage_is_ready >= 1", 3), *OTHERS)) == AgeRule(600, False, True)
    young = dag_rules(("job_age_s < 30 and job_is_source >= 1", 2), ("job_age_s < 30", 1), ("otherwise", 4))
    assert rule_of(young) == AgeRule(30, False, True)


def test_what_is_no_rule_of_age() -> None:
    assert rule_of(dag_rules(*OTHERS)) is None
    assert rule_of(dag_rules(("job_is_source >= 1", 4), ("job_age_s >= 600", 3), ("otherwise", 1))) is None
    assert rule_of(dag_rules(("job_age_s >= 600 and job_fair_load < 2", 3), *OTHERS)) is None
    assert rule_of(dag_rules(("job_age_s >= 600", -1), ("otherwise", -2))) == AgeRule(600, False, False)


def patched_rule(*patches: dict[str, Any], scorer: Any = None, none: bool = False) -> AgeRule | None:
    read = read_patches(list(patches), DAG_JOBS, "test")
    return patched_age_rule(read, none, scorer or dag_rules(*OTHERS), RANK, ANY, FEATURE_NAMES)


def test_a_patch_on_age_is_a_rule_of_age() -> None:
    old = {"when": "job_age_s >= 600", "do": "prefer"}
    found = AgeRule(600, False, True)
    assert patched_rule(old) == found
    assert patched_rule({**old, "when": "job_age_s >= 600 and stage_is_ready >= 1"}) == found
    other = {"when": "job_fair_load >= 2", "do": "avoid"}
    assert patched_rule(old, other) == found
    assert patched_rule({"when": "always", "cap": 0.5}, old) == found, "how many is another question"
    assert patched_rule(other, old) is None, "the first decides"
    assert patched_rule(other, {**old, "priority": 1}) == found
    assert patched_rule({**old, "when": "job_age_s >= 600 and job_fair_load < 2"}) is None
    assert patched_rule({**old, "when": "job_age_s < 600"}) is None
    assert patched_rule({**old, "do": "avoid"}) is None
    idle = {"when": "job_fair_load >= 9", "do": "idle"}
    assert patched_rule(old, idle) is None, "it may concern the old as well"
    # Where scores may answer "none of these", a preferred candidate needs one above 0.
    assert patched_rule(old, none=True) == found
    assert patched_rule(old, scorer=dag_rules(("job_is_source >= 1", 2), ("otherwise", -1)), none=True) is None


@given(st.integers(0, 2**32 - 1))
def test_whom_a_patch_on_age_prefers_comes_first(seed: int) -> None:
    """Of random decisions: the one that is chosen is old and ready, wherever one is."""
    generator = np.random.default_rng(seed)
    rows = generator.uniform(0, 3, size=(6, len(FEATURE_NAMES))).astype(np.float32)
    rows[:, COLUMN["job_age_s"]] = generator.choice([10, 599, 600, 5000], 6)
    rows[:, COLUMN["stage_is_ready"]] = generator.integers(0, 2, 6)
    patches = [
        {"when": "job_age_s >= 600 and stage_is_ready >= 1", "do": "prefer"},
        {"when": "job_fair_load >= 1.5", "do": "avoid"},
    ]
    policy = replace(student(dag_rules(*OTHERS)), patches=read_patches(patches, DAG_JOBS, "test"))
    old = (rows[:, COLUMN["job_age_s"]] >= 600) & (rows[:, COLUMN["stage_is_ready"]] >= 1)
    chosen = choose(policy.packed(RANK), rows, none_allowed=False)
    assert old[chosen] or not old.any()


def test_rules_of_age_of_steps_and_trees() -> None:
    text = [
        {"if": "job_age_s >= 600", "then": 9, "plus": {"stage_is_ready": 1.0}},
        {"if": "job_is_source >= 1", "of": "job_executor_share", "below": [{"times": 0.5}], "then": 5},
        {"if": "otherwise", "then": 1},
    ]
    box = Box(np.zeros(len(FEATURE_NAMES)), np.full(len(FEATURE_NAMES), 1e4), ANY.whole, ANY.usual)
    steps = read_scorer({"steps": text}, FEATURE_NAMES, "test")
    assert age_rule(steps, RANK, box, FEATURE_NAMES) == AgeRule(600, False, True)
    assert score_bounds(steps, cells([()], box)[0][0], box)[0] == 1
    tree = {"feature": [COLUMN["job_age_s"], -1, -1], "threshold": [60.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    other = {**tree, "feature": [COLUMN["job_fair_load"], -1, -1]}
    trees = [{**tree, "value": [0, 0.0, 5.0]}, {**other, "value": [0, 2.0, 1.0]}]
    assert rule_of(TreeSum(tuple(trees), FEATURE_NAMES)) == AgeRule(60, False, True)
    trees[1]["value"] = [0, 7.0, 1.0]
    assert rule_of(TreeSum(tuple(trees), FEATURE_NAMES)) is None


# The command --------------------------------------------------------------------------------------------------------


def student(scorer: Any) -> ScoredPolicy:
    return ScoredPolicy("hand", DAG_JOBS, {"stage": scorer, "limit": dag_rules(("otherwise", 0.5))})


def test_the_account_in_words() -> None:
    lines = lines_of(
        student(dag_rules(("job_age_s >= 600", 3), ("job_work_left_s >= 9", 2), ("otherwise", 1))), {}, None
    )
    text = "\n".join(lines)
    assert "more job_work_left_s never raises the score: no" in text
    assert "job_work_left_s 8.999999 s has the score 1, 9 s 2; at job_age_s 0 s" in text
    assert "Proved: from job_age_s 600 s on a ready candidate" in text
    assert max(map(len, lines)) < 120


def test_verify_without_a_log_and_with_half_the_data(tmp_path: Path) -> None:
    path = tmp_path / "hand.json"
    student(dag_rules(*OTHERS)).write(path)
    assert "Over all numbers" in reading.verify(path)
    with pytest.raises(ClearschedError, match="--trace and --workloads together"):
        reading.verify(path, None, tmp_path / "trace.parquet", None)
    with pytest.raises(ClearschedError, match="no such file"):
        reading.verify(path, tmp_path / "log.parquet")


def test_what_is_too_much_to_decide_is_not_called_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearsched.reading.verification.tree_sums.MOST_BRANCHES", 3)
    step = {"feature": [0, -1, -1], "threshold": [2.0, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    rises, falls = ({**step, "value": [0, 0.0, gain]} for gain in (1.0, -0.5))
    assert monotone(TreeSum((rises, falls, rises), NAMES), 0, 1, BOX, NAMES).holds is None
    assert monotone(TreeSum((falls, falls, rises), NAMES), 0, -1, BOX, NAMES).holds is None
    refuted = monotone(TreeSum((rises, rises, falls), NAMES), 0, -1, BOX, NAMES)
    assert refuted.holds is False and refuted.scores[1] > refuted.scores[0], (
        "two rows that say no are found all the same"
    )


def test_waits_of_a_problem_without_groups() -> None:
    """Deferrable jobs: every candidate waits until it starts; under first come first served the first does not."""
    case = CASES["deferrable_jobs"]
    instance, episode = case.toy()
    problem = find_problem("deferrable_jobs")
    found = [
        longest_wait(heuristic(problem, name).compiled, instance, [episode], problem.choices[0]).seconds
        for name in ("fifo", "edf")
    ]
    assert all(seconds >= 0 for seconds in found)
    never = ScoredPolicy("never", problem, {"start": read_scorer({"constant": -1.0}, (), "test")}, none=True)
    assert longest_wait(never.compiled, instance, [episode], problem.choices[0]).seconds > max(found)


def test_a_lock_is_seen_as_a_wait(shared: Path, decima_profiles: Profiles) -> None:
    """A list that locks the cluster on one of 300 streams, and the rule that cures it: shared/golden/lock."""
    generator = np.random.default_rng(123)
    for _ in range(159):
        gaps = generator.exponential(25_000, 200)
        jobs = generator.integers(0, 154, 200)
    gaps[0] = 0
    stream = Workload(jobs, np.cumsum(gaps).astype(np.int64), 50, 2000, seed=158)
    list_of = load_policy(shared / "golden" / "lock" / "rule_list.json")
    rules = list_of.scorers["stage"]
    assert isinstance(rules, RuleList)
    text = "stage_is_ready >= 1 and stage_executors < 1 and job_sqrt_load >= 3 and job_executors >= 1"
    cure = Rule(parse_conditions(text, rules.names, "cure"), 9.0)
    cured = replace(
        list_of, scorers={**list_of.scorers, "stage": replace(rules, rules=(cure, *rules.rules), shares=())}
    )
    waits = [
        longest_wait(policy.compiled, DagJobsInstance(decima_profiles), [stream], RANK).seconds
        for policy in (list_of, cured, heuristic(DAG_JOBS, "fair"))
    ]
    assert waits[0] > 9000 and max(waits[1:]) < 100
