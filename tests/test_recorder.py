"""The recorder: event logs written by hand, a tiny recording on a real Spark, and the embedded data set."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces.recorder import record, settings
from clearsched.problems.dag_jobs.traces.recorder.eventlog import Run, StageRun, TaskRun, read_events, read_runs
from clearsched.problems.dag_jobs.traces.recorder.profiles import Recording, match_cold, profile_rows, split_waves
from clearsched.schemas import read_table

EMBEDDED = Path(__file__).parents[1] / "data" / "tpch-spark.parquet"


def job_start(job: int, group: str | None, *stages: tuple[int, int, int, list[int]]) -> dict[str, Any]:
    """A job's start; a stage is (id, output dataset, number of tasks, ids of its parents)."""
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": job,
        "Stage Infos": [
            {
                "Stage ID": stage,
                "RDD Info": [{"RDD ID": rdd}, {"RDD ID": rdd - 1}],
                "Number of Tasks": num_tasks,
                "Parent IDs": parents,
            }
            for stage, rdd, num_tasks, parents in stages
        ],
        "Properties": {"spark.jobGroup.id": group} if group else {},
    }


def job_end(job: int, result: str = "JobSucceeded") -> dict[str, Any]:
    return {"Event": "SparkListenerJobEnd", "Job ID": job, "Job Result": {"Result": result}}


def task(stage: int, index: int, launch: int, finish: int, reason: str = "Success") -> dict[str, Any]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Task End Reason": {"Reason": reason},
        "Task Info": {
            "Index": index,
            "Launch Time": launch,
            "Finish Time": finish,
            "Failed": reason != "Success",
            "Killed": False,
        },
        "Task Metrics": {"Executor Deserialize CPU Time": 1_000_000, "Executor CPU Time": 2_600_000},
    }


def sorting_query(group: str = "query-1-run-1") -> list[dict[str, Any]]:
    """Scan and its sample in one job; then the sort, whose job lists the scan again and skips it."""
    return [
        job_start(0, group, (0, 10, 2, []), (1, 15, 1, [0])),
        task(0, 0, 0, 30),
        task(0, 1, 30, 50),
        task(1, 0, 50, 60),
        job_end(0),
        job_start(1, group, (2, 10, 2, []), (3, 20, 1, [2]), (4, 25, 1, [3])),
        task(3, 0, 60, 75),
        task(4, 0, 75, 76),
        job_end(1),
    ]


def test_skipped_stage_is_the_one_that_ran() -> None:
    run = read_runs(sorting_query())["query-1-run-1"]
    assert [stage.num_tasks for stage in run] == [2, 1, 1, 1]
    # The sort reads the scan (stage 2 was skipped: it is stage 0) and waits for the earlier job's result, the sample.
    assert [stage.parents for stage in run] == [(), (0,), (0, 1), (2,)]
    assert run[0].tasks == (TaskRun(0, 30, 4), TaskRun(30, 50, 4))  # 1.0 + 2.6 ms of processor time


def test_stage_numbers_follow_the_plan_not_sparks_ids() -> None:
    """The same join twice; Spark numbers its two scans the other way round the second time."""
    logs = []
    for first, second in ((0, 1), (1, 0)):
        logs.append(
            [
                job_start(0, "q", (first, 10, 3, []), (second, 12, 4, []), (2, 15, 1, [0, 1])),
                *(task(first, index, index, index + 1) for index in range(3)),
                *(task(second, index, index, index + 1) for index in range(4)),
                task(2, 0, 9, 10),
                job_end(0),
            ]
        )
    one, other = (read_runs(log)["q"] for log in logs)
    assert one == other
    assert [stage.num_tasks for stage in one] == [3, 4, 1]


