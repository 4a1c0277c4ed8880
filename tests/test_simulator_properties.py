"""Random DAG jobs on random clusters: the compiled simulator against the plain one, and what must always hold."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clearsched.policies import heuristic
from clearsched.problems.dag_jobs.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulate import EpisodeResult, Simulation, Workload, simulate, start
from clearsched.problems.dag_jobs.state import BASE, JOB, SOURCE_JOB, TIME_MS, TO_DECIDE
from clearsched.traces import Trace
from reference_cluster import Stage
from reference_policies import Fifo, capped_srpt, fair, local_srpt, sjf_cp, weighted_fair, wsjf
from reference_simulator import Answer, Policy, ReferenceSimulator
from toys import assert_same, run_reference, stage, toy_trace, toy_workload

Instance = tuple[Trace, Workload, int]
"""A trace, an episode over it, the warm-up delay in ms."""


@st.composite
def tables(draw: st.DrawFn, levels: list[int]) -> dict[str, dict[int, list[int]]]:
    """Durations of a stage at some levels, perhaps at one that is never looked up; fresh or first wave may be empty."""
    keys = draw(st.lists(st.sampled_from([*levels, 7, 9]), min_size=1, max_size=4, unique=True))
    few = st.lists(st.sampled_from([0, 1, 2, 5, 10, 30, 200]) | st.integers(0, 300), max_size=3)
    found: dict[str, dict[int, list[int]]] = {"first_wave": {}, "rest_wave": {}, "fresh": {}}
    for level in keys:
        for table in found.values():
            table[level] = draw(few)
        if not found["first_wave"][level] and not found["fresh"][level]:
            found["first_wave"][level] = [draw(st.integers(0, 50))]
    return found


@st.composite
def profiles(draw: st.DrawFn, levels: list[int]) -> list[dict]:
    """A DAG of 1 to 6 stages, numbered in no particular order."""
    count = draw(st.integers(1, 6))
    rank = draw(st.permutations(range(count)))
    stages = []
    for index in range(count):
        earlier = [other for other in range(count) if rank[other] < rank[index]]
        parents = draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True)) if earlier else []
        stages.append(stage(draw(st.integers(1, 5)), parents, **draw(tables(levels))))
    return stages


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """1 to 6 jobs of 1 to 4 profiles on 1 to 8 executors; many times coincide on purpose."""
    levels = sorted(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3, unique=True)))
    trace = toy_trace(draw(st.lists(profiles(levels), min_size=1, max_size=4)), levels)
    jobs = draw(st.lists(st.integers(0, trace.num_profiles - 1), min_size=1, max_size=6))
    moments = st.just(0) | st.sampled_from([10, 100, 200, 1000]) | st.integers(1, 2000)
    workload = toy_workload(
        sorted(draw(st.lists(moments, min_size=len(jobs), max_size=len(jobs)))),
        draw(st.integers(1, 8)),
        profile=jobs,
        moving_delay_ms=draw(st.sampled_from([0, 10, 100, 2000]) | st.integers(0, 5000)),
        seed=draw(st.integers(0, 2**63 - 1)),
        mean_durations=draw(st.booleans()),
    )
    return trace, workload, draw(st.sampled_from([0, 10, 1000]))


checked = settings(max_examples=80, deadline=None, derandomize=True)


def run(instance: Instance, name: str, **parameters: float) -> EpisodeResult:
    trace, workload, warmup_delay_ms = instance
    policy = heuristic(name, **parameters).compiled
    profiles = compile_profiles(trace, warmup_delay_ms)
    return simulate(profiles, workload, policy, record_tasks=True, record_decisions=True)


def plain(name: str, **parameters: float) -> Policy:
    """A heuristic in its plain form."""
    if parameters:
        known = {"weighted_fair": weighted_fair, "wsjf": wsjf, "capped_srpt": capped_srpt, "local_srpt": local_srpt}
        return known[name](**parameters)
    return {"fifo": Fifo(), "fair": fair, "sjf_cp": sjf_cp}[name]


@pytest.mark.parametrize("name", ["fifo", "fair"])
@checked
@given(instance=instances())
def test_the_heuristics_of_the_literature_run_as_in_the_reference(name: str, instance: Instance) -> None:
    trace, workload, warmup_delay_ms = instance
    assert_same(run(instance, name), run_reference(trace, workload, plain(name), warmup_delay_ms))


OTHERS = st.sampled_from(
    [
        ("sjf_cp", {}),
        *((name, {"alpha": alpha}) for name in ("weighted_fair", "wsjf") for alpha in (-1, -0.3, 0, 1.1)),
        *((name, {"p": p, "m": m}) for name in ("capped_srpt", "local_srpt") for p in (0, 0.4, 1) for m in (0.3, 1, 3)),
    ]
)


@settings(checked, max_examples=120)
@given(instance=instances(), chosen=OTHERS)
def test_the_other_heuristics_run_as_in_the_reference(instance: Instance, chosen: tuple[str, dict]) -> None:
    trace, workload, warmup_delay_ms = instance
    name, parameters = chosen
    assume(compile_profiles(trace).work_ms.min() > 0)
    assert_same(
        run(instance, name, **parameters), run_reference(trace, workload, plain(name, **parameters), warmup_delay_ms)
    )


class RandomPolicy:
    """Any candidate, any limit; keeps what it saw and answered, so that another simulator can be asked the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.script: list[dict] = []

    def __call__(self, simulator: ReferenceSimulator) -> Answer:
        candidates = simulator.candidates()
        if not candidates:
            return None
        chosen: Stage = self.random.choice(candidates)
        held = simulator.held_before(chosen.job)
        limit = self.random.randint(held + 1, simulator.num_executors)
        self.script.append(
            {
                "time_ms": simulator.now,
                "k": simulator.k,
                "source": simulator.source.id if simulator.source else -1,
                "candidates": [(s.job.id, s.index) for s in candidates],
                "held": [simulator.held_before(job) for job in simulator.active],
                "answer": (chosen.job.id, chosen.index, limit),
            }
        )
        return chosen, limit - held


