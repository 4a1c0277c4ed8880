"""Traces: what a file must hold to be read, in which words it is refused, and the two TPC-H sources."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.files import PROVENANCE_KEY
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.sources import DEFAULT, SOURCES, files_of, section_of
from clearsched.problems.dag_jobs.traces import (
    Summary,
    Trace,
    check_file,
    describe,
    load,
    load_profiles,
    make_trace,
    measure,
    mixing,
    read_trace,
    storage,
    tpch_decima,
    tpch_spark,
    write_from_params,
    write_trace,
)
from clearsched.problems.dag_jobs.traces.sources import options_of, parse_settings, write
from clearsched.problems.dag_jobs.traces.summary import summary_of
from clearsched.registry import load as load_named
from clearsched.schemas import write_table
from toys import stage, toy_rows, toy_trace, work_by_hand_s

ROOT = Path(__file__).parents[1]

TOY = [[stage(2), stage(1, [0])], [stage(3, fresh={1: [50], 4: [70, 80]})]]


def refusal(action: Callable[[], object]) -> str:
    """The one line with which an action is refused."""
    with pytest.raises(ClearschedError) as caught:
        action()
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A sound trace on disk."""
    write_trace(tmp_path / "trace.parquet", toy_trace(TOY, levels=(1, 4)))
    return tmp_path / "trace.parquet"


# Round trip --------------------------------------------------------------------------------------------------------


def test_a_trace_survives_the_disk(path: Path) -> None:
    trace = toy_trace(TOY, levels=(1, 4))
    read = read_trace(path)
    assert read.stages.equals(trace.stages)
    assert read.stages.schema.equals(TRACE, check_metadata=True)
    assert (read.levels, read.metadata) == ((1, 4), {"source": "toy", "levels": [1, 4]})
    write_trace(path.with_name("again.parquet"), read)
    assert path.with_name("again.parquet").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in path.parent.iterdir()) == ["again.parquet", "trace.parquet"]


def test_the_views_of_a_trace() -> None:
    trace = toy_trace(TOY, levels=(1, 4))
    assert trace.num_profiles == 2
    assert trace.profile_starts.tolist() == [0, 2, 3]
    assert trace.edges.to_pylist() == [{"profile": 0, "parent": 0, "child": 1}]
    assert trace.jobs.to_pylist() == [
        {"profile": 0, "query": "q0", "size": "tiny", "stages": 2, "tasks": 3},
        {"profile": 1, "query": "q1", "size": "tiny", "stages": 1, "tasks": 3},
    ]
    assert trace.durations.to_pylist()[-1] == {
        "profile": 1,
        "stage": 0,
        "wave": "fresh",
        "level": 4,
        "duration_ms": [70, 80],
    }
    assert trace.find("q1", "tiny") == 1
    assert "no profile of query q7 at size tiny" in refusal(lambda: trace.find("q7", "tiny"))


def test_levels_are_those_that_occur_if_none_are_declared() -> None:
    assert make_trace(toy_rows(TOY), {}, "toy").levels == (1, 4)


