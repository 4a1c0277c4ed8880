"""Traces in pieces: the same profiles, the same faults at the same rows, as when the whole is read at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.errors import ClearschedError
from clearsched.files import digest_bytes
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.traces import Trace, load, make_trace, read_trace, storage, write_trace
from clearsched.problems.dag_jobs.traces.dags import edge_rows, heights, longest_paths, topological_order
from clearsched.problems.dag_jobs.traces.storage import TraceFile, TraceWriter, check_file, convert, read_profiles
from clearsched.problems.dag_jobs.traces.trace import check_trace
from toys import micro_trace, stage, toy_rows, toy_trace

EMBEDDED = Path(__file__).parents[1] / "data" / "tpch-spark.parquet"

GOLDEN = {  # SHA-256 (16 digits) of what the version compiled that went through the stages one by one, in Python
    "tpch-spark": {
        "stage_start": "89253e037ce38fb5",
        "num_tasks": "1bae6b19a00a166b",
        "parent_start": "5178aced3a7d272b",
        "parents": "449b225657c4713f",
        "child_start": "390072b8e43e915e",
        "children": "fa5d8d34064fc1af",
        "table": "40f22913644cc774",
        "durations_ms": "f0f6716ad058fdce",
        "mean_ms": "59fd071117f66336",
        "levels_below": "2674efe611b43e60",
        "critical_path_ms": "35eb718f06916b84",
        "work_ms": "4ad32bf36748efbc",
    },
    "tpch-decima": {
        "stage_start": "0d7c4e854e058410",
        "num_tasks": "2c6951fae25feee5",
        "parent_start": "eb026283e583e315",
        "parents": "2ff85eef387751a3",
        "child_start": "a222e71df7d7af8a",
        "children": "d6854480cf8044bd",
        "table": "3ca58a1e8f2e8c30",
        "durations_ms": "5a698395bafd178b",
        "mean_ms": "33d694fc1b2e6d36",
        "levels_below": "b85955ee3d4fa2c7",
        "critical_path_ms": "2da23b1cc53c79c5",
        "work_ms": "78964c3a1cb2fd20",
    },
}


def digests(trace: Trace) -> dict[str, str]:
    """Of the arrays that there were then."""
    arrays = compile_profiles(trace).arrays
    return {name: digest_bytes(np.ascontiguousarray(getattr(arrays, name)).tobytes()) for name in GOLDEN["tpch-spark"]}


def test_the_embedded_trace_compiles_to_what_it_did() -> None:
    assert digests(micro_trace()) == GOLDEN["tpch-spark"]


def test_the_published_profiles_compile_to_what_they_did(decima_trace: Trace) -> None:
    assert digests(decima_trace) == GOLDEN["tpch-decima"]


def test_jobs_stand_in_the_order_of_their_profiles() -> None:
    """Against a plain loop over the rows."""
    trace = load("tpch-spark", EMBEDDED)
    rows = trace.stages.select(["profile", "query", "size", "num_tasks"]).to_pylist()
    tasks: Counter[int] = Counter()
    for row in rows:
        tasks[row["profile"]] += row["num_tasks"]
    names = {row["profile"]: (row["query"], row["size"]) for row in rows}
    assert trace.jobs["tasks"].to_pylist() == [tasks[p] for p in range(trace.num_profiles)]
    assert compile_profiles(trace).names == [names[p] for p in range(trace.num_profiles)]
    assert all(trace.find(*names[p]) == p for p in names)


# Files ------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["parquet", "arrow"])
def embedded(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The embedded trace in row groups of 50 stages, in either format."""
    monkeypatch.setattr(storage, "ROWS", 50)
    convert(EMBEDDED, tmp_path / f"trace.{request.param}")
    return tmp_path / f"trace.{request.param}"


def test_the_formats_hold_the_same(embedded: Path) -> None:
    whole, copy = read_trace(EMBEDDED), read_trace(embedded)
    assert copy.stages.equals(whole.stages)
    assert (copy.levels, copy.metadata) == (whole.levels, whole.metadata)
    assert check_file(embedded) == whole.num_profiles == check_file(EMBEDDED)


