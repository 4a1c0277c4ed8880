"""The compiled simulator on episodes whose course is known: golden files, and instances stepped by hand.

Rows of decisions are [time_ms, [source job, stage of the key], k, target, requested, committed] (docs/simulator.md §9).
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clearsched.errors import ActionError, ClearschedError
from clearsched.problems.dag_jobs.command import simulate_file
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator import promises
from clearsched.problems.dag_jobs.simulator.loop import Compiled
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles, level_table
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload, simulate, start
from clearsched.problems.dag_jobs.simulator.state import NONE, ROUND_KEY
from clearsched.problems.dag_jobs.traces import Trace
from clearsched.problems.dag_jobs.workloads import read_episode
from reference_cluster import Stage
from reference_policies import Fifo, fair
from reference_simulator import Policy, ReferenceSimulator
from toys import assert_same, decision_rows, run_reference, stage, task_rows, toy_trace, toy_workload

GOLDEN = ("g0_batch_e5_j2", "g1_batch_e10_j5", "g2_batch_e50_j10", "g3_batch_e50_j20", "g5_poisson_e10_j15")
NOWHERE = [None, None]
"""The source of a decision on executors of the global pool."""


def run(trace: Trace, workload: Workload, name: str) -> EpisodeResult:
    policy = heuristic(name).compiled
    return simulate(compile_profiles(trace), workload, policy, record_tasks=True, record_decisions=True)


def policy_of(name: str) -> Policy:
    return Fifo() if name == "fifo" else fair


def run_both(trace: Trace, workload: Workload, name: str) -> EpisodeResult:
    """The episode of the compiled simulator, after a check that the plain one gives the same."""
    result, reference = run(trace, workload, name), run_reference(trace, workload, policy_of(name))
    assert_same(result, reference)
    return result


# Golden episodes ---------------------------------------------------------------------------------------------------


def golden_tasks(folder: Path, episode: str, policy: str) -> list[tuple[int, ...]] | None:
    """(start_ms, duration_ms, job, stage) in order of starting, where the file is there."""
    path = folder / f"{episode}.{policy}.tasks.csv.gz"
    if not path.is_file():
        return None
    with gzip.open(path, "rt") as rows:
        return [tuple(int(row[n]) for n in ("start_ms", "duration_ms", "job", "stage")) for row in csv.DictReader(rows)]


@pytest.mark.parametrize("simulator", ["compiled", "reference"])
@pytest.mark.parametrize("policy", ["fifo", "fair"])
@pytest.mark.parametrize("episode", GOLDEN)
def test_golden_episode(
    simulator: str, policy: str, episode: str, shared: Path, decima_trace: Trace, decima_profiles: Profiles
) -> None:
    folder = shared / "golden"
    wanted = json.loads((folder / f"{episode}.json").read_text())["results"][policy]
    workload, order, warmup_delay_ms = read_episode(folder / f"{episode}.json", decima_trace, durations="mean", seed=0)
    assert warmup_delay_ms == decima_profiles.warmup_delay_ms
    assert order.tolist() == sorted(order)
    if simulator == "compiled":
        compiled = heuristic(policy).compiled
        result = simulate(decima_profiles, workload, compiled, record_tasks=True, record_decisions=True)
        completions, decisions, tasks = result.completion_ms.tolist(), decision_rows(result), task_rows(result)
        assert result.num_decisions == wanted["num_decisions"]
        assert result.makespan_s * 1000 == pytest.approx(wanted["makespan_ms"])
        assert result.avg_jct_s * 1000 == pytest.approx(wanted["avg_jct_ms"])
    else:
        reference = run_reference(decima_trace, workload, policy_of(policy))
        completions, decisions, tasks = reference.completions_ms, reference.decisions, reference.tasks
    assert completions == wanted["completion_ms"]
    assert decisions == wanted["decisions"]
    assert len(tasks) == wanted["num_tasks"]
    starts = golden_tasks(folder, episode, policy)
    if starts is not None:
        assert [task[:4] for task in tasks] == starts


def test_simulate_a_file(shared: Path) -> None:
    """`clearsched simulate` on a golden file."""
    path = shared / "golden" / "g5_poisson_e10_j15.json"
    wanted = json.loads(path.read_text())["results"]["fair"]
    answer = simulate_file(path, shared / "data" / "tpch-decima", heuristic("fair"), "mean", 0)
    for name in ("completion_ms", "makespan_ms", "num_decisions", "num_tasks"):
        assert answer[name] == wanted[name]
    assert answer["avg_jct_ms"] == pytest.approx(wanted["avg_jct_ms"])


# Stepped by hand: two jobs, two executors; 50 ms a fresh task, 10 ms a later one, 100 ms a move --------------------

TWO_JOBS = [[stage(2), stage(1, [0])], [stage(2)]]


def test_two_jobs_under_fair() -> None:
    result = run_both(toy_trace(TWO_JOBS), toy_workload([0, 0], 2), "fair")
    assert decision_rows(result) == [
        # Two jobs with demand: one executor each. Stage 1 of job 0 is no candidate: its parent wants one more.
        [0, NOWHERE, 2, [0, 0], 1, 1],
        [0, NOWHERE, 1, [1, 0], 1, 1],
        # 100: both arrive. 150: both go on with the second task of their stage. 160: stage 0 of job 0 is complete and
        # opens stage 1: the executor is parked and decided on from the job's pool.
        [160, [0, None], 1, [0, 1], 1, 1],
        # 160: job 1 is complete; its executor is still decided on, from nowhere; there is no candidate.
        [160, [1, None], 1, None, 1, 1],
        [210, [0, None], 1, None, 1, 1],
    ]
    assert [row[:5] for row in task_rows(result)] == [
        (100, 50, 0, 0, "fresh"),
        (100, 50, 1, 0, "fresh"),
        (150, 10, 0, 0, "rest_wave"),
        (150, 10, 1, 0, "rest_wave"),
        (160, 50, 0, 1, "fresh"),  # parking made the executor blank
    ]
    assert result.completion_ms.tolist() == [210, 160]


def test_two_jobs_under_fifo() -> None:
    result = run_both(toy_trace(TWO_JOBS), toy_workload([0, 0], 2), "fifo")
    assert decision_rows(result) == [
        [0, NOWHERE, 2, [0, 0], 2, 2],
        # 150: the first of two executors of stage 0 is done, the second still runs: both are decided on (k = 2). The
        # source job asks for both, its stage 1 wants one; the other goes to job 1.
        [150, [0, 0], 2, [0, 1], 2, 1],
        [150, [0, 0], 1, [1, 0], 1, 1],
        # The first takes the promise to stage 1, which is not open yet: parked. Then, at the same time, the second
        # finishes, leaves for job 1, and stage 1 opens: the parked one is decided on again.
        [150, [0, None], 1, [0, 1], 1, 1],
        # 200: job 0 is complete. Job 1 has one of its two tasks promised.
        [200, [0, None], 1, [1, 0], 1, 1],
        # 300: first an executor arrives (its move was pushed at 200), then the other one's task ends (pushed at 250);
        # both sit on the stage. `none` for both; the one that still runs follows at 350, without a decision.
        [300, [1, 0], 2, None, 2, 2],
    ]
    assert [row[:5] for row in task_rows(result)] == [
        (100, 50, 0, 0, "fresh"),
        (100, 50, 0, 0, "fresh"),
        (150, 50, 0, 1, "fresh"),
        (250, 50, 1, 0, "fresh"),
        (300, 50, 1, 0, "fresh"),
    ]
    assert result.completion_ms.tolist() == [200, 350]


def test_the_numbers_of_a_result() -> None:
    result = run(toy_trace(TWO_JOBS), toy_workload([0, 40], 2), "fifo")
    assert result.jct_s.tolist() == [0.2, 0.31]
    assert result.avg_jct_s == pytest.approx(0.255)
    assert result.makespan_s == 0.35
    assert (result.num_tasks, result.num_decisions) == (5, 6)


# Rules that the golden episodes do not reach -----------------------------------------------------------------------


def test_arrival_while_the_global_pool_is_partly_full() -> None:
    result = run_both(toy_trace([[stage(1)], [stage(2)]]), toy_workload([0, 120], 2), "fifo")
    assert decision_rows(result) == [
        [0, NOWHERE, 2, [0, 0], 1, 1],
        [0, NOWHERE, 1, None, 1, 1],
        # 120: job 1 arrives; only the executor that is free is decided on, not the one that runs until 150.
        [120, NOWHERE, 1, [1, 0], 1, 1],
        [150, [0, None], 1, [1, 0], 1, 1],
        [270, [1, 0], 2, None, 2, 2],
    ]
    assert result.completion_ms.tolist() == [150, 300]


def test_an_executor_parks_in_its_job_when_there_is_nothing_to_back_up() -> None:
    trace = toy_trace([[stage(3), stage(1, [0])], [stage(1, fresh=10)], [stage(1)]])
    result = run_both(trace, toy_workload([0, 0, 215], 2), "fair")
    assert decision_rows(result) == [
        [0, NOWHERE, 2, [0, 0], 1, 1],
        [0, NOWHERE, 1, [1, 0], 1, 1],
        # 110: job 1 is complete, its executor leaves for stage 0 of job 0, to arrive at 210.
        [110, [1, None], 1, [0, 0], 1, 1],
        # 160: the last task of that stage starts; 170: it is complete, its executor goes on with stage 1.
        [170, [0, None], 1, [0, 1], 1, 1],
        # 210: the other arrives; no task is left in its stage, none anywhere: it parks in job 0. Hence job 2, arriving
        # at 215, finds the global pool empty and waits for the completion of job 0.
        [220, [0, None], 1, [2, 0], 1, 1],
        [370, [2, None], 1, None, 1, 1],
    ]
    assert result.completion_ms.tolist() == [220, 110, 370]


LEFT_BEHIND = [[stage(3, rest_wave=300)], [stage(4, fresh=60)], [stage(2)]]
"""Job 1 is complete at 190, with one executor in transit to it and one promised to it that runs until 450."""

UNTIL_190 = [
    [0, NOWHERE, 3, [0, 0], 2, 2],
    [0, NOWHERE, 1, [1, 0], 1, 1],
    # 150: one executor of job 0 goes on with the third task until 450; the other one finds none. Both are promised
    # to job 1, which has three tasks not started. One leaves at once, to arrive at 250.
    [150, [0, 0], 2, [1, 0], 2, 2],
    # Job 1's own executor runs all its tasks: complete at 190.
    [190, [1, None], 1, None, 1, 1],
]


def test_promise_and_move_to_a_job_that_completes() -> None:
    result = run_both(toy_trace(LEFT_BEHIND), toy_workload([0, 0, 300], 3), "fair")
    assert decision_rows(result) == [
        *UNTIL_190,
        # 250: the executor in transit has forgotten where to, and parks in the global pool: job 2 finds two there.
        [300, NOWHERE, 2, [2, 0], 2, 2],
        # 450: the promise of the third executor has vanished: it is decided on.
        [450, [0, None], 1, None, 1, 1],
        [450, [2, 0], 2, None, 2, 2],
    ]
    assert result.completion_ms.tolist() == [450, 190, 450]


def test_a_move_to_a_job_that_completes_ends_at_another_job() -> None:
    result = run_both(toy_trace(LEFT_BEHIND), toy_workload([0, 0, 200], 3), "fair")
    assert decision_rows(result) == [
        *UNTIL_190,
        [200, NOWHERE, 1, [2, 0], 1, 1],
        # 250: the executor in transit backs up job 2, which it reaches at 350, before the first task there ends.
        [350, [2, 0], 2, None, 2, 2],
        [450, [0, None], 1, None, 1, 1],
    ]
    assert result.completion_ms.tolist() == [450, 190, 400]


def test_promises_keep_their_place_until_they_are_used_up() -> None:
    """No policy comes to add to a standing promise, so the rule is asked of the functions."""
    trace, workload = toy_trace([[stage(9), stage(9)]]), toy_workload([0], 6)
    state = start(compile_profiles(trace), workload)
    reference = ReferenceSimulator([[]], [0], fair, num_executors=6)
    for to, count in [(0, 1), (1, 1), (0, 1)]:
        promises.promise(state, ROUND_KEY, to, count)
        reference.promise("key", to, count)
    taken = [(promises.take_promise(state, ROUND_KEY), reference.take_promise("key")) for _ in range(2)]
    assert taken == [(0, 0), (0, 0)]  # the second promise to stage 0 joined the first
    promises.promise(state, ROUND_KEY, 0, 1)
    reference.promise("key", 0, 1)
    taken = [(promises.take_promise(state, ROUND_KEY), reference.take_promise("key")) for _ in range(2)]
    assert taken == [(1, 1), (0, 0)]  # used up, it came back at the end


# Durations ---------------------------------------------------------------------------------------------------------


def test_a_level_that_the_stage_does_not_have_is_its_largest() -> None:
    values = {1: [10], 3: [30]}
    trace = toy_trace([[stage(3, first_wave=values, rest_wave=values, fresh=values)]], levels=(1, 2, 3))
    result = run_both(trace, toy_workload([0], 2), "fifo")
    # One executor: level 1. With the second one: level 2, which is missing: level 3.
    assert [row[:2] for row in task_rows(result)] == [(100, 10), (100, 30), (110, 30)]


@pytest.mark.parametrize(
    ("tables", "durations_ms"),
    [
        ({"fresh": {1: []}}, [1020, 10]),  # warm-up on top of the first wave
        ({"fresh": {1: []}, "rest_wave": {1: []}}, [1020, 20]),
        ({"first_wave": {1: []}, "rest_wave": {1: []}}, [50, 50]),
        ({"rest_wave": {1: [10, 11]}}, [50, 11]),  # floor(10.5 + 0.5)
        ({"rest_wave": {1: [10, 10, 11]}}, [50, 10]),
    ],
)
def test_fallbacks_between_waves(tables: dict, durations_ms: list[int]) -> None:
    result = run_both(toy_trace([[stage(2, **tables)]]), toy_workload([0], 1), "fifo")
    assert [row[1] for row in task_rows(result)] == durations_ms


def test_levels_of_the_published_profiles() -> None:
    """§2 in its own words, for every number of executors."""
    levels = (5, 10, 20, 40, 50, 60, 80, 100)
    table = level_table(levels, 120)
    for n, (left, right, threshold) in enumerate(table):
        if n <= 5:
            assert (levels[left], threshold) == (5, 0)
        elif n in levels or n > 100:
            assert (levels[left], threshold) == (min(n, 100), 0)
        else:
            assert levels[left] < n < levels[right]
            assert right == left + 1
            wanted = 1 - (n - levels[left]) / (levels[right] - levels[left])
            assert threshold / 2**32 == pytest.approx(wanted, abs=1e-9)


def test_draws_between_two_levels() -> None:
    """Two executors, levels 1 and 5: right with probability 1 - 1/4, the nearer to the left the likelier (a flaw)."""
    values = {1: [1], 5: [2]}
    trace = toy_trace([[stage(4001, first_wave=values, rest_wave=values, fresh=values)]], levels=(1, 5))
    result = run_both(trace, toy_workload([0], 2, seed=3, mean_durations=False), "fifo")
    assert result.tasks is not None
    right = (result.tasks[1:, 1] == 2).mean()  # the first task starts while its executor is alone
    assert abs(right - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000)


def test_draws_are_uniform_and_depend_on_the_seed() -> None:
    values = {1: list(range(7))}
    trace = toy_trace([[stage(7000, first_wave=values, rest_wave=values, fresh=values)]])
    drawn = []
    for seed in (1, 2):
        result = run_both(trace, toy_workload([0], 1, seed=seed, mean_durations=False), "fifo")
        assert result.tasks is not None
        drawn.append(result.tasks[:, 1])
        counts = np.bincount(drawn[-1], minlength=7)
        assert ((counts - 1000) ** 2 / 1000).sum() < 22.5  # chi-square of 6 degrees of freedom, 0.1 %
        after = np.corrcoef(drawn[-1][1:], drawn[-1][:-1])[0, 1]
        assert abs(after) < 4 / np.sqrt(7000)
    assert abs(np.corrcoef(*drawn)[0, 1]) < 4 / np.sqrt(7000)


def test_jobs_of_one_profile_draw_differently() -> None:
    values = {1: list(range(1000))}
    trace = toy_trace([[stage(20, first_wave=values, rest_wave=values, fresh=values)] * 2])
    workload = toy_workload([0, 0], 1, profile=[0, 0], seed=5, mean_durations=False)
    tasks = run_both(trace, workload, "fifo").tasks
    assert tasks is not None
    streams = {tuple(tasks[(tasks[:, 2] == j) & (tasks[:, 3] == s), 1]) for j in (0, 1) for s in (0, 1)}
    assert len(streams) == 4


# Bad actions and bad workloads -------------------------------------------------------------------------------------


def pending() -> Simulation:
    """Two jobs, two executors, at the first decision: stages 0 and 2 of the episode are candidates."""
    simulation = Simulation(compile_profiles(toy_trace(TWO_JOBS)), toy_workload([0, 0], 2))
    assert simulation.advance()
    return simulation


@pytest.mark.parametrize("number", [1, 3, -2, 10**6])
def test_a_stage_that_is_no_candidate_is_refused(number: int) -> None:
    with pytest.raises(ClearschedError, match=rf"decision 0: stage {number} is no candidate"):
        pending().act(number, 1)


def test_a_limit_that_the_job_has_reached_is_refused() -> None:
    simulation = pending()
    assert simulation.act(0, 1) == 1
    assert simulation.advance()
    with pytest.raises(ClearschedError, match="decision 1: limit 0 is not above the 0 executors"):
        simulation.act(2, 0)
    assert simulation.act(2, 2) == 1  # a refused action changes nothing


def test_no_answer_without_a_pending_decision() -> None:
    simulation = pending()
    simulation.act(0, 2)
    with pytest.raises(ClearschedError, match="no candidate"):
        simulation.act(2, 1)
    while simulation.advance():
        simulation.act(int(simulation.observe().candidate_stage[0]), 2)
    with pytest.raises(ClearschedError, match="no candidate"):
        simulation.act(0, 1)


def test_a_stage_of_a_completed_job_is_refused() -> None:
    """Job 0's only stage was a candidate of the last decision before the job ended."""
    trace = toy_trace([[stage(1)], [stage(2)]])
    simulation = Simulation(compile_profiles(trace), toy_workload([0, 1000], 1))
    assert simulation.advance()
    simulation.act(0, 1)
    assert simulation.advance()
    assert simulation.time_s == 1.0
    with pytest.raises(ClearschedError, match="stage 0 is no candidate"):
        simulation.act(0, 1)