def test_validate_holds_one_piece_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command reads in pieces: it never asks for the whole trace, and finds a fault of the last piece."""
    rows = toy_rows([[stage(1), stage(1, [0])]] * 5)
    write_trace(tmp_path / "t.parquet", make_trace(rows, {}, "toy"))
    seen: list[int] = []
    original = storage.check_trace

    def spy(trace: Trace, *arguments: Any) -> Trace:
        seen.append(trace.num_profiles)
        return original(trace, *arguments)

    monkeypatch.setattr(storage, "ROWS", 4)
    monkeypatch.setattr(storage, "check_trace", spy)
    answer = CliRunner().invoke(app, ["traces", "validate", str(tmp_path / "t.parquet")])
    assert (answer.exit_code, answer.output) == (0, f"{tmp_path / 't.parquet'}: all right\n")
    assert sum(seen) == 5 and max(seen) <= 2
    rows[9]["num_tasks"] = 0
    write_table(tmp_path / "t.parquet", pa.Table.from_pylist(rows, schema=TRACE), TRACE, {})
    assert "row 9 (query q4" in refusal(lambda: check_file(tmp_path / "t.parquet"))


# Description -------------------------------------------------------------------------------------------------------


def test_describe_a_trace_counted_by_hand(tmp_path: Path) -> None:
    """A diamond 0 -> (1, 2) -> 3 with a short cut 0 -> 3, then a single stage; the second job arrives after 6 s."""

    def of(num_tasks: int, parents: list[int], ms: int) -> dict[str, Any]:
        # The mean of the rest wave is `ms`, at two levels; the other waves do not count.
        return stage(num_tasks, parents, first_wave={1: [2 * ms]}, rest_wave={1: [ms - 10], 2: [ms + 10]}, fresh=9 * ms)

    diamond = [of(2, [], 1000), of(4, [0], 3000), of(1, [0], 500), of(1, [0, 1, 2], 2000)]
    rows = toy_rows([diamond, [of(3, [], 4000)]])
    for row in rows:
        row |= {"arrival_ms": 6000 * row["profile"], "cpu": 0.5 + row["profile"], "memory": None}
    metadata = {"source": "toy", "summary": Summary("toy", skipped={"jobs without a stage": 3}).to_metadata()}
    write_trace(tmp_path / "t.parquet", make_trace(rows, metadata, "toy"))
    found = describe(tmp_path / "t.parquet", executors=10)
    assert found["source"] == "toy"
    counts = {"jobs": 2, "templates": 2, "stages": 5, "tasks": 11, "edges": 5, "levels_executors": [1, 2]}
    assert found["counts"] == counts

    def ends(name: str) -> tuple[float, float]:
        return found["quantiles"][name]["min"], found["quantiles"][name]["max"]

    assert ends("depth of a job (stages)") == (1, 3)
    assert ends("work of a job (executor-s)") == (12.0, 2 + 12 + 0.5 + 2)
    assert ends("longest chain of a job (s)") == (4.0, 1 + 3 + 2)
    assert ends("parallelism of a job (executors)") == (16.5 / 6, 3.0)
    assert ends("between two arrivals (s)") == (6.0, 6.0)
    assert ends("cpu of a task (cores)") == (0.5, 1.5)
    assert "memory of a task (% of a machine)" not in found["quantiles"]
    assert found["quantiles"]["stages a job"]["median"] == 2.5
    load = {"work_executor_s": 28.5, "arrival_span_s": 6.0, "jobs_per_hour": 1200.0, "busy_executors": 28.5 / 6}
    assert found["load"] == pytest.approx(load | {"executors": 10, "load": 28.5 / 60})
    assert found["defects"] == {"skipped": {"jobs without a stage": 3}, "survived": {}}


def test_a_description_is_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Row groups end inside jobs, pieces too; an independent, slower count gives the same."""
    trace = read_trace(ROOT / tpch_spark.EMBEDDED)
    pq.write_table(pq.read_table(ROOT / "data/tpch-spark.parquet"), tmp_path / "t.parquet", row_group_size=7)
    monkeypatch.setattr(storage, "ROWS", 11)
    found = measure(tmp_path / "t.parquet")
    work = compile_profiles(trace)
    jobs_of_trace = trace.jobs.sort_by("profile")
    assert found.tasks.tolist() == jobs_of_trace["tasks"].to_pylist()
    assert found.stages.tolist() == jobs_of_trace["stages"].to_pylist()
    assert found.edges == len(trace.edges)
    assert found.work_s.sum() == pytest.approx(summary_of(trace, "x").work_executor_s)
    assert found.work_s == pytest.approx(work.work_ms / 1000)
    stages = trace.stages.to_pylist()
    chain: dict[tuple[int, int], int] = {}
    for row in stages:
        before = [chain[row["profile"], parent] for parent in row["parents"]]
        chain[row["profile"], row["stage"]] = 1 + max(before, default=0)
    depth = [max(chain[p, s] for p, s in chain if p == profile) for profile in range(3)]
    assert found.depth[:3].tolist() == depth
    assert found.stage_level.tolist() == [chain[row["profile"], row["stage"]] for row in stages]
    jobs = np.array([0, 5, 60])
    rows = found.rows_of(jobs)
    expected = [row for row in stages if row["profile"] in jobs]
    assert [(r["profile"], r["stage"], r["num_tasks"]) for r in rows.to_pylist()] == [
        (r["profile"], r["stage"], r["num_tasks"]) for r in expected
    ]


