"""Source spark-eventlog: logs written by hand for what occurs in real ones, and those of Spark's own codecs."""

from __future__ import annotations

import gzip
import json
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import lz4.block
import lz4.frame
import numpy as np
import pyarrow as pa
import pytest
import zstandard

import test_recorder as recorder
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import SparkEventlogParams
from clearsched.problems.dag_jobs.traces import Trace, read_trace
from clearsched.problems.dag_jobs.traces.recorder.eventlog import read_runs
from clearsched.problems.dag_jobs.traces.recorder.profiles import Recording, profile_rows
from clearsched.problems.dag_jobs.traces.spark_eventlog import units, write
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.codecs import CodecError, open_log
from clearsched.problems.dag_jobs.traces.spark_eventlog.dag import connect
from clearsched.problems.dag_jobs.traces.spark_eventlog.lines import NotAnEventError, from_dict, parse_line
from clearsched.problems.dag_jobs.traces.spark_eventlog.logs import find_logs
from clearsched.problems.dag_jobs.traces.spark_eventlog.waves import FIRST_WAVE, FRESH, REST_WAVE, split_waves
from clearsched.problems.dag_jobs.traces.summary import Summary

LOGS = Path(__file__).parent / "eventlogs"
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"

Events = list[dict[str, Any]]


def app_start(name: str = "app-1") -> dict[str, Any]:
    return {"Event": "SparkListenerApplicationStart", "App Name": "test", "App ID": name, "Timestamp": 1}


def executor(name: str, cores: int) -> dict[str, Any]:
    return {"Event": "SparkListenerExecutorAdded", "Executor ID": name, "Executor Info": {"Total Cores": cores}}


def job(number: int, at: int, *stages: tuple[int, int, int, list[int]], **properties: str) -> dict[str, Any]:
    """A Spark job's start at a time; a stage is (id, output dataset, number of tasks, ids of its parents).

    Properties: `sql` and `group` for those of Spark, others by name.
    """
    names = {"sql": "spark.sql.execution.id", "group": "spark.jobGroup.id", "text": "spark.job.description"}
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Submission Time": at,
        "Stage Infos": [
            {
                "Stage ID": stage,
                "Stage Name": f"count at Test.scala:{stage}",
                "Number of Tasks": num_tasks,
                "RDD Info": [{"RDD ID": rdd, "Name": "x"}, {"RDD ID": rdd - 1, "Name": "y"}],
                "Parent IDs": parents,
            }
            for stage, rdd, num_tasks, parents in stages
        ],
        "Properties": {names.get(key, key): value for key, value in properties.items()},
    }


def end(number: int, result: str = "JobSucceeded") -> dict[str, Any]:
    return {"Event": "SparkListenerJobEnd", "Job ID": number, "Job Result": {"Result": result}}


def task(
    stage: int,
    index: int,
    launch: int,
    finish: int,
    reason: str = "Success",
    executor: str = "1",
    attempt: int = 0,
    partition: int | None = None,
    speculative: bool = False,
    processor_ms: int | None = 3,
    read_bytes: int = 0,
    kind: str = "",
) -> dict[str, Any]:
    info = {
        "Task ID": 0,
        "Index": index,
        "Launch Time": launch,
        "Finish Time": finish,
        "Executor ID": executor,
        "Speculative": speculative,
        "Failed": reason not in ("Success", "TaskKilled", "Resubmitted"),
        "Killed": reason == "TaskKilled",
    }
    metrics: dict[str, Any] = {"Input Metrics": {"Bytes Read": read_bytes, "Records Read": 0}}
    if processor_ms is not None:
        metrics |= {"Executor Deserialize CPU Time": 1_000_000, "Executor CPU Time": (processor_ms - 1) * 1_000_000}
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": attempt,
        "Task Type": kind,
        "Task End Reason": {"Reason": reason},
        "Task Info": info if partition is None else info | {"Partition ID": partition},
        "Task Metrics": metrics,
    }


def two_stages(at: int = 0, first: int = 0, **properties: str) -> Events:
    """A Spark job of a map of two tasks (10 and 30 ms) and a reduce of one (5 ms); ids count from `first`."""
    return [
        job(first, at, (first, 10, 2, []), (first + 1, 15, 1, [first]), **properties),
        task(first, 0, at, at + 10),
        task(first, 1, at + 10, at + 40),
        task(first + 1, 0, at + 40, at + 45),
        end(first),
    ]


def text(events: Iterable[dict[str, Any]]) -> bytes:
    """A log as Spark writes it: one event a line, no blanks."""
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def build(tmp_path: Path, events: Events | bytes, **options: Any) -> tuple[Trace, Summary]:
    """The trace of a log, and the account."""
    log = tmp_path / "app-1"
    log.write_bytes(events if isinstance(events, bytes) else text(events))
    return build_path(tmp_path, log, **options)


