"""Recordings of episodes: stepped by hand, read back from Parquet, and as a Chrome trace; who ran what."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.recording.chrome_trace import EXECUTORS, JOBS, POLICY, write_chrome_trace
from clearsched.problems.dag_jobs.recording.lanes import assign_executors
from clearsched.problems.dag_jobs.recording.record import (
    SCHEMAS,
    Recording,
    read_parquet,
    record,
    starts_before,
    write_parquet,
)
from clearsched.problems.dag_jobs.simulator.profiles import FIRST_WAVE, FRESH, REST_WAVE, Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import (
    EpisodeResult,
    Semantics,
    Simulation,
    Workload,
    simulate,
    start,
)
from clearsched.problems.dag_jobs.traces import tpch_spark
from toys import micro_trace, stage, toy_trace, toy_workload

ROOT = Path(__file__).parents[1]


def run_recorded(profiles: Profiles, workload: Workload, name: str = "fair") -> EpisodeResult:
    return simulate(profiles, workload, heuristic(name).compiled, record_tasks=True, record_decisions=True)


@pytest.fixture(scope="module")
def embedded() -> Profiles:
    return compile_profiles(micro_trace())


@pytest.fixture(scope="module")
def by_hand() -> Recording:
    """Three tasks of one stage on two executors, 100 ms away.

    Both executors leave at 0 and arrive at 100; each runs a fresh task of 50 ms; at 150 one of them goes on with the
    third for 10 ms, and the other one has nothing to do.
    """
    profiles = compile_profiles(toy_trace([[stage(3)]]))
    workload = toy_workload([0], 2)
    return record(run_recorded(profiles, workload), profiles, workload, "fair")


@pytest.fixture(scope="module")
def poisson(embedded: Profiles) -> tuple[Workload, EpisodeResult]:
    """60 jobs on 7 executors; mean durations, so that many tasks end in the same millisecond."""
    generator = np.random.default_rng(3)
    arrival_ms = np.cumsum(generator.integers(0, 4000, size=60))
    workload = Workload(generator.integers(embedded.trace.num_profiles, size=60), arrival_ms, 7, 500, 5, True)
    return workload, run_recorded(embedded, workload)


# --- what is recorded ------------------------------------------------------------------------------------------------


def test_tasks_by_hand(by_hand: Recording) -> None:
    rows = by_hand.tasks.to_pylist()
    assert [(row["start_ms"], row["end_ms"], row["wave"]) for row in rows] == [
        (100, 150, "fresh"),
        (100, 150, "fresh"),
        (150, 160, "rest_wave"),
    ]
    assert [row["attempt"] for row in rows] == [0, 1, 2]
    assert {row["executor"] for row in rows[:2]} == {0, 1}
    assert all(row["job"] == row["stage"] == 0 and row["query"] == "q0" and row["size"] == "tiny" for row in rows)
    assert not any(row["failed"] for row in rows)


def test_decisions_and_jobs_by_hand(by_hand: Recording) -> None:
    assert by_hand.jobs.to_pylist() == [
        {"job": 0, "profile": 0, "query": "q0", "size": "tiny", "arrival_ms": 0, "completion_ms": 160}
    ]
    assert by_hand.decisions is not None
    first = by_hand.decisions.to_pylist()[0]
    assert first == {
        "decision": 0,
        "time_ms": 0,
        "source_job": None,
        "source_stage": None,
        "k": 2,
        "target_job": 0,
        "target_stage": 0,
        "requested": 2,
        "committed": 2,
    }
    # At 150 one executor of the stage has no task left: both are decided on, and nobody wants them.
    (second,) = by_hand.decisions.to_pylist()[1:]
    assert (second["time_ms"], second["source_job"], second["source_stage"], second["k"]) == (150, 0, 0, 2)
    assert second["target_job"] is None and second["target_stage"] is None


def test_a_recording_has_every_task_and_job(embedded: Profiles, poisson: tuple[Workload, EpisodeResult]) -> None:
    workload, result = poisson
    recording = record(result, embedded, workload)
    arrays = embedded.arrays
    expected: Counter[tuple[int, int]] = Counter()
    for job, profile in enumerate(workload.profile):
        stages = range(arrays.stage_start[profile], arrays.stage_start[profile + 1])
        expected |= Counter({(job, number): int(arrays.num_tasks[g]) for number, g in enumerate(stages)})
    tasks = recording.tasks.to_pylist()
    assert Counter((row["job"], row["stage"]) for row in tasks) == expected
    assert {(row["job"], row["stage"], row["attempt"]) for row in tasks} == {
        (*key, attempt) for key, count in expected.items() for attempt in range(count)
    }
    names = [embedded.names[profile] for profile in workload.profile]
    assert all((row["query"], row["size"]) == names[row["job"]] for row in tasks)
    last = {row["job"]: 0 for row in tasks}
    for row in tasks:
        last[row["job"]] = max(last[row["job"]], row["end_ms"])
    assert recording.jobs["completion_ms"].to_pylist() == [last[job] for job in range(len(names))]
    assert recording.decisions is not None and len(recording.decisions) == result.num_decisions


def test_starts_before() -> None:
    assert starts_before(np.array([0, 1, 0, 0, 1]), np.array([2, 0, 2, 1, 0])).tolist() == [0, 0, 1, 0, 1]
    assert starts_before(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_recording_changes_nothing_and_is_empty_when_off(
    embedded: Profiles, poisson: tuple[Workload, EpisodeResult]
) -> None:
    workload, recorded = poisson
    silent = simulate(embedded, workload, heuristic("fair").compiled)
    assert silent.tasks is None and silent.decisions is None
    np.testing.assert_array_equal(silent.completion_ms, recorded.completion_ms)
    state = start(embedded, workload)
    assert len(state.task_log) == len(state.decision_log) == 0
    with pytest.raises(ClearschedError, match="record_tasks=True"):
        record(silent, embedded, workload)


def test_an_episode_driven_from_python(embedded: Profiles) -> None:
    workload = Workload(np.array([0, 1]), np.array([0, 0]), 3, 100, 1)
    simulation = Simulation(embedded, workload, record_tasks=True)
    while simulation.advance():
        seen = simulation.observe()
        simulation.act(int(seen.candidate_stage[0]), int(seen.job_held[seen.node_job[seen.candidate_node[0]]]) + 1)
    result = simulation.result()
    recording = record(result, simulation.profiles, simulation.workload, "mine")
    assert len(recording.tasks) == result.num_tasks
    assert recording.settings["policy"] == "mine"


# --- executors -------------------------------------------------------------------------------------------------------


def check_lanes(tasks: np.ndarray, lanes: np.ndarray, num_executors: int) -> None:
    """Nobody runs two tasks at once, and rest-wave and first-wave tasks follow what they must follow, at once."""
    assert lanes.min() >= 0 and lanes.max() < num_executors
    for lane in range(num_executors):
        rows = tasks[lanes == lane]
        end_ms = rows[:, 0] + rows[:, 1]
        assert np.all(rows[1:, 0] >= end_ms[:-1])
        for i, (start_ms, _, job, number, wave) in enumerate(rows[:, :5].tolist()):
            if wave == FRESH:
                continue
            assert i > 0 and end_ms[i - 1] == start_ms and rows[i - 1, 2] == job
            assert wave == FIRST_WAVE or rows[i - 1, 3] == number


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("policy", ["fair", "fifo", "capped_srpt"])
def test_lanes_are_possible(
    embedded: Profiles, poisson: tuple[Workload, EpisodeResult], policy: str, mean: bool
) -> None:
    workload = dataclasses.replace(poisson[0], mean_durations=mean)
    tasks = run_recorded(embedded, workload, policy).tasks
    assert tasks is not None
    check_lanes(tasks, assign_executors(tasks, workload.num_executors), workload.num_executors)


def test_a_task_that_ends_when_others_start_is_kept_for_its_own_stage() -> None:
    """Both executors end at 10; the second goes on in its stage, although the first-wave task starts first."""
    tasks = np.array(
        [
            (0, 10, 0, 1, FRESH),
            (0, 10, 0, 0, FRESH),
            (10, 5, 0, 2, FIRST_WAVE),
            (10, 5, 0, 0, REST_WAVE),
        ]
    )
    lanes = assign_executors(tasks, 2)
    assert lanes[3] == lanes[1] and lanes[2] == lanes[0]
    check_lanes(tasks, lanes, 2)


def test_a_failed_executor_is_away_until_it_recovers() -> None:
    """Two executors; the one that fails at 4 is back at 104, so the next two tasks run on the other one."""
    tasks = np.array(
        [
            (0, 4, 0, 0, FRESH, 0, 1),
            (0, 20, 0, 0, FRESH, 1, 0),
            (20, 10, 0, 0, REST_WAVE, 2, 0),
            (50, 10, 1, 0, FRESH, 0, 0),
            (104, 10, 1, 0, FRESH, 1, 0),
        ]
    )
    lanes = assign_executors(tasks, 2, recovery_ms=100)
    assert lanes[0] == 0
    assert lanes[1] == lanes[2] == lanes[3] == 1


def test_nobody_goes_on_after_a_failure() -> None:
    """The rest-wave task starts when one executor fails and the other one ends: it follows the one that ends."""
    tasks = np.array(
        [(0, 10, 0, 0, FRESH, 0, 1), (0, 10, 0, 0, FRESH, 1, 0), (10, 10, 0, 0, REST_WAVE, 2, 0)],
    )
    lanes = assign_executors(tasks, 2, recovery_ms=5)
    assert lanes[2] == lanes[1] != lanes[0]


def test_more_tasks_than_executors_are_refused() -> None:
    tasks = np.array([(0, 10, 0, 0, FRESH), (5, 10, 0, 0, FRESH)])
    with pytest.raises(ClearschedError, match="row 1: more than 1 tasks run at 5 ms"):
        assign_executors(tasks, 1)
    assert assign_executors(tasks[:0], 1).tolist() == []


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_failure() -> Recording:
    """A stage of two tasks on two executors, one of which fails at 130 and returns at 180: as the engine records it."""
    profiles = compile_profiles(toy_trace([[stage(2)]]))
    rules = Semantics(failures_per_hour=1.0, recovery_ms=50)
    workload = dataclasses.replace(toy_workload([0], 2), semantics=rules)
    tasks = np.array(
        [(100, 30, 0, 0, FRESH, 0, 1), (100, 50, 0, 0, FRESH, 1, 0), (150, 10, 0, 0, REST_WAVE, 2, 0)], np.int64
    )
    result = EpisodeResult(np.array([0]), np.array([160]), np.array([150.0]), 1, 3, tasks, None)
    return record(result, profiles, workload)


def test_failed_attempts_are_rows(with_failure: Recording, tmp_path: Path) -> None:
    assert with_failure.tasks["failed"].to_pylist() == [True, False, False]
    assert with_failure.tasks["attempt"].to_pylist() == [0, 1, 2]
    assert with_failure.tasks["end_ms"].to_pylist() == [130, 150, 160]
    bars = [event for event in chrome_events(with_failure, tmp_path) if event["ph"] == "X"]
    away = [event for event in bars if event["name"] == "failed"]
    lane = with_failure.tasks["executor"].to_pylist()[0] + 1
    assert [(event["ts"], event["dur"], event["tid"]) for event in away] == [(130_000, 50_000, lane)]
    assert [event["args"]["failed"] for event in bars if event["name"] != "failed"] == [True, False, False]


def test_an_episode_with_failures(embedded: Profiles, poisson: tuple[Workload, EpisodeResult]) -> None:
    """Every task succeeds once, and an executor that failed runs nothing before it has recovered."""
    rules = Semantics(failures_per_hour=120.0, recovery_ms=700)
    workload = dataclasses.replace(poisson[0], mean_durations=False, semantics=rules)
    result = run_recorded(embedded, workload)
    tasks = record(result, embedded, workload).tasks.to_pylist()
    assert len(tasks) == result.num_tasks
    succeeded = Counter((row["job"], row["stage"]) for row in tasks if not row["failed"])
    planned = poisson[1].tasks
    assert planned is not None
    assert succeeded == Counter((job, number) for job, number in planned[:, 2:4].tolist())
    assert any(row["failed"] for row in tasks)
    attempts = {(row["job"], row["stage"], row["attempt"]) for row in tasks}
    assert len(attempts) == len(tasks)
    for lane in range(workload.num_executors):
        own = [row for row in tasks if row["executor"] == lane]
        for first, then in pairwise(own):
            assert then["start_ms"] >= first["end_ms"] + 700 * first["failed"]
    assert result.tasks is not None
    lanes = np.array([row["executor"] for row in tasks])
    check_lanes(result.tasks, lanes, workload.num_executors)


# --- Parquet ---------------------------------------------------------------------------------------------------------


def test_parquet_round_trip(embedded: Profiles, poisson: tuple[Workload, EpisodeResult], tmp_path: Path) -> None:
    recording = record(poisson[1], embedded, poisson[0], "fair")
    write_parquet(recording, tmp_path / "episode")
    again = read_parquet(tmp_path / "episode")
    assert again.tasks.equals(recording.tasks)
    assert again.jobs.equals(recording.jobs)
    assert again.decisions is not None and again.decisions.equals(recording.decisions)
    assert again.settings == recording.settings
    assert sorted(path.name for path in (tmp_path / "episode").iterdir()) == [
        "decisions.parquet",
        "jobs.parquet",
        "tasks.parquet",
    ]


def test_a_recording_without_decisions_replaces_one_with_them(
    by_hand: Recording, with_failure: Recording, tmp_path: Path
) -> None:
    write_parquet(by_hand, tmp_path)
    write_parquet(with_failure, tmp_path)
    again = read_parquet(tmp_path)
    assert again.decisions is None
    assert again.settings["semantics"]["recovery_ms"] == 50
    assert again.tasks.equals(with_failure.tasks)


def test_files_of_two_episodes_are_no_recording(by_hand: Recording, with_failure: Recording, tmp_path: Path) -> None:
    write_parquet(by_hand, tmp_path / "one")
    write_parquet(with_failure, tmp_path / "two")
    (tmp_path / "two" / "jobs.parquet").replace(tmp_path / "one" / "jobs.parquet")
    with pytest.raises(ClearschedError, match="not of one episode"):
        read_parquet(tmp_path / "one")
    with pytest.raises(ClearschedError, match=r"jobs\.parquet: no such file"):
        read_parquet(tmp_path / "two")


def test_what_cannot_be_written_is_told(by_hand: Recording, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClearschedError, match="is a file"):
        write_parquet(by_hand, tmp_path / "file")
    with pytest.raises(ClearschedError, match="is a folder"):
        write_chrome_trace(by_hand, tmp_path)
    with pytest.raises(ClearschedError, match="is a file"):
        write_chrome_trace(by_hand, tmp_path / "file" / "trace.json")


# --- Chrome trace ----------------------------------------------------------------------------------------------------


def chrome_events(recording: Recording, folder: Path) -> list[dict[str, Any]]:
    write_chrome_trace(recording, folder / "trace.json")
    content = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
    assert content["otherData"] == recording.settings
    events: list[dict[str, Any]] = content["traceEvents"]
    return events


def counter(events: list[dict[str, Any]], name: str) -> list[tuple[int, int]]:
    return [(e["ts"], *e["args"].values()) for e in events if e["ph"] == "C" and e["name"] == name]


def test_chrome_trace_by_hand(by_hand: Recording, tmp_path: Path) -> None:
    events = chrome_events(by_hand, tmp_path)
    bars = [(e["ts"], e["dur"], e["name"]) for e in events if e["ph"] == "X"]
    name = "job 0 (a) stage 0"
    assert bars == [(100_000, 50_000, name), (100_000, 50_000, name), (150_000, 10_000, name)]
    jobs = [(e["ph"], e["ts"], e["id"], e["name"]) for e in events if e["ph"] in "be"]
    assert jobs == [("b", 0, 0, "job 0 (a) q0 tiny"), ("e", 160_000, 0, "job 0 (a) q0 tiny")]
    assert counter(events, "jobs in the system") == [(0, 1), (160_000, 0)]
    assert counter(events, "busy executors") == [(0, 0), (100_000, 2), (150_000, 1), (160_000, 0)]
    marks = [(e["ts"], e["name"], e["args"]["k"]) for e in events if e["ph"] == "i"]
    assert marks == [(0, "job 0 (a) stage 0: 2 executors", 2), (150_000, "none", 2)]


def test_chrome_trace_has_every_task_once_on_its_executor(
    embedded: Profiles, poisson: tuple[Workload, EpisodeResult], tmp_path: Path
) -> None:
    workload, result = poisson
    recording = record(result, embedded, workload, 'a "quoted" policy')
    events = chrome_events(recording, tmp_path)
    assert result.tasks is not None
    bars = [e for e in events if e["ph"] == "X"]
    keys = [(e["ts"], e["dur"], e["args"]["job"], e["args"]["stage"]) for e in bars]
    assert Counter(keys) == Counter((1000 * t, 1000 * d, j, s) for t, d, j, s, *_ in result.tasks.tolist())
    for thread in {e["tid"] for e in bars}:
        own = sorted((e["ts"], e["ts"] + e["dur"]) for e in bars if e["tid"] == thread)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(own))
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {e["tid"] for e in bars} <= {tid for pid, tid in named if pid == EXECUTORS}
    assert sum(pid == EXECUTORS for pid, _ in named) == workload.num_executors
    assert named[POLICY, 1] == 'decisions of a "quoted" policy'
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert processes == {EXECUTORS: "executors", JOBS: "jobs", POLICY: "policy"}


def test_counters_agree_with_the_episode(
    embedded: Profiles, poisson: tuple[Workload, EpisodeResult], tmp_path: Path
) -> None:
    """The integral of the jobs in the system is the sum of their completion times, that of busy executors the work."""
    workload, result = poisson
    events = chrome_events(record(result, embedded, workload), tmp_path)
    assert result.tasks is not None
    for name, total_ms in (
        ("jobs in the system", int((result.completion_ms - result.arrival_ms).sum())),
        ("busy executors", int(result.tasks[:, 1].sum())),
    ):
        steps = counter(events, name)
        assert steps[-1][1] == 0 and min(value for _, value in steps) == 0
        area = sum(value * (then - now) for (now, value), (then, _) in pairwise(steps))
        assert area == 1000 * total_ms
    assert max(value for _, value in counter(events, "busy executors")) <= workload.num_executors


def test_jobs_are_told_apart_without_digits(embedded: Profiles, tmp_path: Path) -> None:
    workload = Workload(np.zeros(30, np.int64), np.zeros(30, np.int64), 2, 0, 0, True)
    events = chrome_events(record(run_recorded(embedded, workload), embedded, workload), tmp_path)
    names = {e["name"].split(" stage")[0] for e in events if e["ph"] == "X"}
    assert {"job 0 (a)", "job 25 (z)", "job 26 (aa)", "job 29 (ad)"} <= names
    assert len({"".join(c for c in name if not c.isdigit()) for name in names}) == 30


# --- command line ----------------------------------------------------------------------------------------------------


@pytest.fixture
def episode_file(tmp_path: Path) -> Path:
    path = tmp_path / "episode.json"
    jobs = [{"query": "1", "size": "1g", "arrival_ms": 500}, {"query": "3", "size": "1g", "arrival_ms": 0}]
    content = {"num_executors": 3, "moving_delay_ms": 200, "warmup_delay_ms": 0, "jobs": jobs}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def arguments(episode: Path, *more: object) -> list[str]:
    fixed = ["simulate", str(episode), "--profiles", str(ROOT / tpch_spark.EMBEDDED), "--policy", "fair"]
    return [*fixed, *map(str, more)]


def test_the_command_records(episode_file: Path, tmp_path: Path) -> None:
    folder, trace = tmp_path / "recording", tmp_path / "trace.json"
    answer = CliRunner().invoke(app, arguments(episode_file, "--record", folder, "--chrome", trace))
    assert answer.exit_code == 0, answer.output
    told, recording = json.loads(answer.output), read_parquet(folder)
    assert len(recording.tasks) == told["num_tasks"]
    assert recording.decisions is not None and len(recording.decisions) == told["num_decisions"]
    assert recording.settings["policy"] == "fair"
    # Jobs of a recording are in order of arrival, those of the answer in that of the file.
    assert recording.jobs["query"].to_pylist() == ["3", "1"]
    assert recording.jobs["completion_ms"].to_pylist() == told["completion_ms"][::-1]
    content = json.loads(trace.read_text(encoding="utf-8"))
    assert sum(e["ph"] == "X" for e in content["traceEvents"]) == told["num_tasks"]
    plain = CliRunner().invoke(app, arguments(episode_file))
    assert json.loads(plain.output) == told


@pytest.mark.parametrize(("option", "part"), [("--record", "is a file"), ("--chrome", "is a folder")])
def test_the_command_refuses_what_it_cannot_write(episode_file: Path, tmp_path: Path, option: str, part: str) -> None:
    target = episode_file if option == "--record" else tmp_path
    command = [sys.executable, "-c", "from clearsched.cli import main; main()"]
    answer = subprocess.run([*command, *arguments(episode_file, option, target)], capture_output=True, text=True)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"clearsched: {option} {target}") and part in answer.stderr
    assert answer.stderr.count("\n") == 1 and answer.stdout == ""


# --- documentation ---------------------------------------------------------------------------------------------------


def test_the_page_lists_the_columns() -> None:
    page = (ROOT / "docs" / "recording.md").read_text(encoding="utf-8")
    for name, schema in SCHEMAS.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}.parquet`")]
        assert row.split("|")[3].strip() == ", ".join(f"`{column}`" for column in schema.names)