def test_sort_waits_for_both_samples() -> None:
    """A sort whose input is sampled twice, in jobs of their own, before it is sorted in a third."""
    events = [
        job_start(0, "q", (0, 10, 1, []), (1, 15, 1, [0])),
        task(0, 0, 0, 30),
        task(1, 0, 30, 40),
        job_end(0),
        job_start(1, "q", (2, 10, 1, []), (3, 18, 1, [2])),
        task(3, 0, 40, 45),
        job_end(1),
        job_start(2, "q", (4, 10, 1, []), (5, 20, 1, [4])),
        task(5, 0, 45, 60),
        job_end(2),
    ]
    assert [stage.parents for stage in read_runs(events)["q"]] == [(), (0,), (0, 1), (0, 1, 2)]


def test_scalar_subquery_is_a_second_component() -> None:
    """Two jobs of one group that share no stage stay side by side; a job of no group is left out."""
    events = [
        job_start(7, None, (0, 1, 1, [])),
        task(0, 0, 0, 5),
        job_end(7),
        job_start(8, "query-22-run-1", (1, 10, 1, []), (2, 12, 1, [1])),
        task(1, 0, 10, 20),
        task(2, 0, 20, 25),
        job_end(8),
        job_start(9, "query-22-run-1", (3, 20, 1, []), (4, 22, 1, [3])),
        task(3, 0, 30, 40),
        task(4, 0, 40, 45),
        job_end(9),
    ]
    runs = read_runs(events)
    assert list(runs) == ["query-22-run-1"]
    assert [stage.parents for stage in runs["query-22-run-1"]] == [(), (0,), (), (2,)]


def test_failed_task_is_ignored() -> None:
    events = [
        job_start(0, "q", (0, 10, 1, [])),
        task(0, 0, 0, 400, "ExceptionFailure"),
        task(0, 0, 400, 407),
        job_end(0),
    ]
    assert read_runs(events)["q"][0].tasks == (TaskRun(400, 407, 4),)


@pytest.mark.parametrize(
    "events",
    [
        sorting_query()[:-1],
        [*sorting_query()[:-1], job_end(1, "JobFailed")],
        [event for event in sorting_query() if event != task(0, 1, 30, 50)],
    ],
    ids=["cut off", "failed", "task missing"],
)
def test_incomplete_run_is_left_out(events: list[dict[str, Any]]) -> None:
    assert read_runs(events) == {}


def test_stage_of_another_group_is_refused() -> None:
    events = [job_start(0, "q", (4, 10, 2, []), (5, 12, 1, [4])), task(5, 0, 0, 1), job_end(0)]
    with pytest.raises(ClearschedError, match="stage 5 reads stage 4, which the group never ran"):
        read_runs(events)


def test_last_line_may_be_cut_off(tmp_path: Path) -> None:
    lines = [json.dumps(event) for event in [{"Event": "SparkListenerLogStart"}, *sorting_query()]]
    log = tmp_path / "log"
    log.write_text("\n".join([*lines, '{"Event":"SparkListenerTaskEnd","Sta']), encoding="utf-8")
    assert read_runs(read_events(log)) == read_runs(sorting_query())
    log.write_text("\n".join([lines[1], '{"Event":"SparkListenerTaskEnd","Sta', lines[-1]]), encoding="utf-8")
    with pytest.raises(ClearschedError, match="line 2: not a JSON event"):
        list(read_events(log))


def test_waves_by_core() -> None:
    """Two cores, stepped by hand: stage 0 has three tasks, then stage 1 has three.

    Core A runs 0-10 (first), core B 0-30 (first); A runs 10-25 (rest). A is free at 25: stage 1 from 26 to 36
    (first). B is free at 30: 31-41 (first). The task of 35 begins a moment before A is noted as free at 36; it is
    A's (rest), and its 0 ms count as 1.
    """
    run: Run = (
        StageRun((), (TaskRun(0, 10, 7), TaskRun(0, 30, 20), TaskRun(10, 25, 8))),
        StageRun((0,), (TaskRun(26, 36, 5), TaskRun(31, 41, 5), TaskRun(35, 35, 0))),
    )
    first, second = split_waves(run, 2, "wall")
    assert sorted(first.first) == [10, 30] and first.rest == [15]
    assert second.first == [10, 10] and second.rest == [1]
    busy, short = split_waves(run, 2, "processor")
    assert (sorted(busy.first), busy.rest) == ([7, 20], [8])
    assert (short.first, short.rest) == ([5, 5], [1])
    alone = split_waves(run, 1, "wall")
    assert [len(wave.first) for wave in alone] == [1, 1]


