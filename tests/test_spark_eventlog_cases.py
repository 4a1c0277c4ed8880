"""Source spark-eventlog: what belongs together, what it is called, what tasks ask for, and in which files it stands."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from clearsched.errors import ClearschedError
from clearsched.params import parse
from clearsched.problems.dag_jobs.traces import read_trace
from clearsched.problems.dag_jobs.traces.sources import options_of, parse_settings
from clearsched.problems.dag_jobs.traces.sources import write as write_source
from clearsched.problems.dag_jobs.traces.spark_eventlog import units
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import DERIVED, GIVEN_BACK
from clearsched.problems.dag_jobs.traces.spark_eventlog.blanking import blank, is_broadcast
from clearsched.problems.dag_jobs.traces.spark_eventlog.logs import find_logs
from clearsched.problems.dag_jobs.traces.spark_eventlog.waves import FIRST_WAVE, FRESH, REST_WAVE, split_waves
from test_spark_eventlog import (
    SQL,
    Events,
    app_start,
    build,
    build_path,
    durations,
    end,
    executor,
    job,
    shape,
    table,
    task,
    text,
    two_stages,
)

UUIDS = ("5336c977-cb83-40f5-8272-aeb30fb2875d", "224C1160-B7A8-44D8-A0B6-76B372890AA0")


def one_task(number: int, at: int, **properties: str) -> Events:
    """A Spark job of one task, of a dataset of its own."""
    return [job(number, at, (number, 10 * number + 1, 1, []), **properties), task(number, 0, at, at + 5), end(number)]


def execution(number: int, root: int | None = None, description: str = "q") -> dict[str, Any]:
    started = {"Event": SQL + "Start", "executionId": number, "description": description}
    return started if root is None else started | {"rootExecutionId": root}


def ended(number: int) -> dict[str, Any]:
    return {"Event": SQL + "End", "executionId": number}


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *[(f"run {UUIDS[0]} of q", f"run {UUIDS[1]} of q")],
        ("run 5336c977cb8340f58272aeb30fb2875d", "run aabbccddeeffaabbccddeeffaabbccdd"),
        ("tmp_5336c977_cb83_40f5_8272_aeb30fb2875d", "tmp_224c1160_b7a8_44d8_a0b6_76b372890aa0"),
        ("commit a1b2c3d", "commit 0f1e2d3"),
        ("Dataset@6d3af739", "Dataset@1b"),
        ("at 0x7fff01", "at 0xab"),
        ("/tmp/tmpk3x9q_b/run.py", "/tmp/tmpz7a2c_b/run.py"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"),
        ("load 2024-01-31", "load 2024-02-01"),
        ("job_42_ec12402d94684a97a138ab62585d34ea", "job_7_deadbeefdeadbeefdeadbeefdeadbeef"),
    ],
)
def test_ids_are_blanked(first: str, second: str) -> None:
    assert blank(first) == blank(second)


@pytest.mark.parametrize("word", ["decade facade", "add face to bed", "collect at Foo.scala:#", "parquet", "cafe"])
def test_words_are_kept(word: str) -> None:
    assert blank(word) == word


def test_names_that_end_in_a_number_stay_apart() -> None:
    assert blank("v1beta1 sf3k s3a") == "v#beta# sf#k s#a"


def broadcast(run: str, capital: bool = False) -> dict[str, str]:
    return {"group": run, "text": f"{'B' if capital else 'b'}roadcast exchange (runId {run})"}


def query(run: str, first: int = 0, at: int = 0, **properties: str) -> Events:
    """A query that broadcasts a table and then joins."""
    start = [] if "sql" not in properties else [execution(int(properties["sql"]), description="join of mine")]
    stop = [] if "sql" not in properties else [ended(int(properties["sql"]))]
    told = {name: value for name, value in properties.items() if name == "sql"}
    return [
        *start,
        *one_task(first + 1, at, **broadcast(run), **told),
        *one_task(first + 2, at + 10, **properties),
        *stop,
    ]


@pytest.mark.parametrize("kind", ["sql-execution", "job-group"])
@pytest.mark.parametrize("group", [None, "mine"])
def test_broadcast_does_not_name_its_query(tmp_path: Path, kind: str, group: str | None) -> None:
    """Two runs of the same query, each with a broadcast of its own run id; both are whole and have one name."""
    own = {} if group is None else {"group": group}
    other = {} if group is None else {"group": "later"}
    events = [*query(UUIDS[0], 0, 0, sql="1", **own), *query(UUIDS[1], 10, 100, sql="2", **other)]
    trace, _ = build(tmp_path, events, job=kind)
    assert shape(trace) == [[(1, []), (1, [0])]] * 2
    names = trace.jobs["query"].to_pylist()
    assert names[0] == names[1] and names[0].startswith("join of mine ")


def test_times_of_a_run_do_not_name_a_job(tmp_path: Path) -> None:
    """Two tables that are broadcast at once in one run and one after the other in the next."""

    def run(first: int, at: int, at_once: bool) -> Events:
        one, two = one_task(first, at, sql=str(first)), one_task(first + 1, at + (0 if at_once else 50), sql=str(first))
        parts = [one[0], two[0], *one[1:], *two[1:]] if at_once else [*one, *two]
        return [*parts, *one_task(first + 2, at + 90, sql=str(first))]

    trace, _ = build(tmp_path, [*run(1, 0, True), *run(11, 500, False)])
    assert shape(trace) == [[(1, []), (1, []), (1, [0, 1])], [(1, []), (1, [0]), (1, [1])]]
    names = trace.jobs["query"].to_pylist()
    assert names[0] == names[1]


def test_own_description_names_the_job(tmp_path: Path) -> None:
    """The user's before that of the listing of files; before Spark 3 the execution has the call instead of it."""
    listing = "Listing leaf files and directories for 20 paths:<br/>/data/a=1, ..."
    events = [execution(1, description="collect at X"), *one_task(1, 0, sql="1", text=listing)]
    events += [*one_task(2, 9, sql="1", text="nightly"), ended(1)]
    assert build(tmp_path, events)[0].jobs["query"][0].as_py().startswith("nightly ")
    alone = build(tmp_path, one_task(1, 0, text=listing))[0].jobs["query"][0].as_py()
    assert alone.startswith("Listing leaf files and directories for # paths")