def test_describe_a_source_by_its_name() -> None:
    found = describe("tpch-spark")
    assert (found["counts"]["jobs"], found["counts"]["templates"]) == (44, 22)
    assert found["quantiles"]["work of a job (executor-s)"]["mean"] >= 50  # as a cluster's jobs: the default scenario
    assert found["defects"] == {"skipped": {"job of a size that was not asked for": 110}, "survived": {}}
    assert found["load"]["arrival_span_s"] is None


def test_describe_on_the_command_line(path: Path) -> None:
    answer = CliRunner().invoke(app, ["traces", "describe", str(path)])
    assert answer.exit_code == 0, answer.output
    for word in ("tasks a stage", "p99", "executor-hours", "does not stand in this file"):
        assert word in answer.output
    as_json = CliRunner().invoke(app, ["traces", "describe", str(path), "--json"])
    assert json.loads(as_json.output)["counts"]["stages"] == 3


@pytest.mark.parametrize("text", [b"", b"PAR1", b"one,two\n1,2\n"])
def test_describe_what_is_no_trace(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "t.parquet").write_bytes(text)
    assert "not a Parquet file" in refusal(lambda: describe(tmp_path / "t.parquet"))


def test_describe_refusals(tmp_path: Path) -> None:
    assert "neither a file nor a source" in refusal(lambda: describe(tmp_path / "none.parquet"))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    assert "missing ['profile'" in refusal(lambda: describe(tmp_path / "a.parquet"))
    rows = toy_rows([[stage(1, [1]), stage(1, [0])]])
    write_table(tmp_path / "c.parquet", pa.Table.from_pylist(rows, schema=TRACE), TRACE, {})
    assert "cycle" in refusal(lambda: describe(tmp_path / "c.parquet"))


# Broken files ------------------------------------------------------------------------------------------------------


def test_missing_file(tmp_path: Path) -> None:
    assert refusal(lambda: read_trace(tmp_path / "gone.parquet")) == f"{tmp_path / 'gone.parquet'}: no such file"


@pytest.mark.parametrize("kept", [0, 3, 100, 0.5, 0.99, -1])
def test_truncated_file(path: Path, kept: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data)) if isinstance(kept, float) else kept])
    line = refusal(lambda: read_trace(path))
    assert line.startswith(f"{path}: truncated or not a Parquet file")


def test_tampered_file(path: Path) -> None:
    """Whatever byte is changed: refused with one line, or read as a trace that is sound; never anything else."""
    data = bytearray(path.read_bytes())
    refused = 0
    for position in range(0, len(data), max(1, len(data) // 250)):
        changed = bytearray(data)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        try:
            compile_profiles(read_trace(path))
        except ClearschedError as error:
            assert str(path) in str(error) or "trace row" in str(error)
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("metadata", [b"{", b"[]", b"\xff", b'{"levels": 5}', b'{"levels": ["a"]}', b'{"levels": []}'])
def test_tampered_metadata(path: Path, metadata: bytes) -> None:
    table = pq.read_table(path).replace_schema_metadata({PROVENANCE_KEY: metadata})
    pq.write_table(table, path)
    assert str(path) in refusal(lambda: read_trace(path))


def column(table: pa.Table, name: str, values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values, kind))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda t: t.drop_columns(["num_tasks"]), ["missing ['num_tasks']"]),
        (lambda t: t.append_column("colour", t["query"]), ["unknown ['colour']"]),
        (lambda t: column(t, "num_tasks", ["two", "one", "three"]), ["column num_tasks: expected int32"]),
        (lambda t: column(t, "num_tasks", [2, None, 3]), ["row 1, column num_tasks: no value"]),
        (lambda t: column(t, "num_tasks", [2, 2**40, 3]), ["column num_tasks"]),
        (lambda t: column(t, "parents", [[], [None], []], pa.list_(pa.int32())), ["parents", "no value"]),
        (lambda t: t.slice(0, 0), ["the trace is empty"]),
    ],
)
def test_another_schema(path: Path, change: Callable[[pa.Table], pa.Table], parts: list[str]) -> None:
    pq.write_table(change(pq.read_table(path)), path)
    line = refusal(lambda: read_trace(path))
    assert line.startswith(f"{path}: ")
    assert all(part in line for part in parts), line