def build_path(tmp_path: Path, path: Path, **options: Any) -> tuple[Trace, Summary]:
    out = tmp_path / "out" / "trace.parquet"
    summary = write(path, out, SparkEventlogParams(**options), 0)
    return read_trace(out), summary


def shape(trace: Trace) -> list[list[tuple[int, list[int]]]]:
    """Tasks and parents of each stage of each profile."""
    profiles: list[list[tuple[int, list[int]]]] = [[] for _ in range(trace.num_profiles)]
    for row in trace.stages.select(["profile", "num_tasks", "parents"]).to_pylist():
        profiles[row["profile"]].append((row["num_tasks"], row["parents"]))
    return profiles


def durations(trace: Trace, row: int) -> dict[str, list[int]]:
    return {entry["wave"]: entry["duration_ms"] for entry in trace.stages["durations"][row].as_py()}


# --- one job ---------------------------------------------------------------------------------------------------------


def test_one_job_by_hand(tmp_path: Path) -> None:
    events = [app_start(), executor("1", 1), *two_stages(1000, sql="0")]
    trace, summary = build(tmp_path, events)
    assert shape(trace) == [[(2, []), (1, [0])]]
    assert durations(trace, 0) == {"first_wave": [], "rest_wave": [30], "fresh": [10]}
    assert durations(trace, 1) == {"first_wave": [5], "rest_wave": [], "fresh": []}
    assert trace.levels == (1,)
    assert trace.stages["arrival_ms"].to_pylist() == [0, 0] and trace.stages["cpu"].to_pylist() == [1, 1]
    assert (summary.jobs, summary.stages, summary.tasks, summary.work_executor_s) == (1, 2, 3, (2 * 30 + 5) / 1000)
    assert summary.skipped == summary.survived == {}
    assert trace.metadata["summary"]["tasks"] == 3 and trace.metadata["inputs"]["files"] == 1


def test_processor_clock(tmp_path: Path) -> None:
    events = [executor("1", 1), *two_stages()]
    events[-2]["Task Metrics"] = None
    trace, summary = build(tmp_path, events, clock="processor")
    assert durations(trace, 0)["rest_wave"] == [3]  # 1 ms to deserialise, 2 ms to run
    assert durations(trace, 1)["first_wave"] == [5]
    assert summary.survived == {units.NO_PROCESSOR_TIME: 1}


def test_missing_submission_time(tmp_path: Path) -> None:
    first, second = two_stages(500, 0), two_stages(700, 5)
    del second[0]["Submission Time"]
    trace, summary = build(tmp_path, [*first, *second])
    assert sorted(set(trace.stages["arrival_ms"].to_pylist())) == [0, 200]
    assert summary.survived == {units.NO_SUBMISSION: 1}


def test_template_and_size(tmp_path: Path) -> None:
    """The same code twice, on other data and on another day, has one name; other code has another."""

    def day(number: int, at: int, tasks: int, first: int, read_bytes: int, text: str) -> Events:
        stages = ((first, 10 + first, tasks, []),)
        return [
            job(first, at, *stages, text=text),
            *(task(first, i, at, at + 1, read_bytes=read_bytes) for i in range(tasks)),
            end(first),
        ]

    trace, _ = build(
        tmp_path,
        [
            *day(1, 0, 2, 0, 20, "load 2024-01-31"),
            *day(2, 10, 7, 5, 2_000_000, "load 2024-02-01"),
            *day(3, 20, 2, 9, 0, "clean"),
        ],
    )
    names = trace.jobs["query"].to_pylist()
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("load #-#-# ") and names[2].startswith("clean ")
    assert trace.jobs["size"].to_pylist() == ["10b", "10m", ""]


def test_size_is_the_power_of_ten_below() -> None:
    assert [units.size_of(n) for n in (0, 1, 999, 1000, 12_345_678, 10**9, 10**20)] == [
        "",
        "1b",
        "100b",
        "1k",
        "10m",
        "1g",
        "100p",
    ]


# --- what becomes one job --------------------------------------------------------------------------------------------


def three_spark_jobs() -> Events:
    """Two Spark jobs of one execution and group, the second of which reads the first's output; one of none."""
    return [
        *two_stages(0, 0, sql="7", group="a"),
        job(2, 60, (4, 10, 2, []), (5, 20, 1, [4]), sql="7", group="a"),
        task(5, 0, 60, 70),
        end(2),
        job(3, 90, (6, 30, 1, [])),
        task(6, 0, 90, 95),
        end(3),
    ]