@pytest.mark.parametrize(
    ("description", "is_one"),
    [
        (f"broadcast exchange (runId {UUIDS[0]})", True),
        (f"Broadcast exchange (runId {UUIDS[0]})", True),
        (f"stream<br/>id = {UUIDS[0]}<br/>runId = {UUIDS[1]}<br/>batch = 7", False),
        ("my broadcast exchange", False),
        (None, False),
    ],
)
def test_what_is_a_broadcast(description: str | None, is_one: bool) -> None:
    assert is_broadcast(description) == is_one


# --- nested executions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noted", ["event", "property", "both", "from level to level"])
def test_nested_executions_are_one_job(tmp_path: Path, noted: str) -> None:
    """Execution 5 runs 6, which runs 7; the start of 5 stands behind those of the others."""
    in_event = noted != "property"
    deepest = 6 if noted == "from level to level" else 5
    properties = {"spark.sql.execution.root.id": "5"} if noted in ("property", "both") else {}
    events = [
        execution(6, 5 if in_event else None),
        *one_task(1, 0, sql="5", **properties),
        *one_task(2, 10, sql="6", **properties),
        execution(7, deepest if in_event else None),
        *one_task(3, 20, sql="7", **properties),
        *[ended(7), ended(6)],
        execution(5, 5 if in_event else None),
        *one_task(4, 30, sql="5", **properties),
        ended(5),
        *one_task(9, 40, sql="8"),
    ]
    assert [len(stages) for stages in shape(build(tmp_path, events)[0])] == [4, 1]
    unfinished = [event for event in events if event != ended(5)]
    trace, summary = build(tmp_path, unfinished)
    assert trace.num_profiles == 1 and summary.skipped == {units.UNFINISHED: 1}


def test_executions_that_are_each_others_root(tmp_path: Path) -> None:
    events = [execution(1, 2), execution(2, 1), *one_task(1, 0, sql="1"), *one_task(2, 9, sql="2"), ended(1), ended(2)]
    assert build(tmp_path, events)[0].num_profiles == 1


@pytest.mark.parametrize("number", ["9" * 5000, "x", "-1", "1.5", "١"])
def test_execution_that_is_no_number(tmp_path: Path, number: str) -> None:
    trace, _ = build(tmp_path, [*one_task(1, 0, sql=number), *one_task(2, 9, sql=number)])
    assert trace.num_profiles == 2


# --- resources -------------------------------------------------------------------------------------------------------


def profile(number: int, cpus: float | None) -> dict[str, Any]:
    asked = {"gpu": {"Resource Name": "gpu", "Amount": 0.25}}
    asked |= {} if cpus is None else {"cpus": {"Resource Name": "cpus", "Amount": cpus}}
    return {
        "Event": "SparkListenerResourceProfileAdded",
        "Resource Profile Id": number,
        "Executor Resource Requests": {"cores": {"Resource Name": "cores", "Amount": 4}},
        "Task Resource Requests": asked,
    }


