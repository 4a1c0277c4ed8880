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


def test_a_log_without_a_candidate_but_none_is_described(tmp_path: Path) -> None:
    assert "Decisions of fair" in describe(log(tmp_path / "log.parquet", changed(), (-1,)))


def test_names_are_printed_as_they_are(tmp_path: Path) -> None:
    """`[/x]` ends a style that rich does not know."""
    assert "Decisions of a[/x]" in describe(log(tmp_path / "log.parquet", changed(expert="a[/x]")))
