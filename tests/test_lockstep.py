"""Many simulations in lockstep: the same as one at a time, to the bit; on toys first, then on the embedded trace."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from numba.core.errors import TypingError

from clearsched.compiled import arena
from clearsched.errors import ActionError, ClearschedError, WorkloadError
from clearsched.problems.dag_jobs.graph import JOB_FEATURES, NODE_FEATURES, Observation, join, observation_of, take
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.candidates import executors_held
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import SPARE_ROWS, EpisodeResult, Simulation, Workload, simulate
from clearsched.problems.dag_jobs.simulator.state import NONE
from clearsched.problems.episodes import Answers
from toys import micro_trace, stage, toy_trace, toy_workload

CHAIN = [stage(3), stage(2, [0])]
DIAMOND = [stage(2), stage(6, [0]), stage(3, [0]), stage(1, [1, 2])]
WIDE = [stage(20), stage(1, [0])]
TOYS = toy_trace([CHAIN, DIAMOND, WIDE])


@pytest.fixture(scope="module")
def toys() -> Profiles:
    return compile_profiles(TOYS)


@pytest.fixture(scope="module")
def spark() -> Profiles:
    return compile_profiles(micro_trace())


def drawn(profiles: Profiles, count: int, jobs: int = 6, num_executors: int = 4, every_ms: int = 200) -> list[Workload]:
    """Random episodes of different lengths."""
    episodes = []
    for seed in range(count):
        generator = np.random.default_rng(seed)
        arrivals = np.sort(generator.integers(0, every_ms * jobs, jobs - seed % 3))
        profile = generator.integers(0, profiles.trace.num_profiles, len(arrivals))
        episodes.append(Workload(profile, arrivals, num_executors, 100, seed))
    return episodes


def hashed_choice(seen: Observation, num_executors: int) -> tuple[int, int]:
    """A policy that depends on all that is seen, and on nothing else: any candidate, any limit, or none."""
    draw = np.random.default_rng(zlib.crc32(b"".join(array.tobytes() for array in seen)))
    if seen.none_allowed[0] and draw.random() < 0.3:
        return NONE, 0
    candidate = int(draw.integers(len(seen.candidates)))
    held = int(seen.job_held[seen.node_job[seen.candidate_node[candidate]]])
    return int(seen.candidate_stage[candidate]), int(draw.integers(held + 1, num_executors + 1))


def alone(profiles: Profiles, workload: Workload) -> tuple[EpisodeResult, list[Observation]]:
    simulation, seen = Simulation(profiles, workload, record_tasks=True), list[Observation]()
    while simulation.advance():
        seen.append(simulation.observe())
        simulation.act(*hashed_choice(seen[-1], workload.num_executors))
    return simulation.result(), seen


def together(lockstep: Lockstep, num_executors: int) -> dict[int, list[Observation]]:
    """Run to the end; what was seen of each episode."""
    seen: dict[int, list[Observation]] = {}
    while lockstep.advance():
        graph = lockstep.observe()
        views = [copy(observation_of(graph, b)) for b in range(graph.num_decisions)]
        for k, view in zip(lockstep.pending, views, strict=True):
            seen.setdefault(int(lockstep.episode[k]), []).append(view)
        answers = np.array([hashed_choice(view, num_executors) for view in views])
        lockstep.act(answers[:, 0], answers[:, 1])
    return seen


def copy(seen: Observation) -> Observation:
    return Observation(*(array.copy() for array in seen))


def assert_same(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> None:
    for field, expected, found in zip(Observation._fields, one, other, strict=True):
        assert (expected.dtype, expected.shape) == (found.dtype, found.shape), field
        assert expected.tobytes() == found.tobytes(), field


def assert_same_result(one: EpisodeResult, other: EpisodeResult) -> None:
    assert (one.num_decisions, one.num_tasks) == (other.num_decisions, other.num_tasks)
    for name in ("arrival_ms", "completion_ms", "tasks"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


# What is seen


def test_two_toys_by_hand(toys: Profiles) -> None:
    """A chain alone, and beside it a chain and a diamond in another simulation: nodes numbered through."""
    two = [toy_workload([0], 2), toy_workload([0, 0], 3)]
    lockstep = Lockstep(toys, two)
    assert lockstep.advance() == 2
    graph = lockstep.observe()
    assert graph.node_start.tolist() == [0, 2, 8]
    assert graph.job_start.tolist() == [0, 1, 3]
    assert graph.edge_start.tolist() == [0, 1, 6]
    assert graph.candidate_start.tolist() == [0, 1, 3], "the roots: nothing else has its parents saturated"
    assert graph.node_job.tolist() == [0, 0, 1, 1, 2, 2, 2, 2]
    assert graph.edges.T.tolist() == [[0, 1], [2, 3], [4, 5], [4, 6], [5, 7], [6, 7]]
    assert graph.candidate_node.tolist() == [0, 2, 4]
    assert graph.candidate_stage.tolist() == [0, 0, 2]
    assert graph.totals.tolist() == [[2, 1, 2, 0], [3, 2, 3, 0]]
    tasks_left = [feature.name for feature in NODE_FEATURES].index("tasks_left")
    assert graph.nodes[:, tasks_left].tolist() == [3, 2, 3, 2, 2, 6, 3, 1]
    assert graph.job_held.tolist() == [0, 0, 0]
    assert lockstep.act(np.array([0, 2]), np.array([2, 3])).tolist() == [2, 2], "3 asked for, but 2 tasks"
    assert lockstep.advance() == 2
    graph = lockstep.observe()
    assert graph.totals[:, 0].tolist() == [2, 1]
    assert graph.job_held.tolist()[1:] == [0, 2]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_any_number_sees_and_does_what_each_does_alone(toys: Profiles, count: int) -> None:
    episodes = drawn(toys, count)
    lockstep = Lockstep(toys, episodes, record_tasks=True)
    seen = together(lockstep, 4)
    for number, (episode, result) in enumerate(zip(episodes, lockstep.results(), strict=True)):
        expected, views = alone(toys, episode)
        assert_same_result(expected, result)
        assert len(views) == len(seen[number])
        for one_view, other in zip(views, seen[number], strict=True):
            assert_same(one_view, other)


def test_embedded_trace_in_slots_sees_and_does_what_each_does_alone(spark: Profiles) -> None:
    episodes = drawn(spark, 9, jobs=8, num_executors=10, every_ms=3000)
    lockstep = Lockstep(spark, iter(episodes), 4, record_tasks=True)
    assert lockstep.num_simulations == 4
    seen = together(lockstep, 10)
    assert len(lockstep.results()) == 9
    for number, (episode, result) in enumerate(zip(episodes, lockstep.results(), strict=True)):
        expected, views = alone(spark, episode)
        assert_same_result(expected, result)
        for one_view, other in zip(views, seen[number], strict=True):
            assert_same(one_view, other)


def test_logs_grow_with_what_fails(toys: Profiles) -> None:
    """Most tasks fail and are begun anew, far more often than an episode's first logs have rows."""
    rules = {"failures_per_hour": 200_000.0, "recovery_ms": 1}
    episodes = [toy_workload([0, 0], 2, profile=[2, 2], moving_delay_ms=0, seed=seed, **rules) for seed in range(2)]
    lockstep = Lockstep(toys, episodes, record_tasks=True, record_decisions=True)
    fair = heuristic("fair").compiled
    while lockstep.advance():
        lockstep.answer(lockstep.ask(fair), by_heuristic=True)
    for episode, found in zip(episodes, lockstep.results(), strict=True):
        expected = simulate(toys, episode, fair, record_tasks=True, record_decisions=True)
        assert len(found.tasks) > 2 * (2 * 21 + SPARE_ROWS), "no row that the first log has no room for"
        assert np.array_equal(found.tasks, expected.tasks) and np.array_equal(found.decisions, expected.decisions)


