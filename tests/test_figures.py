"""Figures: three files each, equal bytes twice, clear errors. The numbers here are for the test alone."""

from __future__ import annotations

import csv
import importlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.path import Path as Curve

from clearsched import figures, schemas, students
from clearsched.errors import ClearschedError
from clearsched.figures import comparison, students_kinds, style
from clearsched.figures import rules as rule_figure
from clearsched.figures.kinds import FIGURES as FIGURES_OF_ALL
from clearsched.figures.kinds import comparison_figure
from clearsched.figures.settings import DEFAULT_DPI, FiguresParams
from clearsched.files import write_json
from clearsched.params import parse
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.figures import FIGURES, dag_gallery, published_quantiles
from clearsched.problems.dag_jobs.figures.layering import lay_out, spread
from clearsched.problems.dag_jobs.schemas import JOBS, TASKS, WORKLOADS
from clearsched.problems.dag_jobs.sources import SOURCES
from clearsched.problems.dag_jobs.traces import make_trace, read_trace, storage, write_trace
from clearsched.problems.declarations import Measure
from clearsched.schemas import COMPARISON, LEARNING_CURVE, STUDENTS, write_table
from toys import stage, toy_rows, toy_trace

POLICIES = [("fair", "heuristic"), ("capped_srpt", "heuristic"), ("teacher", "teacher"), ("rule_list", "student")]
DAG_JOBS = find_problem("dag_jobs")
NAMES = [
    name
    for name, figure in figures.figures_of(DAG_JOBS).items()
    if not figure.sources and figure.objective in ("", "jct_s")
]


def comparison_rows(measure: Measure) -> list[dict[str, Any]]:
    """The policies in their order, 1 apart; the second is the reference, at 31."""
    rows = []
    for rank, (policy, kind) in enumerate(POLICIES):
        mean = 30.0 + rank
        words = {"policy": policy, "kind": kind, "mode": "argmax", "settings": "", "reference": "capped_srpt"}
        numbers = {"episodes": 2, "mean": mean, "ci_low": mean - 2, "ci_high": mean + 2, "worst": mean + 5}
        ends = {"difference": rank - 1.0, "difference_low": rank - 1.2, "difference_high": rank - 0.8}
        percent = {"difference_percent": (rank - 1) * 3.0, "measure": measure.name, "unit": measure.unit}
        rows.append(words | numbers | ends | percent)
    return rows


def write_comparison(
    folder: Path, rows: list[dict[str, Any]], confidence: float = 0.95, objective: str = "jct_s"
) -> None:
    table = pa.Table.from_pylist(rows, schema=COMPARISON)
    metadata = {"problem": "dag_jobs", "objective": objective, "confidence": confidence}
    write_table(folder / "evaluation" / "comparison.parquet", table, COMPARISON, metadata)


def write_students(folder: Path, told: dict[str, tuple[float | None, float]]) -> None:
    """By student its fidelity and its difference to the teacher in %."""
    ends = {
        "difference_low": -1.0,
        "p": 0.01,
        "p_holm": 0.02,
        "difference_high": 70.0,
        "worst": 50.0,
        "worst_to_baseline": 1.1,
        "beside": [("jct_p99_s", 70.0)],
    }
    rows = [
        {"policy": name, "complexity": 10, "mean": 30.0, "difference_percent": percent, "top1": top1} | ends
        for name, (top1, percent) in told.items()
    ]
    metadata = {"problem": "dag_jobs", "objective": "jct_s", "confidence": 0.95}
    table = pa.Table.from_pylist(rows, schema=STUDENTS)
    write_table(folder / "evaluation" / "students.parquet", table, STUDENTS, metadata)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    generator = np.random.default_rng(1)
    episodes, jobs, tasks = [], [], []
    for rank, (policy, kind) in enumerate(POLICIES):
        mean = 30.0 + rank
        for episode in range(2):
            measures = dict.fromkeys((measure.name for measure in DAG_JOBS.measures), 2.0)
            measures |= {"num_decisions": 10, "num_tasks": 12, "jct_s": mean, "makespan_s": 90.0, "jct_p95_s": 60.0}
            episodes.append({"policy": policy, "kind": kind, "mode": "argmax", "episode": episode} | measures)
            for job in range(3):
                name = {"query": "1", "size": "1g", "arrival_s": 10.0 * job}
                jct_s = float(generator.exponential(mean)) + 1.0
                jobs.append({"policy": policy, "episode": episode, "job": job, "jct_s": jct_s} | name)
        for job in range(3):
            for executor in range(2):
                start = {"start_ms": 10_000 * job, "duration_ms": 8_000, "stage": 0}
                tasks.append({"policy": policy, "job": job, "executor": executor} | start)
    write_comparison(folder, comparison_rows(DAG_JOBS.measures[0]))
    for name, rows, schema in (
        ("episodes", episodes, schemas.episodes(DAG_JOBS.measures)),
        ("jobs", jobs, JOBS),
        ("tasks", tasks, TASKS),
    ):
        path = folder / "evaluation" / f"{name}.parquet"
        write_table(path, pa.Table.from_pylist(rows, schema=schema), schema, {})
    write_students(folder, {"rule_list": (0.8, -0.5), "figs": (0.6, 3.0), "greedy_rules": (0.3, 60.0)})
    curve = [
        {
            "phase": phase,
            "iteration": i,
            "episodes": 16 * (i + 1),
            "loss": 1.0,
            "train_objective": None if phase == "clone" else 33.0,
            "validation_objective": 35.0 - i,
            "reference_objective": 34.0,
            "entropy": 0.5,
        }
        for phase in ("clone", "improve")
        for i in range(3)
    ]
    table = pa.Table.from_pylist(curve, schema=LEARNING_CURVE)
    metadata = {"measure": "jct_s", "unit": "s"}
    write_table(folder / "teacher" / "learning_curve.parquet", table, LEARNING_CURVE, metadata)
    write_trace(folder / "traces" / "trace.parquet", toy_trace([[stage(2), stage(1, [0])], [stage(3)]]))
    arrivals = [{"split": "test", "episode": 0, "job": i, "profile": i % 2, "arrival_ms": 900 * i} for i in range(4)]
    episodes_of_jobs = pa.Table.from_pylist([row | {"duration_seed": 1} for row in arrivals], schema=WORKLOADS)
    write_table(folder / "traces" / "workloads.parquet", episodes_of_jobs, WORKLOADS, {})
    write_json(folder / "students" / "rule_list.json", {"name": "rule_list"})
    return folder