@pytest.mark.parametrize(
    ("kind", "shapes"),
    [
        ("sql-execution", [[(2, []), (1, [0]), (1, [0, 1])], [(1, [])]]),
        ("job-group", [[(2, []), (1, [0]), (1, [0, 1])], [(1, [])]]),
        ("application", [[(2, []), (1, [0]), (1, [0, 1]), (1, [2])]]),
    ],
)
def test_what_becomes_one_job(tmp_path: Path, kind: str, shapes: list[Any]) -> None:
    """The stage that reads the skipped stage 4 (it is stage 0) also waits for the end of the Spark job before."""
    trace, _ = build(tmp_path, three_spark_jobs(), job=kind)
    assert shape(trace) == shapes


def test_job_that_reads_what_another_job_computed(tmp_path: Path) -> None:
    events = [
        *two_stages(0, 0, sql="1"),
        job(2, 60, (4, 10, 2, []), (5, 20, 1, [4]), sql="2"),
        task(5, 0, 60, 70),
        end(2),
    ]
    trace, summary = build(tmp_path, events)
    assert shape(trace) == [[(2, []), (1, [0])], [(1, [])]]
    assert summary.survived == {units.ELSEWHERE: 1}


def test_edges_go_through_outputs_that_were_there() -> None:
    """Stage 2 was skipped and its dataset never computed here, but that of its parent was: stage 3 waits for that."""
    application = collect(
        [
            job(0, 0, (0, 10, 1, [])),
            task(0, 0, 0, 5),
            end(0),
            job(1, 10, (1, 10, 1, []), (2, 15, 1, [1]), (3, 20, 1, [2])),
            task(3, 0, 10, 20),
            end(1),
        ]
    )
    dag = connect(list(application.jobs.values()), application.stages, [0, 3], sequence=False)
    assert dag.parents == ((), (0,)) and dag.elsewhere == ((3, 2),)


def collect(events: Events) -> Application:
    application = Application()
    for event in events:
        parsed = from_dict(event)
        if parsed is not None:
            application.add(parsed)
    return application


def spark_jobs(*times: tuple[int, int]) -> Events:
    """Spark jobs of one stage and one task each, none reads another; each is submitted and ended at the given times."""
    moments: list[tuple[int, int, Events]] = []
    for number, (start, stop) in enumerate(times):
        one = number + 1
        moments.append((start, 1, [job(one, start, (one, 10 * one, 1, []), sql="0"), task(one, 0, start, stop)]))
        moments.append((stop, 0, [end(one)]))
    return [event for _, _, events in sorted(moments, key=lambda moment: moment[:2]) for event in events]


@pytest.mark.parametrize(
    ("times", "parents"),
    [
        ([(0, 5), (6, 9), (10, 12)], [(), (0,), (1,)]),  # one after the other
        ([(0, 5), (1, 9), (10, 12)], [(), (), (0, 1)]),  # two tables to broadcast at once, then the join
        ([(0, 20), (1, 9), (10, 12), (21, 22)], [(), (), (1,), (0, 2)]),
        ([(0, 5), (0, 5), (0, 5)], [(), (), ()]),
    ],
)
def test_order_of_submission(tmp_path: Path, times: Sequence[tuple[int, int]], parents: list[tuple[int, ...]]) -> None:
    trace, summary = build(tmp_path, spark_jobs(*times))
    assert [tuple(parents) for _, parents in shape(trace)[0]] == parents
    assert summary.survived.get(units.IN_SEQUENCE, 0) == sum(map(bool, parents))
    trace, summary = build(tmp_path, spark_jobs(*times), sequence=False)
    assert [parents for _, parents in shape(trace)[0]] == [[]] * len(times)
    assert units.IN_SEQUENCE not in summary.survived


def test_adaptive_query(tmp_path: Path) -> None:
    """Two scans at once, each a Spark job; the aggregate of the first does not wait for the second, which goes on;
    the join, submitted when the second has ended, reads both.
    """
    events = [
        job(0, 0, (0, 10, 1, []), sql="0"),
        job(1, 0, (1, 20, 1, []), sql="0"),
        task(0, 0, 0, 5),
        end(0),
        job(2, 5, (2, 10, 1, []), (3, 30, 1, [2]), sql="0"),
        task(3, 0, 5, 8),
        end(2),
        task(1, 0, 0, 20),
        end(1),
        job(3, 20, (4, 10, 1, []), (5, 30, 1, [4]), (6, 20, 1, []), (7, 40, 1, [5, 6]), sql="0"),
        task(7, 0, 20, 25),
        end(3),
    ]
    trace, _ = build(tmp_path, events)
    assert shape(trace) == [[(1, []), (1, []), (1, [0]), (1, [1, 2])]]


