"""`clearsched engine spark` on a real Spark: a small cluster, tiny jobs, and the road from event logs to rules.

What is held is order, not time: how fast the machine is is not told.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clearsched.cli import main
from clearsched.engines.spark.cluster import running
from clearsched.engines.spark.measured import JOB, START
from clearsched.engines.spark.requirements import Software, find_software, lacking
from clearsched.engines.spark.running import Results, policies_of, run
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.traces.tpch_replay import replay_trace
from spark_jar import build
from toys import stage, toy_trace, toy_workload

pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking())

JOBS = [
    [stage(4, first_wave=300, rest_wave={1: []})],
    [stage(6, first_wave=100, rest_wave={1: []})],
    [stage(2, first_wave=60, rest_wave={1: []})],
]
"""The first keeps both executors busy while a big one and then a small one arrive."""

SHORTEST_FIRST = {
    "name": "shortest",
    "kind": "student",
    "problem": "dag_jobs",
    "none": False,
    "stage": {"weights": {"job_work_left_s": -1.0}},
    "limit": 1.0,
    "most": 2,
}
"""Least work left first, as a formula: no limits."""


@pytest.fixture(scope="module")
def software(tmp_path_factory: pytest.TempPathFactory) -> Software:
    return find_software(build(tmp_path_factory.mktemp("jar")))


@pytest.fixture(scope="module")
def results(software: Software, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Results, Path]]:
    """Two executors and three jobs; FIFO and the shortest first."""
    folder = tmp_path_factory.mktemp("run")
    rules = folder / "shortest.json"
    rules.write_text(json.dumps(SHORTEST_FIRST), encoding="utf-8")
    instance = DagJobsInstance(compile_profiles(replay_trace(toy_trace(JOBS), 1.0, 1.0), 0))
    episode = toy_workload([0, 100, 120], 2, moving_delay_ms=0, spark_offers=True)
    policies = policies_of(["fifo"], [rules])
    yield run(software, instance, [episode], policies, folder), folder


def starts(results: Results, policy: str, job: int) -> list[int]:
    """When the tasks of a job began."""
    tasks = results.real[policy]["episode-0"].tasks
    return sorted(tasks[tasks[:, JOB] == job][:, START].tolist())


def test_fifo_serves_who_came_first_and_rules_the_shortest(results: tuple[Results, Path]) -> None:
    found, _ = results
    assert starts(found, "fifo", 1)[-1] <= starts(found, "fifo", 2)[0]
    assert starts(found, "shortest", 2)[-1] <= starts(found, "shortest", 1)[0]


def test_the_simulator_says_so_too(results: tuple[Results, Path]) -> None:
    found, _ = results
    for policy, order in (("fifo", [0, 1, 2]), ("shortest", [0, 2, 1])):
        for jct_s in (found.simulated[policy][0], found.real[policy]["episode-0"].jct_s):
            assert np.argsort(jct_s + np.array([0, 0.1, 0.12])).tolist() == order


def test_every_task_took_what_it_slept_and_a_little_more(results: tuple[Results, Path]) -> None:
    found, _ = results
    assert found.calibration.task_overhead_ms > 0
    for policy in found.real:
        episode = found.real[policy]["episode-0"]
        assert episode.attempts == 0
        for (_, _, _, _, start, end), sleep in zip(
            episode.tasks.tolist(),
            [
                found.jobs["episode-0"][job].stages[place].duration_ms[task]
                for job, place, task, *_ in episode.tasks.tolist()
            ],
            strict=True,
        ):
            assert end - start >= sleep


def test_each_decision_of_the_rules_is_told(results: tuple[Results, Path]) -> None:
    _, folder = results
    lines = (folder / "shortest" / "decisions.jsonl").read_text("utf-8").splitlines()
    assert lines
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_what_has_ended_is_not_run_again(
    results: tuple[Results, Path], software: Software, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, folder = results
    monkeypatch.setattr("clearsched.engines.spark.running.running", None)  # no cluster can start
    instance = DagJobsInstance(compile_profiles(replay_trace(toy_trace(JOBS), 1.0, 1.0), 0))
    episode = toy_workload([0, 100, 120], 2, moving_delay_ms=0, spark_offers=True)
    again = run(software, instance, [episode], policies_of(["fifo"], []), folder)
    assert again.real["fifo"]["episode-0"].jct_s.tolist() == found.real["fifo"]["episode-0"].jct_s.tolist()


def below(pid: int) -> set[int]:
    """The processes that a process has started, and those that they have."""
    done = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    found, waiting = set(), [pid]
    while waiting:
        parent = waiting.pop()
        children = {one for one, above in pairs if above == parent}
        found |= children
        waiting += children
    return found


def alive(pid: int) -> bool:
    """Whether a process runs: one that has ended may still be listed, where nobody asks how it ended."""
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(told) and not told.startswith("Z")


def test_the_cluster_is_taken_down_whatever_happens(software: Software, tmp_path: Path) -> None:
    before = below(os.getpid())
    with pytest.raises(RuntimeError, match="on the way"), running(software, 1, tmp_path):
        started = below(os.getpid()) - before
        assert len(started) >= 2
        raise RuntimeError("on the way")
    assert not any(map(alive, started))


def test_a_killed_run_leaves_no_cluster(software: Software, tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from clearsched.engines.spark.cluster import running\n"
        "from clearsched.engines.spark.requirements import find_software\n"
        f"with running(find_software(Path({str(software.jar)!r})), 1, Path({str(tmp_path)!r})):\n"
        "    print('up', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        started = below(process.pid)
        assert len(started) >= 2
        process.kill()
    for _ in range(600):
        if not any(map(alive, started)):
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert not any(map(alive, started))


def test_an_application_that_ends_early_is_one_line(software: Software, tmp_path: Path) -> None:
    rules = tmp_path / "broken" / "rules.json"
    rules.parent.mkdir()
    rules.write_text("{}", encoding="utf-8")
    from clearsched.engines.spark import applications

    with (
        running(software, 1, tmp_path / "cluster") as address,
        pytest.raises(ClearschedError, match=r"broken: Spark ended before the last job: .*driver\.log"),
    ):
        policy = applications.EnginePolicy("broken", rules)
        applications.run(software, address, 1, policy, {}, tmp_path / "broken")


def test_from_event_logs_to_rules_for_the_jar(results: tuple[Results, Path], tmp_path: Path) -> None:
    """The commands of docs/deploy.md, on the event log of the run above."""
    _, folder = results
    logs, scenario = folder / "fifo" / "events", tmp_path / "mine.yaml"
    scenario.write_text(
        "scenario: mine\n"
        f"traces: {{source: spark-eventlog, path: {logs}, spark_eventlog: {{job: job-group}}}}\n"
        "workload: {executors: 2, jobs: 4, moving_delay_s: 0.0, idling: false, "
        "corrections: {spark_offers: true, ask_each_task: true}, "
        "episodes: {train: 4, validation: 2, test: 2}, stress: 0.02}\n"
        "heuristics: {capped_srpt: {p: [0.5], m: [1.0]}}\n"
        "search: {families: [stay_and_move], evaluations: 8, restarts: 1, episodes: 2, population: 4}\n"
        "teacher: {clone: {episodes: 4}, improve: {sequences: 4}}\n"
        "decisions: {episodes: 4, held_out: 2}\n"
        "students: {dagger_episodes: 4}\n",
        encoding="utf-8",
    )
    out = tmp_path / "results"

    def clearsched(*words: str | Path) -> None:
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
            patch.setattr("sys.argv", ["clearsched", *map(str, words)])
            main()
        assert not stop.value.code, words

    for name in ("traces", "workloads", "heuristics", "search"):
        clearsched("params", "stage", name, "--params", scenario, "--out", out / f"{name}.json")
    trace, workloads, tuned = out / "trace.parquet", out / "workloads.parquet", out / "tuned.json"
    clearsched("traces", "build", "--params", out / "traces.json", "--out", trace)
    clearsched("traces", "workloads", "--params", out / "workloads.json", "--trace", trace, "--out", workloads)
    both = ["--trace", trace, "--workloads", workloads]
    clearsched(
        "heuristics", "tune", "--params", out / "heuristics.json", *both, "--out", out / "t", "--out-tuned", tuned
    )
    search = ["search", "run", "stay_and_move", "--params", out / "search.json", *both, "--tuned", tuned]
    clearsched(*search, "--out", out / "search")
    clearsched("traces", "profiles", trace, "--out", out / "profiles.json")
    found = out / "search" / "stay_and_move.json"
    clearsched("export", found, "--format", "spark", "--out", out / "rules.json")
    assert json.loads((out / "rules.json").read_text("utf-8"))["format"] == "clearsched-rules"
    assert json.loads((out / "profiles.json").read_text("utf-8"))["templates"]
