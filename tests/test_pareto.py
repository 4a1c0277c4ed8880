"""Sizes of students: cost and fidelity of each against the teacher, and which one is small enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from clearsched import pareto
from clearsched.decisions import log
from clearsched.errors import ClearschedError
from clearsched.evaluation.significance import holm
from clearsched.files import write_json
from clearsched.params import parse
from clearsched.pareto import text
from clearsched.pareto.comparing import _pick
from clearsched.problems.dag_jobs import workloads
from clearsched.problems.dag_jobs.problem import PROBLEM
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.declarations import Measure
from clearsched.schemas import STUDENTS_PARETO, read_table
from clearsched.scorers.conditions import Rule
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.students.settings import BoostedTreesParams
from clearsched.students.sizes import fronts, resized
from stages import stage_params
from toys import micro_trace

STAGE, LIMIT = PROBLEM.choices
UNTIED = RuleList((Rule((), 1.0),), names_of(STAGE))
ALL = RuleList((Rule((), 1.0),), names_of(LIMIT))


def student(size: int, rank: RuleList, unseen: float) -> ScoredPolicy:
    return ScoredPolicy(
        "rule_list", PROBLEM, {STAGE.name: rank, LIMIT.name: ALL}, evidence={"size": size, "unseen_jct_s": unseen}
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """A small scenario with a heuristic in the teacher's place, and students of two sizes."""
    params = stage_params(
        workload={"executors": 4, "jobs": 5, "episodes": {"train": 2, "validation": 2, "test": 3}},
        decisions={"episodes": 1, "held_out": 2},
        evaluation={"bootstrap": 100},
    )
    write_trace(tmp_path / "trace.parquet", micro_trace())
    given = {"trace": tmp_path / "trace.parquet", "workloads": tmp_path / "workloads.parquet"}
    workloads.build(params, *given.values())
    write_json(tmp_path / "tuned.json", {})
    log(params, *given.values(), None, "fair", tmp_path / "decisions.parquet")
    tied = replace(UNTIED, ties=("job_work_left_s",))
    for size, rank, unseen in ((2, UNTIED, 10.0), (4, tied, 9.0)):
        student(size, rank, unseen).write(tmp_path / str(size) / "rule_list.json")
    return given | {
        "params": params,
        "tuned": tmp_path / "tuned.json",
        "teacher": Path("fair"),
        "decisions": tmp_path / "decisions.parquet",
        "students": [tmp_path / str(size) / "rule_list.json" for size in (2, 4)],
        "out_dir": tmp_path / "out",
    }


def test_a_row_a_size_with_text_and_figure(files: dict[str, Any]) -> None:
    told = pareto.compare(**files)
    table, metadata = read_table(files["out_dir"] / "students_pareto.parquet", STUDENTS_PARETO)
    small, large = table.to_pylist()
    assert metadata["objective"] == "jct_s"
    assert (small["kind"], small["size"], large["size"]) == ("rule_list", 2, 4)
    assert large["complexity"] == small["complexity"] + 1
    assert large["picked"] and not small["picked"], "10 is more than 0.5 % above 9"
    for row in (small, large):
        assert row["difference_low"] <= row["difference_percent"] <= row["difference_high"]
        assert 0 < row["p"] <= row["p_holm"] <= 1
        assert row["mean"] <= row["worst"] and 0 <= row["top1"] <= 1
        assert 0 < row["worst_to_baseline"] < 10 and f"{row['worst_to_baseline']:.2f}" in told
        assert set(dict(row["beside"])) == {measure.name for measure in PROBLEM.measures[1:] if measure.beside}
    assert "x fair" in told and "p99 JCT (s)" in told and "parked (%)" in told
    above = [row for row in (small, large) if row["worst_to_baseline"] > 1.5]
    assert ("Above 1.5 times fair on a test episode" in told) is bool(above)
    assert [small["p_holm"], large["p_holm"]] == pytest.approx(holm(np.array([small["p"], large["p"]])).tolist())
    assert told == (files["out_dir"] / "students_pareto.txt").read_text("utf-8")
    assert "4*" in told and max(map(len, told.splitlines())) <= 120
    for suffix in ("svg", "png", "csv"):
        assert (files["out_dir"] / f"students_pareto.{suffix}").stat().st_size > 0


def test_a_kind_by_another_setting_is_a_line_of_its_own(files: dict[str, Any], tmp_path: Path) -> None:
    tied = student(1, UNTIED, 9.5)
    replace(tied, evidence={**tied.evidence, "size_by": "ties"}).write(tmp_path / "1" / "rule_list.json")
    files["students"] = [*files["students"], tmp_path / "1" / "rule_list.json"]
    told = pareto.compare(**files)
    table, _ = read_table(files["out_dir"] / "students_pareto.parquet", STUDENTS_PARETO)
    assert [(row["kind"], row["by"], row["size"], row["picked"]) for row in table.to_pylist()] == [
        ("rule_list", "", 2, False),
        ("rule_list", "", 4, True),
        ("rule_list", "ties", 1, True),
    ]
    assert "rule list by ties" in told
    assert "rule list by ties" in (files["out_dir"] / "students_pareto.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("pareto", "message"),
    [
        ({"kinds": ["rule_lists"]}, "students.pareto: .*rule_lists: no kind of student: known are rule_list, "),
        ({"kinds": ["switch"]}, "switch: this kind of student has no size"),
        (
            {"kinds": ["shrunk_tree"], "sizes": [1]},
            "shrunk_tree: leaves: 1: Input should be greater than or equal to 2",
        ),
        (
            {"further": [{"kind": "figs", "by": "leaves"}]},
            "figs: leaves says no size of it: known are features, rules, ",
        ),
        ({"further": [{"kind": "figs", "by": "trees"}] * 2}, "figs_by_trees: each front once"),
    ],
)
def test_sizes_that_no_kind_has_are_told_before_anything_runs(pareto: Any, message: str) -> None:
    with pytest.raises(ClearschedError, match=message):
        parse({"students": {"pareto": pareto}}, "test")


