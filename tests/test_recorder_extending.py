"""Sizes that are added to a recording: made tables instead of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces import read_trace
from clearsched.problems.dag_jobs.traces.recorder import record
from clearsched.problems.dag_jobs.traces.recorder.extending import (
    Recorded,
    check_extendable,
    extended,
    read_recording,
    recordings_of,
)
from clearsched.problems.dag_jobs.traces.recorder.settings import size_name, splits_for
from clearsched.schemas import write_table


def plan(*scale_factors: float, levels: tuple[int, ...] = (1, 2), **other: Any) -> record.Plan:
    wanted: dict[str, Any] = {"queries": (2, 11), "repetitions": None, "work": Path("work"), "driver_memory": "5g"}
    return record.Plan(scale_factors, levels, **(wanted | other))


def recording(made: record.Plan, *, days: tuple[str, ...], machine: str) -> Recorded:
    """A recording of two stages a query whose durations tell size and query."""
    rows, profile = [], 0
    for factor in made.scale_factors:
        for query in made.queries:
            for stage, parents in enumerate(([], [0])):
                durations = [
                    {"wave": "rest_wave", "level": level, "duration_ms": [round(1000 * factor) + query + stage]}
                    for level in made.levels
                ]
                rows.append(
                    {"profile": profile, "query": str(query), "size": size_name(factor), "stage": stage}
                    | {"num_tasks": 3, "parents": parents, "durations": durations}
                )
            profile += 1
    runs = {size_name(factor): dict.fromkeys(made.levels, 1) for factor in made.scale_factors}
    metadata = record.trace_metadata(made, runs, list(days), f"on {machine}") | {"machine": {"processor": machine}}
    return Recorded(pa.Table.from_pylist(rows, TRACE), metadata, "made.parquet")


@pytest.fixture(autouse=True)
def _software(monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions of a machine that has Spark."""
    monkeypatch.setattr(record, "software", lambda: {"spark": "4.3.0"})


def both() -> tuple[Recorded, Recorded, Recorded]:
    """One recording of 0.5 and 10, one of 2 at level 2 alone, and the first extended by the second."""
    base = recording(plan(0.5, 10.0), days=("2026-01-01",), machine="first")
    more = recording(plan(2.0, levels=(2,)), days=("2026-02-02", "2026-02-03"), machine="second")
    return base, more, extended(base, more)


def test_profiles_stand_in_the_order_of_size_and_query(tmp_path: Path) -> None:
    base, more, joined = both()
    write_table(tmp_path / "joined.parquet", joined.stages, TRACE, joined.metadata)
    trace = read_trace(tmp_path / "joined.parquet")
    assert trace.jobs.select(["profile", "size", "query"]).to_pylist() == [
        {"profile": profile, "size": size, "query": query}
        for profile, (size, query) in enumerate((s, q) for s in ("0.5g", "2g", "10g") for q in ("2", "11"))
    ]
    assert trace.levels == (1, 2)
    kept = [name for name in TRACE.names if name != "profile"]
    for part in (base, more):
        for size in part.sizes:
            rows = [row for row in trace.stages.select(kept).to_pylist() if row["size"] == size]
            assert rows == [row for row in part.stages.select(kept).to_pylist() if row["size"] == size]


def test_each_recording_says_what_it_is() -> None:
    base, more, joined = both()
    first, second = recordings_of(joined.metadata)
    assert (first["sizes"], first["machine"], first["recorded"]) == (
        ["0.5g", "10g"],
        {"processor": "first"},
        ["2026-01-01"],
    )
    assert (second["sizes"], second["levels"], second["note"]) == (["2g"], [2], "on second")
    assert second["timed_runs_by_size_and_level"] == {"2g": {"2": 1}}
    assert joined.metadata["timed_runs_by_size_and_level"] == {
        "0.5g": {"1": 1, "2": 1},
        "10g": {"1": 1, "2": 1},
        "2g": {"2": 1},
    }
    assert joined.metadata["splits"] == base.metadata["splits"] | more.metadata["splits"]
    assert not {"software", "machine", "recorded", "note"} & joined.metadata.keys()  # no single one is true of all
    third = recording(plan(20.0, levels=(2,)), days=("2026-03-03",), machine="third")
    assert [entry["sizes"] for entry in recordings_of(extended(joined, third).metadata)] == [
        ["0.5g", "10g"],
        ["2g"],
        ["20g"],
    ]


