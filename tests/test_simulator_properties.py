"""Random DAG jobs on random clusters: the compiled simulator against the plain one, and what must always hold."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.estimates import EXACT, Estimates
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload, simulate
from clearsched.problems.dag_jobs.simulator.state import BASE, JOB, NONE, SOURCE_JOB, TIME_MS, TO_DECIDE
from clearsched.problems.dag_jobs.traces import Trace
from clearsched.problems.episodes import Answers
from reference_cluster import Stage
from reference_policies import Fifo, capped_srpt, fair, local_srpt, sjf_cp, weighted_fair, wsjf
from reference_simulator import Answer, Policy, ReferenceSimulator
from toys import assert_same, run_reference, stage, toy_trace, toy_workload

Instance = tuple[Trace, Workload, int]
"""A trace, an episode over it, the warm-up delay in ms."""


CORRECTIONS = (
    *("work_conserving", "right_interpolation", "spark_fifo", "offer_parked", "spark_offers", "back_up_parked"),
    *("help_first", "offer_at_completion", "ask_each_task"),
)
"""And what `none` of a learned policy means."""


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
def rules(draw: st.DrawFn, longest_ms: int) -> dict[str, float]:
    """Any corrections; failures so often that a task of the longest duration takes up to e^2 attempts on average."""
    chosen = {name: draw(st.booleans()) for name in CORRECTIONS}
    slowdown = draw(st.sampled_from([1.0, 1.5, 3.0]))
    if draw(st.booleans()):
        chosen |= {"straggler_probability": draw(st.sampled_from([0.1, 0.5, 1.0])), "straggler_slowdown": slowdown}
    if draw(st.booleans()):
        life_ms = max(1.0, longest_ms * slowdown * draw(st.sampled_from([0.5, 1, 4, 20])))
        chosen |= {
            "failures_per_hour": 3_600_000 / life_ms,
            "recovery_ms": draw(st.sampled_from([0, 10, 100, 1000]) | st.integers(0, 2000)),
        }
    if draw(st.booleans()):
        begin = draw(st.sampled_from([0, 100, 1000]) | st.integers(0, 2000))
        end = begin + draw(st.sampled_from([0, 10, 1000]) | st.integers(0, 3000))
        chosen |= {"outage_executors": draw(st.integers(1, 5)), "outage_from_ms": begin, "outage_until_ms": end}
    return chosen


def estimates() -> st.SearchStrategy[Estimates]:
    """Mostly exact; half or twice, or a job of which nothing is known."""
    wrong = st.builds(Estimates, st.sampled_from([1.0, 2.0, 10.0]), st.sampled_from([0.0, 0.5, 1.0]), st.just(30.0))
    return st.just(EXACT) | wrong


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """1 to 6 jobs of 1 to 4 profiles, on 1 to 200 executors but mostly few; many times coincide on purpose."""
    levels = sorted(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3, unique=True)))
    trace = toy_trace(draw(st.lists(profiles(levels), min_size=1, max_size=4)), levels)
    jobs = draw(st.lists(st.integers(0, trace.num_profiles - 1), min_size=1, max_size=6))
    moments = st.just(0) | st.sampled_from([10, 100, 200, 1000]) | st.integers(1, 2000)
    warmup_delay_ms = draw(st.sampled_from([0, 10, 1000]))
    few = st.integers(1, 8)
    workload = toy_workload(
        sorted(draw(st.lists(moments, min_size=len(jobs), max_size=len(jobs)))),
        draw(st.one_of(few, few, few, st.integers(1, 200))),
        profile=jobs,
        moving_delay_ms=draw(st.sampled_from([0, 10, 100, 2000]) | st.integers(0, 5000)),
        seed=draw(st.integers(0, 2**63 - 1)),
        mean_durations=draw(st.booleans()),
        **draw(st.just({}) | rules(longest_ms(trace) + warmup_delay_ms)),
    )
    return trace, replace(workload, estimates=draw(estimates())), warmup_delay_ms


def longest_ms(trace: Trace) -> int:
    rows = trace.stages.to_pylist()
    return max(value for row in rows for entry in row["durations"] for value in entry["duration_ms"])


checked = settings(max_examples=100, deadline=None, derandomize=True)


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


def check(instance: Instance, name: str, **parameters: float) -> None:
    """Event for event."""
    trace, workload, warmup_delay_ms = instance
    reference = run_reference(trace, workload, plain(name, **parameters), warmup_delay_ms)
    assert_same(run(instance, name, **parameters), reference)


@pytest.mark.parametrize("name", ["fifo", "fair"])
@checked
@given(instance=instances())
def test_the_heuristics_of_the_literature_run_as_in_the_reference(name: str, instance: Instance) -> None:
    check(instance, name)


OTHERS = st.sampled_from(
    [
        ("sjf_cp", {}),
        *((name, {"alpha": alpha}) for name in ("weighted_fair", "wsjf") for alpha in (-1, -0.3, 0, 1.1)),
        *((name, {"p": p, "m": m}) for name in ("capped_srpt", "local_srpt") for p in (0, 0.4, 1) for m in (0.3, 1, 3)),
    ]
)


@settings(checked, max_examples=150)
@given(instance=instances(), chosen=OTHERS)
def test_the_other_heuristics_run_as_in_the_reference(instance: Instance, chosen: tuple[str, dict]) -> None:
    name, parameters = chosen
    assume(compile_profiles(instance[0]).work_ms.min() > 0)
    check(instance, name, **parameters)


IDLE = st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0])
"""How often a random policy idles where it may."""


class RandomPolicy:
    """Any candidate, any limit, or `none` with probability `idle` where it is not refused.

    It keeps what it saw and answered, so that another simulator can be asked the same.
    """

    is_learned = True

    def __init__(self, seed: int, idle: float = 0.0, may_fail: bool = False) -> None:
        self.random = random.Random(seed)
        self.idle = idle
        self.may_fail = may_fail  # executors: they come back, and are asked about
        self.script: list[dict] = []

    def __call__(self, simulator: ReferenceSimulator) -> Answer:
        candidates = simulator.candidates()
        if not candidates:
            return None
        chosen: Stage = self.random.choice(candidates)
        held = simulator.held_before(chosen.job)
        limit = self.random.randint(held + 1, simulator.num_executors)
        may_idle = simulator.something_pending() and (self.may_fail or simulator.asked_again())
        idles = may_idle and self.random.random() < self.idle
        self.script.append(
            {
                "time_ms": simulator.now,
                "k": simulator.k,
                "source": simulator.source.id if simulator.source else -1,
                "candidates": [(s.job.id, s.index) for s in candidates],
                "held": [simulator.held_before(job) for job in simulator.active],
                "may_idle": may_idle,
                "answer": None if idles else (chosen.job.id, chosen.index, limit),
            }
        )
        return None if idles else (chosen, limit - held)


@checked
@given(instance=instances(), seed=st.integers(0, 2**32), idle=IDLE)
def test_any_choices_run_as_in_the_reference(instance: Instance, seed: int, idle: float) -> None:
    """Step by step: the same candidates, the same counts, and after the same answers the same episode."""
    trace, workload, warmup_delay_ms = instance
    policy = RandomPolicy(seed, idle, workload.semantics.failures_per_hour > 0)
    reference = run_reference(trace, workload, policy, warmup_delay_ms)
    profiles = compile_profiles(trace, warmup_delay_ms)
    simulation = Simulation(profiles, workload, record_tasks=True, record_decisions=True)
    for wanted in policy.script:
        assert simulation.advance()
        state, seen = simulation.state, simulation.observe()
        jobs = state.stage[seen.candidate_stage, JOB]
        assert {
            "time_ms": state.scalar[TIME_MS],
            "k": state.scalar[TO_DECIDE],
            "source": state.scalar[SOURCE_JOB],
            "candidates": list(zip(jobs, seen.candidate_stage - state.job[jobs, BASE], strict=True)),
            "held": seen.job_held.tolist(),
            "may_idle": simulation.none_allowed(),
            "answer": wanted["answer"],
        } == wanted
        assert seen.none_allowed.tolist() == [wanted["may_idle"]]
        if wanted["answer"] is None:
            simulation.act(NONE)
        else:
            job, index, limit = wanted["answer"]
            simulation.act(int(state.job[job, BASE]) + index, limit)
    assert not simulation.advance()
    assert_same(simulation.result(), reference)


@settings(checked, max_examples=200)
@given(instance=instances(), seed=st.integers(0, 2**32), idle=IDLE, width=st.integers(1, 3))
def test_nothing_deadlocks_whatever_idles(instance: Instance, seed: int, idle: float, width: int) -> None:
    """Three episodes in lockstep under random answers and random idling: all jobs complete, every task runs."""
    trace, workload, warmup_delay_ms = instance
    profiles = compile_profiles(trace, warmup_delay_ms)
    workloads = [replace(workload, seed=(workload.seed + i) % 2**63) for i in range(3)]
    recorded = not workload.semantics.has_faults  # lost tasks have no bound, and a record has
    lockstep = Lockstep(profiles, workloads, width, record_tasks=recorded)
    generator = np.random.default_rng(seed)
    while lockstep.advance():
        graph = lockstep.observe()
        sizes = np.diff(graph.candidate_start)
        candidate = generator.integers(sizes)
        first, last = graph.levels[graph.candidate_start[:-1] + candidate].T
        idles = graph.none_allowed & (generator.random(len(sizes)) < idle)
        lockstep.answer(Answers(np.where(idles, NONE, candidate), generator.integers(first, last, endpoint=True)))
    for result in lockstep.results():
        assert (result.completion_ms >= workload.arrival_ms).all()
        if recorded:
            assert np.sum(result.tasks[:, 6] == 0) == profiles.num_tasks[workload.profile].sum()


@settings(checked, max_examples=200)
@given(instance=instances(), seed=st.integers(0, 2**32), idle=IDLE)
def test_no_job_stalls_where_the_parked_help_themselves(instance: Instance, seed: int, idle: float) -> None:
    """Whatever is answered, idling included; a task that a failure gives back may find executors parked."""
    trace, workload, warmup_delay_ms = instance
    assume(not workload.semantics.loses_tasks)
    workload = replace(workload, semantics=replace(workload.semantics, back_up_parked=True))
    policy = RandomPolicy(seed, idle)
    assert run_reference(trace, workload, policy, warmup_delay_ms).longest_stall_ms == 0


POLICIES = st.sampled_from(["fifo", "sjf_cp", "fair", "weighted_fair", "wsjf", "capped_srpt", "local_srpt"])


@checked
@given(instance=instances(), name=POLICIES)
def test_what_holds_in_every_episode(instance: Instance, name: str) -> None:
    """Every task finishes once, no stage starts early, and no executor is in two places."""
    trace, workload, _ = instance
    result = run(instance, name)
    assert result.tasks is not None
    rows = trace.stages.to_pylist()
    stages = [
        (job, row)
        for job, profile in enumerate(workload.profile)
        for row in rows[trace.profile_starts[profile] : trace.profile_starts[profile + 1]]
    ]
    begin, duration, job_of, stage_of, _, attempt, failed = result.tasks.T
    end = begin + duration
    done = {}
    for job, row in stages:
        own = (job_of == job) & (stage_of == row["stage"])
        assert np.sum(own & (failed == 0)) == row["num_tasks"]
        assert attempt[own].tolist() == list(range(own.sum()))
        done[job, row["stage"]] = end[own].max()
    for job, row in stages:
        own = (job_of == job) & (stage_of == row["stage"])
        ready = max((done[job, parent] for parent in row["parents"]), default=workload.arrival_ms[job])
        assert begin[own].min() >= ready
    occupied = end + np.where(failed, workload.semantics.recovery_ms, 0)  # who failed can run nothing until it recovers
    assert most_at_once(begin, occupied) <= workload.num_executors
    for job, completion in enumerate(result.completion_ms):
        assert completion == end[(job_of == job) & (failed == 0)].max()
        shortest = critical_path_ms([row for owner, row in stages if owner == job])
        assert completion - workload.arrival_ms[job] >= shortest


def most_at_once(begin: np.ndarray, end: np.ndarray) -> int:
    """The most intervals that overlap; one that ends when another begins has left."""
    long = end > begin
    changes = sorted([(time, 1) for time in begin[long]] + [(time, -1) for time in end[long]])
    return max(np.cumsum([0, *(change for _, change in changes)]))


class Watched:
    """A policy, with a look at every executor at each decision of the plain simulator."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __call__(self, simulator: ReferenceSimulator) -> Answer:
        for executor in simulator.executors:
            pools = [simulator.global_pool, *(job.pool for job in simulator.jobs)]
            parked = sum(pool.count(executor) for pool in pools)
            deciding = executor in simulator.ready and not parked
            running = executor.stage is not None and executor not in simulator.ready
            assert parked + deciding + running + executor.in_transit + executor.down == 1
        for key, promises in simulator.commitments.items():
            if isinstance(key, Stage):
                assert sum(promises.values()) <= sum(executor.stage is key for executor in simulator.executors)
        return self.policy(simulator)


@checked
@given(instance=instances(), policy=st.just(fair) | st.builds(RandomPolicy, st.integers(0, 2**32), IDLE))
def test_no_executor_is_lost(instance: Instance, policy: Policy) -> None:
    """Each is in one place at every decision, nobody is promised twice, and in the end all are free."""
    trace, workload, warmup_delay_ms = instance
    simulator = run_reference(trace, workload, Watched(policy), warmup_delay_ms)
    assert sorted(executor.id for executor in simulator.global_pool) == list(range(workload.num_executors))
    assert not simulator.commitments


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
