"""Figures: three files each, equal bytes twice, clear errors. The numbers here are for the test alone."""

from __future__ import annotations

import csv
import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.path import Path as Curve

from clearsched import figures
from clearsched.errors import ClearschedError
from clearsched.figures.settings import DEFAULT_DPI, FiguresParams
from clearsched.files import write_json
from clearsched.params import parse
from clearsched.problems.dag_jobs.figures import FIGURES, dag_gallery, published_quantiles
from clearsched.problems.dag_jobs.figures.layering import lay_out, spread
from clearsched.problems.dag_jobs.schemas import JOBS, TASKS, WORKLOADS
from clearsched.problems.dag_jobs.sources import SOURCES
from clearsched.problems.dag_jobs.traces import make_trace, read_trace, storage, write_trace
from clearsched.schemas import COMPARISON, EPISODES, LEARNING_CURVE, write_table
from toys import stage, toy_rows, toy_trace

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
    write_trace(folder / "traces" / "trace.parquet", toy_trace([[stage(2), stage(1, [0])], [stage(3)]]))
    arrivals = [{"split": "test", "episode": 0, "job": i, "profile": i % 2, "arrival_ms": 900 * i} for i in range(4)]
    episodes_of_jobs = pa.Table.from_pylist([row | {"duration_seed": 1} for row in arrivals], schema=WORKLOADS)
    write_table(folder / "traces" / "workloads.parquet", episodes_of_jobs, WORKLOADS, {})
    write_json(folder / "students" / "rule_list.json", {"name": "rule_list", "rules": rules, "limit_rules": limits})
    return folder


@pytest.fixture(scope="module")
def arriving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of three jobs that arrive after 0, 2 and 62 s; the work is 2, 2 and 8 executor-seconds."""
    of: dict[str, Any] = {"first_wave": 1000, "rest_wave": 1000, "fresh": 1000}
    jobs = [[stage(1, **of), stage(1, [0], **of)], [stage(2, **of)], [stage(4, **of), stage(4, [0], **of)]]
    rows = toy_rows(jobs)
    for row in rows:
        row["arrival_ms"] = (0, 2000, 62_000)[row["profile"]]
    path = tmp_path_factory.mktemp("trace") / "trace.parquet"
    write_trace(path, make_trace(rows, {"source": "toy"}, "toy"))
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_figures_of_a_trace(arriving: Path, tmp_path: Path) -> None:
    written = figures.draw_trace(arriving, tmp_path, dpi=60)
    drawn = {path.name for path in written if path.suffix == ".svg"}
    assert drawn == {"dag_gallery.svg", "job_sizes.svg", "arrivals.svg"}
    per_second = table(tmp_path / "arrivals.csv")
    assert len(per_second) == 63
    filled = [(row["start_s"], row["jobs"], float(row["busy_executors"])) for row in per_second if row["jobs"] != "0"]
    assert filled == [("0", "1", 2.0), ("2", "1", 2.0), ("62", "1", 8.0)]
    sizes = table(tmp_path / "job_sizes.csv")
    work = [(float(row["value"]), float(row["share"])) for row in sizes if row["quantity"] == "work"]
    assert work == [(2.0, 1.0), (2.0, pytest.approx(1 / 3))]
    gallery = table(tmp_path / "dag_gallery.csv")
    assert {row["query"] for row in gallery} == {"q0", "q2"}, "jobs with an edge are shown first"
    assert [float(row["work_share"]) for row in gallery] == [0.5] * 4


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_all_figures_of_a_trace_read_it_once(
    arriving: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """In either format; the gallery then looks up the rows of the jobs that it shows."""
    path = tmp_path / f"t.{ending}"
    write_trace(path, read_trace(arriving))
    read: list[object] = []
    original = storage.TraceFile.pieces

    def spy(self: storage.TraceFile, columns: object = None) -> object:
        read.append(columns)
        return original(self, columns)

    monkeypatch.setattr(storage.TraceFile, "pieces", spy)
    assert len(figures.draw_trace(path, tmp_path / "out", dpi=60)) == 9
    assert read == [None]


def test_each_figure_of_the_problem_has_a_module_and_a_caption() -> None:
    for name, figure in FIGURES.items():
        module = importlib.import_module(figure.module)
        assert list(inspect.signature(module.draw).parameters) == ["results_dir"]
        caption = Path(str(module.__file__)).with_suffix(".rst")
        assert caption.stem == name and len(caption.read_text(encoding="utf-8").split()) > 20
        assert figure.shows_trace == hasattr(module, "draw_trace")
        assert set(figure.sources) <= set(SOURCES)


def test_one_resolution_by_default() -> None:
    assert parse({}, "test").figures.dpi == DEFAULT_DPI == FiguresParams().dpi


def test_a_trace_without_arrivals_has_no_picture_of_them(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.parquet", toy_trace([[stage(1), stage(1, [0])]]))
    with pytest.raises(ClearschedError, match="has no arrival times"):
        figures.draw_trace(tmp_path / "t.parquet", tmp_path / "out", ["arrivals"])
    assert not (tmp_path / "out").exists()
    with pytest.raises(ClearschedError, match="known are dag_gallery"):
        figures.draw_trace(tmp_path / "t.parquet", tmp_path / "out", ["jct_cdf"])


def test_published_quantiles_are_drawn_side_by_side() -> None:
    rows = [
        {"quantity": quantity, "quantile": q, "published": 10.0**q, "generated": 9.0**q}
        for quantity in ("stages a job", "critical path of a job of 3 stages")
        for q in (0.0, 0.5, 1.0)
    ]
    drawing = published_quantiles.draw_table(rows)
    shown = [axes for axes in drawing.figure.axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in shown] == ["stages a job"]
    assert len(drawing.rows) == 6


def evaluated(folder: Path, jct_s: dict[str, list[float]]) -> Path:
    """A scenario's folder with the mean JCT of each policy in each episode."""
    rows = [
        {"policy": policy, "kind": "heuristic", "mode": "argmax", "episode": episode, "avg_jct_s": value}
        | {"makespan_s": 1.0, "num_decisions": 1, "num_tasks": 1}
        for policy, values in jct_s.items()
        for episode, value in enumerate(values)
    ]
    table = pa.Table.from_pylist(rows, schema=EPISODES)
    write_table(folder / "evaluation" / "episodes.parquet", table, EPISODES, {})
    return folder


