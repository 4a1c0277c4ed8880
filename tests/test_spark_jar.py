"""clearsched-spark: what the jar computes, what it refuses, and a real Spark that obeys the rules.

The applications run in processes of their own; that the interpreter answers as the simulator does is held beside the
other formats, in test_export.py.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clearsched.errors import ClearschedError
from clearsched.export import export
from clearsched.export import spark as rules_format
from clearsched.problems.dag_jobs.features import FEATURES, JOB_QUANTITIES, STAGE_QUANTITIES
from clearsched.problems.dag_jobs.simulator.rows import WORK_OFFSET_MS
from clearsched.problems.dag_jobs.simulator.state import ROOT_OFFSET_MS
from clearsched.problems.dag_jobs.traces import make_trace, write_trace
from clearsched.problems.dag_jobs.traces.by_template import write_templates
from spark_jar import HOME, JAVA, build, check

HERE = Path(__file__).parent
PATIENCE_S = 600

needs_spark = pytest.mark.skipif(not JAVA or not HOME, reason="no Java compiler `javac`, or no pyspark")

# Small jobs first; of the others none gets more than one of the three slots.
SRPT = {
    "none": True,
    "stage": {
        "rules": [
            {"if": "job_work_total_s < 1", "then": 2},
            {"if": "job_executor_share < 0.3", "then": 1},
            {"if": "otherwise", "then": 0},
        ],
        "ties": ["job_work_left_s"],
    },
    "limit": {"rules": [{"if": "job_work_total_s < 1", "then": 1.0}, {"if": "otherwise", "then": 0.34}]},
}
LARGEST = {
    "stage": {"rules": [{"if": "otherwise", "then": 1}], "ties": ["-job_work_left_s"]},
    "limit": {"rules": [{"if": "job_work_total_s < 1", "then": 1.0}, {"if": "otherwise", "then": 0.34}]},
}
# A job that holds nothing has an infinite score: a fault of the rules that shows when they are asked.
FAULTY = {
    "stage": {"steps": [{"if": "otherwise", "below": [{"times": 1, "job_executors": -1}]}]},
    "limit": {"rules": [{"if": "otherwise", "then": 1.0}]},
}
JOBS = [["mid", 4, 1000], ["big", 5, 2000], ["small", 2, 100]]
"""In order of arrival: name, tasks, milliseconds that the application tells of a task."""


def rules_of(folder: Path, student: dict[str, Any]) -> str:
    """The text of a file of rules."""
    path = folder / "student.json"
    path.write_text(json.dumps({"kind": "student", "name": "mine", "most": 3, **student}))
    written, _ = export(path, "spark", folder / "student.rules.json")
    return written.read_text()


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("jar"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    (tmp_path / "rules.json").write_text(rules_of(tmp_path, SRPT))
    return tmp_path


def conf_of(folder: Path, jar: Path, master: str, **more: str) -> dict[str, str]:
    return {
        "spark.app.name": "test",
        "spark.master": master,
        "spark.driver.extraClassPath": str(jar),
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.locality.wait": "0",
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": f"file:{folder / 'events'}",
        "spark.clearsched.rules": str(folder / "rules.json"),
        "spark.clearsched.decisions": str(folder / "decisions.jsonl"),
        **{f"spark.{key}": value for key, value in more.items()},
    }


def run(folder: Path, settings: dict[str, Any]) -> tuple[Any, str]:
    """What an application answers, and what it prints."""
    answers = folder / "answers.json"
    (folder / "settings.json").write_text(json.dumps(settings | {"answers": str(answers)}))
    environment = os.environ | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--driver-class-path {settings.get('jar', '')} pyspark-shell",
    }
    done = subprocess.run(
        [sys.executable, HERE / "spark_application.py", folder / "settings.json"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(answers.read_text()), done.stderr


def launches(folder: Path) -> list[str]:
    """The job of every task that was launched, in the order of Spark's own event log."""
    (path,) = (folder / "events").iterdir()
    job_of: dict[int, str] = {}
    found = []
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerStageSubmitted":
            job_of[event["Stage Info"]["Stage ID"]] = event["Properties"]["clearsched.job"]
        elif event["Event"] == "SparkListenerTaskStart":
            found.append(job_of[event["Stage ID"]])
    return found


def order_of(found: list[str], step: int) -> list[str]:
    """The jobs of a step by when their first task was launched."""
    names = [job.partition("-")[2] for job in found if job.startswith(f"{step}-")]
    return [name for name in dict.fromkeys(names) if name != "gate"]


