"""Figures: three files each, equal bytes twice, clear errors. The numbers here are for the test alone."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from clearsched import figures
from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.schemas import COMPARISON, EPISODES, JOBS, LEARNING_CURVE, TASKS, write_table

POLICIES = [("fair", "heuristic"), ("capped_srpt", "heuristic"), ("teacher", "teacher"), ("rule_list", "student")]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    generator = np.random.default_rng(1)
    comparison, episodes, jobs, tasks = [], [], [], []
    for rank, (policy, kind) in enumerate(POLICIES):
        mean = 30.0 + rank
        interval = {"ci_low_s": mean - 2, "ci_high_s": mean + 2, "difference_s": rank - 1.0}
        ends = {"difference_low_s": rank - 1.2, "difference_high_s": rank - 0.8, "difference_percent": (rank - 1) * 3.0}
        words = {"policy": policy, "kind": kind, "mode": "argmax", "settings": "", "reference": "capped_srpt"}
        comparison.append(words | {"episodes": 2, "mean_jct_s": mean} | interval | ends)
        for episode in range(2):
            counts = {"num_decisions": 10, "num_tasks": 12}
            times = {"avg_jct_s": mean, "makespan_s": 90.0}
            episodes.append({"policy": policy, "kind": kind, "mode": "argmax", "episode": episode} | times | counts)
            for job in range(3):
                name = {"query": "1", "size": "1g", "arrival_s": 10.0 * job}
                jct_s = float(generator.exponential(mean)) + 1.0
                jobs.append({"policy": policy, "episode": episode, "job": job, "jct_s": jct_s} | name)
        for job in range(3):
            for executor in range(2):
                start = {"start_ms": 10_000 * job, "duration_ms": 8_000, "stage": 0}
                tasks.append({"policy": policy, "job": job, "executor": executor} | start)
    evaluation = folder / "evaluation"
    for name, rows, schema in (
        ("comparison", comparison, COMPARISON),
        ("episodes", episodes, EPISODES),
        ("jobs", jobs, JOBS),
        ("tasks", tasks, TASKS),
    ):
        write_table(evaluation / f"{name}.parquet", pa.Table.from_pylist(rows, schema=schema), schema, {"episode": 0})
    curve = [
        {
            "phase": phase,
            "iteration": i,
            "episodes": 16 * (i + 1),
            "loss": 1.0,
            "train_jct_s": None if phase == "clone" else 33.0,
            "validation_jct_s": 35.0 - i,
            "reference_jct_s": 34.0,
            "entropy": 0.5,
        }
        for phase in ("clone", "improve")
        for i in range(3)
    ]
    table = pa.Table.from_pylist(curve, schema=LEARNING_CURVE)
    write_table(folder / "teacher" / "learning_curve.parquet", table, LEARNING_CURVE, {})
    rules = [
        {"if": "job_work_rank < 1 jobs and stage_is_ready >= 0.5", "score": 2.0, "share": 0.2},
        {"if": "otherwise", "score": 0.0, "share": 0.8},
    ]
    limits = [{"if": "job_work_left_s < 40 s", "limit_share": 0.3}, {"if": "otherwise", "limit_share": 0.8}]
    write_json(folder / "students" / "rule_list.json", {"name": "rule_list", "rules": rules, "limit_rules": limits})
    return folder


@pytest.mark.parametrize("name", figures.NAMES)
def test_each_figure_is_three_files_and_the_same_bytes_twice(results: Path, name: str) -> None:
    paths = figures.draw(name, results, {"figures": {"dpi": 60}})
    assert sorted(path.suffix for path in paths) == [".csv", ".png", ".svg"]
    first = [path.read_bytes() for path in paths]
    with (results / "figures" / f"{name}.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert len(rows) > 1 and all(len(row) == len(rows[0]) for row in rows)
    figures.draw(name, results, {"figures": {"dpi": 60}})
    assert [path.read_bytes() for path in paths] == first


def test_csv_holds_what_is_drawn(results: Path) -> None:
    figures.draw("jct_by_policy", results)
    with (results / "figures" / "jct_by_policy.csv").open(newline="") as stream:
        rows = {row["policy"]: row for row in csv.DictReader(stream)}
    assert float(rows["teacher"]["mean_jct_s"]) == 32.0


@pytest.mark.parametrize("name", figures.NAMES)
def test_missing_results_are_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClearschedError, match="no such file") as caught:
        figures.draw(name, tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "figures").exists()


def test_unknown_figure(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="known are"):
        figures.draw("pie", tmp_path)
