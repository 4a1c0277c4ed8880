"""Formulae as policies: toys by hand, files and their errors, and the loop's guard against numbers that are none."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clearsched import reading, students
from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.compiled.trees import pack
from clearsched.errors import ClearschedError, FeatureError
from clearsched.problems.dag_jobs.command import simulate_file
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, NUM_FEATURES
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, simulate
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.students import load_policy
from toys import stage, toy_trace, toy_workload

ROOT = Path(__file__).parents[1]
DOCS = (ROOT / "docs" / "formulae.md").read_text()
SHORT_FIRST = {"job_work_left_s": -1.0}
PAIR = [[stage(8)], [stage(3)]]
"""A long job and a short one, 50 ms for a fresh executor's task, then 10 ms."""


def packed(weights: dict) -> Packed:
    """A formula as a scorer."""
    return Packed(pack_formula(weights, FEATURE_NAMES, "test"))


def completions(weights: dict, limit: dict, executors: int, profiles: Profiles | None = None) -> list[int]:
    policy = PROBLEM.compile(packed(weights), packed(limit))
    profiles = profiles or compile_profiles(toy_trace(PAIR))
    return simulate(profiles, toy_workload([0, 0], executors), policy).completion_ms.tolist()


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


# What a formula schedules -------------------------------------------------------------------------------------------


def test_one_executor_serves_the_job_of_the_higher_score() -> None:
    """100 ms to move to a job; then the short one takes 50 + 2 x 10 ms, the long one 50 + 7 x 10 ms."""
    assert completions(SHORT_FIRST, {"constant": 1.0}, 1) == [170 + 220, 170]
    assert completions({"job_work_left_s": 1.0}, {"constant": 1.0}, 1) == [220, 220 + 170]


def test_equal_scores_go_to_the_job_that_came_first() -> None:
    assert completions({"constant": 5.0}, {"constant": 1.0}, 1) == [220, 390]


def test_a_constant_limit_shares_the_cluster() -> None:
    """Half of two executors each, so that neither job waits for the other."""
    assert completions(SHORT_FIRST, {"constant": 0.5}, 2) == [220, 170]


def test_a_limit_may_be_a_formula() -> None:
    """The long job may hold 8 x 0.1 of two executors, rounded both; the short one 3 x 0.1, rounded one.

    The long job: 4 tasks on each, 50 + 3 x 10 ms after the move, until 180 ms. Then one moves to the short job and
    works for 50 + 2 x 10 ms; two need 50 + 10 ms.
    """
    weights = {"job_tasks_left": 1.0}
    assert completions(weights, {"job_tasks_left": 0.1}, 2) == [180, 350]
    assert completions(weights, {"constant": 1.0}, 2) == [180, 340]


@pytest.mark.parametrize("share", [-1e30, 0.0, 1.0, 1e30])
def test_a_share_beyond_the_cluster_is_cut(share: float) -> None:
    wanted = completions(SHORT_FIRST, {"constant": min(max(share, 0.0), 1.0)}, 3)
    assert completions(SHORT_FIRST, {"constant": share}, 3) == wanted


def test_terms_are_summed_in_float64() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((70, NUM_FEATURES), np.float32)
    names = ("stage_rank", "job_age_s", "job_work_left_s")
    column = [FEATURE_NAMES.index(name) for name in names]
    weights = dict(zip(names, rng.normal(size=3).tolist(), strict=True)) | {"constant": 0.25}
    expected = [
        ((0.25 + weights[names[0]] * row[column[0]]) + weights[names[1]] * row[column[1]])
        + weights[names[2]] * row[column[2]]
        for row in rows.astype(float).tolist()
    ]
    assert scores_of(packed(weights), rows).tolist() == expected