def test_a_duration_without_value(path: Path) -> None:
    """A null inside the nested list."""
    rows = toy_rows(TOY)
    rows[1]["durations"][0]["duration_ms"] = [5, None]
    table = pa.Table.from_pylist(rows, schema=TRACE)
    pq.write_table(table, path)
    line = refusal(lambda: compile_profiles(read_trace(path)))
    assert line.startswith(f"{path}: ")


# Unsound contents --------------------------------------------------------------------------------------------------


def set_field(row: int, **fields: Any) -> Callable[[list[dict]], None]:
    def change(rows: list[dict]) -> None:
        rows[row].update(fields)

    return change


def set_duration(row: int, entry: int, **fields: Any) -> Callable[[list[dict]], None]:
    def change(rows: list[dict]) -> None:
        rows[row]["durations"][entry].update(fields)

    return change


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (set_field(0, parents=[1]), ["query q0, size tiny", "cycle through stages [0, 1]"]),
        (set_field(2, parents=[0]), ["query q1, size tiny", "cycle through stages [0]"]),
        (set_field(1, parents=[2]), ["query q0, size tiny", "stage 1: parent 2 is no stage"]),
        (set_field(1, parents=[-1]), ["stage 1: parent -1 is no stage"]),
        (set_field(1, num_tasks=0), ["row 1 (query q0, size tiny, stage 1)", "without tasks (num_tasks = 0)"]),
        (set_field(2, num_tasks=-4), ["row 2 (query q1, size tiny, stage 0)", "num_tasks = -4"]),
        (set_field(1, durations=[]), ["row 1", "no task durations"]),
        (
            set_duration(2, 0, duration_ms=[5, -7]),
            ["row 2 (query q1, size tiny, stage 0)", "negative duration (-7 ms)"],
        ),
        (set_duration(1, 2, wave="second"), ["row 1", "unknown wave second", "first_wave, rest_wave, fresh"]),
        (set_duration(1, 2, level=0), ["row 1", "level 0 is not positive"]),
        (set_field(1, stage=2), ["row 1: stage is 2, expected 1"]),
        (set_field(0, stage=1), ["row 0: stage is 1, expected 0"]),
        (set_field(2, profile=2), ["row 2: profile is 2, expected 1"]),
        (set_field(0, profile=1), ["row 0: profile is 1, expected 0"]),
    ],
)
def test_unsound_trace(path: Path, change: Callable[[list[dict]], None], parts: list[str]) -> None:
    rows = toy_rows(TOY)
    change(rows)
    write_table(path, pa.Table.from_pylist(rows, schema=TRACE), TRACE, {"levels": [1, 4]})
    line = refusal(lambda: read_trace(path))
    assert line.startswith(f"{path}: ")
    assert all(part in line for part in parts), line


def test_a_level_without_durations() -> None:
    empty = {1: [5], 4: []}
    trace = toy_trace([[stage(1, first_wave=empty, rest_wave=empty, fresh=empty)]], levels=(1, 4))
    assert "query q0, size tiny, stage 0): no duration at level 4" in refusal(lambda: compile_profiles(trace))


def test_a_failed_write_leaves_nothing_behind(path: Path) -> None:
    """Neither a new half file, nor harm to the old one."""
    before = path.read_bytes()
    bad = toy_trace(TOY).stages.drop_columns(["query"])
    for target in (path, path.with_name("new.parquet")):
        assert "missing ['query']" in refusal(lambda target=target: write_trace(target, Trace(bad, (1,))))
    with pytest.raises(TypeError):
        write_trace(path, Trace(toy_trace(TOY).stages, (1,), {"no": object()}))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["trace.parquet"]


