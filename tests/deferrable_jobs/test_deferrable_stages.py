"""Heuristics, teacher and log of deferrable jobs: the stages that know no problem, on one that has no level choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearsched import decisions, heuristics, reading, teacher
from clearsched.decisions.experts import HeuristicExpert, TeacherExpert, load_expert
from clearsched.decisions.parts import PARTS
from clearsched.decisions.reader import iterate_choices, read_choices, read_metadata
from clearsched.decisions.recording import collect, record
from clearsched.decisions.summary import summarise
from clearsched.errors import ClearschedError
from clearsched.evaluation.fidelity import fidelity_table
from clearsched.evaluation.part_costs import Hybrid
from clearsched.files import read_json
from clearsched.problems import find_problem
from clearsched.problems.deferrable_jobs.features import FEATURES
from clearsched.problems.episodes import NONE
from clearsched.problems.policy import heuristic
from clearsched.schemas import LEARNING_CURVE, read_table
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import read_scorer
from stages import stage_params

PROBLEM = find_problem("deferrable_jobs")
DAG_JOBS = find_problem("dag_jobs")
WORKLOAD = {"jobs": 30, "slots": 60, "load": 0.8, "episodes": {"train": 4, "validation": 3, "test": 1}}
GRID = {"threshold": {"safety": (0.0, 1.0), "slack": (0.25,)}}
TEACHER = {
    "network": {"embedding": 4, "hidden": 8, "rounds": 1},
    "clone": {"episodes": 2, "epochs": 2, "batch_size": 32, "policy": "threshold"},
    "improve": {"iterations": 2, "sequences": 2, "rollouts": 2, "validate_every": 1},
}


def params(**decisions: Any) -> Any:
    logged = {"episodes": 2, "held_out": 1} | decisions
    return stage_params("deferrable_jobs", workload=WORKLOAD, heuristics=GRID, teacher=TEACHER, decisions=logged)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every stage from the trace to the log."""
    folder = tmp_path_factory.mktemp("deferrable")
    names = ("trace.parquet", "workloads.parquet", "tuning.parquet", "tuned.json", "log.parquet", "rule.parquet")
    paths = {name.partition(".")[0]: folder / name for name in names} | {"teacher": folder / "teacher.safetensors"}
    inputs = (paths["trace"], paths["workloads"])
    PROBLEM.build(params(), paths["trace"])
    PROBLEM.draw(params(), *inputs)
    heuristics.tune(params(), *inputs, paths["tuning"], paths["tuned"])
    teacher.train(params(), *inputs, paths["tuned"], [], folder)
    assert decisions.log(params(), *inputs, paths["tuned"], paths["teacher"], paths["log"]) == {
        "train": 2,
        "validation": 1,
    }
    decisions.log(params(), *inputs, paths["tuned"], "threshold", paths["rule"])
    return paths


def test_training_twice_gives_the_same_bytes(files: dict[str, Path], tmp_path: Path) -> None:
    torch.manual_seed(99)
    teacher.train(params(), files["trace"], files["workloads"], files["tuned"], [], tmp_path)
    for name in ("teacher.safetensors", "teacher.json", "learning_curve.parquet"):
        assert (tmp_path / name).read_bytes() == files["teacher"].with_name(name).read_bytes(), name


def test_the_teacher_is_judged_by_its_problem(files: dict[str, Path]) -> None:
    """What teacher.json tells is the objective of the policies, which the reader runs again."""
    told = read_json(files["teacher"].with_suffix(".json"))
    assert (told["problem"], told["none"]) == ("deferrable_jobs", True)
    assert told["inputs"] == {"candidate": [feature.name for feature in FEATURES], "level": []}
    found = told["validation"]
    assert found["measure"] == "cost"
    table, metadata = read_table(files["teacher"].with_name("learning_curve.parquet"), LEARNING_CURVE)
    assert (metadata["measure"], metadata["unit"]) == ("cost", "")
    assert found["teacher"] == min(value for value in table["validation_objective"].to_pylist() if value is not None)
    instance = PROBLEM.open(files["trace"], files["workloads"])
    validation = instance.split("validation")
    policy = teacher.load_policy(files["teacher"])
    assert policy.problem is PROBLEM
    tuned = heuristic(PROBLEM, "threshold", read_json(files["tuned"])["threshold"])
    for each, mean in ((policy, found["teacher"]), (tuned, found["heuristic"])):
        assert np.mean([result.measures["cost"] for result in each.run(instance, validation)]) == mean