def test_finished_ones_drop_out(toys: Profiles) -> None:
    """Two stages each, so two choices each; then nobody waits any more."""
    lockstep = Lockstep(toys, [toy_workload([0], 1), toy_workload([0], 1, profile=[2])])
    waiting = []
    while lockstep.advance():
        waiting.append(lockstep.pending.tolist())
        graph = lockstep.observe()
        lockstep.act(graph.candidate_stage[graph.candidate_start[:-1]], np.ones(len(lockstep.pending), int))
    assert waiting == [[0, 1], [0, 1]]
    assert lockstep.advance() == 0
    assert [result.num_decisions for result in lockstep.results()] == [3, 3], "the last: none, at the completion"


def test_held_is_the_engines(spark: Profiles) -> None:
    """The graph writes out `executors_held` for speed; it must stay the same."""
    lockstep = Lockstep(spark, drawn(spark, 3, num_executors=10, every_ms=3000))
    held_of_source = set()
    while lockstep.advance():
        graph = lockstep.observe()
        for b, k in enumerate(lockstep.pending):
            view, state = observation_of(graph, b), lockstep._states[k]
            expected = [executors_held(state, j) for j in state.active[: len(view.jobs)]]
            assert view.job_held.tolist() == expected
            assert view.jobs[:, 1].tolist() == expected
            held_of_source |= set(view.job_held[view.jobs[:, 0] == 1].tolist())
        answers = [hashed_choice(observation_of(graph, b), 10) for b in range(graph.num_decisions)]
        lockstep.act(*np.array(answers).T)
    assert len(held_of_source) > 3
    assert JOB_FEATURES[1].name == "executors"