def stages(*counts: int, parents: tuple[tuple[int, ...], ...]) -> Run:
    """A run whose tasks follow each other on one core, each of 5 ms."""
    return tuple(
        StageRun(mine, tuple(TaskRun(5 * i, 5 * i + 5, 5) for i in range(count)))
        for count, mine in zip(counts, parents, strict=True)
    )


def test_runs_are_merged() -> None:
    chain = ((), (0,))
    recording = Recording(stages(2, 1, parents=chain), (stages(3, 1, parents=chain), stages(3, 1, parents=chain)))
    rows = profile_rows(4, "6", "1g", {1: recording}, "wall")
    assert [(row["profile"], row["stage"], row["num_tasks"], row["parents"]) for row in rows] == [
        (4, 0, 3, []),
        (4, 1, 1, [0]),
    ]
    lengths = {entry["wave"]: len(entry["duration_ms"]) for entry in rows[0]["durations"]}
    assert lengths == {"first_wave": 2, "rest_wave": 4, "fresh": 1}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            stages(3, 2, parents=((), (0,))),
            r"level 1, run 2: tasks by stage \[3, 2\] where the first run had \[3, 1\]",
        ),
        (stages(3, 1, parents=((), ())), "level 1, run 2: 2 stages with other dependencies"),
        (stages(3, parents=((),)), "level 1, run 2: 1 stages with other dependencies"),
    ],
    ids=["tasks", "edges", "stages"],
)
def test_mismatching_runs_are_refused(other: Run, message: str) -> None:
    run = stages(3, 1, parents=((), (0,)))
    with pytest.raises(ClearschedError, match=f"query 6, size 1g, {message}"):
        profile_rows(0, "6", "1g", {1: Recording(run, (run, other))}, "wall")


def test_cold_run_may_lack_a_second_sample() -> None:
    """The timed run samples its input again (stage 2), which the cold run on little data did not."""
    reference = stages(3, 2, 1, 2, 1, parents=((), (0,), (0, 1), (0, 1, 2), (3,)))
    cold = stages(2, 1, 1, 1, parents=((), (0,), (0, 1), (2,)))
    assert match_cold("here", reference, cold) == [0, 1, None, 2, 3]
    rows = profile_rows(0, "20", "2g", {1: Recording(cold, (reference,))}, "wall")
    fresh = [entry["duration_ms"] for row in rows for entry in row["durations"] if entry["wave"] == "fresh"]
    assert fresh == [[5], [5], [], [5], [5]]
    with pytest.raises(ClearschedError, match="here, run 0: 2 stages with other dependencies than the timed runs' 5"):
        match_cold("here", reference, cold[:2])


def test_cold_run_of_another_plan_has_no_fresh_durations() -> None:
    """Spark joins little data in another way than much: no stage of one plan is one of the other."""
    reference = stages(3, 2, 1, 2, 1, parents=((), (0,), (0, 1), (0, 1, 2), (3,)))
    cold = stages(2, 1, parents=((), ()))
    assert match_cold("here", reference, cold) == [None] * 5
    rows = profile_rows(0, "7", "50g", {2: Recording(cold, (reference,))}, "wall")
    assert not record.has_fresh(rows)
    assert record.has_fresh(profile_rows(0, "7", "50g", {2: Recording(reference, (reference,))}, "wall"))