def test_an_interrupted_write_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def interrupted(table: pa.Table, where: Path, **settings: Any) -> None:
        Path(where).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_trace(path, toy_trace(TOY))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["trace.parquet"]


# Sources -----------------------------------------------------------------------------------------------------------


def test_unknown_source() -> None:
    line = refusal(lambda: load("tpch-spork"))
    assert "unknown source 'tpch-spork'" in line
    assert "tpch-spark, tpch-decima" in line


def test_the_embedded_trace() -> None:
    """The default data set comes with the repository, and says how it was made."""
    embedded = Path(__file__).parents[1] / tpch_spark.EMBEDDED
    trace = read_trace(embedded)
    assert set(trace.jobs["query"].to_pylist()) == {str(q) for q in range(1, 23)}
    assert trace.metadata["source"] == "tpch-spark"
    assert embedded.stat().st_size < 5_000_000
    compile_profiles(trace)


def test_sizes_of_a_recording_are_selected(tmp_path: Path) -> None:
    """The profiles of the sizes as they are, numbered from 0; others are counted, and what is not there is refused."""
    whole = read_trace(ROOT / tpch_spark.EMBEDDED)
    some = tpch_spark.load(sizes=["10g", "1g"])
    assert list(dict.fromkeys(some.stages["size"].to_pylist())) == ["1g", "10g"]  # in the order of the file
    assert some.jobs["profile"].to_pylist() == list(range(44))
    columns = [name for name in whole.stages.column_names if name != "profile"]
    for size in ("1g", "10g"):
        kept, there = (trace.stages.filter(pc.field("size") == size).select(columns) for trace in (some, whole))
        assert kept.equals(there)
    out = tmp_path / "trace.parquet"
    summary = write("tpch-spark", None, out, options_of("tpch-spark", parse_settings(["sizes=[1g, 10g]"])), seed=1)
    assert read_trace(out).stages.equals(some.stages)
    assert summary.jobs == 44 and sum(summary.skipped.values()) == whole.num_profiles - 44
    assert read_trace(out).metadata["summary"]["skipped"] == summary.skipped
    line = refusal(lambda: tpch_spark.load(sizes=["1g", "3g"]))
    assert "traces.tpch_spark.sizes: no size 3g: it holds 0.5g, 1g, 2g, 5g, 10g" in line


def test_levels_are_those_of_the_sizes_selected() -> None:
    """A size that was recorded at one level alone has no other when it stands alone."""
    rows = [
        {**row, "profile": number, "size": size, "durations": [{**entry, "level": level} for entry in row["durations"]]}
        for number, (size, level) in enumerate((("1g", 1), ("2g", 2)))
        for row in [stage(2) | {"query": "1", "stage": 0}]
    ]
    trace = make_trace(rows, {"source": "tpch-spark", "levels": [1, 2]}, "made")
    assert tpch_spark.of_sizes(trace, ["2g"], "made").levels == (2,)
    assert tpch_spark.of_sizes(trace, ["1g", "2g"], "made") is trace


def test_a_source_writes_its_trace_and_tells_what_it_read(tmp_path: Path, path: Path) -> None:
    from clearsched.params import parse

    out = tmp_path / "out" / "trace.parquet"
    summary = write_from_params(parse({"traces": {"source": "tpch-spark", "path": str(path)}}, "test"), out)
    trace = read_trace(path)
    assert read_trace(out).stages.equals(trace.stages)
    assert (summary.source, summary.jobs, summary.stages) == ("tpch-spark", trace.num_profiles, len(trace.stages))
    assert summary.work_executor_s == pytest.approx(work_by_hand_s(trace))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either --params or --source"),
        (["--source", "tpch"], "unknown source 'tpch': known are tpch-spark"),
        (["--source", "tpch-spark", "--path", "no/such.parquet"], "no/such.parquet: no such file or folder"),
        (
            ["--source", "tpch-spark", "--set", "jobs=1"],
            "source tpch-spark: jobs: Extra inputs are not permitted",
        ),
        (["--source", "tpch-decima", "--set", "jobs=1"], "has no options: jobs"),
        (["--source", "synthetic", "--set", "jobs"], "expected NAME=VALUE"),
        (["--source", "synthetic", "--set", "jobs=many"], "source synthetic: jobs: Input should be a valid integer"),
    ],
)
def test_build_refuses_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clearsched", "traces", "build", "--out", str(tmp_path / "t.parquet"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