def test_fronts_are_kinds_then_further_ones_in_growing_sizes() -> None:
    given = {
        "kinds": ["figs"],
        "sizes": [8, 2, 8],
        "further": [{"kind": "boosted_trees", "by": "depth", "sizes": [3, 1]}],
    }
    found = fronts(parse({"students": {"pareto": given}}, "test").students)
    assert [(front.name, front.sizes) for front in found] == [("figs", (2, 8)), ("boosted_trees_by_depth", (1, 3))]
    settings = BoostedTreesParams()
    assert resized("boosted_trees", settings, 1, "depth") == settings.model_copy(update={"depth": 1})


def test_a_student_without_a_size_is_refused(files: dict[str, Any]) -> None:
    path = files["students"][0]
    replace(student(2, UNTIED, 1.0), evidence={}).write(path)
    with pytest.raises(ClearschedError, match=r"rule_list\.json: tells no size: fit it again with --size$"):
        pareto.compare(**files)
    assert not files["out_dir"].exists()


def test_the_smallest_that_does_is_picked_of_each_kind() -> None:
    costs = {("a", 2): 10.3, ("a", 4): 10.04, ("a", 8): 10.0, ("b", 2): 7.0, ("b", 4): 7.0}
    rows = [
        {"kind": kind, "by": "", "size": size, "unseen": cost, "safe": True, "picked": False}
        for (kind, size), cost in costs.items()
    ]
    _pick(rows, Measure("cost", "", "cost", "cost"), 0.005)
    assert [(row["kind"], row["size"]) for row in rows if row["picked"]] == [("a", 4), ("b", 2)]


def test_a_size_that_is_not_safe_is_not_picked_unless_none_is() -> None:
    def picked(safe: tuple[bool, ...]) -> list[int]:
        rows = [
            {"kind": "a", "by": "", "size": size, "unseen": 1.0 + size, "safe": is_safe, "picked": False}
            for size, is_safe in zip((2, 4, 8), safe, strict=True)
        ]
        _pick(rows, Measure("cost", "", "cost", "cost"), 0.005)
        return [row["size"] for row in rows if row["picked"]]

    assert picked((True, True, True)) == [2] and picked((False, True, True)) == [4]
    assert picked((False, False, False)) == [2]


def test_a_log_without_validation_decisions_is_told_in_a_line(
    files: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no fidelity then, and the run goes on."""
    logged = pq.read_table(files["decisions"])
    pq.write_table(logged.filter(pc.equal(logged["split"], "train")), tmp_path / "train.parquet")
    pareto.compare(**files | {"decisions": tmp_path / "train.parquet"})
    (line,) = capsys.readouterr().err.splitlines()
    assert "train.parquet: no decision of the split 'validation': how often" in line
    table, _ = read_table(files["out_dir"] / "students_pareto.parquet", STUDENTS_PARETO)
    assert table["top1"].to_pylist() == [None, None]


def test_a_size_far_above_the_baseline_on_an_episode_is_told(
    files: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "LIMIT", 0.001)
    told = pareto.compare(**files)
    assert "\nAbove 0.001 times fair on a test episode: rule list 2: " in told and ", rule list 4: " in told


def test_an_unsafe_size_is_told(files: dict[str, Any], tmp_path: Path) -> None:
    unsafe = student(4, UNTIED, 9.0)
    replace(unsafe, evidence={**unsafe.evidence, "stress": {"worst": 1.0, "of_limit": 4.6}}).write(files["students"][1])
    told = pareto.compare(**files)
    assert "and so not picked: rule list 4." in told and "2*" in told


def test_where_no_size_is_safe_the_picked_one_is_told_to_be_unsafe(files: dict[str, Any]) -> None:
    for path, size, unseen in zip(files["students"], (2, 4), (10.0, 9.0), strict=True):
        unsafe = student(size, UNTIED, unseen)
        replace(unsafe, evidence={**unsafe.evidence, "stress": {"worst": 1.0, "of_limit": 4.6}}).write(path)
    told = pareto.compare(**files)
    assert "4*" in told and "2*" not in told
    assert "and so not picked: rule list 2." in told
    assert "and picked since no size of the kind is safe: rule list 4." in told


def test_where_more_is_better_the_smallest_of_the_highest_is_picked() -> None:
    rows = [
        {"kind": "a", "by": "", "size": size, "unseen": told, "safe": True, "picked": False}
        for size, told in ((2, 5.0), (4, 9.97), (8, 10.0))
    ]
    _pick(rows, Measure("served", "", "served", "served", lower_is_better=False), 0.005)
    assert [row["size"] for row in rows if row["picked"]] == [4]
