"""Event logs that cannot be: each is told in one line, and the logs beside it are read."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.settings.sources import SparkEventlogParams
from clearsched.problems.dag_jobs.traces import check_file
from clearsched.problems.dag_jobs.traces.spark_eventlog import build as building
from clearsched.problems.dag_jobs.traces.spark_eventlog import reading, write
from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import AbsurdError, shown
from clearsched.problems.dag_jobs.traces.spark_eventlog.logs import find_logs
from test_spark_eventlog import (
    CODECS,
    SQL,
    Events,
    app_start,
    build,
    build_path,
    end,
    executor,
    job,
    shape,
    task,
    text,
    two_stages,
)

GOOD = text([app_start("good"), *two_stages(5000)])
ONE_GOOD_JOB = [[(2, []), (1, [0])]]


def folder_with(tmp_path: Path, **logs: bytes) -> Path:
    """A folder of a sound log and others."""
    folder = tmp_path / "logs"
    folder.mkdir(parents=True)
    for name, content in {"good": GOOD, **logs}.items():
        (folder / name).write_bytes(content)
    return folder


def changed(event: int, path: str, value: Any) -> bytes:
    """A log in which one value is another: `path` names its place in the event, as `Task Info/Index`."""
    events = [app_start("bad"), executor("1", 2), *two_stages(100, 0, **{"spark.task.cpus": "1"})]
    *outer, last = path.split("/")
    place: Any = events[event]
    for key in outer:
        place = place[int(key) if isinstance(place, list) else key]
    place[int(last) if isinstance(place, list) else last] = "@"
    return text(events).replace(b'"@"', value if isinstance(value, bytes) else json.dumps(value).encode())


EXECUTOR, JOB, TASK = 1, 2, 3
HUGE = b"9" * 5000

ABSURD = {
    "launch of 2^63": (TASK, "Task Info/Launch Time", 2**63),
    "launch before 1970": (TASK, "Task Info/Launch Time", -1),
    "launch after the year 9999": (TASK, "Task Info/Launch Time", 2**62),
    "finish of 2^64": (TASK, "Task Info/Finish Time", 2**64),
    "finish of 5,000 digits": (TASK, "Task Info/Finish Time", HUGE),
    "finish of 400 digits": (TASK, "Task Info/Finish Time", HUGE[:400]),
    "submission of 2^63": (JOB, "Submission Time", 2**63),
    "submission of -5": (JOB, "Submission Time", -5),
    "partition of 2^63": (TASK, "Task Info/Partition ID", 2**63),
    "partition of -2": (TASK, "Task Info/Partition ID", -2),
    "index of 2^63": (TASK, "Task Info/Index", 2**63),
    "index of -1": (TASK, "Task Info/Index", -1),
    "attempt of 2^63": (TASK, "Stage Attempt ID", 2**63),
    "stage of 2^63": (JOB, "Stage Infos/0/Stage ID", 2**63),
    "job of 5,000 digits": (JOB, "Job ID", HUGE),
    "dataset of 2^64": (JOB, "Stage Infos/0/RDD Info/0/RDD ID", 2**64),
    "tasks of 2^63": (JOB, "Stage Infos/0/Number of Tasks", 2**63),
    "tasks of -1": (JOB, "Stage Infos/0/Number of Tasks", -1),
    "processor time of 10^30": (TASK, "Task Metrics/Executor CPU Time", 10**30),
    "read 2^64 bytes": (TASK, "Task Metrics/Input Metrics/Bytes Read", 2**64),
    "-1 cores": (EXECUTOR, "Executor Info/Total Cores", -1),
    "10^9 cores": (EXECUTOR, "Executor Info/Total Cores", 10**9),
    "2^63 cores": (EXECUTOR, "Executor Info/Total Cores", 2**63),
    "tasks of nan cores": (JOB, "Properties/spark.task.cpus", "nan"),
    "tasks of inf cores": (JOB, "Properties/spark.task.cpus", "inf"),
    "tasks of 0 cores": (JOB, "Properties/spark.task.cpus", "0"),
    "tasks of -2 cores": (JOB, "Properties/spark.task.cpus", "-2"),
    "tasks of 10^9 cores": (JOB, "Properties/spark.task.cpus", "1e9"),
    "tasks of 5,000 digits of cores": (JOB, "Properties/spark.task.cpus", "9" * 5000),
    "a stage that waits for itself": (JOB, "Stage Infos/0/Parent IDs", [0]),
    "stages in a circle": (JOB, "Stage Infos/0/Parent IDs", [1]),
}


@pytest.mark.parametrize("name", ABSURD)
@pytest.mark.parametrize("kind", ["sql-execution", "application"])
def test_absurd_application_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, kind: str
) -> None:
    """It is told by the name of its log; alone it is refused in one line."""
    log = changed(*ABSURD[name])
    folder = folder_with(tmp_path, bad=log)
    trace, summary = build_path(tmp_path, folder, job=kind)
    assert shape(trace) == ONE_GOOD_JOB
    (reason,) = summary.skipped
    assert reason.startswith("applications whose log says what cannot be: bad: ") and len(reason) < 200
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and told.startswith("clearsched: warning: ") and "bad: " in told
    with pytest.raises(ClearschedError, match="bad: no job in it that can be used: 1 applications") as caught:
        write(folder / "bad", tmp_path / "none.parquet", SparkEventlogParams(), 0)
    assert "\n" not in str(caught.value) and not (tmp_path / "none.parquet").exists()
    assert capsys.readouterr().err == ""


SURVIVED = {
    "text for a time": (TASK, "Task Info/Launch Time", "12"),
    "null for a time": (TASK, "Task Info/Launch Time", None),
    "NaN": (TASK, "Task Info/Launch Time", b"NaN"),
    "half a millisecond": (TASK, "Task Info/Finish Time", 0.5),
    "null for a task": (TASK, "Task Info", None),
    "a list for a task": (TASK, "Task Info", [1]),
    "text for cores": (EXECUTOR, "Executor Info/Total Cores", "4"),
    "null for an executor": (EXECUTOR, "Executor Info", None),
    "100,000 brackets": (TASK, "Task Info/Index", b"[" * 100_000 + b"]" * 100_000),
    "no UTF-8": (TASK, "Task Info/Executor ID", b'"\xff"'),
    "half a surrogate": (TASK, "Task Info/Executor ID", b'"\\ud800"'),
    "null for an event": (EXECUTOR, "Event", None),
    "a number for an event": (EXECUTOR, "Event", 7),
}


@pytest.mark.parametrize("name", SURVIVED)
def test_line_that_is_no_event_is_passed_over(tmp_path: Path, name: str) -> None:
    """Values of another kind are no event of Spark; what the other lines tell is used."""
    trace, summary = build(tmp_path, changed(*SURVIVED[name]))
    assert trace.num_profiles == 1 and summary.survived["lines that are no event"] == 1


@pytest.mark.parametrize("line", [b"null", b"[]", b"7", b'"text"', b"{}", b"[" * 100_000, b"{" * 100_000, b"\x00"])
def test_lines_of_other_json(tmp_path: Path, line: bytes) -> None:
    lines = GOOD.splitlines(keepends=True)
    trace, summary = build(tmp_path, b"".join([lines[0], line, b"\n", *lines[1:]]))
    assert shape(trace) == ONE_GOOD_JOB and summary.survived == {"lines that are no event": 1}


@pytest.mark.parametrize("scope", ["[" * 100_000, "9" * 5000, '{"name": ' + "9" * 5000 + "}", "{}", "null", "x"])
def test_scope_of_a_dataset_that_is_no_name(tmp_path: Path, scope: str) -> None:
    events = two_stages()
    events[0]["Stage Infos"][0]["RDD Info"][0]["Scope"] = scope
    assert build(tmp_path, events)[0].num_profiles == 1


def test_cores_that_a_machine_may_have(tmp_path: Path) -> None:
    assert shape(build(tmp_path, changed(EXECUTOR, "Executor Info/Total Cores", 100_000))[0]) == ONE_GOOD_JOB


def test_faults_beyond_the_first_twenty_are_counted(tmp_path: Path) -> None:
    bad = text([app_start("bad"), executor("1", -1)])
    trace, summary = build_path(tmp_path, folder_with(tmp_path, **{f"bad-{n:02}": bad for n in range(25)}))
    assert shape(trace) == ONE_GOOD_JOB and len(summary.skipped) == building.NAMED_FAULTS + 1
    assert summary.skipped["further applications whose log says what cannot be"] == 5
    (tmp_path / "logs" / "good").unlink()
    with pytest.raises(ClearschedError, match="13 more reasons") as caught:
        build_path(tmp_path, tmp_path / "logs")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 2000


def test_absurd_application_in_a_file_of_several(tmp_path: Path) -> None:
    log = GOOD + changed(*ABSURD["-1 cores"]) + text([app_start("last"), *two_stages(9000)])
    trace, summary = build(tmp_path, log)
    assert shape(trace) == ONE_GOOD_JOB * 2 and sum(summary.skipped.values()) == 1


@pytest.mark.parametrize("value", [7, -(10**30), 10**400, float("inf")])
def test_numbers_are_told_shortly(value: float) -> None:
    assert len(shown(value)) < 50 and issubclass(AbsurdError, ClearschedError)


# --- copies and links ------------------------------------------------------------------------------------------------


def test_copies_count_once(tmp_path: Path) -> None:
    """Packed, cut, twice in one file, without its start; the most complete copy is taken. Attempts are no copies."""
    cut = GOOD[: GOOD.rindex(b'{"Event":"SparkListenerJobEnd"')]
    headless = b"".join(GOOD.splitlines(keepends=True)[1:])
    again = text([app_start("good") | {"App Attempt ID": "2"}, *two_stages(9000)])
    logs = {"a": cut, "b": gzip.compress(GOOD), "c": GOOD + GOOD, "d": headless, "e": headless, "f": again}
    folder = folder_with(tmp_path, **logs)
    os.link(folder / "good", folder / "hard")
    (folder / "soft").symlink_to("good")
    trace, summary = build_path(tmp_path, folder)
    assert shape(trace) == ONE_GOOD_JOB * 3  # the application, its other attempt, and what lacks its start
    assert summary.skipped == {building.COPY: 5}


def test_links_in_a_circle(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    deep = folder / "deep"
    deep.mkdir()
    (deep / "log").write_bytes(text([app_start("deep"), *two_stages()]))
    for link, target in {"up": "..", "self": ".", "nowhere": "gone", "me": "me", "zero": "/dev/zero"}.items():
        (deep / link).symlink_to(target)
    (folder / "beside").symlink_to("deep")
    os.mkfifo(folder / "pipe")
    assert len(find_logs(folder)) == 2
    for pattern in ("**", "**/*", "*/*/*/*", "*"):
        trace, summary = build_path(tmp_path, folder / pattern)
        assert shape(trace)[-1:] == ONE_GOOD_JOB and summary.skipped == {}


@pytest.mark.parametrize("name", ["**x", "[", "*/" + "a" * 5000, "a" * 5000])
def test_paths_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClearschedError) as caught:
        find_logs(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_file_that_cannot_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(tmp_path, other=GOOD)
    opened = reading.open_log

    def refuse(path: Path) -> Any:
        if path.name == "other":
            raise ClearschedError(f"{path}: cannot be read: Permission denied")
        return opened(path)

    monkeypatch.setattr(reading, "open_log", refuse)
    trace, summary = build_path(tmp_path, folder)
    assert shape(trace) == ONE_GOOD_JOB
    assert summary.skipped == {"logs that cannot be read: other: Permission denied": 1}


# --- compressed data -------------------------------------------------------------------------------------------------


def long_log() -> bytes:
    noise = random.Random(1)
    events = [app_start(), *(event for n in range(120) for event in two_stages(100 * n, 5 * n))]
    return text([event | {"noise": noise.randbytes(150).hex()} for event in events])


@pytest.mark.parametrize("codec", [name for name in CODECS if name != "plain"])
@pytest.mark.parametrize("fault", ["cut off", "cut off at once", "damaged", "damaged at once"])
def test_damaged_data_is_told_as_such(tmp_path: Path, codec: str, fault: str) -> None:
    """Not as a log without a Spark job."""
    data = CODECS[codec](long_log())
    at = 24 if fault.endswith("at once") else len(data) - 40_000
    wrong = data[:at] if fault.startswith("cut") else data[:at] + b"\xa5" * 5000 + data[at + 5000 :]
    if fault.endswith("at once"):
        with pytest.raises(
            ClearschedError, match="used: 1 files whose compressed data is damaged or cut off"
        ) as caught:
            build(tmp_path, wrong)
        assert "without a Spark job" not in str(caught.value)
        return
    trace, summary = build(tmp_path, wrong)
    assert 20 < trace.num_profiles < 120
    assert summary.survived.keys() & {reading.DAMAGED, reading.CUT_OFF}


def test_whole_data_is_not_told_as_cut_off(tmp_path: Path) -> None:
    """Padding behind a gzip member, as tapes have it, and an empty frame, are no fault."""
    for tail in (b"", bytes(1000), gzip.compress(b"")):
        assert build(tmp_path, gzip.compress(GOOD) + tail)[1].survived == {}
    assert build(tmp_path, zstandard.compress(GOOD) + zstandard.compress(b""))[1].survived == {}


def test_log_in_progress_is_cut_off_by_nature(tmp_path: Path) -> None:
    log = tmp_path / "app.inprogress"
    log.write_bytes(CODECS["zstd"](long_log())[:-40_000])
    trace, summary = build_path(tmp_path, log)
    assert 20 < trace.num_profiles < 120 and summary.survived == {reading.IN_PROGRESS: 1}


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstandard.ZstdCompressor().compress,
    "gz": gzip.compress,
    "lz4 frame": CODECS["lz4 frame"],
}


@pytest.mark.parametrize("codec", BOMBS)
def test_line_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str) -> None:
    """Few bytes that unpack to a line longer than any are not held in memory, and after a while not read on."""
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1 << 16)
    monkeypatch.setattr(reading, "MAX_PASSED_BYTES", 1 << 20)
    first, *rest = GOOD.splitlines(keepends=True)
    for length, jobs in ((1 << 19, 1), (1 << 24, 0)):
        data = BOMBS[codec](first + b" " * length + b"\n" + b"".join(rest))
        assert len(data) < 1 << 17
        trace, summary = build_path(tmp_path, folder_with(tmp_path / str(length), **{"a-bomb": data}))
        assert trace.num_profiles == 1 and summary.survived == {reading.LONG_LINE: 1}
        assert summary.skipped == ({building.COPY: 1} if jobs else {reading.NO_JOB_LOG: 1})
    data = BOMBS[codec](bytes(1 << 20) + GOOD)
    with pytest.raises(ClearschedError, match="its first line is no event"):
        build(tmp_path, data)


# --- anything --------------------------------------------------------------------------------------------------------

VALUES = (None, True, -1, 0, 2**31, 2**63, 2**64, 10**400, 1e308, -0.5, "", "9" * 5000, "nan", [], {}, [None], {"a": 1})


def places_of(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a JSON value."""
    if isinstance(value, dict):
        return [(value, key) for key in value] + [place for inner in value.values() for place in places_of(inner)]
    if isinstance(value, list):
        return [(value, i) for i in range(len(value))] + [place for inner in value for place in places_of(inner)]
    return []