def test_heuristics_answer_as_one_at_a_time(spark: Profiles) -> None:
    policy = heuristic("capped_srpt", p=0.5, m=2.0)
    episodes = drawn(spark, 5, num_executors=10, every_ms=3000)
    lockstep = Lockstep(spark, episodes)
    while lockstep.advance():
        stages, limits = lockstep.choices(policy.compiled)
        assert (stages != NONE).all()
        lockstep.act(stages, limits)
    for one_result, other in zip(lockstep.results(), policy.run(DagJobsInstance(spark), episodes), strict=True):
        assert one_result.completion_ms.tolist() == other.completion_ms.tolist()


def test_answers_are_positions_among_the_candidates(spark: Profiles) -> None:
    """A heuristic that leaves executors idle; its answers, in the form of all problems, give what it gives alone."""
    policy = heuristic("local_srpt", p=0.5, m=0.5)
    episodes = drawn(spark, 5, num_executors=10, every_ms=3000)
    lockstep, idled, refused = Lockstep(spark, episodes), 0, 0
    while lockstep.advance():
        graph, answers = lockstep.observe(), lockstep.ask(policy.compiled)
        stages, limits = lockstep.choices(policy.compiled)
        first, idle = graph.candidate_start[:-1], answers.candidate == NONE
        assert np.where(idle, NONE, graph.candidate_stage[first + answers.candidate]).tolist() == stages.tolist()
        assert answers.level.tolist() == limits.tolist()
        low, high = graph.levels[first + answers.candidate].T
        assert np.all(idle | (answers.level >= low) & (answers.level <= high))
        if np.any(idle & ~graph.none_allowed):  # at the end, where a learned policy may not
            with pytest.raises(ActionError, match="a learned policy may not leave executors idle here"):
                lockstep.answer(answers)
            refused += 1
        idled += idle.sum()
        lockstep.answer(answers, by_heuristic=True)
    assert idled > 20
    assert refused > 0
    for one_result, other in zip(lockstep.results(), policy.run(DagJobsInstance(spark), episodes), strict=True):
        assert one_result.completion_ms.tolist() == other.completion_ms.tolist()
        assert one_result.num_decisions == other.num_decisions


@pytest.mark.parametrize("candidate", [[0, 1], [0, -2]])
def test_an_answer_beyond_the_candidates_is_refused(toys: Profiles, candidate: list[int]) -> None:
    lockstep = Lockstep(toys, [toy_workload([0], 2), toy_workload([0], 2)])
    lockstep.advance()
    with pytest.raises(ActionError, match=rf"candidate {candidate[1]} of 1 does not exist"):
        lockstep.answer(Answers(np.array(candidate), np.array([1, 1])))
    lockstep.answer(Answers(np.array([0, 0]), np.array([2, 2])))