def test_broadcast_join(tmp_path: Path) -> None:
    """A table is collected to be broadcast while another is shuffled; the join has an edge from the shuffle only, but
    it is submitted when both are there, and waits for both.
    """
    events = [
        job(0, 0, (0, 10, 1, []), sql="0"),
        job(1, 0, (1, 20, 1, []), sql="0"),
        task(0, 0, 0, 5, kind="ResultTask"),
        end(0),
        task(1, 0, 0, 20, kind="ShuffleMapTask"),
        end(1),
        job(2, 20, (2, 20, 1, []), (3, 30, 1, [2]), sql="0"),
        task(3, 0, 20, 25, kind="ResultTask"),
        end(2),
    ]
    assert shape(build(tmp_path, events)[0]) == [[(1, []), (1, []), (1, [0, 1])]]
    assert shape(build(tmp_path, events, sequence=False)[0]) == [[(1, []), (1, []), (1, [1])]]


def test_result_of_the_same_dataset_is_not_its_shuffle() -> None:
    """Dataset 10 is counted, then shuffled; the Spark job that skips the shuffle reads that, not the count."""
    application = collect(
        [
            job(0, 0, (0, 10, 1, [])),
            task(0, 0, 0, 5, kind="ResultTask"),
            end(0),
            job(1, 10, (1, 10, 1, []), (2, 20, 1, [1])),
            task(1, 0, 10, 15, kind="ShuffleMapTask"),
            task(2, 0, 15, 20, kind="ResultTask"),
            end(1),
            job(2, 30, (3, 10, 1, []), (4, 30, 1, [3])),
            task(4, 0, 30, 40, kind="ResultTask"),
            end(2),
        ]
    )
    dag = connect(list(application.jobs.values()), application.stages, [0, 1, 2, 4], sequence=False)
    assert [stage.id for stage in dag.stages] == [0, 1, 2, 4]
    assert dag.parents[3] == (0, 1, 2)  # the shuffle, and the results of the Spark jobs that read the dataset before


# --- tasks, attempts, executors --------------------------------------------------------------------------------------


def table(*attempts: tuple[int, int, int]) -> np.ndarray:
    """Attempts as (launch, finish, executor)."""
    return np.asarray([(launch, finish, -1, one, i, 1) for i, (launch, finish, one) in enumerate(attempts)], np.int64)


def test_waves_of_two_executors_stepped_by_hand() -> None:
    """Executor 0 has two cores, executor 1 one. Stage 0: at 0 both cores of 0 and that of 1 get a fresh task; at 10 a
    core of 0 goes on (rest), at 12 that of 1. Stage 1: at 20 the core that ended at 15 is new to the stage (first); at
    21 it is still busy, so the other core is; at 30 the core of 1; at 35 and 36 cores go on.
    """
    first = table((0, 10, 0), (0, 15, 0), (0, 12, 1), (10, 20, 0), (12, 20, 1))
    second = table((20, 35, 0), (21, 36, 0), (30, 40, 1), (35, 37, 0), (41, 45, 1))
    waves, slots = split_waves([first, second], {0: 2, 1: 1})
    assert waves[0].tolist() == [FRESH, FRESH, FRESH, REST_WAVE, REST_WAVE]
    assert waves[1].tolist() == [FIRST_WAVE, FIRST_WAVE, FIRST_WAVE, REST_WAVE, REST_WAVE]
    assert slots == 3


def test_cores_of_an_unknown_executor_are_the_most_at_once() -> None:
    tasks = table((0, 10, 0), (5, 15, 0), (10, 20, 0), (15, 30, 0))
    waves, slots = split_waves([tasks], {})
    assert slots == 2 and waves[0].tolist() == [FRESH, FRESH, REST_WAVE, REST_WAVE]


def test_tasks_of_several_cores(tmp_path: Path) -> None:
    """Four cores and two for a task: two slots."""
    events = [executor("1", 4), job(0, 0, (0, 1, 3, []), **{"spark.task.cpus": "2"})]
    events += [task(0, 0, 0, 10), task(0, 1, 0, 10), task(0, 2, 10, 20), end(0)]
    trace, _ = build(tmp_path, events)
    assert trace.levels == (2,) and trace.stages["cpu"].to_pylist() == [2]
    assert durations(trace, 0) == {"first_wave": [], "rest_wave": [10], "fresh": [10, 10]}


def test_failed_killed_and_speculative_attempts(tmp_path: Path) -> None:
    """Partition 0 fails first; of partition 1 a copy wins, and the original is killed; of partition 2 both succeed."""
    events = [
        executor("1", 1),
        executor("2", 1),
        job(0, 0, (0, 1, 3, [])),
        task(0, 0, 0, 7, "ExceptionFailure"),
        task(0, 0, 7, 20),
        task(0, 1, 10, 25, executor="2", speculative=True),
        task(0, 1, 20, 26, "TaskKilled"),
        task(0, 2, 30, 34, executor="2"),
        task(0, 2, 30, 40, speculative=True),
        end(0),
    ]
    trace, summary = build(tmp_path, events)
    assert trace.stages["num_tasks"].to_pylist() == [3]
    # The attempt that failed warmed its executor, so the next one on it is no fresh one.
    assert durations(trace, 0) == {"first_wave": [], "rest_wave": [4, 13], "fresh": [15]}
    assert summary.survived == {
        "attempts at tasks that failed": 1,
        "attempts at tasks that were killed": 1,
        "speculative copies of tasks": 2,
        "tasks that succeeded again, in a copy or another attempt at their stage": 1,
    }


