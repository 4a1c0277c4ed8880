"""What the printed text of a student says is what its JSON and the compiled loop do: the text is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.compiled.scoring import levels_of
from clearsched.decisions.answers import rank_answers
from clearsched.decisions.choices import Choices
from clearsched.problems.dag_jobs.simulator.loop import limit_executors
from clearsched.problems.episodes import NONE, level_of
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy, load_policy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.switch import Case, Switch
from clearsched.scorers.text import render
from clearsched.students import limit_caps, limit_tree
from clearsched.students.dataset import Dataset
from printed import COMPARISON, Part, Rows, cases_of, chosen, limits, parts_of, sums
from test_kinds import CASES as EVERY_CASE
from test_kinds import DAG_JOBS, dag_task, decisions, deferrable_task, learned, looped
from test_students import EXPERTS, Toys, recorded

LISTS = ("rule_list", "pruned_tree", "shrunk_tree", "greedy_rules", "skope_rules")
KINDS = (*LISTS, "fair_limit", "integer_score", "figs", "boosted_rules")
CASES = [case for case in EVERY_CASE if case[0] in KINDS]
SHIPPED = sorted((Path(__file__).parents[1] / "src/clearsched/shipped").glob("*/stay_and_move.json"))
DECISIONS = 10_000
MOST = 10
STAGE, LIMIT = DAG_JOBS.choices
NAMES = names_of(STAGE)
ALL = RuleList((Rule((), 1.0),), NAMES)


@pytest.fixture(scope="module")
def toys() -> dict[bool, tuple[Toys, Dataset]]:
    """DAG jobs with and without "none of these", and what an expert chose there."""
    instances = {idling: Toys(idling) for idling in (False, True)}
    return {
        idling: (instance, recorded(instance, EXPERTS[idling], instance.split("train")[:6]))
        for idling, instance in instances.items()
    }


@pytest.fixture(scope="module")
def students(toys: dict[bool, tuple[Toys, Dataset]]) -> Callable[[str, str, bool], ScoredPolicy]:
    """Learned when first asked for."""

    @cache
    def student(kind: str, problem: str, none: bool) -> ScoredPolicy:
        return learned(dag_task(kind, toys, none) if problem == "dag_jobs" else deferrable_task(kind, none))

    return student


def reread(student: ScoredPolicy, folder: Path, most: int = MOST) -> tuple[ScoredPolicy, list[Part]]:
    """The student of the written JSON, and what its text says of each choice; 0: the text is not told the most."""
    replace(student, evidence={"most": most}).write(folder / "student.json")
    again = load_policy(folder / "student.json", student.problem)
    return again, parts_of(render(again), [choice.question for choice in again.problem.choices])


def drawn(generator: np.random.Generator, student: ScoredPolicy, parts: Sequence[Part], count: int) -> np.ndarray:
    """float32[count, F]: on a coarse grid, at each printed threshold and next to it.

    Not next to it in the features of ties: there the next feature decides (see the known differences).
    """
    text = " ".join(line for part in parts for line in part.listing)
    ties = {name for part in parts for _, name in part.ties}
    features = np.empty((count, len(student.rank.features)), np.float32)
    for place, feature in enumerate(student.rank.features):
        marks = np.array([mark for name, _, mark in COMPARISON.findall(text) if name == feature.name], np.float32)
        pool = np.concatenate([np.arange(12, dtype=np.float32) / 2, marks])
        if feature.name not in ties:
            pool = np.concatenate([pool, np.nextafter(marks, np.float32(-9)), np.nextafter(marks, np.float32(1e9))])
        features[:, place] = generator.choice(np.array([0, 1], np.float32) if "_is_" in feature.name else pool, count)
    return features


def questions_for(student: ScoredPolicy, parts: Sequence[Part]) -> Choices:
    """Random decisions of up to three candidates, every other one with none."""
    generator = np.random.default_rng(7)
    rows = drawn(generator, student, parts, 3 * DECISIONS)
    return decisions(generator, rows, 3, generator.random(3 * DECISIONS), none=student.none)


@pytest.mark.parametrize("case", CASES)
def test_the_text_chooses_as_json_and_loop_do(case: Any, students: Any, tmp_path: Path) -> None:
    student, parts = reread(students(*case), tmp_path)
    choices = questions_for(student, parts)
    assert len(choices.chosen) == DECISIONS
    told = chosen(parts[0], choices, names_of(student.rank), MOST)
    np.testing.assert_array_equal(told, rank_answers(student, choices))
    scores = student.scores(choices.features, choices.starts)
    np.testing.assert_array_equal(told, looped(student, choices, scores))


@pytest.mark.parametrize("none", [False, True])
def test_numbers_of_any_size_are_printed_as_they_run(none: bool, tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    rules = [
        Rule(
            tuple(
                Condition(int(column), bool(below), float(np.float32(threshold)))
                for column, below, threshold in zip(
                    generator.choice(len(NAMES) - 2, 2, replace=False),
                    generator.integers(0, 2, 2),
                    generator.normal(size=2) * 10.0 ** generator.integers(-7, 9, 2),
                    strict=True,
                )
            ),
            float(score),
        )
        for score in range(12, -8, -1)
    ]
    rank = RuleList((*rules, Rule((), -8.0)), NAMES, ties=(NAMES[-1], f"-{NAMES[-2]}"))
    student, parts = reread(replace(limited(ALL, rank), none=none), tmp_path)
    choices = questions_for(student, parts)
    told = chosen(parts[0], choices, NAMES)
    np.testing.assert_array_equal(told, rank_answers(student, choices))
    assert choices.is_none[told].any() == none


@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("kind", ["figs", "boosted_rules"])
def test_the_text_has_all_of_what_leaves_add(kind: str, none: bool, students: Any, tmp_path: Path) -> None:
    student, (part, *_) = reread(students(kind, "dag_jobs", none), tmp_path)
    choices = questions_for(student, [part])
    real = ~choices.is_none
    told = sums(part, Rows(NAMES, choices.features[real]))
    np.testing.assert_allclose(told, student.scores(choices.features, choices.starts)[real], rtol=0, atol=1e-12)


@pytest.mark.parametrize("none", [False, True])
def test_the_text_of_a_switch_chooses_as_json_and_loop_do(none: bool, students: Any, tmp_path: Path) -> None:
    """Decision by decision the first case whose condition holds has the say, of stages and of executors."""
    first, second, third = (students(kind, "dag_jobs", none) for kind in ("rule_list", "pruned_tree", "greedy_rules"))
    few, many = (Condition(NAMES.index("jobs_in_system"), below, bound) for below, bound in ((True, 2.0), (False, 4.5)))

    def switch(choice: str) -> Switch:
        cases = ((few, first), (many, second), (None, third))
        return Switch(tuple(Case(condition, each.scorers[choice]) for condition, each in cases), NAMES)

    student = replace(first, scorers={choice.name: switch(choice.name) for choice in DAG_JOBS.choices})
    replace(student, evidence={"most": MOST}).write(tmp_path / "student.json")
    again = load_policy(tmp_path / "student.json", DAG_JOBS)
    stage, limit = cases_of(render(again), [choice.question for choice in DAG_JOBS.choices])
    assert [head for head, _ in stage] == [head for head, _ in limit]
    choices = questions_for(again, [part for _, part in stage])
    place = NAMES.index("jobs_in_system")
    lengths = np.diff(choices.starts)
    choices.features[:, place] = np.repeat(choices.features[choices.starts[:-1], place], lengths)  # all share it
    choices.features[choices.is_none] = np.nan
    rows = Rows(NAMES, choices.features[choices.starts[:-1]], MOST)
    says = np.argmax([rows.fits(head) for head, _ in stage], axis=0)
    assert np.bincount(says, minlength=3).min() > 1000
    by_case = [chosen(part, choices, names_of(student.rank), MOST) for _, part in stage]
    told = np.choose(says, by_case)
    np.testing.assert_array_equal(told, rank_answers(again, choices))
    np.testing.assert_array_equal(told, looped(again, choices, again.scores(choices.features, choices.starts)))
    executors = np.choose(says, [limits(part, rows) for _, part in limit])
    shares = again.level_share(rows.features).tolist()
    np.testing.assert_array_equal(executors, [level_of(share, 1, MOST, up=again.rounds_up) for share in shares])


def test_all_trees_are_printed_where_that_is_asked(students: Any, tmp_path: Path) -> None:
    """Boosted trees, with all the digits of xgboost's leaves."""
    student = students("boosted_trees", "dag_jobs", True)
    (few, *_), (part, *_) = (
        parts_of(render(student, whole), [choice.question for choice in DAG_JOBS.choices]) for whole in (False, True)
    )
    assert [sum("adds:" in line for line in text.listing) for text in (few, part)] == [3, 12]
    choices = questions_for(student, [part])
    real = ~choices.is_none
    told = sums(part, Rows(NAMES, choices.features[real]))
    np.testing.assert_allclose(told, student.scores(choices.features, choices.starts)[real], rtol=0, atol=1e-12)
    student.write(tmp_path / "student.json")
    answer = CliRunner().invoke(app, ["students", "show", "--all", str(tmp_path / "student.json")])
    assert answer.stdout == render(student, whole=True) + "\n"