# None of these (§5) ---------------------------------------------------------------------------------------------------

NEVER = Compiled(-1, np.zeros(2))
"""No code of any heuristic: it always answers `none`."""


def test_a_policy_that_always_idles_gets_the_first_candidate() -> None:
    """`none` is refused where nothing else is going to happen; what it gets then is all executors for one stage."""
    trace, workload = toy_trace(TWO_JOBS), toy_workload([0, 0], 2)
    result = simulate(compile_profiles(trace), workload, NEVER, record_tasks=True, record_decisions=True)
    assert decision_rows(result) == [
        # Nothing is pending: refused. Both executors leave for stage 0 of job 0, and run its two tasks from 100 to 150.
        [0, NOWHERE, 2, [0, 0], 2, 2],
        # Both sit on the stage and one still runs, so `none` for both. The second follows its promise at 150 too: it
        # parks in the job, which has a stage to start; that opens stage 1, and both parked ones are decided on.
        [150, [0, 0], 2, None, 2, 2],
        [150, [0, None], 2, [0, 1], 2, 1],
        # Stage 1 has one task, which was promised an executor in this round: the other one may idle.
        [150, [0, None], 1, None, 1, 1],
        # 200: job 0 is complete, the other executor is in the global pool, and this one is decided on: nothing pends.
        [200, [0, None], 1, [1, 0], 1, 1],
        # 350: it has run both tasks of job 1, from 300 to 350 and to 360.
        [360, [1, None], 1, None, 1, 1],
    ]
    assert result.completion_ms.tolist() == [200, 360]
    assert_same(result, run_reference(trace, workload, lambda simulator: None))