@pytest.mark.parametrize("noted", [True, False], ids=["partition noted", "old version"])
def test_lost_executor_and_retried_stage(tmp_path: Path, noted: bool) -> None:
    """Executor 2 is lost with the output of partition 1 and while it runs partition 2. The stage is tried again for
    these two, which are indices 0 and 1 of the second attempt; partition 1 counted before.
    """

    def retry(index: int, partition: int, launch: int, finish: int) -> dict[str, Any]:
        return task(0, index, launch, finish, attempt=1, partition=partition if noted else None)

    events = [
        executor("1", 1),
        executor("2", 1),
        job(0, 0, (0, 1, 3, []), (1, 5, 1, [0])),
        task(0, 0, 0, 10, partition=0 if noted else None),
        task(0, 1, 0, 11, executor="2", partition=1 if noted else None),
        task(0, 2, 11, 15, "ExecutorLostFailure", executor="2", partition=2 if noted else None),
        {"Event": "SparkListenerExecutorRemoved", "Executor ID": "2", "Removed Reason": "Container exited with 137"},
        task(0, 1, 0, 11, "Resubmitted", executor="2", partition=1 if noted else None),
        task(1, 0, 12, 14, "FetchFailed"),
        *([retry(0, 1, 20, 27), retry(1, 2, 27, 33)] if noted else [retry(1, 2, 27, 33), retry(0, 1, 33, 40)]),
        task(1, 0, 40, 45, attempt=1),
        end(0),
    ]
    trace, summary = build(tmp_path, events)
    assert shape(trace) == [[(3, []), (1, [0])]]
    assert durations(trace, 0) == {"first_wave": [], "rest_wave": [6], "fresh": [10, 11]}
    assert durations(trace, 1) == {"first_wave": [], "rest_wave": [5], "fresh": []}  # the failed attempt was the first
    assert summary.survived == {
        "attempts at stages after the first": 2,
        "attempts at tasks lost with their executor": 1,
        "attempts at tasks that failed": 1,
        "executors lost": 1,
        "outputs of tasks lost with their executor": 1,
        "tasks that succeeded again, in a copy or another attempt at their stage": 1,
    }


def test_executor_that_was_given_back_is_not_lost(tmp_path: Path) -> None:
    reasons = ("Executor killed by driver.", "Executor decommission: idle", "worker lost")
    removed = [
        {"Event": "SparkListenerExecutorRemoved", "Executor ID": str(i), "Removed Reason": reason}
        for i, reason in enumerate(reasons)
    ]
    assert build(tmp_path, [*two_stages(), *removed])[1].survived == {"executors lost": 1}


def test_stage_that_ran_only_partly(tmp_path: Path) -> None:
    """Two of three outputs of the stage existed, so that Spark ran one task of it."""
    events = [job(0, 0, (0, 10, 3, []), (1, 15, 1, [0])), task(0, 0, 0, 10), task(1, 0, 10, 12), end(0)]
    trace, summary = build(tmp_path, events)
    assert shape(trace) == [[(1, []), (1, [0])]]
    assert summary.survived == {units.MISSING_TASKS: 2}


# --- what is left out ------------------------------------------------------------------------------------------------


def test_failed_spark_job_is_left_out_of_its_job(tmp_path: Path) -> None:
    """The first try fails after its map; the second skips the map, whose output it reads."""
    events = [
        job(0, 0, (0, 10, 1, []), (1, 15, 1, [0]), group="a"),
        task(0, 0, 0, 9),
        task(1, 0, 9, 10, "ExceptionFailure"),
        end(0, "JobFailed"),
        job(1, 20, (2, 10, 1, []), (3, 18, 1, [2]), group="a"),
        task(3, 0, 20, 25),
        end(1),
    ]
    trace, summary = build(tmp_path, events, job="job-group")
    assert shape(trace) == [[(1, []), (1, [0])]]
    assert durations(trace, 0)["fresh"] == [9]
    assert summary.survived == {units.FAILED_PARTS: 1, "attempts at tasks that failed": 1}


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ([], units.UNFINISHED),
        ([end(9, "JobFailed")], units.FAILED),
        ([{"Event": SQL + "Start", "executionId": 3, "description": "q"}, end(9)], units.UNFINISHED),
    ],
    ids=["running", "failed", "SQL execution not ended"],
)
def test_unusable_job_is_skipped(tmp_path: Path, last: Events, reason: str) -> None:
    events = [*two_stages(), job(9, 100, (20, 50, 1, []), sql="3"), task(20, 0, 100, 110), *last]
    trace, summary = build(tmp_path, events)
    assert trace.num_profiles == 1 and summary.skipped == {reason: 1}
    ended = [*events, {"Event": SQL + "End", "executionId": 3}, end(9)]
    assert build(tmp_path, ended)[0].num_profiles == 2


