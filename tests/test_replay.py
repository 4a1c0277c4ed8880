"""A replay keeps statistics only: they must be those of the same jobs run as an episode."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from clearsched.cli import app
from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import Packed
from clearsched.errors import ClearschedError, WorkloadError
from clearsched.problems.dag_jobs.command import replay_trace
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.replay import Chunk, in_chunks, replay
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload, simulate
from clearsched.problems.dag_jobs.traces import make_trace, write_trace
from clearsched.problems.dag_jobs.workloads.arrivals import poisson
from toys import micro_trace, stage, toy_rows, toy_trace

FAIR = heuristic("fair").compiled


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return compile_profiles(micro_trace())


def jobs_of(profiles: Profiles, num_jobs: int, mean_interarrival_ms: float = 1500.0) -> Chunk:
    generator = np.random.default_rng(3)
    arrival_ms = poisson(generator, num_jobs, mean_interarrival_ms)
    return generator.integers(profiles.trace.num_profiles, size=num_jobs), arrival_ms


def cut(jobs: Chunk, *bounds: int) -> list[Chunk]:
    profile, arrival_ms = jobs
    return [(profile[a:b], arrival_ms[a:b]) for a, b in pairwise([0, *bounds, len(profile)])]


FAULTY = Semantics(failures_per_hour=60.0, straggler_probability=0.05, straggler_slowdown=4.0, recovery_ms=3000)


@pytest.mark.parametrize(
    "rules", [Semantics(), FAULTY, Semantics(work_conserving=True)], ids=["plain", "faults", "conserving"]
)
@pytest.mark.parametrize("name", ["fifo", "fair", "weighted_fair", "capped_srpt", "local_srpt"])
def test_a_replay_runs_as_the_episode_of_the_same_jobs(profiles: Profiles, name: str, rules: Semantics) -> None:
    jobs = jobs_of(profiles, 120)
    policy = heuristic(name).compiled
    result = simulate(profiles, Workload(*jobs, 10, 2000, 7, semantics=rules), policy)
    # Chunks of no particular size, and a single row to begin with, so that the state has to grow.
    chunks = cut(jobs, 1, 2, 50)
    seen = replay(profiles, chunks, policy, num_executors=10, seed=7, semantics=rules, job_rows=1)
    assert seen.num_jobs == 120
    assert (seen.num_tasks, seen.num_decisions) == (result.num_tasks, result.num_decisions)
    assert seen.mean_jct_s == pytest.approx(result.avg_jct_s, rel=1e-12)
    assert seen.std_jct_s == pytest.approx(result.jct_s.std(), rel=1e-9)
    assert seen.largest_jct_s == result.jct_s.max()
    assert seen.makespan_s == result.makespan_s
    assert seen.quantile_s(0.5) == pytest.approx(np.quantile(result.jct_s, 0.5, method="inverted_cdf"), rel=0.03)


def test_the_most_jobs_at_once_are_counted() -> None:
    """One executor, jobs of 100 + 10 ms (a move and a task), one every 50 ms: the queue grows, then empties."""
    profiles = compile_profiles(toy_trace([[stage(1, fresh=10)]]))
    seen = replay(
        profiles, [(np.zeros(4, np.int64), np.array([0, 50, 100, 150]))], FAIR, num_executors=1, moving_delay_ms=100
    )
    # Completions at 110, 220, 330, 440; job 3 arrives at 150, when job 0 is complete.
    assert seen.most_jobs == 3
    assert seen.mean_jct_s == pytest.approx((110 + 170 + 230 + 290) / 4 / 1000)


def test_memory_does_not_grow_with_the_jobs_that_are_complete(profiles: Profiles) -> None:
    sizes = []
    for count in (300, 3000):
        jobs = jobs_of(profiles, 3000, 4000.0)
        chunks = in_chunks(jobs[0][:count], jobs[1][:count], 100)
        sizes.append(replay(profiles, chunks, FAIR, num_executors=10).state_bytes)
    assert sizes[0] == sizes[1]


IDLER = Packed(pack_formula({"constant": 0.5, "job_sqrt_load": -1.0}, FEATURE_NAMES, "test"), none=True)
"""Idles where every job with a candidate holds half its square-root share or more."""


def test_none_can_wait_for_a_job_of_the_next_chunk(profiles: Profiles) -> None:
    """Whether `none` is refused must not depend on where the chunks end."""
    jobs = jobs_of(profiles, 60, 4000.0)
    half = Packed(pack_formula({"constant": 0.5}, FEATURE_NAMES, "test"))
    policy = PROBLEM.compile(IDLER, half)
    result = simulate(profiles, Workload(*jobs, 10, 2000, 7), policy, record_decisions=True)
    assert result.decisions is not None
    assert np.sum(result.decisions[:, 4] < 0) > 20
    for bounds in ((), (1, 2, 3), tuple(range(1, 60))):
        seen = replay(profiles, cut(jobs, *bounds), policy, num_executors=10, seed=7)
        assert (seen.num_decisions, seen.largest_jct_s) == (result.num_decisions, result.jct_s.max())


# A whole trace ------------------------------------------------------------------------------------------------------


@pytest.fixture
def arrived(tmp_path: Path) -> Path:
    """Jobs of 100 + 50 ms (a move and a task) that arrive at 700, 500 and 540 ms."""
    rows = toy_rows([[stage(1)]] * 3)
    for row, arrival_ms in zip(rows, (700, 500, 540), strict=True):
        row["arrival_ms"] = arrival_ms
    path = tmp_path / "trace.parquet"
    write_trace(path, make_trace(rows, {"source": "toy", "levels": [1]}, "toy"))
    return path


@pytest.mark.parametrize(
    # Completions from the first arrival on: 150, then 300 for the one that came at 40; the last came at 200, ends at
    # 450. Twice as fast: arrivals at 0, 20 and 100.
    ("speed", "jct_s"),
    [(1.0, [0.150, 0.260, 0.250]), (2.0, [0.150, 0.280, 0.350])],
)
def test_a_trace_is_replayed_as_it_arrived(arrived: Path, speed: float, jct_s: list[float]) -> None:
    told = replay_trace(arrived, heuristic("fifo"), 1, speed=speed, moving_delay_s=0.1)
    assert told["mean_jct_s"] == pytest.approx(np.mean(jct_s))
    assert told["p95_jct_s"] == pytest.approx(max(jct_s), rel=0.03)
    assert (told["policy"], told["num_jobs"], told["num_tasks"]) == ("fifo", 3, 3)
    assert (told["makespan_s"], told["largest_jct_s"]) == (0.45, max(jct_s))
    assert told["most_jobs"] == (2 if speed == 1 else 3)


def test_a_trace_that_cannot_be_replayed_is_named(arrived: Path, tmp_path: Path) -> None:
    without = tmp_path / "without.parquet"
    write_trace(without, toy_trace([[stage(1)]]))
    with pytest.raises(ClearschedError, match=r"without.parquet: has no arrival times"):
        replay_trace(without, heuristic("fifo"), 1)
    with pytest.raises(ClearschedError, match="speed is 0"):
        replay_trace(arrived, heuristic("fifo"), 1, speed=0)
    outside = SimpleNamespace(name="teacher")
    with pytest.raises(ClearschedError, match="teacher runs outside the loop"):
        replay_trace(arrived, outside, 1)  # type: ignore[arg-type]


def test_the_command_prints_it(arrived: Path) -> None:
    command = ["traces", "replay", str(arrived), "--executors", "1", "--policy", "fifo", "--moving-delay-s", "0.1"]
    answer = CliRunner().invoke(app, [*command, "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.output) == replay_trace(arrived, heuristic("fifo"), 1, moving_delay_s=0.1)
    table = CliRunner().invoke(app, command).output
    assert re.search(r"mean_jct_s +0\.22 ", table)


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([], "no job"),
        ([(np.array([0]), np.array([5])), (np.array([0]), np.array([4]))], "chunk 1: arrival times"),
        ([(np.array([110]), np.array([0]))], "chunk 0: profiles must lie in 0 to 109"),
        ([(np.array([0, 1]), np.array([0]))], "chunk 0: 2 profiles and 1 arrival times"),
    ],
)
def test_bad_jobs_are_named(profiles: Profiles, jobs: list[Chunk], message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        replay(profiles, jobs, FAIR, num_executors=10)


def test_no_executor_is_an_error(profiles: Profiles) -> None:
    with pytest.raises(WorkloadError, match="num_executors is 0"):
        replay(profiles, [], FAIR, num_executors=0)