def test_pieces_are_whole_profiles(embedded: Path) -> None:
    pieces = list(TraceFile(embedded).pieces())
    assert len(pieces) > 5
    whole = read_trace(EMBEDDED)
    assert pa.concat_tables([piece.stages for piece in pieces]).equals(whole.stages)
    for piece in pieces:
        assert whole.profile_starts[piece.first_profile] == piece.first_row
        assert piece.stages["stage"][0].as_py() == 0
    columns = list(TraceFile(embedded).pieces(["profile", "arrival_ms"]))
    assert [len(piece.stages) for piece in columns] == [len(piece.stages) for piece in pieces]
    assert columns[0].stages.column_names == ["profile", "arrival_ms"]


@pytest.mark.parametrize("wanted", [[0], [-1], [3, 4, 50, 108], []], ids=["first", "last", "some", "all"])
def test_some_profiles_are_what_they_are_in_the_whole(embedded: Path, wanted: list[int]) -> None:
    whole = compile_profiles(read_trace(EMBEDDED))
    number = range(whole.trace.num_profiles)
    wanted = [number[p] for p in wanted] or list(number)
    some = compile_profiles(read_profiles(embedded, np.array(wanted)))
    assert some.names == [whole.names[p] for p in wanted]
    assert some.work_ms.tolist() == whole.work_ms[wanted].tolist()
    rows = np.concatenate([np.arange(*whole.arrays.stage_start[p : p + 2]) for p in wanted])
    for name in ("num_tasks", "mean_ms", "levels_below", "critical_path_ms"):
        assert getattr(some.arrays, name).tolist() == getattr(whole.arrays, name)[rows].tolist()
    for here, there in zip(some.arrays.table.reshape(-1, 4), whole.arrays.table[rows].reshape(-1, 4), strict=True):
        assert here[1:].tolist() == there[1:].tolist()
        a, b = some.arrays.durations_ms[here[0] :][: here[1]], whole.arrays.durations_ms[there[0] :][: there[1]]
        assert a.tolist() == b.tolist()


def test_a_profile_that_is_not_there(embedded: Path) -> None:
    with pytest.raises(ClearschedError, match="has no profile 9999"):
        read_profiles(embedded, np.array([5, 9999]))


def test_only_the_row_groups_that_hold_them_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "ROWS", 50)
    convert(EMBEDDED, tmp_path / "trace.parquet")
    read: list[int] = []
    original = pq.ParquetFile.iter_batches

    def spy(self: Any, *arguments: Any, row_groups: list[int], **options: Any) -> Any:
        read.extend(row_groups)
        return original(self, *arguments, row_groups=row_groups, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    read_profiles(tmp_path / "trace.parquet", np.array([0]))
    assert read == [0]


@pytest.mark.parametrize("kept", [3, 100, 0.5, 0.99, -1])
def test_truncated_files(embedded: Path, kept: float) -> None:
    data = embedded.read_bytes()
    embedded.write_bytes(data[: int(kept * len(data)) if isinstance(kept, float) else kept])
    for action in (read_trace, check_file):
        with pytest.raises(ClearschedError, match="truncated or not") as caught:
            action(embedded)
        assert str(embedded) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="no such file"):
        check_file(tmp_path / "gone.parquet")
    with TraceWriter(tmp_path / "empty.parquet", {"levels": [1]}):
        pass
    with pytest.raises(ClearschedError, match="the trace is empty"):
        check_file(tmp_path / "empty.parquet")


def test_another_schema(tmp_path: Path) -> None:
    pq.write_table(pa.table({"colour": ["red"]}), tmp_path / "other.parquet")
    with pytest.raises(ClearschedError, match="columns do not fit the schema"):
        check_file(tmp_path / "other.parquet")


@pytest.mark.parametrize("name", ["trace.parquet", "trace.arrow"])
def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClearschedError, match="missing"), TraceWriter(tmp_path / name, {}) as writer:
        writer.write(toy_trace([[stage(1)]]).stages)
        writer.write(toy_trace([[stage(1)]]).stages.drop_columns(["query"]))
    assert list(tmp_path.iterdir()) == []


FAULTS = [
    ("num_tasks", 0, "row 5 (query q2, size tiny, stage 1): a stage without tasks"),
    ("parents", [7], "row 5 (query q2, size tiny): stage 1: parent 7 is no stage"),
    ("parents", [1], "row 5 (query q2, size tiny): the DAG has a cycle through stages [1]"),
    ("durations", [], "row 5 (query q2, size tiny): the stage has no task durations"),
    ("stage", 7, "row 5: stage is 7, expected 1: out of order"),
    ("durations", [{"wave": "fresh", "level": 1, "duration_ms": [1, -1]}], "row 5 (query q2, size tiny, stage 1): neg"),
    ("durations", [{"wave": "wet", "level": 1, "duration_ms": [1]}], "row 5 (query q2, size tiny, stage 1): unknown"),
    ("durations", [{"wave": "fresh", "level": 1, "duration_ms": [None]}], "row 5, column durations: no value"),
]