def environment(properties: Any) -> dict[str, Any]:
    return {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": properties}


def three_tasks(profiled: int | None = None, **properties: str) -> Events:
    start = job(0, 0, (0, 1, 3, []), **properties)
    if profiled is not None:
        start["Stage Infos"][0]["Resource Profile Id"] = profiled
    return [executor("1", 4), start, task(0, 0, 0, 10), task(0, 1, 0, 10), task(0, 2, 10, 20), end(0)]


@pytest.mark.parametrize(
    ("before", "events", "cpu"),
    [
        ([profile(0, 1), profile(3, 2)], three_tasks(3), 2),
        ([profile(0, 2)], three_tasks(), 2),
        ([profile(0, 1), profile(3, 2)], three_tasks(0), 1),
        ([profile(3, None), environment({"spark.task.cpus": "2"})], three_tasks(3), 2),
        ([environment({"spark.task.cpus": "2"})], three_tasks(), 2),
        ([environment([["spark.master", "yarn"], ["spark.task.cpus", "2"]])], three_tasks(), 2),
        ([environment({"spark.task.cpus": "1"})], three_tasks(**{"spark.task.cpus": "2"}), 2),
        ([environment({"spark.task.cpus": "*********(redacted)"})], three_tasks(), 1),
        ([environment(None)], three_tasks(9), 1),
    ],
)
def test_cores_of_a_task(tmp_path: Path, before: Events, events: Events, cpu: int) -> None:
    """Four cores: of tasks of two cores two run at once, which the third follows on the first core."""
    trace, summary = build(tmp_path, [app_start(), *before, *events])
    assert trace.stages["cpu"].to_pylist() == [cpu] and summary.survived == {}
    assert durations(trace, 0) == {
        "first_wave": [],
        "rest_wave": [10] if cpu == 2 else [],
        "fresh": [10, 10] if cpu == 2 else [10, 10, 10],
    }
    assert trace.levels == (2,)


def test_profile_that_is_added_late(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, [*three_tasks(1), profile(1, 4)])
    assert trace.stages["cpu"].to_pylist() == [4] and trace.levels == (1,)


def test_stages_of_different_resources_share_the_slots() -> None:
    """Four cores; a stage of one core a task warms four slots, one of two cores a task uses the first two of these."""
    narrow = table((0, 9, 0), (0, 9, 0), (0, 9, 0), (0, 9, 0))
    wide = table((10, 20, 0), (10, 30, 0), (20, 40, 0))
    waves, slots = split_waves([narrow, wide], [{0: 4}, {0: 2}])
    assert slots == 4 and waves[0].tolist() == [FRESH] * 4
    assert waves[1].tolist() == [FIRST_WAVE, FIRST_WAVE, REST_WAVE]


def test_slots_of_many_cores_take_no_memory() -> None:
    waves, slots = split_waves([table(*((at, at + 1, 0) for at in range(5)))], {0: 10**12})
    assert slots == 5 and waves[0].tolist() == [FRESH] * 5


# --- logs in parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("eventlog-2021-06-15--15-00.gz", "eventlog-2021-06-15--16-00.gz", "eventlog")])
def test_log_that_databricks_split(tmp_path: Path, names: tuple[str, ...]) -> None:
    """A job that spans the parts; beside them the log of another application, and a copy of a part, unpacked."""
    lines = text([app_start("a"), *two_stages(1000)]).splitlines(keepends=True)
    folder = tmp_path / "cluster" / "context"
    folder.mkdir(parents=True)
    for name, part in zip(names, (lines[:2], lines[2:4], lines[4:]), strict=True):
        (folder / name).write_bytes(gzip.compress(b"".join(part)) if name.endswith(".gz") else b"".join(part))
    (folder / names[0].removesuffix(".gz")).write_bytes(b"".join(lines[:2]))
    (folder / "other").write_bytes(text([app_start("b"), *one_task(1, 0)]))
    trace, summary = build_path(tmp_path, folder.parent)
    assert shape(trace) == [[(1, [])], [(2, []), (1, [0])]] and summary.skipped == summary.survived == {}
    for pattern in (folder / "*", folder / "eventlog*", folder / "*.gz"):
        assert [(2, []), (1, [0])] in shape(build_path(tmp_path, pattern)[0])
    assert [len(log.files) for log in find_logs(folder)] == [3, 1]


def test_a_file_called_eventlog_alone(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "eventlog").write_bytes(text(two_stages()))
    assert build_path(tmp_path, tmp_path / "logs")[0].num_profiles == 1


def test_rolling_logs_in_a_folder_of_another_name(tmp_path: Path) -> None:
    """Two applications in one folder, one of them in files numbered beyond nine and one packed."""
    folder = tmp_path / "moved"
    folder.mkdir()
    for name, first in (("app-1", 0), ("app-2", 50)):
        for number, line in enumerate(text([app_start(name), *two_stages(first)]).splitlines(keepends=True), 8):
            packed = number == 9 and name == "app-2"
            content = zstandard.ZstdCompressor().compress(line) if packed else line
            (folder / f"events_{number}_{name}{'.zstd' if packed else ''}").write_bytes(content)
    trace, summary = build_path(tmp_path, folder)
    assert shape(trace) == [[(2, []), (1, [0])]] * 2 and summary.skipped == {}
    assert build_path(tmp_path, folder / "events_9*")[0].stages.equals(trace.stages)


def test_two_logs_in_one_file(tmp_path: Path) -> None:
    """Profiles and configuration come before the start of the application that they are of."""
    start = {"Event": "SparkListenerLogStart", "Spark Version": "3.5.0"}
    first = [start, environment({"spark.task.cpus": "2"}), profile(0, 2), app_start("a"), *three_tasks()]
    second = [start, environment({}), profile(0, 1), app_start("b"), *three_tasks()]
    trace, _ = build(tmp_path, [*first, *second])
    assert trace.stages["cpu"].to_pylist() == [2, 1]


# --- Spark before 1.5 ------------------------------------------------------------------------------------------------


def old(events: Events, rdds: dict[int, list[tuple[int, list[int] | None]]] | None = None) -> Events:
    """Without the parents of stages; with the datasets of each stage and their parents, if they are given."""
    for event in events:
        for info in event.get("Stage Infos", []):
            del info["Parent IDs"]
            if rdds is not None:
                info["RDD Info"] = [
                    {"RDD ID": rdd, "Name": "x"} | ({} if parents is None else {"Parent IDs": parents})
                    for rdd, parents in rdds[info["Stage ID"]]
                ]
    return events


def test_second_of_two_stages_reads_the_first(tmp_path: Path) -> None:
    trace, summary = build(tmp_path, old(two_stages()))
    assert shape(trace) == [[(2, []), (1, [0])]] and summary.survived == {DERIVED: 1}


def four_stages() -> Events:
    stages = [(0, 1, 1, []), (1, 2, 1, []), (2, 5, 1, []), (3, 7, 1, [])]
    return [job(0, 0, *stages), *(task(stage, 0, 10 * stage, 10 * stage + 5) for stage in range(4)), end(0)]


def test_parents_from_the_datasets(tmp_path: Path) -> None:
    """A diamond: stage 2 reads the shuffles of 0 and 1, stage 3 that of 2, of which it also maps a dataset."""
    rdds: dict[int, list[tuple[int, list[int] | None]]] = {
        0: [(1, [0]), (0, [])],
        1: [(2, [0]), (0, [])],
        2: [(5, [4]), (4, [1, 2])],
        3: [(7, [6]), (6, [5])],
    }
    trace, summary = build(tmp_path, old(four_stages(), rdds))
    assert [parents for _, parents in shape(trace)[0]] == [[], [], [0, 1], [2]]
    assert summary.survived == {DERIVED: 2}


@pytest.mark.parametrize("known", [None, []], ids=["not noted", "of no use"])
def test_job_whose_parents_nobody_knows(tmp_path: Path, known: list[int] | None) -> None:
    rdds = {stage: [(rdd, known)] for stage, rdd in enumerate((1, 2, 5, 7))}
    single = [job(9, 900, (9, 99, 1, [])), task(9, 0, 900, 905), end(9)]
    trace, summary = build(tmp_path, [*old(four_stages(), rdds), *old(single)])
    assert shape(trace) == [[(1, [])]] and summary.skipped == {units.NO_PARENTS: 1}


def test_stages_without_datasets(tmp_path: Path) -> None:
    """Parents come first, whatever tells the datasets apart."""
    events = two_stages()
    for info in events[0]["Stage Infos"]:
        info["RDD Info"] = []
    assert shape(build(tmp_path, events)[0]) == [[(2, []), (1, [0])]]


# --- executors, clocks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "is_loss"),
    [
        ("Container container_1_2_01_3 exited from explicit termination request.", False),
        ("Executor killed by driver.", False),
        ("Executor decommission: spot", False),
        ("Command exited with code 0", False),
        ("Executor 3 exited with exit code 0", False),
        ("The executor with id 5 was deleted by a user or the framework.", False),
        ("Container killed by YARN for exceeding memory limits. 5.5 GB of 5.5 GB used.", True),
        ("Container killed on request. Exit code is 143. Killed by external signal", True),
        ("Command exited with code 134", True),
        ("Container from a bad node. Exit status: 137", True),
        ("Remote RPC client disassociated", True),
        ("worker lost", True),
    ],
)
def test_which_removals_are_losses(reason: str, is_loss: bool) -> None:
    assert (GIVEN_BACK.search(reason) is None) == is_loss