class Condition(NamedTuple):
    """As `scorers.conditions.Condition`."""

    feature: int
    below: bool
    threshold: float

    def text(self, names: Sequence[str]) -> str:
        return f"{names[self.feature]} {'<' if self.below else '>='} {self.threshold:g}"


class Rule(NamedTuple):
    """As `scorers.conditions.Rule`."""

    conditions: tuple[Condition, ...]
    value: float

    def text(self, names: Sequence[str]) -> str:
        return " and ".join(condition.text(names) for condition in self.conditions) or "otherwise"


COLUMNS = ("job_age_s", "job_work_rank")


def rules(*values: float) -> Any:
    """A list of three rules at most, the last without a condition."""
    first = Rule((Condition(0, True, 4.8), Condition(1, False, 2.0)), values[0])
    second = Rule((Condition(0, True, 9.0),), values[1])
    listed = (first, second, Rule((), values[-1]))
    return SimpleNamespace(names=COLUMNS, rules=listed, among_equals="the first among equals")


@pytest.fixture(autouse=True)
def loader(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Students by name in place of those that `students.load_policy` reads from their files."""
    listed = {"stage": rules(2.0, 0.0, -1.0), "limit": rules(0.3, 0.5, 1.2)}
    idles = "leave the executors idle"
    known = {
        "rule_list": SimpleNamespace(name="rule_list", none=False, patches=(), scorers=listed),
        "boosted_trees": SimpleNamespace(
            name="boosted_trees", none=False, patches=(), scorers={"stage": object(), "limit": rules(0.3, 0.5, 0.6)}
        ),
        "by_hand": SimpleNamespace(name="by_hand", none=True, idles=idles, patches=(), scorers=listed),
    }
    monkeypatch.setattr(students, "load_policy", lambda path, problem=None: known[Path(path).stem])
    return known


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
        assert list(inspect.signature(module.draw).parameters) == ["results_dir", "subject"]
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


def evaluated(folder: Path, jct_s: dict[str, list[float]], problem: str = "dag_jobs") -> Path:
    """A scenario's folder with the mean JCT of each policy in each episode."""
    rows = [
        {"policy": policy, "kind": "heuristic", "mode": "argmax", "episode": episode, "num_decisions": 1}
        | dict.fromkeys((measure.name for measure in DAG_JOBS.measures), 1.0)
        | {"jct_s": value}
        for policy, values in jct_s.items()
        for episode, value in enumerate(values)
    ]
    schema = schemas.episodes(DAG_JOBS.measures)
    about = {"problem": problem, "objective": "jct_s"}
    write_table(folder / "evaluation" / "episodes.parquet", pa.Table.from_pylist(rows, schema=schema), schema, about)
    empty = COMPARISON.empty_table()
    write_table(folder / "evaluation" / "comparison.parquet", empty, COMPARISON, about)
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
    free = evaluated(tmp_path / "free", {"fair": [0.0], "teacher": [1.0]})
    with pytest.raises(ClearschedError, match="jct_s of fair is 0 on average"):
        figures.compare([free], tmp_path / "out")
    with pytest.raises(ClearschedError, match=r"is of other_jobs, .*one of dag_jobs"):
        figures.compare([one, evaluated(tmp_path / "other", {}, "other_jobs")], tmp_path / "out")


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


def test_kinds_of_student_far_from_the_teacher_are_an_arrow_with_a_number(results: Path) -> None:
    drawing = students_kinds.draw(results, figures.subject(DAG_JOBS))
    cost, worst = drawing.figure.axes
    assert [text.get_text() for text in cost.texts] == ["+60 %"] and cost.get_ylim()[1] < 28
    legend = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert sorted(legend) == ["FIGS", "greedy rules", "rule list"], "one mark a kind"
    assert sorted(line.get_xdata()[0] for line in worst.lines) == [30.0, 60.0, 80.0]
    assert [row[0] for row in drawing.rows] == ["rule_list", "figs", "greedy_rules"]
    assert drawing.header[-1] == "jct_p99_s" and "beside" not in drawing.header, "a column a measure"
    assert {row[-1] for row in drawing.rows} == {70.0}


def test_without_a_teacher_there_is_no_figure_of_the_kinds(tmp_path: Path) -> None:
    write_students(tmp_path, {"rule_list": (None, 1.0)})
    with pytest.raises(style.NothingToDraw, match="no student was run beside the teacher"):
        students_kinds.draw(tmp_path, figures.subject(DAG_JOBS))


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_is_three_files_and_the_same_bytes_twice(results: Path, name: str) -> None:
    params = {"problem": "dag_jobs", "figures": {"dpi": 60}}
    paths = figures.draw(name, results, params)
    assert sorted(path.suffix for path in paths) == [".csv", ".png", ".svg"]
    first = [path.read_bytes() for path in paths]
    with (results / "figures" / f"{name}.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert len(rows) > 1 and all(len(row) == len(rows[0]) for row in rows)
    figures.draw(name, results, params)
    assert [path.read_bytes() for path in paths] == first


def test_csv_holds_what_is_drawn(results: Path) -> None:
    figures.draw("jct_by_policy", results)
    rows = {row["policy"]: row for row in table(results / "figures" / "jct_by_policy.csv")}
    assert float(rows["teacher"]["mean"]) == 32.0


def panels(folder: Path, problem: Any = DAG_JOBS) -> tuple[Any, Any]:
    """The two panels of the comparison."""
    means, differences = comparison.draw(folder, figures.subject(problem)).figure.axes
    return means, differences


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_the_comparison_tells_the_confidence_of_the_run(tmp_path: Path) -> None:
    write_comparison(tmp_path, comparison_rows(DAG_JOBS.measures[0]), confidence=0.9)
    means, differences = panels(tmp_path)
    assert means.get_title(loc="left") == "2 test episodes, 90 % intervals"
    assert means.get_xlabel() == "mean job completion time (s), lower is better"
    assert [label.get_text() for label in means.get_yticklabels()] == [
        "fair", "tuned capped SRPT", "teacher", "rule list"
    ]  # fmt: skip
    assert texts(differences) == ["-3.2 %", "reference", "+3.2 %", "+6.5 %"]


def test_the_comparison_shows_whoever_is_far_better_than_the_reference_and_cuts_off_who_is_far_worse(
    tmp_path: Path,
) -> None:
    """Where all that is learned is a third better, it is the difference between those that a reader looks for."""
    rows = comparison_rows(DAG_JOBS.measures[0])
    rows[0] |= {"mean": 20.0, "difference": -11.0, "difference_low": -18.0, "difference_high": -5.0}
    rows[3] |= {"mean": 93.0, "difference": 62.0, "difference_low": 50.0, "difference_high": 70.0}
    write_comparison(tmp_path, rows)
    _, differences = panels(tmp_path)
    assert differences.get_xlim()[1] == pytest.approx(1.15 * 100 * 18 / 31)
    assert [line.get_marker() for line in differences.lines if line.get_marker() in (">", "<")] == [">"]
    for row in rows:
        row["measure"] = "gain"
    measure = Measure("gain", "", "gain", "gain")._replace(lower_is_better=False)
    write_comparison(tmp_path, rows, objective="gain")
    shop = SimpleNamespace(name="shop", measures=(measure,), heuristics={}, families={})
    _, differences = panels(tmp_path, shop)
    assert differences.get_xlim()[1] == pytest.approx(1.15 * 100 * 70 / 31)


def test_the_comparison_of_a_reference_at_zero_has_the_unit_of_the_objective(tmp_path: Path) -> None:
    rows = comparison_rows(DAG_JOBS.measures[0])
    for row in rows:
        row |= {"mean": row["mean"] - 31.0, "difference_percent": None}
    other = Measure("other", "", "another", "other")
    write_comparison(tmp_path, [*rows, *comparison_rows(other)])
    means, differences = panels(tmp_path)
    assert texts(means) == ["-1.00", "0.00", "1.00", "2.00"], "the rows of other measures are not drawn"
    assert texts(differences) == ["-1.00 s", "reference", "+1.00 s", "+2.00 s"]
    assert differences.get_xlabel() == "paired difference (s)"
    write_comparison(tmp_path, [*rows, *comparison_rows(other)], objective="other")
    gain = SimpleNamespace(name="shop", measures=(other._replace(lower_is_better=False),), heuristics={}, families={})
    means, _ = panels(tmp_path, gain)
    assert means.get_xlabel() == "another, higher is better"
    with pytest.raises(ClearschedError, match="'other' is no objective of shop"):
        panels(
            tmp_path, SimpleNamespace(name="shop", measures=(other._replace(name="money"),), heuristics={}, families={})
        )
    write_comparison(tmp_path, rows, objective="makespan_s")
    with pytest.raises(ClearschedError, match="no rows of makespan_s: evaluate again"):
        panels(tmp_path)


def test_the_comparison_is_named_by_the_objective() -> None:
    problem: Any = SimpleNamespace(
        measures=(Measure("c", "", "cost of all", "Weighted cost"), *DAG_JOBS.measures), figures={}
    )
    of_objectives = ["weighted_cost_by_policy", "p95_jct_by_policy", "slowdown_by_policy", "makespan_by_policy"]
    assert list(figures.figures_of(problem)) == [*of_objectives, "learning_curve", "students_kinds", "rules"]


def drawn_rules(folder: Path, *names: str) -> Any:
    for name in names:
        write_json(folder / "students" / f"{name}.json", {})
    return rule_figure.draw(folder, figures.subject(DAG_JOBS))


def test_rules_are_drawn_with_units_and_not_of_trees(tmp_path: Path) -> None:
    drawing = drawn_rules(tmp_path, "rule_list", "boosted_trees")
    assert {row[0] for row in drawing.rows} == {"rule list"}
    assert drawing.rows[0] == ["rule list", "stage", 1, "job_age_s < 4.8 and job_work_rank >= 2", 2.0]
    (axes,) = drawing.figure.axes
    shown = texts(axes)
    assert shown[0].startswith("Which stage gets executors? A candidate gets")
    assert "if job_age_s < 4.8 s and job_work_rank >= 2 jobs" in shown and "otherwise" in shown
    assert "30 % of executors" in shown and "score -1.00" in shown


def test_rules_of_who_may_answer_none_say_what_is_not_chosen(tmp_path: Path) -> None:
    """Two students with rules: each title tells whose they are."""
    drawing = drawn_rules(tmp_path, "by_hand", "rule_list")
    shown = texts(drawing.figure.axes[0])
    assert [text.partition(".")[0] for text in shown if "Which stage" in text] == ["Rule list", "By hand"]
    assert shown.count("score 0.00") == shown.count("score 0.00: not chosen") == 1
    assert shown.count("Where no candidate scores above 0: leave the executors idle.") == 1


def test_data_without_a_picture_gives_a_page_that_says_why(tmp_path: Path) -> None:
    write_json(tmp_path / "students" / "boosted_trees.json", {})
    svg, png, _ = figures.draw("rules", tmp_path, {"figures": {"dpi": 60}})
    assert svg.stat().st_size > 0 and png.stat().st_size > 0
    (row,) = table(tmp_path / "figures" / "rules.csv")
    assert row["note"] == "No student decides by a list of rules. There are: boosted trees."


@pytest.mark.parametrize("name", NAMES)
def test_missing_results_are_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClearschedError, match="no such file") as caught:
        figures.draw(name, tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "figures").exists()


def test_unknown_figure(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"known are jct_by_policy.*did you mean rules"):
        figures.draw("rule", tmp_path)


def test_each_general_figure_has_a_module_and_a_caption() -> None:
    for figure in (*FIGURES_OF_ALL.values(), comparison_figure(DAG_JOBS.measures[0])):
        module = importlib.import_module(figure.module)
        assert list(inspect.signature(module.draw).parameters) == ["results_dir", "subject"]
        assert len(Path(str(module.__file__)).with_suffix(".rst").read_text(encoding="utf-8").split()) > 20
