"""A replay keeps statistics only: they must be those of the same jobs run as an episode."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from clearsched.errors import WorkloadError
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.replay import Chunk, poisson_jobs, replay
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import Workload, simulate
from clearsched.problems.dag_jobs.traces import load
from toys import stage, toy_trace

FAIR = heuristic("fair").compiled


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return compile_profiles(load("tpch-spark"))


def jobs_of(profiles: Profiles, num_jobs: int, mean_interarrival_ms: float = 1500.0) -> Chunk:
    (chunk,) = poisson_jobs(profiles.trace.num_profiles, num_jobs, mean_interarrival_ms, seed=3, chunk=num_jobs)
    return chunk


def in_chunks(jobs: Chunk, *bounds: int) -> list[Chunk]:
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
    chunks = in_chunks(jobs, 1, 2, 50)
    seen = replay(profiles, chunks, policy, num_executors=10, seed=7, semantics=rules, job_rows=1)
    assert seen.num_jobs == 120
    assert (seen.num_tasks, seen.num_decisions) == (result.num_tasks, result.num_decisions)
    assert seen.mean_jct_s == pytest.approx(result.avg_jct_s, rel=1e-12)
    assert seen.std_jct_s == pytest.approx(result.jct_s.std(), rel=1e-9)
    assert seen.largest_jct_s == result.jct_s.max()
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
    sizes = [
        replay(profiles, poisson_jobs(110, count, 4000.0, seed=1, chunk=100), FAIR, num_executors=10).state_bytes
        for count in (300, 3000)
    ]
    assert sizes[0] == sizes[1]


def test_poisson_jobs_arrive_at_their_rate_over_all_chunks() -> None:
    whole = [np.concatenate(parts) for parts in zip(*poisson_jobs(5, 1000, 100.0, seed=2, chunk=64), strict=True)]
    assert [len(column) for column in whole] == [1000, 1000]
    assert whole[1][0] == 0
    assert np.all(np.diff(whole[1]) >= 0)
    assert whole[1][-1] / 999 == pytest.approx(100, rel=0.1)
    assert set(whole[0]) == set(range(5))


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