def test_durations_that_are_changed_are_counted() -> None:
    attempts = np.asarray([(10, 5, -1, 0, 0, 1), (0, 2**31, -1, 0, 1, 1), (0, 7, -1, 0, 2, 1)], np.int64)

    survived: Counter[str] = Counter()
    assert units.durations_ms(attempts, "wall", survived).tolist() == [1, 2**31 - 1, 7]
    assert survived == {units.BACKWARDS: 1, units.TOO_LONG: 1}


def test_processor_time_that_java_does_not_know(tmp_path: Path) -> None:
    events = [executor("1", 1), job(0, 0, (0, 1, 1, [])), task(0, 0, 0, 9), end(0)]
    events[2]["Task Metrics"] |= {"Executor CPU Time": -1, "Executor Deserialize CPU Time": -1}
    trace, summary = build(tmp_path, events, clock="processor")
    assert durations(trace, 0)["fresh"] == [9] and summary.survived == {units.NO_PROCESSOR_TIME: 1}


# --- params, --set, formats ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("traces", "place"),
    [
        ({"source": "spark-eventlog"}, "traces"),
        ({"source": "mix", "mix": [{"source": "synthetic"}, {"source": "spark-eventlog"}]}, r"traces.mix\[1\]"),
    ],
)
def test_params_without_a_path_are_refused(traces: dict[str, Any], place: str) -> None:
    with pytest.raises(ClearschedError, match=f"{place}: .*source spark-eventlog needs a path"):
        parse({"traces": traces}, "params.yaml")