def test_a_forest_of_pairs_is_printed_whole_where_that_is_asked(students: Any) -> None:
    student = students("pairwise_forest", "dag_jobs", True)
    leaves = sum(f == -1 for tree in student.scorers["stage"]._trees() for f in tree["feature"])
    question = parts_of(render(student, whole=True), [choice.question for choice in DAG_JOBS.choices])[0]
    assert sum("better in" in line for line in question.listing) == leaves


def limits_agree(student: ScoredPolicy, folder: Path, most: int = MOST) -> int:
    """How many different limits the text gives on random rows, after a look at what the JSON and the loop give."""
    student, parts = reread(student, folder, most)
    generator = np.random.default_rng(5)
    rows = drawn(generator, student, parts, DECISIONS)
    for place, feature in enumerate(LIMIT.features):
        if "share" in feature.name:
            rows[::2, place] = generator.integers(1, 40, DECISIONS // 2) / 40  # at times whole executors, exactly
        elif feature.unit == "s":
            rows[1::2, place] = generator.uniform(0.1, 200, DECISIONS // 2)
    rows = np.maximum(rows, np.float32(0.02))  # a cap may divide by a feature
    told = limits(parts[1], Rows(NAMES, rows, MOST))
    shares, up = student.level_share(rows), student.rounds_up
    np.testing.assert_array_equal(told, [level_of(share, 1, MOST, up=up) for share in shares.tolist()])
    packed = student.packed(LIMIT)
    looped = [limit_executors(share, MOST, 0, packed.up) for share in levels_of(packed, rows).tolist()]
    np.testing.assert_array_equal(told, looped)
    return len(np.unique(told))


@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_a_limit_gives_the_executors_of_json_and_loop(
    kind: str, none: bool, students: Any, tmp_path: Path
) -> None:
    for most in (MOST, 0):
        student = students(kind, "dag_jobs", none)
        told = limits_agree(student, tmp_path, most)
        assert (told > 1) == bool(student.scorers["limit"].used), "one number only where the limit asks for nothing"


def limited(level: Scorer, rank: Scorer = ALL) -> ScoredPolicy:
    return ScoredPolicy("x", DAG_JOBS, {"stage": rank, "limit": level})


def test_the_text_of_limit_rules_gives_the_executors_of_json_and_loop(toys: Any, tmp_path: Path) -> None:
    for rules in limit_tree.variants(toys[True][1], 8):
        values = {rule.value for rule in rules}
        assert limits_agree(limited(RuleList(tuple(rules), NAMES)), tmp_path) >= min(2, len(values))


def test_the_text_of_caps_gives_the_executors_of_json_and_loop(toys: Any, tmp_path: Path) -> None:
    """Fitted ones, and those whose words a fit of toys does not need."""
    stays = (Condition(NAMES.index("job_is_source"), False, 1.0),)
    caps: list[Scorer] = list(limit_caps.variants(toys[True][1], LIMIT, 4))
    assert len(caps) == 2
    below = {"times": 1.8, "job_share_60": 1.0}, {"times": 2.3, "job_work_share": 1.0}
    caps.append(StepList((Step(stays, below=({"times": 2.5, "job_share_20": 1.0},)), Step((), below=below)), NAMES))
    for times in (0.01, 0.1, 0.4):  # one for each 10 s, one for each s, four for each s
        caps.append(StepList((Step((), below=(below[0], {"times": times, "job_work_total_s": 1.0})),), NAMES))
    powers = {"times": 2.7, "jobs_in_system": -0.5, "job_share_20": 0.5, "job_work_to_smallest": -0.06}
    over = {"times": 1.4, "job_load_40": -1.0}
    caps.append(StepList((Step(stays, "job_executor_share", (powers, over)), Step((), value=0.3)), NAMES))
    caps += [LeastTerm((below[0], over), up) for up in (False, True)]
    for level in caps:
        assert limits_agree(limited(level), tmp_path) > 3


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_the_text_of_shipped_steps_says_what_they_do(path: Path, tmp_path: Path) -> None:
    """As it is where the most is not known: where it is, see the known differences."""
    shipped = load_policy(path, DAG_JOBS)
    assert limits_agree(shipped, tmp_path, 0) > 3
    student, parts = reread(shipped, tmp_path, 0)
    choices = questions_for(student, parts)
    choices = choices._replace(features=np.maximum(choices.features, np.float32(0.02)))  # a cap may divide by one
    told = chosen(parts[0], choices, NAMES, MOST)
    np.testing.assert_array_equal(told, rank_answers(student, choices))


# Where the text once said something else than what runs ---------------------------------------------------------------


def row_of(**features: float) -> np.ndarray:
    """float32[1, F], 0 but for the given ones."""
    return np.array([[features.get(name, 0.0) for name in NAMES]], np.float32)


def asked(student: ScoredPolicy, *rows: np.ndarray) -> Choices:
    """One decision; with none, if it may idle."""
    features = np.concatenate([*rows, *[np.full_like(rows[0], np.nan)] * student.none])
    count, ids = len(features), np.arange(len(features))
    ids = np.where(np.isnan(features[:, 0]), NONE, ids)
    zero, one = np.zeros(count), np.zeros(1, np.int64)
    return Choices(features, np.array([0, count]), one, ids, ids, zero, zero, one, one, np.zeros(1))


AGE = NAMES.index("job_age_s")
LEVELS = {
    "0.18 executors for each s, which is no round number of seconds for one": (
        StepList((Step((), below=({"times": 0.018, "job_work_left_s": 1.0},)),), NAMES),
        row_of(job_work_left_s=27.79),
    ),
    "12 % (1 of 10), rounded up": (StepList((Step((), value=0.12),), NAMES), row_of()),
}
RANKS = {
    "the second tie counts a thousandth of the first": (
        replace(ALL, ties=("job_work_left_s", "-job_age_s")),
        False,
        [row_of(job_work_left_s=10.0), row_of(job_work_left_s=10.1, job_age_s=200.0)],
    ),
    "the third tie decides where two are equal": (
        replace(ALL, ties=("job_is_source", "job_parked", "job_age_s")),
        False,
        [row_of(job_age_s=5.0), row_of(job_age_s=1.0)],
    ),
    "a rule below the line has a score above 0": (
        RuleList(
            (Rule((Condition(AGE, True, 1.0),), -1.0), Rule((Condition(AGE, True, 5.0),), 1.0), Rule((), -2.0)), NAMES
        ),
        True,
        [row_of(job_age_s=2.0)],
    ),
}


@pytest.mark.parametrize("name", LEVELS)
def test_limits_that_were_told_wrong(name: str, tmp_path: Path) -> None:
    level, row = LEVELS[name]
    student, parts = reread(limited(level), tmp_path)
    told = limits(parts[1], Rows(NAMES, row, MOST))
    assert told == level_of(float(student.level_share(row)[0]), 1, MOST, up=student.rounds_up)


@pytest.mark.parametrize("name", RANKS)
def test_choices_that_were_told_wrong(name: str, tmp_path: Path) -> None:
    rank, none, rows = RANKS[name]
    student, parts = reread(replace(limited(ALL, rank), none=none), tmp_path)
    choices = asked(student, *rows)
    assert chosen(parts[0], choices, NAMES) == rank_answers(student, choices)
