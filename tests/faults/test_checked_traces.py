"""What no trace may hold is refused with its row, by every command that reads one; what is rare is drawn and told."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clearsched import figures
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.figures.arrivals import MOST_BINS, bin_name, bin_width_s
from clearsched.problems.dag_jobs.schemas import TRACE, WAVES
from clearsched.problems.dag_jobs.traces.describe import describe
from clearsched.problems.dag_jobs.traces.storage import check_file, read_trace
from clearsched.schemas import write_table
from toys import stage, toy_rows

READERS = (check_file, read_trace, describe)


def written(path: Path, *changes: dict[str, Any], metadata: dict[str, Any] | None = None) -> Path:
    """A trace of a job of two stages and one of one; a change for each row, from the first."""
    rows = [row | {"arrival_ms": 0, "cpu": None, "memory": None} for row in toy_rows([CHAIN, [stage(1)]])]
    rows = [row | change for row, change in zip(rows, [*changes, {}, {}, {}], strict=False)]
    metadata = {"source": "toy", "levels": [1]} if metadata is None else metadata
    write_table(path, pa.Table.from_pylist(rows, schema=TRACE), TRACE, metadata)
    return path


CHAIN = [stage(2), stage(1, parents=[0])]
NONE: list[dict[str, Any]] = [{"wave": wave, "level": 1, "duration_ms": []} for wave in WAVES]
ZERO = [{"wave": "fresh", "level": 1, "duration_ms": [0]}]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([{"arrival_ms": -1}, {"arrival_ms": -1}], "row 0 .*arrival_ms is -1"),
        ([{"arrival_ms": 2**53 + 1}] * 2, "row 0 .*arrival_ms is 9007199254740993"),
        ([{}, {}, {"arrival_ms": -(2**63)}], "row 2 .*arrival_ms is -9223372036854775808"),
        ([{"arrival_ms": 5}], "row 1 .*arrival_ms is 0: its job has another one"),
        ([{}, {"arrival_ms": None}], "row 1 .*its job has another one"),
        ([{"cpu": math.nan}], "row 0 .*cpu is nan"),
        ([{}, {"cpu": math.inf}], "row 1 .*cpu is inf"),
        ([{"cpu": -0.5}], "row 0 .*cpu is -0.5"),
        ([{}, {}, {"memory": -math.inf}], "row 2 .*memory is -inf"),
        ([{"memory": math.nan}], "row 0 .*memory is nan"),
        ([{"durations": []}], "row 0 .*no task durations"),
        ([{"durations": NONE}], "row 0 .*no task durations"),
        ([{"num_tasks": -5}], "row 0 .*a stage without tasks"),
    ],
)
def test_what_no_trace_may_hold(tmp_path: Path, changes: list[dict[str, Any]], words: str) -> None:
    path = written(tmp_path / "t.parquet", *changes)
    for read in READERS:
        with pytest.raises(ClearschedError, match=words) as error:
            read(path)
        assert len(str(error.value).splitlines()) == 1
    with pytest.raises(ClearschedError, match=words):
        figures.draw_trace(path, tmp_path / "out", dpi=50)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("doubled", TRACE.names)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_column_that_stands_twice(tmp_path: Path, doubled: str, suffix: str) -> None:
    table = pq.read_table(written(tmp_path / "t.parquet"))
    table, path = table.append_column(doubled, table[doubled]), tmp_path / f"doubled{suffix}"
    if suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    for read in READERS:
        with pytest.raises(ClearschedError, match=f"column {doubled} stands in it more than once"):
            read(path)


@pytest.mark.parametrize(
    "changes",
    [
        [{"arrival_ms": None}] * 3,
        [{"arrival_ms": None}] * 2,
        [{"arrival_ms": 2**53}] * 2,
        [{"cpu": 0.0, "memory": 1e30}] * 3,
        [{"durations": ZERO}] * 3,
        [{"durations": [{"wave": "fresh", "level": 2**31 - 1, "duration_ms": [2**31 - 1]}]}] * 3,
        [{"num_tasks": 2**31 - 1}] * 3,
    ],
)
def test_what_is_rare_is_described_and_drawn(tmp_path: Path, changes: list[dict[str, Any]]) -> None:
    path = written(tmp_path / "t.parquet", *changes, metadata={"source": "toy"})
    check_file(path)
    assert "NaN" not in json.dumps(describe(path))
    for file in figures.draw_trace(path, tmp_path / "out", dpi=50):
        if file.suffix == ".csv":
            assert "Could not be drawn" not in file.read_text("utf-8"), file.name


@pytest.mark.parametrize("span_s", [0.0, 1.0, 3600.0, 86_400.0 * 150, 86_400.0 * 250, 1e9, 9e12])
def test_no_span_has_too_many_bars(span_s: float) -> None:
    width = bin_width_s(span_s)
    assert span_s / width <= MOST_BINS
    assert bin_name(width)