def most_at_once(ran: dict[str, list[tuple[float, float]]], name: str) -> int:
    """The most tasks that a job ran at a time."""
    return max(sum(start <= at < end for start, end in ran[name]) for at, _ in ran[name])


def decisions_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]


@needs_spark
def test_a_real_spark_obeys_and_falls_back_and_recovers(jar: Path, folder: Path) -> None:
    """Order, limits, the log of decisions; rules replaced, a broken file, a fault, rules again: one application."""
    steps = [
        {"jobs": JOBS},
        {"rules": rules_of(folder, LARGEST), "counter": "RulesLoaded", "jobs": JOBS},
        {"rules": '{"format": "clearsched-rules",', "counter": "FilesRefused", "jobs": JOBS},
        {"rules": rules_of(folder, FAULTY), "counter": "RulesLoaded", "jobs": JOBS},
        {"rules": rules_of(folder, SRPT), "counter": "RulesLoaded", "jobs": JOBS},
    ]
    conf = conf_of(folder, jar, "spark-rules-local[3]", ui_showConsoleProgress="false")
    answers, printed = run(folder, {"conf": conf, "slots": 3, "steps": steps, "jar": str(jar)})
    found = launches(folder)
    orders = [order_of(found, step) for step in range(len(steps))]
    assert orders[0] == orders[4] == ["small", "mid", "big"]
    assert orders[1] == orders[2] == ["big", "mid", "small"], "the broken file changed nothing"
    assert orders[3] == ["mid", "big", "small"], "first in, first out"
    for step in (0, 4):
        assert [most_at_once(answers["ran"], f"{step}-{name}") for name in ("big", "mid")] == [1, 1]
    assert most_at_once(answers["ran"], "3-mid") > 1, "FIFO knows no limits"
    counters = answers["counters"]
    assert [told["TakeOvers"] for told in counters] == [0, 0, 0, 1, 1]
    assert [told["Fifo"] for told in counters] == [False, False, False, True, False]
    assert [told["FilesRefused"] for told in counters] == [0, 0, 1, 1, 1]
    assert counters[-1]["OverLimit"] == 0 and counters[-1]["RulesLoaded"] == 4
    assert counters[-1]["Launches"] == len(found)
    assert printed.count("FIFO takes over until rules are loaded anew: the score of candidate 0 is Infinity") == 1
    assert printed.count("the rules before it stay in force") == 1
    check_decisions(decisions_of(folder), counters[-1])


def check_decisions(decisions: list[dict[str, Any]], counters: dict[str, Any]) -> None:
    """Every decision is there, with features that fit each other and a choice that fits the rules."""
    assert len(decisions) == counters["Decisions"] and counters["Nones"] > 0
    assert [decision["decision"] for decision in decisions] == list(range(len(decisions)))
    assert all(a["time_s"] <= b["time_s"] for a, b in pairwise(decisions))
    assert {decision["rule"] for decision in decisions} == {"rule 1", "rule 2", "rule 3"}
    for decision in decisions:
        chosen = decision["chosen"]
        assert decision["most"] == 3 and 1 <= decision["executors_to_decide"] <= 3
        if chosen == -1:
            assert decision["none_allowed"] and decision["given"] == 0
            continue
        scores = [candidate["score"] for candidate in decision["candidates"]]
        assert scores[chosen] == max(scores)
        assert 1 <= decision["given"] <= decision["limit"] <= 3
    first = next(d for d in decisions if d["candidates"][0]["job"] == "0-mid")
    told = {c["job"]: c["features"] for c in first["candidates"]}
    assert told["0-big"]["job_work_left_s"] == told["0-big"]["job_work_total_s"] == 10.0
    assert told["0-small"]["job_work_left_s"] == pytest.approx(0.2)