@pytest.mark.parametrize(
    ("new", "change", "message"),
    [
        (plan(2.0, 10.0), {}, "holds size 10g already (it has 0.5g, 10g): leave it out"),
        (plan(2.0, driver_memory="8g"), {}, "other Spark settings: spark.driver.memory is 5g, now 8g: record all"),
        (plan(2.0, clock="wall"), {}, "recorded with other clock: 'processor time of a successful task"),
        (plan(2.0), {"10g": {}}, "size 10g was split otherwise: spark.sql.files.minPartitionNum is 72, now not set"),
    ],
    ids=["size", "memory", "clock", "splits"],
)
def test_what_does_not_go_together_is_refused(new: record.Plan, change: dict[str, Any], message: str) -> None:
    base = recording(plan(0.5, 10.0), days=("2026-01-01",), machine="first")
    sizes = [size_name(factor) for factor in new.scale_factors]
    splits = {"0.5g": splits_for(0.5).conf(), "10g": splits_for(10.0).conf()} | change
    with pytest.raises(ClearschedError) as refusal:
        check_extendable(base, sizes, record.common_metadata(new), splits)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_only_a_recording_can_be_extended(tmp_path: Path) -> None:
    base = recording(plan(0.5), days=("2026-01-01",), machine="first")
    for name, metadata in (("other", base.metadata | {"source": "synthetic"}), ("bare", {"source": "tpch-spark"})):
        path = tmp_path / f"{name}.parquet"
        write_table(path, base.stages, TRACE, metadata)
        with pytest.raises(ClearschedError, match=rf"{name}\.parquet: no recording by"):
            read_recording(path)
    with pytest.raises(ClearschedError, match="no such file"):
        read_recording(tmp_path / "none.parquet")


def test_a_recording_is_refused_before_anything_is_recorded(tmp_path: Path) -> None:
    base = recording(plan(0.5), days=("2026-01-01",), machine="first")
    path = tmp_path / "base.parquet"
    write_table(path, base.stages, TRACE, base.metadata)
    wanted: dict[str, Any] = {"levels": [1], "work": tmp_path / "work", "extend": path}
    with pytest.raises(ClearschedError, match=r"holds size 0\.5g already"):
        record.record_tpch(tmp_path / "out.parquet", scale_factors=[0.5, 1.0], **wanted)
    with pytest.raises(ClearschedError, match="--extend and --out name the same file"):
        record.record_tpch(path, scale_factors=[1.0], **wanted)
    assert not (tmp_path / "work").exists()


def test_a_recording_that_goes_on_holds_the_profiles_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished units are read from their event logs, and what was recorded before stands beside them."""
    base = recording(plan(0.5, queries=(4,)), days=("2026-01-01",), machine="first")
    more = recording(plan(1.0, queries=(4,)), days=("2026-02-02",), machine="second")
    path = tmp_path / "base.parquet"
    write_table(path, base.stages, TRACE, base.metadata)
    monkeypatch.setattr(record, "check_software", lambda: None)
    monkeypatch.setattr(record, "software", lambda: {"spark": "4.3.0"})
    monkeypatch.setattr(record.Plan, "folder", lambda *_: tmp_path)
    monkeypatch.setattr(record.Plan, "is_recorded", lambda *_: True)
    monkeypatch.setattr(record, "day_of", lambda unit: "2026-02-02")
    monkeypatch.setattr(record, "read_unit", lambda *_: record.Recording((), ((),)))
    monkeypatch.setattr(record, "profile_rows", lambda *_: more.stages.to_pylist())
    out = tmp_path / "out.parquet"
    wanted: dict[str, Any] = {"levels": [1, 2], "queries": [4], "work": tmp_path, "extend": path}
    record.record_tpch(out, scale_factors=[1.0], **wanted)
    assert read_trace(out).stages["size"].to_pylist() == ["0.5g"] * 2 + ["1g"] * 2
    assert [entry["sizes"] for entry in read_trace(out).metadata["recordings"]] == [["0.5g"], ["1g"]]