def mutated(events: Events, generator: random.Random) -> Events:
    """Some events with another value, gone, twice, or elsewhere."""
    events = json.loads(json.dumps(events))
    for _ in range(generator.choice((1, 2, 5))):
        at, kind = generator.randrange(len(events)), generator.random()
        if kind < 0.7 and (places := places_of(events[at])):
            container, key = generator.choice(places)
            container[key] = generator.choice(VALUES)
        elif kind < 0.8:
            events.append(events[at])
        elif kind < 0.9:
            events.insert(generator.randrange(len(events)), events[at])
        elif len(events) > 1:
            del events[at]
    return events


def damaged(data: bytes, generator: random.Random) -> bytes:
    """Some bytes other, gone, or more."""
    content = bytearray(data)
    for _ in range(generator.choice((0, 1, 4))):
        at = generator.randrange(len(content) or 1)
        content[at : at + generator.choice((0, 1, 30))] = generator.choice(
            (b"", b"\xff", b"{", b"9" * 5000, b"[" * 3000)
        )
    return bytes(content)


def test_any_mutant_is_built_or_refused_in_one_line(tmp_path: Path) -> None:
    generator = random.Random(11)
    whole = [app_start(), executor("1", 2), *two_stages(0, 0, sql="1", group="g", text="mine")]
    whole += [{"Event": SQL + "Start", "executionId": 2, "rootExecutionId": 1}, *two_stages(90, 5, sql="2")]
    whole += [job(20, 200, (20, 10, 2, []), (21, 99, 1, [20]), sql="1"), task(21, 0, 200, 210), end(20)]
    log, out = tmp_path / "log", tmp_path / "trace.parquet"
    outcomes = {"built": 0, "refused": 0}
    for _ in range(250):
        codec = CODECS[generator.choice(list(CODECS))]
        log.write_bytes(damaged(codec(damaged(text(mutated(whole, generator)), generator)), generator))
        out.unlink(missing_ok=True)
        try:
            write(log, out, SparkEventlogParams(job=generator.choice(("sql-execution", "job-group", "application"))), 0)
            assert check_file(out) > 0
            outcomes["built"] += 1
        except ClearschedError as error:
            assert "\n" not in str(error) and len(str(error)) < 2000 and not out.exists()
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 30