def test_an_episode_does_not_depend_on_its_company(files: dict[str, Path]) -> None:
    instance = PROBLEM.open(files["trace"], files["workloads"])
    episodes = instance.split("train")
    for mode in ("argmax", "sampled"):
        policy = teacher.load_policy(files["teacher"], mode)
        together = policy.run(instance, episodes)
        for episode, result in zip(episodes, together, strict=True):
            assert policy.run(instance, [episode])[0].completion.tolist() == result.completion.tolist()


@pytest.mark.parametrize("name", ["log", "rule"])
def test_what_is_read_is_what_was_decided(files: dict[str, Path], name: str) -> None:
    instance = PROBLEM.open(files["trace"], files["workloads"])
    if name == "log":
        expert: Any = TeacherExpert(teacher.load_policy(files["teacher"]))
    else:
        expert = HeuristicExpert(heuristic(PROBLEM, "threshold", read_json(files["tuned"])["threshold"]))
    decided = collect(record(expert, instance, instance.split("train", 2), "train"), len(FEATURES))[0]
    read = read_choices(files[name], PROBLEM, "start", "train")
    for column, found in read._asdict().items():
        np.testing.assert_array_equal(found, getattr(decided, column), err_msg=column)
    np.testing.assert_allclose(np.add.reduceat(read.probability, read.starts[:-1]), 1, atol=1e-6)
    last = read.starts[1:] - 1
    assert np.isin(np.flatnonzero(read.is_none), last).all() and read.is_none.any()
    assert np.isnan(read.features[read.is_none]).all()
    assert (read.group == read.candidate).all(), "each job is a group of its own"
    assert (read.candidate[~read.is_none] >= 0).all() and (read.candidate[read.is_none] == NONE).all()


def test_the_log_of_a_rule_is_the_rule(files: dict[str, Path]) -> None:
    """The jobs that the log says were started, in order, are those that the compiled loop starts."""
    instance = PROBLEM.open(files["trace"], files["workloads"])
    episode = instance.split("train", 1)
    tuned = heuristic(PROBLEM, "threshold", read_json(files["tuned"])["threshold"])
    read = read_choices(files["rule"], PROBLEM, "start", "train")
    (outcome,) = instance.simulate(tuned.compiled, episode)
    own = read.episode == 0
    assert own.sum() == outcome.num_decisions
    started = read.candidate[read.chosen[own]]
    started = started[started != NONE]
    assert len(started) == outcome.episode.num_jobs + outcome.evictions.sum()
    assert sorted(set(started.tolist())) == list(range(outcome.episode.num_jobs))


def test_summary_and_description(files: dict[str, Path]) -> None:
    found = summarise(files["rule"])
    read = {split: read_choices(files["rule"], PROBLEM, "start", split) for split in ("train", "validation")}
    for split, choices in read.items():
        row = found["splits"][split]
        assert row["decisions"] == len(choices.chosen)
        assert row["candidates"] == (~choices.is_none).sum()
        assert row["none"] == pytest.approx(choices.is_none[choices.chosen].mean())
        assert row["trivial"] == pytest.approx((choices.sizes == 1).mean())
        assert (row["levels"], row["kept"], row["one_level"]) == (0, 0, 0)
    assert 0 < found["splits"]["train"]["none"] < 1
    rows = np.concatenate([choices.features[~choices.is_none] for choices in read.values()])
    for i, feature in enumerate(FEATURES):
        told = found["features"][feature.name]
        assert (told["min"], told["max"]) == (rows[:, i].min(), rows[:, i].max())
        assert told["mean"] == pytest.approx(rows[:, i].mean(dtype=np.float64))
    text = decisions.describe(files["rule"])
    assert "Decisions of threshold on deferrable_jobs" in text
    assert "start candidates" in text and "none: start nothing now" in text
    assert "nan" not in text and "level" not in text and "kept local" not in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_reading_in_batches_gives_whole_decisions(files: dict[str, Path], batch_rows: int) -> None:
    whole = read_choices(files["log"], PROBLEM, "start", "validation")
    parts = list(iterate_choices(files["log"], PROBLEM, "start", "validation", batch_rows))
    np.testing.assert_array_equal(np.concatenate([part.features for part in parts]), whole.features)
    assert np.concatenate([part.sizes for part in parts]).tolist() == whole.sizes.tolist()