def test_job_without_a_finished_stage(tmp_path: Path) -> None:
    events = [*two_stages(), job(9, 100), end(9)]
    assert build(tmp_path, events)[1].skipped == {units.NO_STAGE: 1}


def test_lines_that_are_no_event(tmp_path: Path) -> None:
    """Unknown events, other spacing and order of keys, a broken line, a blank one, an event that lacks a field."""
    loose = json.dumps(dict(reversed(two_stages()[1].items()))).encode() + b"\n"
    lines = text(two_stages()).splitlines(keepends=True)
    log = [
        b'{"Event":"SparkListenerSomethingNew","x":{}}\n',
        lines[0],
        loose,
        b'{"Event":"SparkListenerTaskEnd","Stage ID":0}\n',
        b"\n",
        b'{"Event":"SparkListenerTaskEnd","Sta\n',
        b'{"no":"event"}\n',
        *lines[2:],
        b'{"Event":"SparkListenerTaskEnd","Stage I',
    ]
    trace, summary = build(tmp_path, b"".join(log))
    assert shape(trace) == [[(2, []), (1, [0])]]
    assert summary.survived == {"lines that are no event": 3, "logs that end in mid-line": 1}


@pytest.mark.parametrize("line", [b"[1]\n", b"text", b'{"Event":3}', b'{"a":' + b"[" * 5000, b'{"Event":"\xff'])
def test_not_an_event(line: bytes) -> None:
    with pytest.raises(NotAnEventError):
        if parse_line(line) is None:
            raise NotAnEventError


def test_task_of_an_unknown_stage(tmp_path: Path) -> None:
    assert build(tmp_path, [task(77, 0, 0, 5), *two_stages()])[1].survived == {
        "tasks of stages that no Spark job listed": 1
    }


# --- files -----------------------------------------------------------------------------------------------------------


def xerial(data: bytes) -> bytes:
    """snappy-java's stream: magic, two versions, then blocks with their length (big-endian) in front."""
    blocks = (pa.Codec("snappy").compress(data[i : i + 100], asbytes=True) for i in range(0, len(data), 100))
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


def framed_snappy(data: bytes) -> bytes:
    """The standard framing: compressed chunks, padding and plain chunks; checksums are not verified."""
    out = b"\xff\x06\0\0sNaPpY"
    for start in range(0, len(data), 100):
        plain = data[start : start + 100]
        packed = pa.Codec("snappy").compress(plain, asbytes=True)
        for kind, chunk in ((0x00, bytes(4) + packed), (0xFE, b"pad")) if start % 200 else ((0x01, bytes(4) + plain),):
            out += bytes([kind]) + len(chunk).to_bytes(3, "little") + chunk
    return out


def lz4_blocks(data: bytes) -> bytes:
    """lz4-java's stream: magic, method, lengths (little-endian), checksum, block; here every second block is plain."""
    out = b""
    for number, start in enumerate(range(0, len(data), 100)):
        plain = data[start : start + 100]
        block = lz4.block.compress(plain, store_size=False) if number % 2 else plain
        out += b"LZ4Block" + struct.pack("<BiiI", 0x20 if number % 2 else 0x10, len(block), len(plain), 0) + block
    return out + b"LZ4Block" + struct.pack("<BiiI", 0x10, 0, 0, 0)


CODECS = {
    "plain": lambda data: data,
    "zstd": zstandard.ZstdCompressor().compress,
    "zstd stream": lambda data: b"".join([(c := zstandard.ZstdCompressor().compressobj()).compress(data), c.flush()]),
    "gz": gzip.compress,
    "lz4 frame": lz4.frame.compress,
    "lz4 blocks": lz4_blocks,
    "snappy-java": xerial,
    "snappy frames": framed_snappy,
}


@pytest.mark.parametrize("codec", CODECS)
def test_codec_round_trip(tmp_path: Path, codec: str) -> None:
    """Two streams one after the other are read as one; the name does not matter."""
    data = text(two_stages()) * 50
    log = tmp_path / "log"
    log.write_bytes(CODECS[codec](data) + CODECS[codec](b"tail\n"))
    stream, _ = open_log(log)
    with stream:
        assert stream.read() == data + b"tail\n"