# tpch-decima -------------------------------------------------------------------------------------------------------


def test_first_wave_is_cleaned_level_by_level() -> None:
    first = {10: [1, 1, 2, 3], 5: [7, 8], 20: [4], 40: [], 50: [9, 9]}
    fresh = {5: [7, 8], 10: [1, 3, 3], 20: [4, 5], 40: [1], 50: [9]}
    assert tpch_decima.clean_first_wave(first, fresh) == {
        5: [],  # all of it stands in fresh, and no level comes before
        10: [1, 2],  # one 1 cancels one 1; the second 3 of fresh cancels nothing
        20: [1, 2],  # empty: the list of level 10
        40: [1, 2],  # empty: that of level 20, which was filled itself
        50: [9],
    }


def test_published_profiles(decima_trace: Trace) -> None:
    assert decima_trace.num_profiles == 154
    assert decima_trace.levels == (5, 10, 20, 40, 50, 60, 80, 100)
    assert {(query, size) for query, size in compile_profiles(decima_trace).names} == {
        (str(query), size) for query in range(1, 23) for size in ("2g", "5g", "10g", "20g", "50g", "80g", "100g")
    }


def test_golden_files_count_the_same_tasks(decima_trace: Trace, shared: Path) -> None:
    """Stages and tasks of the jobs in the golden episodes; tasks are counted before the first wave is cleaned."""
    jobs = decima_trace.jobs.to_pylist()
    for path in sorted((shared / "golden").glob("g*.json")):
        for job in json.loads(path.read_text())["jobs"]:
            found = jobs[decima_trace.find(str(job["query"]), job["size"])]
            assert (found["stages"], found["tasks"]) == (job["num_stages"], job["num_tasks"])


def test_one_stage_against_its_file(decima_trace: Trace, shared: Path) -> None:
    """Query 1 at 2g as numpy reads it (its checksum was verified before)."""
    folder = shared / "data" / "tpch-decima" / "2g"
    raw = np.load(folder / "task_duration_1.npy", allow_pickle=True).item()
    profile = decima_trace.find("1", "2g")
    start = decima_trace.profile_starts[profile]
    for index, tables in raw.items():
        row = decima_trace.stages.slice(start + index, 1).to_pylist()[0]
        level = next(iter(tables["first_wave"]))
        assert row["num_tasks"] == len(tables["first_wave"][level]) + len(tables["rest_wave"][level])
        found = {(e["wave"], e["level"]): e["duration_ms"] for e in row["durations"]}
        assert {level for wave, level in found if wave == "fresh"} == set(tables["fresh_durations"])
        for level, values in tables["rest_wave"].items():
            assert found["rest_wave", level] == list(values)
    adjacency = np.load(folder / "adj_mat_1.npy")
    edges = decima_trace.edges.to_pylist()
    assert {(e["parent"], e["child"]) for e in edges if e["profile"] == profile} == set(
        zip(*np.nonzero(adjacency), strict=True)
    )


@pytest.fixture
def copy(shared: Path, tmp_path: Path) -> Path:
    """A copy of the published folder that a test may spoil."""
    return Path(shutil.copytree(shared / "data" / "tpch-decima", tmp_path / "tpch"))


def test_decima_folder_missing(tmp_path: Path) -> None:
    line = refusal(lambda: load("tpch-decima", tmp_path / "gone"))
    assert line.startswith(f"{tmp_path / 'gone'}: no such folder")
    assert "traces.path" in line