def test_data_sets_side_by_side(tmp_path: Path) -> None:
    """Half of fair in every episode is half of fair, surely; 1 and 3 against 2 and 2 is 0.5 to 1.5 of it."""
    one = evaluated(tmp_path / "one", {"fair": [2.0, 8.0], "teacher": [1.0, 4.0]})
    two = evaluated(tmp_path / "two", {"fair": [2.0, 2.0], "teacher": [1.0, 3.0]})
    figures.compare([one, two], tmp_path / "out", dpi=60)
    rows = {(row["data_set"], row["policy"]): row for row in table(tmp_path / "out/data_sets.csv")}

    def ends(data_set: str, policy: str) -> list[float]:
        return [float(rows[data_set, policy][name]) for name in ("ratio", "ci_low", "ci_high")]

    assert ends("one", "fair") == ends("two", "fair") == [1.0, 1.0, 1.0]
    assert ends("one", "teacher") == [0.5, 0.5, 0.5]
    assert ends("two", "teacher") == [1.0, 0.5, 1.5]
    bare = evaluated(tmp_path / "bare", {"teacher": [1.0]})
    with pytest.raises(ClearschedError, match="has no policy fair"):
        figures.compare([one, bare], tmp_path / "out")
    with pytest.raises(ClearschedError, match="the same name"):
        figures.compare([one, one], tmp_path / "out")


@pytest.mark.parametrize("seed", range(20))
def test_no_edge_of_a_layered_drawing_runs_through_a_stage(seed: int) -> None:
    """Each edge is followed in small steps along its curve; the boxes of stages are not entered."""
    rng = np.random.default_rng(seed)
    parents = [sorted(rng.choice(s, rng.integers(0, min(s, 3) + 1), replace=False).tolist()) for s in range(14)]
    layout = lay_out(parents)
    assert all(layout.layer[p] < layout.layer[s] for s in range(14) for p in parents[s])
    boxes = np.array(list(zip(layout.layer, layout.y, strict=True)))
    for i, (x, y) in enumerate(boxes):
        assert all(x != a or abs(y - b) >= 1 - 1e-9 for a, b in boxes[:i])
    half = np.array([dag_gallery.HALF_WIDTH - 1e-6, dag_gallery.HALF_HEIGHT])
    assert len(layout.edges) == sum(map(len, parents))
    for parent, child, passed in layout.edges:
        points, codes = dag_gallery.edge_path([tuple(boxes[parent]), *passed, tuple(boxes[child])])
        curve = np.concatenate(list(Curve(points, codes).to_polygons(closed_only=False)))
        between = np.linspace(curve[:-1], curve[1:], 20).reshape(-1, 2)
        assert not (np.abs(between[:, None] - boxes[None]) < half).all(axis=2).any(), (parent, child)


def test_places_are_moved_as_little_as_the_distances_allow() -> None:
    """Two stages that want one place stand half a slot to each side of it; one far away is left alone."""
    assert spread([3.0, 3.0, 9.0], [True, True, True]) == [2.5, 3.5, 9.0]


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