@pytest.mark.parametrize(("column", "value", "told"), FAULTS)
def test_the_first_fault_is_told_with_its_row_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, value: object, told: str
) -> None:
    """Profiles of two stages in pieces of two rows; the faulty one is the third."""
    monkeypatch.setattr(storage, "ROWS", 2)
    rows = toy_rows([[stage(1), stage(1, [0])]] * 5)
    rows[5][column] = value
    pq.write_table(pa.Table.from_pylist(rows, schema=TRACE), tmp_path / "trace.parquet")
    with pytest.raises(ClearschedError) as caught:
        check_file(tmp_path / "trace.parquet")
    assert str(caught.value).startswith(f"{tmp_path / 'trace.parquet'}: {told}")


# DAGs -------------------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> list[list[list[int]]]:
    """Parents of the stages of some profiles; seldom a cycle, stages in no particular order."""
    profiles = []
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.integers(1, 7))
        order = draw(st.permutations(range(count)))
        parents: list[list[int]] = [[] for _ in range(count)]
        for a, b in draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=10)):
            if a < b or draw(st.integers(0, 9)) == 0:
                parents[order[b]].append(order[a])
        profiles.append(parents)
    return profiles


def is_sound(parents: list[list[int]]) -> bool:
    try:
        topological_order(parents, "")
    except ClearschedError:
        return False
    return True


@given(graphs())
@settings(deadline=None, max_examples=200)
def test_all_dags_at_once_against_one_by_one(profiles: list[list[list[int]]]) -> None:
    rows = toy_rows([[stage(i + 1, parents) for i, parents in enumerate(of)] for of in profiles])
    table = pa.Table.from_pylist(rows, schema=TRACE)
    trace = Trace(table, (1,), {"levels": [1]})
    if not all(map(is_sound, profiles)):
        with pytest.raises(ClearschedError, match="cycle"):
            check_trace(trace, "here")
        return
    check_trace(trace, "here")
    parent, child, known = edge_rows(table["parents"], trace.profile_starts)
    assert known.all()
    weight = np.array([row["num_tasks"] * 0.7 for row in rows])
    height = heights(len(rows), parent, child)
    path = longest_paths(weight, height, parent, child)
    for start, of in zip(trace.profile_starts, profiles, strict=False):
        for number in reversed(topological_order(of, "")):
            below = [start + c for c in range(len(of)) if number in of[c]]
            assert height[start + number] == max((1 + height[c] for c in below), default=0)
            assert path[start + number] == weight[start + number] + max((path[c] for c in below), default=0.0)
    arrays = compile_profiles(trace).arrays
    for row, parents in enumerate(parents for of in profiles for parents in of):
        found = arrays.parents[arrays.parent_start[row] : arrays.parent_start[row + 1]]
        assert found.tolist() == sorted(set(parents))


def test_arrivals_of_a_trace() -> None:
    rows = toy_rows([[stage(1), stage(1)], [stage(1)]])
    for row, arrival in zip(rows, [0, 0, 70], strict=True):
        row["arrival_ms"] = arrival
    assert make_trace(rows, {}, "test").arrival_ms.tolist() == [0, 70]
    with pytest.raises(ClearschedError, match="no arrival times"):
        _ = toy_trace([[stage(1)]]).arrival_ms


def test_writing_by_the_ending_of_the_name(tmp_path: Path) -> None:
    trace = toy_trace([[stage(1)]])
    write_trace(tmp_path / "trace.arrow", trace)
    assert (tmp_path / "trace.arrow").read_bytes().startswith(b"ARROW1")
    assert read_trace(tmp_path / "trace.arrow").stages.equals(trace.stages)


def test_the_command_converts_there_and_back(tmp_path: Path) -> None:
    """Parquet to Arrow to Parquet: the same trace."""
    from typer.testing import CliRunner

    from clearsched.cli import app

    there, back = tmp_path / "trace.arrow", tmp_path / "trace.parquet"
    for source, target in ((EMBEDDED, there), (there, back)):
        answer = CliRunner().invoke(app, ["traces", "convert", str(source), "--out", str(target)])
        assert answer.exit_code == 0, answer.output
    assert read_trace(back).stages.equals(read_trace(EMBEDDED).stages)