def test_documented_stream_of_snappy_java(tmp_path: Path) -> None:
    """The bytes that snappy-java writes for one short line, taken from a description of its format."""
    log = tmp_path / "log"
    log.write_bytes(bytes.fromhex("82534e4150505900 00000001 00000001 00000009 0718666f6f6261720a"))
    stream, _ = open_log(log)
    with stream:
        assert stream.read() == b"foobar\n"


@pytest.mark.parametrize("name", ["java.lz4", "java.snappy", "java.zstd"])
def test_logs_written_by_sparks_own_libraries(tmp_path: Path, name: str) -> None:
    trace, summary = build_path(tmp_path, LOGS / name)
    plain, _ = build_path(tmp_path, LOGS / "plain")
    assert trace.stages.equals(plain.stages) and summary.jobs == 2


@pytest.mark.parametrize("codec", [name for name in CODECS if name != "plain"])
def test_compressed_log_that_was_cut_off(tmp_path: Path, codec: str) -> None:
    """What was written up to there is used, as far as the codec gives it out."""
    random = np.random.default_rng(1)
    events = [event for i in range(300) for event in two_stages(100 * i, 5 * i)]
    for event in events:
        event["noise"] = random.bytes(300).hex()  # otherwise there would be one block only
    log = tmp_path / "app.inprogress"
    log.write_bytes(CODECS[codec](text(events))[:-30_000])
    trace, summary = build_path(tmp_path, log)
    assert 50 < trace.num_profiles < 300
    assert summary.survived["logs of applications that were still running"] == 1


def test_damaged_stream(tmp_path: Path) -> None:
    data = lz4_blocks(text(two_stages() * 5))
    log = tmp_path / "log"
    log.write_bytes(data[:1000] + b"?" * 50 + data[1050:])
    stream, _ = open_log(log)
    with stream, pytest.raises(CodecError, match=r"LZ4 block|decompress|Decompression"):
        stream.read()
    whole = lz4_blocks(text(two_stages()))
    trace, summary = build(tmp_path, whole + b"LZ4Block" + b"?" * 30)
    assert trace.num_profiles == 1
    assert summary.survived == {"logs whose compressed data is damaged (read up to there)": 1}


def write_rolling(folder: Path, events: Events) -> None:
    """A rolling log of eleven files, so that the order of names is not that of numbers; the last is compressed."""
    folder.mkdir(parents=True)
    lines = text(events).splitlines(keepends=True)
    for number in range(1, 11):
        part = lines[number - 1 : number]
        (folder / f"events_{number}_app-2").write_bytes(b"".join(part))
    (folder / "events_11_app-2.zstd").write_bytes(CODECS["zstd"](b"".join(lines[10:])))
    (folder / "appstatus_app-2").touch()