def test_splits_grow_with_the_data() -> None:
    assert settings.splits_for(1.0) == settings.Splits(32, 20)
    assert settings.splits_for(10.0) == settings.Splits(72, 45)
    assert settings.warmup_splits_for(1.0) == settings.Splits(6, 4)
    assert settings.warmup_splits_for(10.0) == settings.Splits(4, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale_factors": [0.0]}, "scale factor 0: must be from 0.01 to 1000"),
        ({"queries": [23]}, "query 23: must be from 1 to 22"),
        ({"levels": [0]}, "level 0: must be from 1"),
        ({"repetitions": 0}, "repetitions 0: must be from 1"),
        ({"clock": "sun"}, "clock sun: must be one of processor, wall"),
    ],
)
def test_arguments_out_of_range(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    out = tmp_path / "trace.parquet"
    with pytest.raises(ClearschedError, match=message):
        record.record_tpch(out, work=tmp_path, **changes)
    assert not out.exists()


def test_missing_software_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(ClearschedError, match=r"needs the package pyspark, .*clearsched\[spark\]"):
        settings.check_software()
    monkeypatch.setattr(importlib.metadata, "version", lambda package: "1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ClearschedError, match="needs Java 17"):
        settings.check_software()


needs_spark = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None or not shutil.which("java"), reason="needs pyspark and Java"
)


@pytest.mark.slow
@needs_spark
def test_record_and_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Query 4 of a tiny data set at one level; a second recording runs nothing."""
    out = tmp_path / "trace.parquet"
    wanted: dict[str, Any] = {
        "scale_factors": [0.01],
        "levels": [1],
        "repetitions": 2,
        "work": tmp_path / "work",
        "queries": [4],
        "driver_memory": "1g",
    }
    record.record_tpch(out, **wanted)
    table, metadata = read_table(out, TRACE)
    rows = table.to_pylist()
    check_profile(rows)
    assert len(rows) == 6  # orders, lineitem, join, sample of the result, the sort's exchange, the result
    assert rows[0]["query"] == "4" and rows[0]["size"] == "0.01g"
    assert metadata["levels"] == [1] and metadata["notice"] == settings.NOTICE
    unit = json.loads(next((tmp_path / "work").rglob("query-4.json")).read_text(encoding="utf-8"))
    assert unit["num_rows"] == 5  # one row a priority

    monkeypatch.setattr(record, "record_level", None)
    record.record_tpch(out, **wanted)
    assert read_table(out, TRACE)[0].equals(table)


# Some columns of the first row of each query's published answer (TPC-H, qualification database, scale factor 1).
ANSWERS: dict[int, tuple[int, dict[str, str]]] = {
    1: (4, {"sum_qty": "37734107.00", "sum_disc_price": "53758257134.8700", "count_order": "1478493"}),
    2: (100, {"s_acctbal": "9938.53", "s_name": "Supplier#000005359", "p_partkey": "185358"}),
    3: (10, {"l_orderkey": "2456423", "revenue": "406181.0111"}),
    4: (5, {"o_orderpriority": "1-URGENT", "order_count": "10594"}),
    5: (5, {"n_name": "INDONESIA", "revenue": "55502041.1697"}),
    6: (1, {"revenue": "123141078.2283"}),
    7: (4, {"supp_nation": "FRANCE", "l_year": "1995", "revenue": "54639732.7336"}),
    8: (2, {"o_year": "1995", "mkt_share": "0.0344"}),
    9: (175, {"nation": "ALGERIA", "o_year": "1998", "sum_profit": "27136900.1803"}),
    10: (20, {"c_custkey": "57040", "revenue": "734235.2455"}),
    11: (1048, {"ps_partkey": "129760", "value": "17538456.86"}),
    12: (2, {"l_shipmode": "MAIL", "high_line_count": "6202", "low_line_count": "9324"}),
    13: (42, {"c_count": "0", "custdist": "50005"}),
    14: (1, {"promo_revenue": "16.38"}),
    15: (1, {"s_suppkey": "8449", "total_revenue": "1772627.2087"}),
    16: (18314, {"p_brand": "Brand#41", "p_type": "MEDIUM BRUSHED TIN", "supplier_cnt": "28"}),
    17: (1, {"avg_yearly": "348406.05"}),
    18: (57, {"o_orderkey": "4722021", "o_totalprice": "544089.09", "sum_quantity": "323.00"}),
    19: (1, {"revenue": "3083843.0578"}),
    20: (186, {"s_name": "Supplier#000000020"}),
    21: (100, {"s_name": "Supplier#000002829", "numwait": "20"}),
    22: (7, {"cntrycode": "13", "numcust": "888", "totacctbal": "6737713.99"}),
}


@pytest.mark.slow
@needs_spark
def test_published_answers(tmp_path: Path) -> None:
    """All 22 queries at scale factor 1 (some minutes) against the answers published with the benchmark."""
    from clearsched.problems.dag_jobs.traces.recorder.queries import QUERIES, read_tables
    from clearsched.problems.dag_jobs.traces.recorder.worker import start_session

    work = record.Plan((1.0,), (2,), record.ALL_QUERIES, None, tmp_path, "4g")
    folder = record.generate_tables(work, 1.0, settings.row_group_bytes(1.0))
    conf = settings.spark_conf(2, tmp_path, tmp_path, "4g") | settings.splits_for(1.0).conf()
    spark = start_session(conf | {"spark.eventLog.enabled": "false"})
    try:
        tables = read_tables(spark, folder, 1.0)
        for query, (num_rows, expected) in ANSWERS.items():
            rows = QUERIES[query](tables).collect()
            first = {name: str(rows[0][name]) for name in expected}
            assert len(rows) == num_rows, f"query {query}"
            assert all(first[name].startswith(value) for name, value in expected.items()), f"query {query}: {first}"
    finally:
        spark.stop()


def check_profile(rows: list[dict[str, Any]]) -> None:
    """Stages in order, parents before children, and durations of every level that fit the number of tasks."""
    for index, row in enumerate(rows):
        assert row["stage"] == index and row["num_tasks"] >= 1
        assert all(0 <= parent < index for parent in row["parents"])
        for level in {entry["level"] for entry in row["durations"]}:
            lists = {entry["wave"]: entry["duration_ms"] for entry in row["durations"] if entry["level"] == level}
            assert min(min(durations, default=1) for durations in lists.values()) >= 1
            timed = len(lists["first_wave"]) + len(lists["rest_wave"])
            assert timed >= row["num_tasks"] and timed % row["num_tasks"] == 0
            assert len(lists["fresh"]) <= level
            assert len(lists["first_wave"]) <= level * timed // row["num_tasks"]


def test_embedded_data_set() -> None:
    table, metadata = read_table(EMBEDDED, TRACE)
    profiles: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        profiles.setdefault(row["profile"], []).append(row)
    assert list(profiles) == list(range(len(profiles)))
    for rows in profiles.values():
        check_profile(rows)
    sizes = list(dict.fromkeys(table["size"].to_pylist()))
    assert sizes == ["0.5g", "1g", "2g", "5g", "10g", "20g", "50g"]
    names = [(rows[0]["size"], rows[0]["query"]) for rows in profiles.values()]
    assert names == [(size, str(query)) for size in sizes for query in range(1, 23)]
    assert metadata["notice"] == "derived from TPC-H, not comparable to published TPC-H results"
    made = {size: recording for recording in metadata["recordings"] for size in recording["sizes"]}
    assert list(made) == sizes  # each in one recording, which says what it was made with
    for size, recording in made.items():
        assert {"spark", "java", "tpchgen-cli", "python", "system"} <= recording["software"].keys()
        levels = {e["level"] for row in table.to_pylist() if row["size"] == size for e in row["durations"]}
        assert levels == set(recording["levels"]) == set(map(int, recording["timed_runs_by_size_and_level"][size]))
    assert EMBEDDED.stat().st_size < 400_000