# Graphs joined and taken apart


def test_join_and_take_are_what_lockstep_fills(spark: Profiles) -> None:
    lockstep = Lockstep(spark, drawn(spark, 5, num_executors=10, every_ms=3000))
    for _ in range(20):
        lockstep.advance()
        graph = lockstep.observe()
        assert_same_graph(join([observation_of(graph, b) for b in range(graph.num_decisions)]), graph)
        rows = np.array([3, 0, 3])
        assert_same_graph(take(graph, rows), join([observation_of(graph, b) for b in rows]))
        lockstep.act(*lockstep.choices(heuristic("capped_srpt").compiled))


def assert_same_graph(one_graph: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> None:
    for expected, found in zip(one_graph, other, strict=True):
        np.testing.assert_array_equal(expected, found)
        assert expected.dtype == found.dtype


# Rewards


def test_rewards_sum_to_minus_the_total_completion_time(toys: Profiles) -> None:
    episodes = drawn(toys, 6)
    for kind, total in (
        ("job_time", lambda r: r.jct_s.sum()),
        ("makespan", lambda r: r.makespan_s - r.arrival_ms[0] / 1000),
    ):
        lockstep = Lockstep(toys, episodes, 3, reward=kind)
        sums, found = np.zeros(3), {}
        while True:
            waiting = lockstep.advance()
            sums += lockstep.reward
            for ended in lockstep.ended:
                found[ended.episode] = (sums[ended.simulation], ended.result)
                sums[ended.simulation] = 0
            if not waiting:
                break
            graph = lockstep.observe()
            lockstep.act(*np.array([hashed_choice(observation_of(graph, b), 4) for b in range(waiting)]).T)
        assert sorted(found) == list(range(6))
        for reward, result in found.values():
            assert reward == pytest.approx(-total(result))


def test_reward_by_hand(toys: Profiles) -> None:
    """A move of 100 ms, a fresh task of 50 ms and two of 10 ms; parked, so fresh again: 50 ms and 10 ms."""
    lockstep = Lockstep(toys, [toy_workload([40], 1)], reward="job_time")
    rewards = []
    while lockstep.advance():
        rewards.append(float(lockstep.reward[0]))
        lockstep.act(lockstep.observe().candidate_stage[:1], [1])
    rewards.append(float(lockstep.reward[0]))
    assert rewards == [0, -0.17, -0.06]


# Misuse


@pytest.mark.parametrize(
    ("stages", "limits", "message"),
    [
        ([0, 1], [1, 1], r"^decision 0: simulation 1: stage 1 is no candidate$"),
        ([0, 99], [1, 1], r"^decision 0: simulation 1: stage 99 is no candidate$"),
        ([-1, 0], [1, 1], r"^decision 0: simulation 0: none is refused: nothing else is going to happen$"),
        ([-2, 0], [1, 1], r"^decision 0: simulation 0: stage -2 is no candidate$"),
        ([0, 0], [1, 0], r"^decision 0: simulation 1: limit 0 is not above the 0 executors that the job holds$"),
        ([0], [1], r"answers of shape \(1,\) to the 2 decisions"),
        ([0.0, np.nan], [1, 1], "whole numbers needed"),
    ],
)
def test_an_answer_that_is_not_allowed_changes_nothing(toys: Profiles, stages, limits, message: str) -> None:
    lockstep = Lockstep(toys, [toy_workload([0], 2), toy_workload([0], 2)])
    lockstep.advance()
    before = lockstep.observe().nodes.copy()
    with pytest.raises(ActionError, match=message):
        lockstep.act(stages, limits)
    assert lockstep.advance() == 2
    assert lockstep.observe().nodes.tobytes() == before.tobytes()
    assert lockstep.act([0, 0], [2, 2]).tolist() == [2, 2]


def test_acting_twice_is_refused(toys: Profiles) -> None:
    lockstep = Lockstep(toys, [toy_workload([0], 2)])
    lockstep.advance()
    lockstep.act([0], [1])
    with pytest.raises(ActionError, match="to the 0 decisions"):
        lockstep.act([0], [2])


def test_wrong_arguments_are_refused(toys: Profiles) -> None:
    with pytest.raises(ClearschedError, match="no workload"):
        Lockstep(toys, [])
    with pytest.raises(ClearschedError, match="reward is 'jct'"):
        Lockstep(toys, [toy_workload([0], 2)], reward="jct")
    with pytest.raises(WorkloadError, match="num_executors is 0"):
        Lockstep(toys, [toy_workload([0], 2), toy_workload([0], 0)])
    with pytest.raises(ClearschedError, match="simulation 1 of 1 does not exist"):
        Lockstep(toys, [toy_workload([0], 2)]).reset(1, toy_workload([0], 2))


def test_reset_starts_another_episode(toys: Profiles) -> None:
    episodes = drawn(toys, 3)
    lockstep = Lockstep(toys, episodes[:2], record_tasks=True)
    for _ in range(3):
        lockstep.advance()
        graph = lockstep.observe()
        lockstep.act(graph.candidate_stage[graph.candidate_start[:-1]], np.full(len(lockstep.pending), 4))
    lockstep.advance()
    with pytest.raises(WorkloadError):
        lockstep.reset(1, toy_workload([-5], 2))
    assert 1 in lockstep.pending
    lockstep.reset(1, episodes[2])
    assert lockstep.pending.tolist() == [0]
    assert lockstep.advance() == 2
    assert lockstep.time_s[1] == episodes[2].arrival_ms[0] / 1000
    together(lockstep, 4)
    assert lockstep.episode.tolist() == [0, 2], "the episode that was given up has no result"
    assert len(lockstep.results()) == 2
    assert_same_result(alone(toys, episodes[2])[0], lockstep.results()[1])


def test_endless_workloads_keep_nothing(toys: Profiles) -> None:
    lockstep = Lockstep(toys, (toy_workload([0], 2) for _ in itertools.count()), 2, keep_results=False)
    ended = 0
    while ended < 10:
        assert lockstep.advance() == 2
        ended += len(lockstep.ended)
        graph = lockstep.observe()
        lockstep.act(graph.candidate_stage[graph.candidate_start[:-1]], [2, 2])
    assert lockstep.results() == []


def test_an_arena_takes_states_of_one_type(toys: Profiles) -> None:
    state = Simulation(toys, toy_workload([0], 2)).state
    rows = arena.new_arena(1, state)
    with pytest.raises(TypingError, match="two types cannot share an arena"):
        arena.put(rows, 0, state._replace(scalar=state.scalar.astype(np.int32)), state)


# Threads


def test_two_threads_step_at_the_same_time() -> None:
    """No thread is made to give the GIL away here, so the second only gets on if the first one's call releases it.

    The first one runs three million tasks between two decisions. The control is a call that keeps the GIL. A busy
    machine may give the second thread no core for as long as a call takes, so there are several.
    """
    profiles = compile_profiles(toy_trace([[stage(3_000_000)], [stage(2), stage(1, [0])]]))
    calls = 100
    long = Lockstep(profiles, (toy_workload([0], 1) for _ in range(calls)), 1)
    short = Lockstep(profiles, (toy_workload([0], 1, profile=[1]) for _ in itertools.count()), 1, keep_results=False)
    for lockstep in (long, short):
        lockstep.advance()
        lockstep.act([0], [1])
    steps, stop = [0], threading.Event()

    def step() -> None:
        while not stop.is_set():
            short.advance()
            graph = short.observe()
            short.act(graph.candidate_stage[:1], [1])
            steps[0] += 1
            time.sleep(0)  # gives the GIL back

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=step, daemon=True)
    try:
        thread.start()
        before = steps[0]
        sum(range(10_000_000))
        with_gil = steps[0] - before
        without_gil = 0
        for _ in range(calls):
            before = steps[0]
            waiting = long.advance()
            without_gil += steps[0] - before
            if without_gil > 1:
                break
            long.act([0] * waiting, [1] * waiting)
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert with_gil == 0
    assert without_gil > 1
    assert long.results()[0].num_tasks == 3_000_000