AGAIN = [
    # Both executors run a task of the first stage until 150. The first one's decision is `none` for both, since the
    # other one still runs: that follows its promise. Job 0 is complete, all are in the global pool, and nothing is
    # pending while job 1 waits: they are offered again.
    ([[stage(2)], [stage(1)]], [0, 0], NOWHERE, [1, 0], [150, 300]),
    # The same with two stages of one job: they park in the job, and are offered from its pool.
    ([[stage(2), stage(1)]], [0], [0, None], [0, 1], [200]),
]


@pytest.mark.parametrize(("profiles", "arrivals", "source", "target", "completions"), AGAIN)
def test_executors_left_idle_are_offered_again_when_the_queue_is_empty(
    profiles: list[list[dict]], arrivals: list[int], source: list, target: list[int], completions: list[int]
) -> None:
    trace, workload = toy_trace(profiles), toy_workload(arrivals, 2)
    simulation = Simulation(compile_profiles(trace), workload, record_decisions=True, record_tasks=True)
    plain = []
    for stage_row, limit in ((0, 2), (NONE, 0), (1, 1)):
        assert simulation.advance()
        assert not simulation.none_allowed()  # to a learned policy: it would leave them idle for good
        simulation.act(stage_row, limit)
        plain.append(None if stage_row == NONE else (stage_row, limit))
    assert not simulation.advance()
    last = 300 if len(arrivals) == 2 else 200
    assert decision_rows(simulation.result()) == [
        [0, NOWHERE, 2, [0, 0], 2, 2],
        [150, [0, 0], 2, None, 2, 2],
        [150, source, 2, target, 1, 1],
        [150, source, 1, None, 1, 1],
        [last, [target[0], None], 1, None, 1, 1],
    ]
    assert simulation.result().completion_ms.tolist() == completions

    def same(simulator: ReferenceSimulator) -> tuple[Stage, int] | None:
        answer = plain.pop(0) if simulator.candidates() else None
        stages = [stage for job in simulator.jobs for stage in job.stages]
        return answer and (stages[answer[0]], answer[1])

    assert_same(simulation.result(), run_reference(trace, workload, same))