def test_params_with_a_path_are_right() -> None:
    assert parse({"traces": {"source": "spark-eventlog", "path": "/logs"}}, "params.yaml")


@pytest.mark.parametrize(
    ("source", "setting"),
    [("synthetic", "levels=[1,2,4]"), ("synthetic", "levels=[ 2 ]"), ("tpch-spark", "sizes=[0.5g, 1g]")],
)
def test_lists_are_taken_by_set(source: str, setting: str) -> None:
    options = options_of(source, parse_settings([setting]))
    assert options is not None
    name, _, value = setting.partition("=")
    assert [str(item) for item in getattr(options, name)] == [item.strip() for item in value[1:-1].split(",")]


@pytest.mark.parametrize(
    "values",
    [
        ["levels=[1"],
        ["jobs=2024-13-45"],
        ["jobs=" + "[" * 2000],
        ["jobs=" + "9" * 5000],
        ["jobs=" + "9" * 4000],
        ["jobs=" + "x" * 20_000],
        ["jobs=&a [*a]"],
        ["jobs=[&a [1, 1], &b [*a, *a], &c [*b, *b]]"],
        ["jobs={2024-01-01: 3}"],
        ["jobs={[1]: 3}"],
        ["jobs=!!python/object:os.system {}"],
        ["jobs=.nan"],
        ["levels=[1,[2]]"],
        ["a=1", "a.b=2"],
        ["a.b=1", "a.b.c=2"],
        ["=1"],
        ["jobs"],
    ],
)
def test_set_of_what_is_no_value_is_one_line(values: list[str]) -> None:
    with pytest.raises(ClearschedError) as caught:
        options_of("synthetic", parse_settings(values))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


@pytest.mark.parametrize("source", ["spark-eventlog", "alibaba-like", "synthetic"])
def test_trace_named_arrow_is_arrow(tmp_path: Path, source: str) -> None:
    """Of every source, also of those that write piece by piece; the stages are those of the Parquet file."""
    log = tmp_path / "log"
    log.write_bytes(text(two_stages()))
    path = log if source == "spark-eventlog" else None
    options = None if path else options_of(source, {"jobs": 5})
    made = {suffix: tmp_path / "out" / f"trace.{suffix}" for suffix in ("parquet", "arrow")}
    for out in made.values():
        write_source(source, path, out, options, 1)
    assert made["arrow"].read_bytes()[:6] == b"ARROW1" and made["parquet"].read_bytes()[:4] == b"PAR1"
    assert read_trace(made["arrow"]).stages.equals(read_trace(made["parquet"]).stages)
    assert sorted(made["arrow"].parent.iterdir()) == sorted(made.values())
