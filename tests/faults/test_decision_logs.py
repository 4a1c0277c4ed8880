"""A decision log whose metadata were changed, or that holds no candidate: one line, or the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clearsched.decisions import describe
from clearsched.decisions.schema import log_schema
from clearsched.errors import ClearschedError
from clearsched.files import PROVENANCE_KEY
from clearsched.problems import find_problem
from test_cli import told

TOLD = {"problem": "dag_jobs", "expert": "fair", "facts": {"num_executors": 4}, "episodes": {"train": 1}}


def log(path: Path, metadata: bytes, candidates: tuple[int, ...] = (0, 1)) -> Path:
    """A log of one decision; -1 is none of the candidates, the first is chosen."""
    schema = log_schema(find_problem("dag_jobs")).with_metadata({PROVENANCE_KEY: metadata})
    rows = np.arange(len(candidates))
    told = {"split": ["train"] * len(rows), "choice": ["stage"] * len(rows), "candidate": candidates}
    told |= {"chosen": rows == 0}
    columns = [pa.array(told.get(name, 0 * rows)).cast(schema.field(name).type) for name in schema.names]
    pq.write_table(pa.table(columns, schema=schema), path)
    return path


def changed(**entries: Any) -> bytes:
    """Metadata with other entries; None takes one out."""
    return json.dumps({key: value for key, value in (TOLD | entries).items() if value is not None}).encode()


@pytest.mark.parametrize(
    ("metadata", "part"),
    [
        (b"", "no JSON mapping"),
        (b"[1]", "no JSON mapping"),
        (b"[" * 100_000, "no JSON mapping"),
        (changed(problem=None), "lack problem"),
        (changed(problem=3), "lack problem"),
        (changed(problem="no such"), "no such"),
        (changed(expert=None), "lack expert"),
        (changed(facts=[]), "lack facts"),
        (changed(episodes=None), "lack episodes"),
        (changed(episodes={"train": "many"}), "no number of episodes"),
    ],
)
def test_changed_metadata_are_one_line(tmp_path: Path, metadata: bytes, part: str) -> None:
    with pytest.raises(ClearschedError, match=part) as error:
        describe(log(tmp_path / "log.parquet", metadata))
    assert "\n" not in str(error.value)


def test_a_column_that_stands_twice_is_one_line(tmp_path: Path) -> None:
    table = pq.read_table(log(tmp_path / "log.parquet", changed()))
    pq.write_table(table.append_column("episode", table["episode"]), tmp_path / "log.parquet")
    with pytest.raises(ClearschedError, match="no decision log of this version"):
        describe(tmp_path / "log.parquet")


def noted(path: Path, column: str, **notes: str | None) -> Path:
    """The log with other notes on a column; None takes one out."""
    table = pq.read_table(path)
    place = table.schema.get_field_index(column)
    field = table.schema.field(place)
    kept = {name.decode(): value.decode() for name, value in field.metadata.items()} | notes
    field = field.with_metadata({name: value for name, value in kept.items() if value is not None})
    pq.write_table(table.set_column(place, field, table.column(place)), path)
    return path


@pytest.mark.parametrize(
    ("notes", "part"),
    [
        ({"unit": "min"}, "has the unit 'min', expected 's'"),
        ({"unit": None}, "has the unit '', expected 's'"),
        (
            {"meaning": "tasks that have not started"},
            "has the meaning 'tasks that have not started', expected 'work of",
        ),
        ({"formula": "work_left_ms / 60000"}, "has the formula 'work_left_ms / 60000', expected 'work_left_ms / 1000'"),
    ],
)
def test_a_feature_that_is_another_by_now_is_one_line(tmp_path: Path, notes: Any, part: str) -> None:
    path = noted(log(tmp_path / "log.parquet", changed()), "job_work_left_s", **notes)
    (line,) = told("decisions", "describe", str(path))
    assert f"log.parquet: the decisions of another version: column job_work_left_s {part}" in line
    assert line.endswith("; log them again")


def test_a_log_of_before_formulas_were_told_is_read(tmp_path: Path) -> None:
    assert "Decisions of fair" in describe(
        noted(log(tmp_path / "log.parquet", changed()), "job_work_left_s", formula=None)
    )


def test_a_log_without_a_candidate_but_none_is_described(tmp_path: Path) -> None:
    assert "Decisions of fair" in describe(log(tmp_path / "log.parquet", changed(), (-1,)))


def test_names_are_printed_as_they_are(tmp_path: Path) -> None:
    """`[/x]` ends a style that rich does not know."""
    assert "Decisions of a[/x]" in describe(log(tmp_path / "log.parquet", changed(expert="a[/x]")))