@checked
@given(instance=instances(), seed=st.integers(0, 2**32))
def test_any_choices_run_as_in_the_reference(instance: Instance, seed: int) -> None:
    """Step by step: the same candidates, the same counts, and after the same answers the same episode."""
    trace, workload, warmup_delay_ms = instance
    policy = RandomPolicy(seed)
    reference = run_reference(trace, workload, policy, warmup_delay_ms)
    profiles = compile_profiles(trace, warmup_delay_ms)
    simulation = Simulation(profiles, workload)
    simulation.state = start(profiles, workload, record_tasks=True, record_decisions=True)
    for wanted in policy.script:
        assert simulation.advance()
        state, seen = simulation.state, simulation.observe()
        jobs = state.stage[seen.candidate_stage, JOB]
        job, index, limit = wanted["answer"]
        assert {
            "time_ms": state.scalar[TIME_MS],
            "k": state.scalar[TO_DECIDE],
            "source": state.scalar[SOURCE_JOB],
            "candidates": list(zip(jobs, seen.candidate_stage - state.job[jobs, BASE], strict=True)),
            "held": seen.job_held.tolist(),
            "answer": wanted["answer"],
        } == wanted
        simulation.act(int(state.job[job, BASE]) + index, limit)
    assert not simulation.advance()
    assert_same(simulation.result(), reference)


POLICIES = st.sampled_from(["fifo", "sjf_cp", "fair", "weighted_fair", "wsjf", "capped_srpt", "local_srpt"])


@checked
@given(instance=instances(), name=POLICIES)
def test_what_holds_in_every_episode(instance: Instance, name: str) -> None:
    trace, workload, _ = instance
    result = run(instance, name)
    assert result.tasks is not None
    rows = trace.stages.to_pylist()
    stages = [
        (job, row)
        for job, profile in enumerate(workload.profile)
        for row in rows[trace.profile_starts[profile] : trace.profile_starts[profile + 1]]
    ]
    begin, duration, job_of, stage_of = result.tasks[:, :4].T
    end = begin + duration
    done = {}
    for job, row in stages:
        own = (job_of == job) & (stage_of == row["stage"])
        assert own.sum() == row["num_tasks"]
        done[job, row["stage"]] = end[own].max()
    for job, row in stages:
        own = (job_of == job) & (stage_of == row["stage"])
        ready = max((done[job, parent] for parent in row["parents"]), default=workload.arrival_ms[job])
        assert begin[own].min() >= ready
    assert most_at_once(begin, end) <= workload.num_executors
    for job, completion in enumerate(result.completion_ms):
        assert completion == end[job_of == job].max()
        shortest = critical_path_ms([row for owner, row in stages if owner == job])
        assert completion - workload.arrival_ms[job] >= shortest


def most_at_once(begin: np.ndarray, end: np.ndarray) -> int:
    """The most tasks that run at the same time; one that ends when another begins has left."""
    long = end > begin
    changes = sorted([(time, 1) for time in begin[long]] + [(time, -1) for time in end[long]])
    return max(np.cumsum([0, *(change for _, change in changes)]))


def critical_path_ms(rows: list[dict]) -> int:
    """The longest chain of stages if every task takes the shortest time measured."""
    shortest = [min(value for entry in row["durations"] for value in entry["duration_ms"]) for row in rows]

    def until(index: int) -> int:
        return shortest[index] + max((until(parent) for parent in rows[index]["parents"]), default=0)

    return max(until(index) for index in range(len(rows)))


@checked
@given(instance=instances(), name=POLICIES)
def test_the_same_seed_gives_the_same_bytes(instance: Instance, name: str) -> None:
    one, other = run(instance, name), run(instance, name)
    for field in ("completion_ms", "tasks", "decisions"):
        assert getattr(one, field).tobytes() == getattr(other, field).tobytes()


@checked
@given(seed=st.integers(0, 2**63 - 1), num_executors=st.integers(1, 8))
def test_a_task_draws_the_same_under_every_policy(seed: int, num_executors: int) -> None:
    """Common random numbers: with one level and the same durations in all waves, task i of a stage lasts as long."""
    values = {1: list(range(100))}
    same = {"first_wave": values, "rest_wave": values, "fresh": values}
    trace = toy_trace([[stage(6, **same), stage(3, [0], **same)], [stage(9, **same)]])
    workload = toy_workload([0, 40, 90], num_executors, profile=[0, 1, 0], seed=seed, mean_durations=False)
    drawn = []
    for name in ("fifo", "fair", "capped_srpt"):
        tasks = run((trace, workload, 0), name).tasks
        assert tasks is not None
        order = np.lexsort((np.arange(len(tasks)), tasks[:, 3], tasks[:, 2]))
        drawn.append(tasks[order][:, 1:4].tolist())
    assert all(one == other for one, other in pairwise(drawn))
