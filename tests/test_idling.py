"""Learned policies that may leave executors idle: inside the compiled loop and outside it the same, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clearsched.compiled.formulae import pack_formula
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.compiled.trees import LEAF, pack
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, NUM_FEATURES
from clearsched.problems.dag_jobs.problem import PROBLEM
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.semantics import Semantics
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload, simulate
from clearsched.problems.dag_jobs.simulator.state import NONE
from clearsched.problems.episodes import Answers, level_of
from toys import micro_trace, stage, toy_trace, toy_workload

EXECUTORS = 10


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return compile_profiles(micro_trace())


def formula(**weights: float) -> Packed:
    return Packed(pack_formula(weights, FEATURE_NAMES, "test"))


def tree(feature: str, threshold: float, below: float, else_: float) -> Packed:
    nodes = {
        "feature": [FEATURE_NAMES.index(feature), LEAF, LEAF],
        "threshold": [threshold, 0, 0],
        "left": [1, 0, 0],
        "right": [2, 0, 0],
        "value": [0, below, else_],
    }
    return Packed(trees=pack([nodes], NUM_FEATURES, "test"))


HALF, SHARE = formula(constant=0.5), formula(constant=0.2, job_sqrt_share=0.5)
POLICIES = {
    "formula": (formula(constant=0.6, job_sqrt_load=-1.0, stage_rank=-0.01), HALF),
    "tree": (tree("job_sqrt_load", 1.2, 1.0, 0.0), SHARE),
    "tree that never rises above 0": (tree("job_age_s", 5.0, -1.0, -2.0), HALF),
    "always above 0": (formula(constant=1000.0, job_work_rank=-1.0), HALF),
}

SEMANTICS = [
    Semantics(),
    Semantics(work_conserving=True),
    Semantics(failures_per_hour=120.0, straggler_probability=0.1, straggler_slowdown=3.0, recovery_ms=2000),
]


def episode(profiles: Profiles, semantics: Semantics, seed: int = 3) -> Workload:
    generator = np.random.default_rng(seed)
    arrival_ms = np.sort(generator.integers(0, 30_000, 12))
    profile = generator.integers(0, profiles.trace.num_profiles, 12)
    return Workload(profile, arrival_ms, EXECUTORS, 2000, seed, semantics=semantics)


def outside(profiles: Profiles, workload: Workload, rank: Packed, level: Packed) -> EpisodeResult:
    """The same rule in Python, from what a network sees: the best candidate, or none where its score is not above 0."""
    simulation = Simulation(profiles, workload, record_decisions=True)
    while simulation.advance():
        seen = simulation.observe()
        scores = scores_of(rank, seen.candidates)
        best = int(np.argmax(scores))
        if rank.none and seen.none_allowed[0] and not scores[best] > 0:
            simulation.act(NONE)
            continue
        held = int(seen.job_held[seen.node_job[seen.candidate_node[best]]])
        share = float(scores_of(level, seen.candidates[best : best + 1])[0])
        simulation.act(int(seen.candidate_stage[best]), level_of(share, held + 1, EXECUTORS))
    return simulation.result()


def idle_answers(result: EpisodeResult) -> int:
    assert result.decisions is not None
    return int(np.sum(result.decisions[:, 4] < 0))


@pytest.mark.parametrize("semantics", SEMANTICS, ids=["published", "conserving", "faults"])
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("none", [False, True], ids=["", "none"])
def test_inside_the_loop_as_outside(profiles: Profiles, name: str, semantics: Semantics, none: bool) -> None:
    rank, level = POLICIES[name][0]._replace(none=none), POLICIES[name][1]
    workload, policy = episode(profiles, semantics), PROBLEM.compile(rank, level)
    wanted = simulate(profiles, workload, policy, record_decisions=True)
    for found in (outside(profiles, workload, rank, level), in_lockstep(profiles, workload, rank, level)):
        assert found.completion_ms.tolist() == wanted.completion_ms.tolist()
        assert found.decisions is not None and wanted.decisions is not None
        # What is asked for is cut to what there is: outside the loop the limit is at most all executors.
        assert found.decisions[:, [*range(6), 7]].tolist() == wanted.decisions[:, [*range(6), 7]].tolist()


def in_lockstep(profiles: Profiles, workload: Workload, rank: Packed, level: Packed) -> EpisodeResult:
    lockstep = Lockstep(profiles, [workload], record_decisions=True)
    policy = PROBLEM.compile(rank, level)
    while lockstep.advance():
        allowed, answers = lockstep.observe().none_allowed, lockstep.ask(policy)
        assert allowed[0] or answers.candidate[0] != NONE
        lockstep.answer(Answers(*answers))
    return lockstep.results()[0]


def test_a_policy_that_scores_nothing_above_0_idles_wherever_it_may(profiles: Profiles) -> None:
    """It starts a stage only when it must: one is promised executors, and all that become free meanwhile stay idle."""
    rank, level = POLICIES["tree that never rises above 0"]
    workload = episode(profiles, Semantics())
    never, idler = (
        simulate(profiles, workload, PROBLEM.compile(rank._replace(none=none), level), record_decisions=True)
        for none in (False, True)
    )
    assert idle_answers(idler) > idle_answers(never)
    assert idler.avg_jct_s > never.avg_jct_s
    assert idler.num_tasks == never.num_tasks


def test_idling_off_makes_none_no_answer(profiles: Profiles) -> None:
    """A policy that would idle does what it does where it has no such answer."""
    rank, level = POLICIES["formula"]
    workload = episode(profiles, Semantics())
    off = replace(workload, semantics=Semantics(idling=False))
    runs = [
        simulate(profiles, given, PROBLEM.compile(rank._replace(none=none), level), record_decisions=True)
        for given, none in ((workload, True), (off, True), (workload, False))
    ]
    assert runs[1].decisions is not None and runs[2].decisions is not None
    assert runs[1].decisions.tolist() == runs[2].decisions.tolist()
    assert runs[0].decisions is not None
    assert runs[0].decisions.tolist() != runs[1].decisions.tolist()


# For good -------------------------------------------------------------------------------------------------------------

OPEN, CHAIN = [stage(4)], [stage(4), stage(1, [0])]
AGAIN = [
    # A batch: executors of the pool are asked about again by nobody.
    ([OPEN, OPEN], [0, 0], {}, [False]),
    ([OPEN, OPEN], [0, 900], {}, [True]),
    ([OPEN, OPEN], [0, 0], {"work_conserving": True}, [False, True]),  # at first nothing else is going to happen
    ([OPEN, OPEN], [0, 0], {"offer_parked": True}, [False, True]),
    ([OPEN, OPEN], [0, 0], {"failures_per_hour": 1.0}, [False, True]),
    ([OPEN, OPEN], [0, 0], {}, [False, False]),
    # Job 0 has its executors: those of its stage that become free wait in it for the stage that is going to open.
    ([CHAIN, OPEN], [0, 0], {}, [False, True]),
]


@pytest.mark.parametrize(("jobs", "arrivals", "rules", "allowed"), AGAIN)
def test_no_learned_policy_leaves_executors_idle_for_good(
    jobs: list[list[dict]], arrivals: list[int], rules: dict[str, float], allowed: list[bool]
) -> None:
    """A network was 7 times fair on a batch with one giant job: it idled all but one executor at a job's last task."""
    num_executors = 4 if jobs[0] is CHAIN else 2
    profiles = compile_profiles(toy_trace(jobs))
    simulation = Simulation(profiles, toy_workload(arrivals, num_executors, **rules))
    found = []
    for number in range(len(allowed)):
        if number:
            simulation.act(0, num_executors if jobs[0] is CHAIN else 1)
        assert simulation.advance()
        found.append(simulation.none_allowed())
    assert found == allowed