def test_decima_file_missing(copy: Path) -> None:
    (copy / "10g" / "adj_mat_3.npy").unlink()
    assert refusal(lambda: load_profiles(copy)).startswith(f"{copy / '10g' / 'adj_mat_3.npy'}: no such file")


@pytest.mark.parametrize("name", ["2g/task_duration_1.npy", "2g/adj_mat_1.npy"])
def test_decima_file_tampered(copy: Path, name: str) -> None:
    data = bytearray((copy / name).read_bytes())
    data[-1] ^= 1
    (copy / name).write_bytes(data)
    assert f"{copy / name}: checksum mismatch" in refusal(lambda: load_profiles(copy))
    (copy / name).write_bytes(data[:50])
    assert f"{copy / name}: checksum mismatch" in refusal(lambda: load_profiles(copy))


def test_our_checksums_are_the_published_ones(shared: Path) -> None:
    lines = (shared / "data" / "tpch-decima" / "SHA256SUMS").read_text().splitlines()
    published = {name.removeprefix("./").lstrip("*"): digest for digest, name in (line.split() for line in lines)}
    assert tpch_decima._checksums() == published


class Evil:
    """Pickles to a call that leaves a trace on the disk when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


def npy(content: Any) -> io.BytesIO:
    """The bytes of `np.save` of a 0-d object array."""
    stream = io.BytesIO()
    np.save(stream, np.array(content, dtype=object), allow_pickle=True)
    stream.seek(0)
    return stream


def test_an_evil_pickle_is_refused_before_it_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    line = refusal(lambda: tpch_decima.read_pickled(npy({0: Evil(mark)}), "task_duration_1.npy"))
    assert line.startswith("task_duration_1.npy: not a task-duration file: it asks for ")
    assert not mark.exists()
    np.load(npy({0: Evil(mark)}), allow_pickle=True)
    assert mark.exists()  # so the pickle does run where it may


@pytest.mark.parametrize("call", ["os system", "builtins eval", "numpy load", "numpy.core.multiarray fromfile"])
def test_only_three_names_are_admitted(call: str) -> None:
    module, name = call.split()
    code = f"c{module}\n{name}\n(S'x'\ntR.".encode()
    header = npy(None).getvalue()[:128]
    line = refusal(lambda: tpch_decima.read_pickled(io.BytesIO(header + code), "x.npy"))
    assert f"it asks for {module}.{name}" in line


def test_a_plain_profile_is_read() -> None:
    content = {0: {"first_wave": {5: [1, 2]}, "rest_wave": {5: [3]}, "fresh_durations": {5: []}}}
    assert tpch_decima.read_pickled(npy(content), "x.npy") == content


def test_any_spoiled_pickle_is_refused_in_one_line() -> None:
    data = npy({0: {"first_wave": {5: [1, 2]}}}).getvalue()
    for position in range(len(data)):
        for changed in (data[:position], data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :]):
            try:
                tpch_decima.read_pickled(io.BytesIO(changed), "x.npy")
            except ClearschedError as error:
                assert str(error).startswith("x.npy: ")
                assert "\n" not in str(error)


# The registry of sources -------------------------------------------------------------------------------------------


def test_a_source_is_a_module_and_an_entry() -> None:
    """Each entry names a module with `write`; a section of params is that of its model."""
    for name, source in SOURCES.items():
        module = importlib.import_module(source.module)
        assert list(inspect.signature(module.write).parameters) == ["path", "out", "options", "seed"]
        assert source.summary and not source.summary.endswith(".")
        assert section_of(name) == name.replace("-", "_")
        model = load_named(source.settings) if source.settings else type(None)
        assert isinstance(options_of(name, {}), model)
    assert DEFAULT in SOURCES


def test_the_help_names_every_source() -> None:
    for command in ("build", "describe"):
        told = CliRunner().invoke(app, ["traces", command, "--help"], env={"COLUMNS": "300"}).output
        assert ", ".join(SOURCES) in told


def test_any_source_can_be_loaded() -> None:
    assert load("synthetic").num_profiles == 100
    assert load("tpch-spark").num_profiles == 44


def test_the_files_of_a_source(tmp_path: Path, path: Path) -> None:
    """What the workflow watches: the embedded file, a file, all files of a folder or a pattern, those of a mix."""
    from clearsched.params import parse

    def files(**traces: Any) -> list[str]:
        return [file.name for file in files_of(parse({"traces": traces}, "test").traces)]

    assert files(source="tpch-spark") == ["tpch-spark.parquet"]
    assert files(source="synthetic") == []
    assert files(source="tpch-spark", path=str(path)) == ["trace.parquet"]
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    for name in ("logs/a", "logs/deep/b"):
        (tmp_path / name).touch()
    assert files(source="spark-eventlog", path=str(tmp_path / "logs")) == ["a", "b"]
    assert files(source="spark-eventlog", path=str(tmp_path / "logs" / "*")) == ["a", "b"]
    parts = [{"source": "synthetic"}, {"source": "tpch-spark", "path": str(path)}]
    assert files(source="mix", mix=parts) == ["trace.parquet"]
    assert "gone: no such file or folder" in refusal(
        lambda: files(source="spark-eventlog", path=str(tmp_path / "gone"))
    )


# Work --------------------------------------------------------------------------------------------------------------


def test_work_is_the_same_wherever_it_is_told(tmp_path: Path) -> None:
    """Summary, description, mix and simulator: tasks x mean of the rest wave, of all durations without any."""
    rest_counts = stage(3, first_wave=900, rest_wave={1: [10, 20], 2: [60]}, fresh=5000)
    all_count = stage(5, first_wave=20, rest_wave={1: []}, fresh=40)
    trace = toy_trace([[rest_counts, all_count]], levels=(1, 2))
    work_s = (3 * 30 + 5 * 30) / 1000
    write_trace(tmp_path / "t.parquet", trace)
    assert summary_of(trace, "toy").work_executor_s == pytest.approx(work_s) == pytest.approx(work_by_hand_s(trace))
    assert describe(tmp_path / "t.parquet")["load"]["work_executor_s"] == pytest.approx(work_s)
    assert mixing.mix([(tmp_path / "t.parquet", 1.0)], tmp_path / "m.parquet").work_executor_s == pytest.approx(work_s)
    assert compile_profiles(trace).work_ms.tolist() == pytest.approx([1000 * work_s])


def test_of_two_lists_of_the_same_wave_and_level_the_last_counts() -> None:
    """In the mean as in what the simulator draws from."""
    row = stage(2, rest_wave=100)
    row["durations"].append({"wave": "rest_wave", "level": 1, "duration_ms": [30, 50]})
    arrays = compile_profiles(toy_trace([[row]])).arrays
    assert arrays.mean_ms.tolist() == [40.0] == arrays.table[:, 0, 1, 3].tolist()


# Rooms -------------------------------------------------------------------------------------------------------------


def test_no_circle_of_imports_in_the_rooms_of_traces() -> None:
    """Whole files are read, imports in functions and for types too: what a trace is knows nothing above it."""
    package = "clearsched.problems.dag_jobs"
    folder = ROOT / "src" / "clearsched" / "problems" / "dag_jobs"
    names = {".".join(path.relative_to(folder).with_suffix("").parts): path for path in folder.rglob("*.py")}
    files = {f"{package}.{name}".removesuffix(".__init__"): path for name, path in names.items()}
    low = {"traces", "sources", "schemas", "settings"}
    needs: dict[str, set[str]] = {}
    for name, path in files.items():
        if name.removeprefix(f"{package}.").split(".")[0] not in (
            "traces",
            "sources",
            "schemas",
            "figures",
            "settings",
        ):
            continue
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
                found |= {f"{node.module}.{alias.name}" for alias in node.names} & files.keys() or {str(node.module)}
        needs[name] = found - {name}
        rooms = {each.removeprefix(f"{package}.").split(".")[0] for each in found}
        if not name.startswith(f"{package}.figures"):
            assert rooms <= low, f"{name} imports {rooms}"
    assert len(list(TopologicalSorter(needs).static_order())) > 40  # raises CycleError