def test_rolling_log(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "eventlog_v2_app-2"
    write_rolling(folder, [app_start("app-2"), *two_stages(0, 0), *two_stages(50, 5), *two_stages(90, 9)])
    trace, summary = build_path(tmp_path, folder.parent)
    assert shape(trace) == [[(2, []), (1, [0])]] * 3
    assert summary.skipped == summary.survived == {}
    parts, _ = build_path(tmp_path, folder.parent / "*" / "events_*")
    assert parts.stages.equals(trace.stages)
    assert len(find_logs(folder)) == 1

    (folder / "events_7_app-2.compact").write_bytes(text(two_stages(0, 0)))
    (folder / "appstatus_app-2").rename(folder / "appstatus_app-2.inprogress")
    log = find_logs(folder)[0]
    assert [path.name for path in log.files][:2] == ["events_7_app-2.compact", "events_8_app-2"]
    _, summary = build_path(tmp_path, folder)
    assert summary.survived["logs from which Spark has removed older jobs"] == 1
    assert summary.survived["logs of applications that were still running"] == 1


def test_folder_of_applications(tmp_path: Path) -> None:
    """Two applications, the later one in the file that comes first, one more appended to a file; what is no log is left
    out. Profiles are in the order of arrival.
    """
    logs = tmp_path / "logs"
    (logs / "deep").mkdir(parents=True)
    (logs / "a").write_bytes(text([app_start("a"), *two_stages(5000)]))
    (logs / "deep" / "b.inprogress").write_bytes(
        text([app_start("b"), job(0, 2000, (0, 1, 1, [])), task(0, 0, 2000, 2001), end(0)])
        + text([app_start("c"), job(0, 3000, (0, 1, 4, [])), *(task(0, i, 3000, 3009) for i in range(4)), end(0)])
    )
    (logs / ".a.crc").write_bytes(b"crc")
    (logs / "_SUCCESS").touch()
    (logs / "empty").touch()
    (logs / "notes.txt").write_text("hello", encoding="utf-8")
    (logs / "answer.json").write_text('{"rows": 3}\n', encoding="utf-8")
    (logs / "idle").write_bytes(text([app_start("d")]))
    trace, summary = build_path(tmp_path, logs)
    assert shape(trace) == [[(1, [])], [(4, [])], [(2, []), (1, [0])]]
    assert trace.stages["arrival_ms"].to_pylist() == [0, 1000, 3000, 3000]
    assert summary.skipped == {"files that are no event log": 2, "empty files": 1, "logs without a Spark job": 1}
    assert summary.survived == {"logs of applications that were still running": 1}
    assert (summary.jobs, summary.stages, summary.tasks) == (3, 4, 8)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nothing", None, r"nothing: no such file or folder"),
        ("no*thing", None, r"no\*thing: no file fits this pattern"),
        ("empty/", None, "empty: no file in this folder"),
        ("table.csv", b"a,b\n1,2\n", r"table.csv: no Spark event log: its first line is no event"),
        ("blank", b"", "blank: no job in it that can be used: 1 empty files"),
        ("idle", text([app_start()]), "idle: no job in it that can be used: 1 logs without a Spark job"),
        ("failed", text([*two_stages()[:-1], end(0, "JobFailed")]), r"failed: no job .* used: 1 jobs that failed"),
        ("bad.gz", b"\x1f\x8bnonsense", r"bad.gz: no job .* used: 1 files whose compressed data is damaged"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if name.endswith("/"):
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(ClearschedError, match=message) as caught:
        build_path(tmp_path, path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_path_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"traces\.path: source spark-eventlog needs an event log"):
        write(None, tmp_path / "trace.parquet", SparkEventlogParams(), 0)


# --- the recorder's own logs -----------------------------------------------------------------------------------------


def recorded_queries() -> Events:
    """The logs of the recorder's tests, one after the other, as the runs of three queries."""
    events: Events = [executor("driver", 2)]
    base = 0
    for number, group in enumerate(("query-1-run-1", "query-22-run-1", "query-4-run-1")):
        jobs = [
            [
                recorder.job_start(0, group, (0, 10, 2, []), (1, 15, 1, [0])),
                recorder.task(0, 0, 0, 30),
                recorder.task(0, 1, 30, 50),
                recorder.task(1, 0, 50, 60),
                recorder.job_end(0),
                recorder.job_start(1, group, (2, 10, 2, []), (3, 20, 3, [2]), (4, 25, 1, [3])),
                *(recorder.task(3, i, 60 + 3 * i, 75 + 5 * i) for i in range(3)),
                recorder.task(4, 0, 90, 91),
                recorder.job_end(1),
            ],
            [
                recorder.job_start(0, group, (1, 10, 1, []), (2, 12, 1, [1])),
                recorder.task(1, 0, 10, 20),
                recorder.task(2, 0, 20, 25),
                recorder.job_end(0),
                recorder.job_start(1, group, (3, 20, 1, []), (4, 22, 1, [3])),
                recorder.task(3, 0, 30, 40),
                recorder.task(4, 0, 40, 45),
                recorder.job_end(1),
            ],
            recorder.sorting_query(group),
        ][number]
        for event in jobs:
            for key in ("Job ID", "Stage ID"):
                if key in event:
                    event[key] += base
            for info in event.get("Stage Infos", []):
                info["Stage ID"] += base
                info["Parent IDs"] = [parent + base for parent in info["Parent IDs"]]
                for rdd in info["RDD Info"]:
                    rdd["RDD ID"] += 100 * base
            if "Task Info" in event:
                event["Task Info"]["Executor ID"] = "driver"
                event["Task Info"]["Launch Time"] += 1000 * base
                event["Task Info"]["Finish Time"] += 1000 * base
        events += jobs
        base += 10
    return events


@pytest.mark.parametrize("clock", ["wall", "processor"])
def test_recorded_runs_give_the_recorders_profiles(tmp_path: Path, clock: Any) -> None:
    """Stages, edges and durations are the recorder's, whose timed runs have no `fresh`: it is first there."""
    trace, _ = build(tmp_path, recorded_queries(), job="job-group", clock=clock, sequence=False)
    runs = read_runs(recorded_queries())
    assert trace.num_profiles == len(runs) == 3
    rows = iter(range(len(trace.stages)))
    for profile, run in enumerate(runs.values()):
        expected = profile_rows(profile, "", "", {2: Recording(run, (run,))}, clock)
        assert [(stage["num_tasks"], stage["parents"]) for stage in expected] == shape(trace)[profile]
        for stage, row in zip(expected, rows, strict=False):
            waves = {entry["wave"]: entry["duration_ms"] for entry in stage["durations"]}
            found = durations(trace, row)
            assert sorted(found["first_wave"] + found["fresh"]) == waves["first_wave"]
            assert found["rest_wave"] == waves["rest_wave"]
    assert Counter(entry["level"] for row in trace.stages["durations"].to_pylist() for entry in row).keys() == {2}
