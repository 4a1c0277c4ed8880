"""Lower bounds of DAG jobs: reached where they can be, and never beaten by anybody."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearsched.problems.dag_jobs.bounds import bounds, drained_ms, least_durations, srpt_jct_ms
from clearsched.problems.dag_jobs.policies import HEURISTICS
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload, simulate
from test_simulator_properties import Instance, instances
from toys import stage, toy_trace, toy_workload

often = settings(max_examples=60, deadline=None, derandomize=True)


def run_random(profiles: Profiles, workload: Workload, seed: int, idle: float) -> EpisodeResult:
    """A policy that draws stage and limit, and leaves executors idle as often as `idle` says."""
    rng, simulation = np.random.default_rng(seed), Simulation(profiles, workload)
    while simulation.advance():
        if simulation.none_allowed() and rng.random() < idle:
            simulation.act(-1)
            continue
        seen = simulation.observe()
        pick = int(rng.integers(len(seen.candidate_stage)))
        held = int(seen.job_held[seen.node_job[seen.candidate_node[pick]]])
        simulation.act(int(seen.candidate_stage[pick]), held + 1 + int(rng.integers(workload.num_executors)))
    return simulation.result()


@often
@given(instances(), st.integers(0, 2**32), st.sampled_from([0.0, 0.5]))
def test_nobody_beats_the_bounds(instance: Instance, seed: int, idle: float) -> None:
    """Under any corrections and faults, drawn durations or means, moves free or dear."""
    trace, workload, warmup_delay_ms = instance
    profiles = compile_profiles(trace, warmup_delay_ms)
    limits = bounds(profiles, workload)
    results = {name: simulate(profiles, workload, heuristic(name).compiled) for name in HEURISTICS}
    results["random"] = run_random(profiles, workload, seed, idle)
    for name, result in results.items():
        for measure, limit in limits.items():
            assert result.measures[measure] >= limit * (1 - 1e-12), (name, measure)


def alone(num_tasks: int, ms: int) -> list[dict]:
    """A job of one stage whose tasks last as long whatever comes before them."""
    return [stage(num_tasks, first_wave=ms, rest_wave=ms, fresh=ms)]


def test_short_jobs_first_reach_the_bound_on_one_executor() -> None:
    """4 + 1 + 2 s at once: completions at 1, 3 and 7 s; moves are free."""
    profiles = compile_profiles(toy_trace([alone(1, 4000), alone(1, 1000), alone(1, 2000)]))
    workload = toy_workload([0, 0, 0], 1, moving_delay_ms=0)
    found = bounds(profiles, workload)
    assert found == {"jct_s": pytest.approx(11 / 3), "makespan_s": 7.0}
    assert simulate(profiles, workload, heuristic("sjf_cp").compiled).measures["jct_s"] == pytest.approx(11 / 3)


def test_a_chain_alone_reaches_the_bound_with_its_move() -> None:
    """2 s to move, then 1 s and 3 s fresh: the first task is, the second stage's is not of the rest wave."""
    chain = [
        stage(1, first_wave=500, rest_wave=100, fresh=1000),
        stage(1, [0], first_wave=3500, rest_wave=10, fresh=3000),
    ]
    profiles = compile_profiles(toy_trace([chain]))
    workload = toy_workload([500], 3, moving_delay_ms=2000)
    found = bounds(profiles, workload)
    assert found == {"jct_s": 6.0, "makespan_s": 6.5}
    assert simulate(profiles, workload, heuristic("fair").compiled).measures["jct_s"] == 6.0


def test_drawn_durations_are_those_of_the_task_itself() -> None:
    """One level, all waves from one list: what a task draws is known, and the bound takes it to the ms."""
    values = list(range(100, 2000, 37))
    rows = [stage(5, first_wave={1: values}, rest_wave={1: values}, fresh={1: values})]
    profiles = compile_profiles(toy_trace([rows]))
    workload = toy_workload([0], 1, moving_delay_ms=0, mean_durations=False, seed=11)
    result = simulate(profiles, workload, heuristic("fair").compiled, record_tasks=True)
    assert result.tasks is not None
    assert least_durations(profiles, workload).work_ms.tolist() == [int(result.tasks[:, 1].sum())]
    lossy = toy_workload(
        [0], 1, moving_delay_ms=0, mean_durations=False, seed=11, failures_per_hour=1.0, recovery_ms=10
    )
    assert least_durations(profiles, lossy).work_ms.tolist() == [5 * 100], "a lost task draws again"


def best_order_ms(work_ms: list[int]) -> float:
    """The least sum of completion times of jobs that are all there, by trying every order."""
    return min(float(np.cumsum(order).sum()) for order in permutations(work_ms))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6))
def test_srpt_without_arrivals_is_the_best_order(work_ms: list[int]) -> None:
    release = np.zeros(len(work_ms), np.int64)
    assert srpt_jct_ms(release, np.array(work_ms), 1).sum() == best_order_ms(work_ms)


def test_srpt_preempts() -> None:
    """10 ms of work, and 2 that arrive at 3: 3 to 5 for the short one, the long one ends at 12."""
    release, work = np.array([0, 3]), np.array([10, 2])
    assert srpt_jct_ms(release, work, 1).tolist() == [12.0, 2.0]
    assert srpt_jct_ms(np.array([0, 3]), 2 * work, 2).tolist() == [12.0, 2.0]
    assert drained_ms(release, work, 1) == 12.0
    assert drained_ms(np.array([0, 30]), work, 1) == 32.0


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_no_preemptive_schedule_has_a_smaller_sum(jobs: list[tuple[int, int]], random) -> None:
    """Against a schedule that draws which job runs in each ms."""
    release, work = np.array(sorted(r for r, _ in jobs)), np.array([w for _, w in jobs])
    left, done, now = work.copy(), np.zeros(len(jobs)), 0
    while left.any():
        there = [job for job in range(len(jobs)) if release[job] <= now and left[job]]
        now += 1
        if there:
            job = random.choice(there)
            left[job] -= 1
            done[job] = now
    assert srpt_jct_ms(release, work, 1).sum() <= (done - release).sum()