def test_a_none_that_is_refused_changes_nothing() -> None:
    simulation = pending()
    assert not simulation.none_allowed()
    with pytest.raises(ActionError, match=r"^decision 0: none is refused: nothing else is going to happen$"):
        simulation.act(NONE)
    assert simulation.act(0, 1) == 1
    assert simulation.advance()
    assert simulation.act(NONE) == 1  # stage 0 was promised an executor in this round


def test_learned_policies_do_not_idle_where_episodes_say_so() -> None:
    """Heuristics still may: the rule is theirs."""
    workload = toy_workload([0, 0], 2, idling=False)
    simulation = Simulation(compile_profiles(toy_trace(TWO_JOBS)), workload)
    assert simulation.advance()
    simulation.act(0, 1)
    assert simulation.advance()
    assert not simulation.none_allowed()
    assert simulation.act(NONE) == 1


def test_there_is_no_result_before_the_end() -> None:
    with pytest.raises(ClearschedError, match=r"2 jobs unfinished after decision 0, job 0 first: .*before the episode"):
        pending().result()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrival_ms": np.array([5, 0])}, "in increasing order"),
        ({"arrival_ms": np.array([-1, 0])}, "at least 0"),
        ({"arrival_ms": np.array([0])}, "2 jobs and 1 arrivals"),
        ({"profile": np.array([], int), "arrival_ms": np.array([], int)}, "at least one job"),
        ({"profile": np.array([0, 2])}, "profiles must lie in 0 to 1"),
        ({"profile": np.array([-1, 0])}, "profiles must lie in 0 to 1"),
        ({"num_executors": 0}, "num_executors is 0"),
        ({"moving_delay_ms": -1}, "moving_delay_ms is -1"),
    ],
)
def test_malformed_workloads(changes: dict, message: str) -> None:
    workload = replace(toy_workload([0, 0], 2), **changes)
    with pytest.raises(ClearschedError, match=message):
        run(toy_trace(TWO_JOBS), workload, "fifo")