def test_a_formula_and_a_tree_that_say_the_same_schedule_the_same(decima_profiles: Profiles) -> None:
    """The candidate's job is the source or not; a tree of one question says so too."""
    column = FEATURE_NAMES.index("job_is_source")
    tree = {"feature": [column, -1, -1], "threshold": [0.5, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    trees = pack([tree | {"value": [0.0, 0.0, 1.0]}], NUM_FEATURES, "test")
    one = packed({"constant": 1.0})
    by_formula = PROBLEM.compile(packed({"job_is_source": 1.0}), one)
    by_tree = PROBLEM.compile(Packed(trees=trees), one)
    workload = toy_workload([0] * 6 + [20_000] * 4, 10, profile=range(10), moving_delay_ms=2000)
    first, second = (simulate(decima_profiles, workload, policy) for policy in (by_formula, by_tree))
    assert first.completion_ms.tolist() == second.completion_ms.tolist()
    assert first.num_decisions > 20


# Files ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def episode(tmp_path: Path) -> tuple[Path, Path]:
    """A workload file and the trace that it needs."""
    jobs = [{"query": f"q{i}", "size": "tiny", "arrival_ms": 0} for i in (0, 1)]
    settings = {"num_executors": 1, "moving_delay_ms": 100, "warmup_delay_ms": 1000}
    write_trace(tmp_path / "trace.parquet", toy_trace(PAIR))
    return write(tmp_path / "episode.json", settings | {"jobs": jobs}), tmp_path / "trace.parquet"


def test_the_example_of_the_documentation_runs(tmp_path: Path, episode: tuple[Path, Path]) -> None:
    examples = re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL)
    assert len(examples) == 4
    for place, text in enumerate(examples):
        path = tmp_path / f"example{place}.json"
        path.write_text(text)
        answer = simulate_file(*episode, load_policy(path), "mean", 0)
        assert answer["completion_ms"] == [390, 170]  # the short job first
        assert load_policy(path).name == json.loads(text).get("name", f"example{place}")


def test_the_text_shows_the_terms_with_units(tmp_path: Path) -> None:
    content = {"kind": "formula", "stage": {"job_work_left_s": -1.5, "job_is_source": 100}, "limit": {"constant": 0.25}}
    lines = reading.show(write(tmp_path / "mine.json", content)).splitlines()
    assert lines[0] == "Student mine"
    assert [line.split() for line in lines if " x job" in line] == [
        ["-1.5", "x", "job_work_left_s", "[s]"],
        ["+100", "x", "job_is_source"],
    ]
    assert "+0.25" in [line.strip() for line in lines]


def test_a_limit_may_be_rules_or_trees(tmp_path: Path) -> None:
    rows = np.zeros((2, NUM_FEATURES), np.float32)
    rows[1, FEATURE_NAMES.index("job_is_source")] = 1
    rules = [{"if": "job_is_source < 1", "limit_share": 0.25}, {"if": "otherwise", "limit_share": 1}]
    base = {"kind": "formula", "stage": SHORT_FIRST}
    tree = {"feature": [0, -1, -1], "threshold": [1, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    trees = {"features": ["job_is_source"], "limit": {"trees": [tree | {"value": [0, 0.25, 1]}]}}
    terms = {"limit": {"cap_terms": [{"times": 0.75, "job_is_source": 1}, {"times": 2}]}}
    for extra in ({"limit_rules": rules}, {"limit": {"rules": rules}}, trees):
        student = students.load_policy(write(tmp_path / "mine.json", base | extra))
        assert student.level_share(rows).tolist() == [0.25, 1.0]
        student.write(tmp_path / "again.json")
        assert students.load_policy(tmp_path / "again.json").level_share(rows).tolist() == [0.25, 1.0]
    student = students.load_policy(write(tmp_path / "mine.json", base | terms))
    assert student.level_share(rows).tolist() == [0.0, 0.75]


def test_a_written_formula_reads_back_the_same(tmp_path: Path) -> None:
    content = {"name": "mine", "kind": "formula", "stage": {"job_age_s": 0.1, "constant": 3}, "limit": 0.3, "why": "x"}
    student = students.load_policy(write(tmp_path / "mine.json", content))
    student.write(tmp_path / "again.json")
    again = students.load_policy(tmp_path / "again.json")
    assert {name: scorer.to_json() for name, scorer in again.scorers.items()} == {
        "stage": {"job_age_s": 0.1, "constant": 3},
        "limit": {"constant": 0.3},
    }
    assert again.evidence["why"] == "x"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stage": {"job_wrk_left_s": 1}}, "stage: unknown feature 'job_wrk_left_s'; did you mean job_work_left_s?"),
        ({"stage": {"zzz": 1}}, "stage: unknown feature 'zzz'$"),
        ({"stage": {"job_age_s": float("nan")}}, "stage: job_age_s: a finite number expected, not nan"),
        ({"stage": {"job_age_s": float("-inf")}}, "stage: job_age_s: a finite number expected, not -inf"),
        ({"stage": {"job_age_s": "1"}}, "stage: job_age_s: a finite number expected, not '1'"),
        ({"stage": {"job_age_s": True}}, "stage: job_age_s: a finite number expected, not True"),
        ({"stage": {"job_age_s": 10**400}}, "is too large a number: 64 bits at most"),
        ({"stage": {}}, "stage: weights by feature, a number, or an object with weights or"),
        ({"stage": [1]}, "stage: weights by feature, a number, or an object with weights or"),
        ({"limit": None}, "limit: weights by feature, a number, or an object with weights or"),
        ({"limit": float("inf")}, "limit: constant: a finite number expected, not inf"),
        ({"limit": {"trees": []}}, r"limit\.trees: a list of trees expected"),
        ({"limit_rules": []}, "either 'limit_rules' or 'limit'"),
        ({"kind": "formulas"}, 'an object with "kind": "student", "searched" or "formula" expected'),
        ({"name": 3}, "name: a text expected"),
    ],
)
def test_broken_files_are_told_with_the_key(tmp_path: Path, changes: dict, message: str) -> None:
    content = {"kind": "formula", "stage": SHORT_FIRST, "limit": 1} | changes
    path = write(tmp_path / "mine.json", content)
    with pytest.raises(ClearschedError, match=message) as caught:
        load_policy(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


# Numbers that are none -----------------------------------------------------------------------------------------------


def spoiled(profiles: Profiles, row: int, value: float) -> Profiles:
    mean_ms = profiles.arrays.mean_ms.copy()
    mean_ms[row] = value
    return replace(profiles, arrays=profiles.arrays._replace(mean_ms=mean_ms))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_episode_stops_at_a_feature_that_is_no_number(value: float) -> None:
    """Job 1 arrives at 200 ms, when two decisions have been made; its second stage has no sound duration."""
    profiles = compile_profiles(toy_trace([[stage(20)], [stage(3), stage(2)]]))
    workload = toy_workload([0, 200], 2)
    policy = PROBLEM.compile(packed(SHORT_FIRST), packed({"constant": 0.5}))
    good = simulate(profiles, workload, policy).completion_ms.tolist()
    simulation = Simulation(spoiled(profiles, 2, value), workload)
    decisions = 0
    while simulation.advance() and simulation.state.scalar[0] < 200:
        simulation.act(*simulation.reference_choice(policy))
        decisions += 1
    number = int(re.match(r"decision (\d+): ", _message(lambda: simulation.reference_choice(policy)))[1])
    assert number >= decisions > 0
    expected = f"decision {number}: feature stage_task_s is {value} for stage 1 of job 1: "
    for run in (
        lambda: simulation.reference_choice(policy),
        lambda: simulate(spoiled(profiles, 2, value), workload, policy),
    ):
        assert _message(run).startswith(expected)
    assert simulate(profiles, workload, policy).completion_ms.tolist() == good


def _message(run) -> str:
    with pytest.raises(FeatureError) as caught:
        run()
    return str(caught.value)


def test_a_score_that_overflows_is_told() -> None:
    profiles = compile_profiles(toy_trace([[stage(100)], [stage(300)]]))
    for weights, limit, what in (
        ({"job_tasks_left": 1e306}, {"constant": 1.0}, "the score is inf"),
        ({"job_work_total_s": 1.0}, {"job_tasks_left": 1e306}, "the limit is inf"),
    ):
        message = _message(lambda weights=weights, limit=limit: completions(weights, limit, 2, profiles))
        assert message == f"decision 0: {what} for stage 0 of job 1: its weights are too large"


def test_heuristics_ask_for_no_feature() -> None:
    profiles = compile_profiles(toy_trace(PAIR))
    fair = heuristic("fair").compiled
    workload = toy_workload([0, 0], 2)
    expected = simulate(profiles, workload, fair).completion_ms.tolist()
    assert simulate(spoiled(profiles, 0, np.nan), workload, fair).completion_ms.tolist() == expected