@needs_spark
def test_a_pool_orders_jobs_under_sparks_own_scheduler(jar: Path, folder: Path) -> None:
    conf = conf_of(folder, jar, "local[3]", **{"scheduler.mode": "FAIR"})
    settings = {"conf": conf, "slots": 3, "pool": str(folder / "rules.json"), "steps": [{"jobs": JOBS}]}
    answers, _ = run(folder, settings | {"jar": str(jar)})
    (counters,) = answers["counters"]
    assert order_of(launches(folder), 0) == ["small", "mid", "big"]
    assert counters["TakeOvers"] == 0 and counters["Decisions"] > 0
    assert len(decisions_of(folder)) == counters["Decisions"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """`localhost:port` of a standalone cluster of one worker with three cores."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_HOME": str(HOME)}
    start = [f"{HOME}/bin/spark-class"]
    host = ["--host", "localhost", "--webui-port", "0"]
    daemons = []
    for name, words, ready in (
        ("master.Master", [*host, "--port", str(port)], "Starting Spark master"),
        (
            "worker.Worker",
            [*host, "--cores", "3", "--memory", "2g", "--work-dir", str(tmp_path), f"spark://localhost:{port}"],
            "Successfully registered",
        ),
    ):
        log = tmp_path / f"{name}.log"
        with log.open("w") as out:
            command = [*start, f"org.apache.spark.deploy.{name}", *words]
            daemons.append(subprocess.Popen(command, stdout=out, stderr=out, env=environment))
        limit = time.monotonic() + PATIENCE_S
        while ready not in log.read_text():
            assert daemons[-1].poll() is None and time.monotonic() < limit, log.read_text()[-2000:]
            time.sleep(0.2)
    yield f"localhost:{port}"
    for daemon in reversed(daemons):
        daemon.terminate()
        daemon.wait(60)


@needs_spark
@pytest.mark.slow
def test_a_standalone_cluster_obeys_and_loses_an_executor(jar: Path, folder: Path, cluster: str) -> None:
    """Executors of one core each; one is killed while all jobs wait: they end, and no limit is exceeded."""
    conf = conf_of(folder, jar, f"spark-rules://{cluster}", **{"cores.max": "3", "clearsched.ask": "task"})
    steps = [{"jobs": JOBS}, {"jobs": JOBS, "lose": True}, {"jobs": JOBS}]
    answers, _ = run(folder, {"conf": conf, "slots": 3, "steps": steps, "jar": str(jar)})
    found = launches(folder)
    assert order_of(found, 0) == order_of(found, 2) == ["small", "mid", "big"]
    assert all(most_at_once(answers["ran"], f"{step}-{name}") == 1 for step in (0, 2) for name in ("mid", "big"))
    assert {name: len(tasks) for name, tasks in answers["ran"].items() if name.startswith("1-")} == {
        "1-gate": 3,
        **{f"1-{name}": tasks for name, tasks, _ in JOBS},
    }
    last = answers["counters"][-1]
    assert last["OverLimit"] == 0 and last["TakeOvers"] == 0
    assert last["GoneOn"] == 0, "the rules are asked for each task"
    assert {d["most"] for d in decisions_of(folder)} <= {1, 2, 3}


@needs_spark
def test_what_cannot_start_is_told_in_a_line(jar: Path, folder: Path) -> None:
    good = json.loads((folder / "rules.json").read_text())
    unknown = good | {"features": [*good["features"], {"name": "job_gpu", "unit": "", "formula": ["/", "gpus", 2]}]}
    cases = {
        "rules.json: no such file": None,
        "no rules of clearsched: write them with": {"kind": "student"},
        'rules of "deferrable_jobs"; Spark runs those of dag_jobs': good | {"problem": "deferrable_jobs"},
        "version 2 of the format; this jar reads 1": good | {"version": 2},
        "feature job_gpu: Spark does not know 'gpus', which it is computed of": unknown,
        "rank.cases: the last must fit every candidate": good | {"rank": {"kind": "cases", "cases": []}},
        "rank.kind: unknown kind forest": good | {"rank": {"kind": "forest"}},
        "features: missing": {key: value for key, value in good.items() if key != "features"},
    }
    refused = []
    for number, content in enumerate(cases.values()):
        path = folder / f"{number}" / "rules.json"
        if content is not None:
            path.parent.mkdir()
            path.write_text(json.dumps(content))
        refused.append(conf_of(folder, jar, "spark-rules-local[1]") | {"spark.clearsched.rules": str(path)})
    more = {
        "spark.clearsched.rules: not set": {"spark.clearsched.rules": ""},
        "spark.clearsched.ask: stage or task expected, not 'never'": {"spark.clearsched.ask": "never"},
        "profiles.json: cannot be read": {"spark.clearsched.profiles": str(folder / "profiles.json")},
        "spark-rules-local[2] expected": {"spark.master": "spark-rules-local[many]"},
    }
    refused += [conf_of(folder, jar, "spark-rules-local[1]") | change for change in more.values()]
    told, _ = run(folder, {"refused": refused, "jar": str(jar)})
    for expected, line in zip([*cases, *more], told, strict=True):
        first = line.splitlines()[0]
        assert first.startswith("org.apache.spark.SparkException: ") and "clearsched: " in first, line
        assert expected in first


@needs_spark
def test_a_jar_for_another_spark_is_refused(jar: Path, folder: Path) -> None:
    other = folder / "other.jar"
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, b"spark=4.0\n" if name.endswith("built-for.properties") else content)
    told, _ = run(folder, {"refused": [conf_of(folder, other, "spark-rules-local[1]")], "jar": str(other)})
    assert "this clearsched-spark.jar was built for Spark 4.0, and this is Spark 4." in told[0].splitlines()[0]
    assert "build it again with `make spark-jar`" in told[0].splitlines()[0]


@needs_spark
def test_the_jar_knows_the_quantities_that_the_exporter_names(jar: Path, tmp_path: Path) -> None:
    """One list in two languages."""
    assert check(jar, "--quantities").split() == list(rules_format.QUANTITIES)


def test_every_feature_is_made_of_quantities_that_spark_knows() -> None:
    assert {*JOB_QUANTITIES, *STAGE_QUANTITIES} == set(rules_format.QUANTITIES)
    for feature in FEATURES:
        rules_format.formula_of(feature.formula)


@pytest.mark.parametrize(("name", "value"), [("WORK_OFFSET_MS", WORK_OFFSET_MS), ("ROOT_OFFSET_MS", ROOT_OFFSET_MS)])
def test_the_jar_weighs_jobs_as_the_simulator_does(name: str, value: float) -> None:
    rows = Path(__file__).parents[1] / "engines/spark/src/org/clearsched/spark/Rows.java"
    assert f"double {name} = {value};" in rows.read_text("utf-8")


def test_a_feature_that_spark_cannot_know_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(rules_format.QUANTITIES, "moving_delay_ms")
    path = tmp_path / "mine.json"
    stage = {"rules": [{"if": "job_move_s < 1", "then": 2}, {"if": "otherwise", "then": 1}]}
    limit = {"rules": [{"if": "otherwise", "then": 1}]}
    path.write_text(json.dumps({"kind": "student", "stage": stage, "limit": limit}))
    with pytest.raises(ClearschedError, match=r"Spark cannot know the feature job_move_s: .* moving_delay_ms"):
        export(path, "spark")
    assert [file.name for file in tmp_path.iterdir()] == ["mine.json"], "nothing half written"


def test_a_student_of_another_problem_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    rules = {"rules": [{"if": "otherwise", "then": 1}]}
    path.write_text(json.dumps({"kind": "student", "problem": "deferrable_jobs", "start": rules}))
    with pytest.raises(ClearschedError, match="a student of deferrable_jobs; Spark schedules dag_jobs"):
        export(path, "spark")


@needs_spark
def test_a_compiler_or_a_spark_that_is_missing_is_told_in_a_line(tmp_path: Path) -> None:
    """`engines/spark/build.sh` ends with 2, and leaves nothing."""
    script = HERE.parent / "engines" / "spark" / "build.sh"
    bash = str(shutil.which("bash"))
    for change, told in (
        ({"PATH": str(tmp_path)}, "no Java compiler 'javac'"),
        ({"SPARK_HOME": str(tmp_path)}, "no spark-core_*.jar there"),
    ):
        if "PATH" in change:
            for name in ("dirname", "cat"):
                (tmp_path / name).symlink_to(str(shutil.which(name)))
        done = subprocess.run(
            [bash, script, tmp_path / "out" / "x.jar"], capture_output=True, text=True, env=os.environ | change
        )
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1
        assert not (tmp_path / "out").exists()


def stage_of(
    query: str, profile: int, stage: int, tasks: int, parents: list[int], duration_ms: list[int]
) -> dict[str, Any]:
    durations = [{"wave": "rest_wave", "level": 1, "duration_ms": duration_ms}]
    place = {"profile": profile, "query": query, "size": "2g", "stage": stage}
    return {**place, "num_tasks": tasks, "parents": parents, "durations": durations}


def test_profiles_by_template_are_those_of_the_trace(tmp_path: Path) -> None:
    """Parents first, whatever the order in the trace; of two runs the later; a query of one size by its name alone."""
    rows = [
        stage_of("q1", 0, 0, 3, [], [100]),
        stage_of("q1", 1, 0, 4, [1], [30, 50]),
        stage_of("q1", 1, 1, 2, [], [200]),
    ]
    write_trace(tmp_path / "trace.parquet", make_trace(rows, {"source": "test"}, "test"))
    assert write_templates(tmp_path / "trace.parquet", tmp_path / "profiles.json", 1.5) == 2
    found = json.loads((tmp_path / "profiles.json").read_text())
    assert (found["format"], found["version"], found["moving_delay_ms"]) == ("clearsched-profiles", 1, 1500)
    stages = [{"tasks": 2, "task_ms": 200.0, "parents": []}, {"tasks": 4, "task_ms": 40.0, "parents": [0]}]
    assert found["templates"] == {"q1 2g": stages, "q1": stages}
