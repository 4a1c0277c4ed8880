"""Estimates: what policies see of durations is wrong as asked for, what happens is not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from clearsched.errors import WorkloadError
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.graph import NODE_FEATURES
from clearsched.problems.dag_jobs.gym.environment import DagJobsEnv
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.estimates import EXACT, Estimates, believed_task_ms
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload, simulate
from toys import micro_trace, stage, toy_trace, toy_workload

TWICE = Estimates(error=2.0)
DIAMOND = [stage(2), stage(6, [0]), stage(3, [0]), stage(1, [1, 2])]


@pytest.fixture(scope="module")
def toys() -> Profiles:
    return compile_profiles(toy_trace([DIAMOND, [stage(3), stage(2, [0])]]))


@pytest.fixture(scope="module")
def spark() -> Profiles:
    return compile_profiles(micro_trace())


def episode(profiles: Profiles, estimates: Estimates, seed: int = 5, jobs: int = 30) -> Workload:
    generator = np.random.default_rng(seed)
    profile = generator.integers(0, profiles.trace.num_profiles, jobs)
    arrival_ms = np.sort(generator.integers(0, 2000 * jobs, jobs))
    return Workload(profile, arrival_ms, 5, 1000, seed, estimates=estimates)


# What is believed ---------------------------------------------------------------------------------------------------


def test_the_error_is_the_one_asked_for(spark: Profiles) -> None:
    """Of 4,000 jobs: ln(estimate / mean) has mean 0 and deviation ln 2; within a job its correlation is a half."""
    profile = np.random.default_rng(0).integers(0, spark.trace.num_profiles, 4000)
    counts = np.diff(spark.arrays.stage_start)[profile]
    rows = np.concatenate([np.arange(*spark.arrays.stage_start[p : p + 2]) for p in profile])
    off = np.log(believed_task_ms(spark.arrays, profile, TWICE, 7) / spark.arrays.mean_ms[rows])
    assert off.mean() == pytest.approx(0, abs=0.02)
    assert off.std() == pytest.approx(math.log(2), rel=0.02)
    first = np.cumsum(counts) - counts
    several = first[counts > 1]
    assert np.corrcoef(off[several], off[several + 1])[0, 1] == pytest.approx(0.5, abs=0.05)


def test_a_larger_error_is_wrong_in_the_same_direction(spark: Profiles) -> None:
    profile = np.arange(20)
    exact, two, four = (believed_task_ms(spark.arrays, profile, Estimates(error), 3) for error in (1.0, 2.0, 4.0))
    np.testing.assert_array_equal(exact, spark.arrays.mean_ms[: len(exact)])
    np.testing.assert_allclose(np.log(four / exact), 2 * np.log(two / exact))


def test_jobs_without_estimates_count_with_the_mean_of_the_trace(spark: Profiles) -> None:
    profile = np.random.default_rng(0).integers(0, spark.trace.num_profiles, 2000)
    counts = np.diff(spark.arrays.stage_start)[profile]
    known = {}
    for missing in (0.3, 0.6):
        believed = believed_task_ms(spark.arrays, profile, Estimates(2.0, missing, 123.0), 3)
        by_job = np.split(believed == 123.0, np.cumsum(counts)[:-1])
        assert all(of.all() or not of.any() for of in by_job), "a job is known or it is not"
        known[missing] = np.array([not of.any() for of in by_job])
        assert 1 - known[missing].mean() == pytest.approx(missing, abs=0.03)
    assert not (known[0.6] & ~known[0.3]).any(), "the same jobs are unknown, and others"


def test_estimates_depend_on_the_seed_alone(toys: Profiles) -> None:
    profile = np.array([0, 1, 0])
    one, again, other = (believed_task_ms(toys.arrays, profile, TWICE, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one, again)
    assert not (one == other).any()


@pytest.mark.parametrize("wrong", [{"error": 0.5}, {"error": float("nan")}, {"missing": 1.1}, {"unknown_task_ms": 0.0}])
def test_bad_estimates_are_named(wrong: dict[str, float]) -> None:
    with pytest.raises(WorkloadError, match=f"estimates: {next(iter(wrong))} is .* must lie in"):
        Estimates(**wrong)


# What policies see --------------------------------------------------------------------------------------------------


def test_features_and_nodes_are_made_of_what_is_believed(toys: Profiles) -> None:
    """At time 0, a diamond of 2, 6, 3 and 1 tasks: work, paths and task durations by hand."""
    workload = replace(toy_workload([0], 3), estimates=TWICE)
    a, b, c, d = believed_task_ms(toys.arrays, np.array([0]), TWICE, workload.seed).tolist()
    simulation = Simulation(toys, workload)
    simulation.advance()
    seen = simulation.observe()
    features = dict(zip(FEATURE_NAMES, seen.candidates[0].tolist(), strict=True))
    work, path = 2 * a + 6 * b + 3 * c + d, 2 * a + max(6 * b, 3 * c) + d
    wanted = {
        "job_work_left_s": work,
        "job_work_total_s": work,
        "job_critical_path_s": path,
        "stage_task_s": a,
        "stage_work_left_s": 2 * a,
        "stage_critical_path_s": path,
    }
    assert {name: features[name] for name in wanted} == pytest.approx({n: ms / 1000 for n, ms in wanted.items()})
    column = [feature.name for feature in NODE_FEATURES].index("task_s")
    assert seen.nodes[:, column].tolist() == pytest.approx([ms / 1000 for ms in (a, b, c, d)])


@pytest.mark.parametrize("estimates", [TWICE, Estimates(1.0, 0.5, 400.0)])
def test_what_happens_is_what_it_is(spark: Profiles, estimates: Estimates) -> None:
    """Policies that ask for no duration run the same; one that does runs otherwise."""
    exact, wrong = episode(spark, EXACT), episode(spark, estimates)
    for name in ("fifo", "fair"):
        one, other = (
            simulate(spark, workload, heuristic(name).compiled, record_tasks=True) for workload in (exact, wrong)
        )
        np.testing.assert_array_equal(one.tasks, other.tasks)
        np.testing.assert_array_equal(one.completion_ms, other.completion_ms)
        assert one.measures == other.measures, "slowdowns too are told by what is"
    policy = heuristic("capped_srpt").compiled
    one, other = (simulate(spark, workload, policy) for workload in (exact, wrong))
    assert one.completion_ms.tolist() != other.completion_ms.tolist()


def test_lockstep_and_environment_see_the_same(spark: Profiles) -> None:
    workloads = [episode(spark, TWICE, seed, jobs=6) for seed in (1, 2)]
    lockstep = Lockstep(spark, workloads)
    lockstep.advance()
    graph = lockstep.observe()
    for b, workload in enumerate(workloads):
        simulation = Simulation(spark, workload)
        simulation.advance()
        seen = simulation.observe()
        rows = slice(graph.candidate_start[b], graph.candidate_start[b + 1])
        np.testing.assert_array_equal(graph.candidates[rows], seen.candidates)
    env = DagJobsEnv(spark, jobs=6, estimates={"error": 2.0, "missing": 0.2})
    observation, _ = env.reset(seed=3)
    assert env.workload is not None
    tasks, work = spark.arrays.num_tasks, spark.arrays.num_tasks @ spark.arrays.mean_ms
    assert env.workload.estimates == Estimates(2.0, 0.2, float(work / tasks.sum()))
    simulation = Simulation(spark, env.workload)
    simulation.advance()
    seen = simulation.observe().candidates
    assert sorted(observation["candidates"][: len(seen)].tolist()) == sorted(seen.tolist())


def test_exact_estimates_are_the_profile_itself(spark: Profiles) -> None:
    """To the bit, so that a scenario without errors is what it was."""
    state = Simulation(spark, episode(spark, EXACT)).state
    rows = state.stage[:, st.PROFILE_STAGE]
    np.testing.assert_array_equal(state.known[:, st.TASK_MS], spark.arrays.mean_ms[rows])
    np.testing.assert_array_equal(state.known[:, st.PATH_MS], spark.arrays.critical_path_ms[rows])
    np.testing.assert_array_equal(state.work[:, st.WORK_TOTAL_MS], spark.work_ms[state.job[:, st.PROFILE]])
