"""No picture stops a run: what does not fit is summarised, what can't be drawn is told in its place."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from clearsched import figures
from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.problems.dag_jobs.figures import dag_gallery
from clearsched.problems.dag_jobs.figures.gallery_jobs import COUNT, MOST_LAYERS, MOST_STAGES, choose
from clearsched.problems.dag_jobs.schemas import WAVES
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.traces.describe import describe
from clearsched.problems.dag_jobs.traces.measures import measure
from clearsched.problems.dag_jobs.traces.sources import options_of, write
from toys import stage, toy_trace


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def wide(width: int) -> list[dict[str, Any]]:
    """A root, a layer, a sink."""
    return [stage(1), *(stage(2, parents=[0]) for _ in range(width)), stage(1, parents=list(range(1, width + 1)))]


def chain(length: int) -> list[dict[str, Any]]:
    return [stage(1, parents=[place - 1] if place else []) for place in range(length)]


LARGE = {
    "too wide": (wide(20), 3),
    "too many stages": (wide(300), 3),
    "too deep": (chain(25), MOST_LAYERS),
    "many sources": ([stage(1) for _ in range(MOST_STAGES + 1)], 1),
    "very large": (wide(5000), 3),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_job_that_does_not_fit_is_shown_by_layers(tmp_path: Path, name: str) -> None:
    job, boxes = LARGE[name]
    path = tmp_path / "traces" / "trace.parquet"
    write_trace(path, toy_trace([job]))
    figures.draw("dag_gallery", tmp_path, {"figures": {"dpi": 60}})
    rows = table(tmp_path / "figures" / "dag_gallery.csv")
    assert len(rows) == boxes
    assert sum(int(row["stages"]) for row in rows) == len(job)
    assert sum(float(row["work_share"]) for row in rows) == pytest.approx(1.0)
    assert all(row["stage"] == "" for row in rows)
    figure = dag_gallery.draw_trace(measure(path)).figure
    told = [text.get_text() for axes in figure.axes for text in (*axes.texts, axes.xaxis.label)]
    assert f"{rows[0]['stages']}\nstages" in told
    assert any("a box stands for the stages of a layer or more" in text for text in told)


def test_jobs_that_fit_are_drawn_beside_those_that_do_not(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_trace(path, toy_trace([chain(3), wide(20), wide(50), wide(3)]))
    shown, told = choose(measure(path))
    assert [(job.query, job.whole) for job in shown] == [("q0", True), ("q3", True), ("q1", False), ("q2", False)]
    assert told.startswith("1 of 4 jobs have over 40 stages or 10 in a chain; 1 of 3 looked at")


def test_jobs_without_edges_are_drawn_where_none_with_edges_fits(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_trace(path, toy_trace([[stage(1)], wide(20), [stage(1)]]))
    shown, told = choose(measure(path))
    assert [(job.query, job.whole) for job in shown] == [("q0", True), ("q2", True), ("q1", False)]
    assert told.startswith("1 of 3 looked at have over 7 side by side")


def test_enough_that_fit_leave_no_room_and_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_trace(path, toy_trace([*(chain(2 + place % 5) for place in range(COUNT)), wide(60)]))
    shown, told = choose(measure(path))
    assert len(shown) == COUNT and all(job.whole for job in shown)
    assert told == "1 of 13 jobs have over 40 stages or 10 in a chain: not shown"


def test_nothing_is_said_where_all_fit(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.parquet", toy_trace([chain(3)]))
    assert choose(measure(tmp_path / "t.parquet"))[1] == ""


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("synthetic", {"jobs": 20, "stages_min": 50, "stages_max": 60}),
        ("synthetic", {"jobs": 20, "shape": "diamond", "stages_min": 20, "stages_max": 20}),
        ("synthetic", {"jobs": 5, "shape": "chain", "stages_min": 300, "stages_max": 400}),
        ("synthetic", {"jobs": 5, "shape": "map_reduce", "stages_min": 90, "stages_max": 100}),
        ("synthetic", {"jobs": 2, "shape": "layers", "stages_min": 5000, "stages_max": 5000, "width": 1000}),
        ("alibaba-like", {"jobs": 10, "min_stages": 41}),
    ],
)
def test_every_shape_of_every_source_is_drawn(tmp_path: Path, source: str, options: dict[str, Any]) -> None:
    path = tmp_path / "t.parquet"
    write(source, None, path, options_of(source, options), 1)
    written = figures.draw_trace(path, tmp_path / "out", ["dag_gallery"], dpi=50)
    assert {file.suffix for file in written} == {".svg", ".png", ".csv"}
    assert "note" not in table(tmp_path / "out" / "dag_gallery.csv")[0]


@pytest.mark.parametrize(
    "name", ["$x^{$", "$\\frac{a}{b}$", "a$b", "\\alpha", "\x00", "\n\n", "q" * 5000, "查询", "%s {0}"]
)
def test_any_name_of_a_query_is_drawn(tmp_path: Path, name: str) -> None:
    write_trace(tmp_path / "t.parquet", _named(name))
    figures.draw_trace(tmp_path / "t.parquet", tmp_path / "out", dpi=50)
    assert "note" not in table(tmp_path / "out" / "dag_gallery.csv")[0]


def _named(name: str) -> Any:
    trace = toy_trace([chain(2)])
    place = trace.stages.schema.get_field_index("query")
    column = pa.array([name] * len(trace.stages), pa.string())
    return replace(trace, stages=trace.stages.set_column(place, trace.stages.schema.field("query"), column))


@pytest.mark.parametrize(
    "error",
    [ValueError("Image size of 99999x9 pixels is too large"), ZeroDivisionError(), KeyError("x"), MemoryError()],
)
def test_a_picture_that_fails_is_a_page_that_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def draw() -> style.Drawing:
        raise error

    written = style.draw_or_say("what it shows", draw, tmp_path / "f", 60)
    (row,) = table(tmp_path / "f.csv")
    assert row["figure"] == "what it shows" and type(error).__name__ in row["note"]
    assert all(path.is_file() for path in written)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_picture_that_cannot_be_saved_is_a_page_too(tmp_path: Path) -> None:
    """What is wrong with a text is found when it is written."""

    def draw() -> style.Drawing:
        figure = style.new_figure(1.0)
        figure.text(0.1, 0.1, "$\\frac{$")
        return style.Drawing(figure, ["a"], [[1]])

    style.draw_or_say("label", draw, tmp_path / "f", 60)
    assert "Could not be drawn" in table(tmp_path / "f.csv")[0]["note"]


def test_a_missing_input_is_an_error_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="no such file"):
        figures.draw("dag_gallery", tmp_path)


def test_a_trace_of_tasks_that_take_no_time_is_drawn_and_described(tmp_path: Path) -> None:
    path, nothing = tmp_path / "t.parquet", dict.fromkeys(WAVES, 0)
    write_trace(path, toy_trace([[stage(2, **nothing), stage(1, parents=[0], **nothing)]]))
    figures.draw_trace(path, tmp_path / "out", dpi=50)
    told = describe(path)
    assert told["load"]["work_executor_s"] == 0
    assert "NaN" not in json.dumps(told)