def test_the_same_work_gives_the_same_bytes(files: dict[str, Path], tmp_path: Path) -> None:
    again = tmp_path / "again.parquet"
    decisions.log(params(), files["trace"], files["workloads"], files["tuned"], files["teacher"], again)
    assert again.read_bytes() == files["log"].read_bytes()
    assert read_metadata(again)["facts"]["slot_s"] == 300
    sampled = tmp_path / "sampled.parquet"
    decisions.log(params(mode="sampled"), *(files[n] for n in ("trace", "workloads", "tuned", "teacher")), sampled)
    starts = [read_choices(path, PROBLEM, "start", "train") for path in (sampled, again)]
    assert starts[0].candidate[starts[0].chosen].tolist() != starts[1].candidate[starts[1].chosen].tolist()


def test_what_is_of_another_problem_is_refused_in_one_line(files: dict[str, Path], tmp_path: Path) -> None:
    log, tuned, checkpoint = (files[name] for name in ("log", "tuned", "teacher"))
    told = {
        r"log\.parquet: decisions of the problem deferrable_jobs, not of dag_jobs; log them again": lambda: (
            read_choices(log, DAG_JOBS, "stage")
        ),
        r"teacher\.safetensors: a teacher of the problem deferrable_jobs, not of dag_jobs": lambda: load_expert(
            DAG_JOBS, checkpoint
        ),
        r"tuned\.json: heuristics of the problem deferrable_jobs, not of dag_jobs; tune them again": lambda: (
            load_expert(DAG_JOBS, "fifo", tuned)
        ),
        "unknown heuristic 'capped_srpt': known are fifo, edf": lambda: load_expert(PROBLEM, "capped_srpt"),
    }
    for message, call in told.items():
        with pytest.raises(ClearschedError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    other = tmp_path / "tuned.json"
    other.write_text(json.dumps(read_json(tuned) | {"problem": "dag_jobs"}))
    for call in (
        lambda: teacher.train(params(), files["trace"], files["workloads"], other, [], tmp_path / "out"),
        lambda: decisions.log(params(), files["trace"], files["workloads"], other, "fifo", tmp_path / "out.parquet"),
    ):
        with pytest.raises(ClearschedError, match="heuristics of the problem dag_jobs, not of deferrable_jobs"):
            call()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tuned.json"]


def test_students_are_read_as_those_of_any_problem(files: dict[str, Path], tmp_path: Path) -> None:
    """No groups, no level, no candidate that changes nothing: what has no word here is left out."""
    names = [feature.name for feature in FEATURES]
    text = [{"if": "job_duration_rank < 1", "then": 2}, {"if": "room_safety >= 0", "then": 1}]
    text.append({"if": "otherwise", "then": -1})
    rules = read_scorer({"rules": text, "ties": ["-job_waited_min"]}, names, "test")
    student = ScoredPolicy("hand", PROBLEM, {"start": rules}, none=True)
    student.write(tmp_path / "hand.json")
    data = (files["log"], files["trace"], files["workloads"])
    shown = reading.show(tmp_path / "hand.json", *data)
    assert "tie 1: most job_waited_min" in shown and "mean cost on 3 validation episodes" in shown
    told = reading.explain(tmp_path / "hand.json", files["log"], 0, 3)
    assert "Which waiting job starts now?" in told and "(job " not in told and "The teacher" in told
    proved = reading.verify(tmp_path / "hand.json", *data)
    assert "more job_waited_min never lowers the score: proved" in proved
    assert "more job_duration_rank never raises the score: proved" in proved
    assert "Longest wait of a candidate, on 3 validation episodes" in proved
    found = fidelity_table(PROBLEM, [student], files["log"], "validation", 0)
    assert {"whole", "none", "one"} == set(found["part"].to_pylist())


def test_the_parts_of_a_problem_without_levels(files: dict[str, Path]) -> None:
    """A teacher whose parts are all a student's answers as the student."""
    instance = PROBLEM.open(files["trace"], files["workloads"])
    network = teacher.load_policy(files["teacher"])
    names = [feature.name for feature in FEATURES]
    scorer = read_scorer({"job_waited_min": 0.01, "room_safety": 1.0, "constant": -1.0}, names, "test")
    student = ScoredPolicy("hand", PROBLEM, {"start": scorer}, none=True)
    episodes = instance.split("validation")

    def ends(policy: Any) -> list[list[int]]:
        return [outcome.completion.tolist() for outcome in policy.run(instance, episodes)]

    assert ends(Hybrid(network, student, ())) == ends(network)
    assert ends(Hybrid(network, student, PARTS)) == ends(student) != ends(network)
