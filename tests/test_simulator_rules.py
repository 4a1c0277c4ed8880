"""Corrections and faults (docs/simulator.md §10, §11) on instances stepped by hand.

Both simulators are asked, the plain one and the compiled one. Rows of decisions are
[time_ms, [source job, stage of the key], k, target, requested, committed], rows of tasks (start_ms, duration_ms, job,
stage, wave, attempt, failed). Unless said otherwise a fresh task takes 50 ms, a later one of the same stage 10 ms, a
move 100 ms. With 3600 failures an hour an executor lives a second on average; the seeds are such that the attempts
live as long as the comments say, and where they say nothing longer than they take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload, simulate
from clearsched.problems.dag_jobs.simulator.state import NONE
from clearsched.problems.dag_jobs.traces import Trace
from reference_cluster import Stage
from reference_policies import Fifo, fair, local_srpt, sjf_cp
from reference_simulator import ReferenceSimulator
from toys import decision_rows, run_reference, stage, task_rows, toy_trace, toy_workload

NOWHERE = [None, None]
"""The source of a decision on executors of the global pool."""

FAILING = {"failures_per_hour": 3600.0}

both = pytest.mark.parametrize("simulator", ["reference", "compiled"])


@dataclass
class Course:
    """What happened in an episode."""

    decisions: list[list[Any]]
    tasks: list[tuple[Any, ...]]
    completions_ms: list[int]


def run(simulator: str, trace: Trace, workload: Workload, name: str = "fifo") -> Course:
    """The course under `fifo`, `fair`, `sjf_cp`, or `local_srpt` with equal limits: ceil(0.3 x executors / jobs)."""
    if simulator == "reference":
        policy = {"fifo": Fifo(), "fair": fair, "sjf_cp": sjf_cp, "local_srpt": local_srpt(p=0, m=0.3)}[name]
        reference = run_reference(trace, workload, policy)
        return Course(reference.decisions, reference.tasks, reference.completions_ms)
    settings = {"p": 0, "m": 0.3} if name == "local_srpt" else {}
    policy = heuristic(name, **settings).compiled
    result = simulate(compile_profiles(trace), workload, policy, record_tasks=True, record_decisions=True)
    return Course(decision_rows(result), task_rows(result), result.completion_ms.tolist())


# Asked after each task -----------------------------------------------------------------------------------------------

LONG_AND_SHORT = [[stage(4)], [stage(1)]]
"""The short job arrives at 55, while the one executor runs the second task of the long one. Moves take no time."""


@both
def test_a_stage_keeps_its_executor_while_it_has_tasks(simulator: str) -> None:
    course = run(simulator, toy_trace(LONG_AND_SHORT), toy_workload([0, 55], 1, moving_delay_ms=0), "sjf_cp")
    assert course.completions_ms == [80, 130]


@both
def test_an_executor_is_asked_about_after_each_task(simulator: str) -> None:
    workload = toy_workload([0, 55], 1, moving_delay_ms=0, ask_each_task=True)
    course = run(simulator, toy_trace(LONG_AND_SHORT), workload, "sjf_cp")
    assert course.decisions == [
        [0, NOWHERE, 1, [0, 0], 1, 1],
        [50, [0, 0], 1, [0, 0], 1, 1],
        # 60: the second task has ended, two are left. 110: the short job is complete, its executor free.
        [60, [0, 0], 1, [1, 0], 1, 1],
        [110, [1, None], 1, [0, 0], 1, 1],
        [160, [0, 0], 1, [0, 0], 1, 1],
        [170, [0, None], 1, None, 1, 1],
    ]
    assert course.tasks == [
        (0, 50, 0, 0, "fresh", 0, 0),
        (50, 10, 0, 0, "rest_wave", 1, 0),
        (60, 50, 1, 0, "fresh", 0, 0),
        (110, 50, 0, 0, "fresh", 2, 0),
        (160, 10, 0, 0, "rest_wave", 3, 0),
    ]
    assert course.completions_ms == [170, 110]


# Work-conserving ---------------------------------------------------------------------------------------------------

IDLE = [[stage(8, rest_wave=100)], [stage(1)]]
"""Four executors under fair: two each at most while both jobs want one, so 2 and 1. The last one has nowhere to go: the
only stage that wants it was chosen in this round."""

FIRST_ROUND = [
    [0, NOWHERE, 4, [0, 0], 2, 2],
    [0, NOWHERE, 2, [1, 0], 1, 1],
    [0, NOWHERE, 1, None, 1, 1],
]


@both
def test_an_idle_executor_stays_idle(simulator: str) -> None:
    course = run(simulator, toy_trace(IDLE), toy_workload([0, 0], 4), "fair")
    assert course.decisions == [
        *FIRST_ROUND,
        # 150: job 1 is complete; its executor leaves for job 0, to arrive at 250.
        [150, [1, None], 1, [0, 0], 1, 1],
        # Tasks 0 to 6 started at 100, 100, 150, 150, 250, 250, 250; the last one, fresh, ends at 300, and its executor
        # takes task 7 until 400. The two others end at 350: three sit on the stage.
        [350, [0, 0], 3, None, 3, 3],
    ]
    assert course.completions_ms == [400, 150]


@both
def test_an_idle_executor_is_offered_after_the_next_event(simulator: str) -> None:
    course = run(simulator, toy_trace(IDLE), toy_workload([0, 0], 4, work_conserving=True), "fair")
    assert course.decisions == [
        *FIRST_ROUND,
        # 100: the first executor reaches job 0, which holds 2 of the 4 that it may hold now. The idle one leaves.
        [100, NOWHERE, 1, [0, 0], 1, 1],
        # 150: the other one follows from job 1. Job 0 has four tasks left, one of them promised: three wanted.
        [150, [1, None], 1, [0, 0], 1, 1],
        # 200: it arrives and takes task 4 until 250. 250: the first two take tasks 5 and 6, the one from job 1 task 7:
        # all four sit on the stage, and the one that came at 200 finds no task.
        [250, [0, 0], 4, None, 4, 4],
    ]
    assert course.tasks == [
        (100, 50, 0, 0, "fresh", 0, 0),
        (100, 50, 0, 0, "fresh", 1, 0),
        (100, 50, 1, 0, "fresh", 0, 0),
        (150, 100, 0, 0, "rest_wave", 2, 0),
        (150, 100, 0, 0, "rest_wave", 3, 0),
        (200, 50, 0, 0, "fresh", 4, 0),
        (250, 100, 0, 0, "rest_wave", 5, 0),
        (250, 100, 0, 0, "rest_wave", 6, 0),
        (250, 50, 0, 0, "fresh", 7, 0),
    ]
    assert course.completions_ms == [350, 150]


@both
def test_an_idle_executor_is_offered_when_a_job_is_complete(simulator: str) -> None:
    course = run(simulator, toy_trace(IDLE), toy_workload([0, 0], 4, offer_at_completion=True), "fair")
    assert course.decisions == [
        *FIRST_ROUND,
        # 100: two executors reach job 0, which nobody asks the idle one about. 150: job 1 is complete: its executor
        # leaves for job 0, and the idle one after it.
        [150, [1, None], 1, [0, 0], 1, 1],
        [150, NOWHERE, 1, [0, 0], 1, 1],
        # 250: the last four tasks start; 300: those of the two that came end.
        [300, [0, 0], 4, None, 4, 4],
    ]
    assert course.completions_ms == [350, 150]


@both
def test_a_round_of_the_pool_is_not_repeated(simulator: str) -> None:
    """Three executors and a policy that lets each of at most two jobs hold one. Attempt 0 of job 0 lives 30 ms."""
    rules = {"work_conserving": True, "recovery_ms": 10, **FAILING}
    workload = toy_workload([0, 60], 3, seed=3876, **rules)
    course = run(simulator, toy_trace([[stage(2)], [stage(2)]]), workload, "local_srpt")
    assert course.decisions == [
        [0, NOWHERE, 3, [0, 0], 1, 1],
        [0, NOWHERE, 2, None, 2, 2],
        # 60: job 1 arrives. Job 0 wants one more and may not hold it: the executor left over is not offered again.
        [60, NOWHERE, 2, [1, 0], 1, 1],
        [60, NOWHERE, 1, None, 1, 1],
        # 100: an executor reaches job 0. The round after this event is the only one, though it changes nothing.
        [100, NOWHERE, 1, None, 1, 1],
        # 130: it fails, and job 0 may hold the one that is left over; 140: it is back; no second round follows.
        [130, NOWHERE, 1, [0, 0], 1, 1],
        [140, NOWHERE, 1, None, 1, 1],
        # 160: job 1 is reached; 210: it starts its second task; 220: it is complete, and its executor is free.
        [160, NOWHERE, 1, None, 1, 1],
        [210, NOWHERE, 1, None, 1, 1],
        [220, [1, None], 1, None, 1, 1],
        [220, NOWHERE, 2, None, 2, 2],
        # 230: job 0 is reached by the other one; 280: it starts its last task.
        [230, NOWHERE, 2, None, 2, 2],
        [290, [0, None], 1, None, 1, 1],
    ]
    assert course.completions_ms == [290, 220]


# Interpolation of the level ----------------------------------------------------------------------------------------

TWO_LEVELS = {1: [1], 5: [2]}
"""One executor of the job: 1 ms; two: 1 or 2 ms."""


@both
@pytest.mark.parametrize(("rules", "share"), [({}, 0.75), ({"right_interpolation": True}, 0.25)])
def test_the_nearer_level_is_the_likelier(simulator: str, rules: dict[str, bool], share: float) -> None:
    table = {"first_wave": TWO_LEVELS, "rest_wave": TWO_LEVELS, "fresh": TWO_LEVELS}
    trace = toy_trace([[stage(4001, **table)]], levels=(1, 5))
    course = run(simulator, trace, toy_workload([0], 2, seed=3, mean_durations=False, **rules))
    right = np.mean([task[1] == 2 for task in course.tasks[1:]])  # the first starts while its executor is alone
    assert abs(right - share) < 4 * np.sqrt(share * (1 - share) / 4000)


@both
def test_the_mean_is_taken_at_the_left_level_all_the_same(simulator: str) -> None:
    table = {"first_wave": TWO_LEVELS, "rest_wave": TWO_LEVELS, "fresh": TWO_LEVELS}
    trace = toy_trace([[stage(5, **table)]], levels=(1, 5))
    course = run(simulator, trace, toy_workload([0], 2, right_interpolation=True))
    assert [task[1] for task in course.tasks] == [1] * 5


# Spark's FIFO ------------------------------------------------------------------------------------------------------

TWO_JOBS = [[stage(2), stage(1, [0])], [stage(2)]]
"""Two executors. `test_simulator.py` steps these jobs under Decima's FIFO: at 150 one executor leaves job 0 for job 1,
and the jobs are complete at 200 and 350."""


@both
@pytest.mark.parametrize("rules", [{"spark_fifo": True}, {"spark_fifo": True, "work_conserving": True}])
def test_a_job_holds_its_executors_while_it_has_tasks_to_start(simulator: str, rules: dict[str, bool]) -> None:
    course = run(simulator, toy_trace(TWO_JOBS), toy_workload([0, 0], 2, **rules))
    assert course.decisions == [
        [0, NOWHERE, 2, [0, 0], 2, 2],
        # 150: the first of two executors of stage 0 is done. Stage 1 wants one; the other one is not for job 1, since
        # stage 1 has not started.
        [150, [0, 0], 2, [0, 1], 2, 1],
        [150, [0, 0], 1, None, 1, 1],
        # Stage 1 is not open: the first one parks in the job. Then the second one ends: it parks as well, stage 1
        # opens, and both are decided on.
        [150, [0, None], 2, [0, 1], 2, 1],
        [150, [0, None], 1, None, 1, 1],
        # The first starts stage 1. When the second takes up its `none`, job 0 has no task to start any more: it goes
        # to the global pool, which is offered after the event.
        [150, NOWHERE, 1, [1, 0], 1, 1],
        [200, [0, None], 1, [1, 0], 1, 1],
        # 300: the first one arrives and starts the last task, then the other one ends its task: both sit on the stage.
        [300, [1, 0], 2, None, 2, 2],
    ]
    assert course.completions_ms == [200, 350]


LATE = [[stage(1, fresh=30)], [stage(3, rest_wave=45), stage(1, [0])], [stage(2)]]
"""Two executors: one for job 0, one for job 1. The first leaves at 130 for stage 0 of job 1, but when it gets there at
230, the other one has started the last task of that stage, until 240."""

UNTIL_130 = [
    [0, NOWHERE, 2, [0, 0], 1, 1],
    [0, NOWHERE, 1, [1, 0], 1, 1],
    [130, [0, None], 1, [1, 0], 1, 1],
]


@both
def test_who_finds_no_task_goes_elsewhere_under_fifo(simulator: str) -> None:
    course = run(simulator, toy_trace(LATE), toy_workload([0, 0, 0], 2))
    assert course.decisions == [
        *UNTIL_130,
        # 230: the first candidate of all is stage 1 of the same job, not open: to be reached by a move, at 330. 240:
        # stage 0 is complete; its executor goes to job 2.
        [240, [1, None], 1, [2, 0], 1, 1],
        # 380: job 1 is complete. 390: the executor of job 2 takes the second task, before the other one gets there.
        [380, [1, None], 1, [2, 0], 1, 1],
        [400, [2, None], 1, None, 1, 1],
    ]
    assert course.completions_ms == [130, 380, 400]


@both
def test_who_finds_no_task_stays_in_the_job_under_the_fifo_of_spark(simulator: str) -> None:
    course = run(simulator, toy_trace(LATE), toy_workload([0, 0, 0], 2, spark_fifo=True))
    assert course.decisions == [
        *UNTIL_130,
        # 230: parked in job 1, whose stage 1 has not started. 240: stage 0 is complete, and both are decided on. The
        # one that came first starts stage 1, the other one is then free of the job, and leaves for job 2.
        [240, [1, None], 2, [1, 1], 2, 1],
        [240, [1, None], 1, None, 1, 1],
        [240, NOWHERE, 1, [2, 0], 1, 1],
        # 390: the first one reaches job 2 as well and starts its second task; then the other one ends the first task.
        [290, [1, None], 1, [2, 0], 1, 1],
        [390, [2, 0], 2, None, 2, 2],
    ]
    assert course.tasks[4] == (240, 50, 1, 1, "fresh", 0, 0)
    assert course.completions_ms == [130, 290, 440]


@both
def test_the_fifo_of_spark_changes_no_other_policy(simulator: str) -> None:
    plain = run(simulator, toy_trace(LATE), toy_workload([0, 0, 0], 2), "fair")
    assert run(simulator, toy_trace(LATE), toy_workload([0, 0, 0], 2, spark_fifo=True), "fair") == plain


# Parked executors ---------------------------------------------------------------------------------------------------

LOCKED = [[stage(1, fresh=1000), stage(1, [0]), stage(2)]]
"""One job on two executors. Stage 0 takes a second; stage 1 waits for it; stage 2 is ready from the start."""

AHEAD = [[0, NOWHERE, 2, [0, 0], 1, 1], [0, NOWHERE, 1, [0, 1], 1, 1]]
"""One executor for stage 0, the other one ahead of time for stage 1."""


def run_ahead(simulator: str, **rules: bool) -> tuple[Course, float, float]:
    """Stage 0, then stage 1, and from there on the last candidate; also the longest stall, ms, and the parked share."""
    return run_script(simulator, LOCKED, [(0, 1), (1, 1)], **rules)


class Scripted:
    """The answers of a script, then one executor for the last candidate; None: idle."""

    is_learned = True

    def __init__(self, script: Sequence[tuple[int, int] | None]) -> None:
        self.script = list(script)

    def __call__(self, plain: ReferenceSimulator) -> tuple[Stage, int] | None:
        candidates = plain.candidates()
        if not candidates or not self.script:
            return (candidates[-1], 1) if candidates else None
        answer = self.script.pop(0)
        return None if answer is None else (plain.jobs[0].stages[answer[0]], answer[1])


def run_script(
    simulator: str, profiles: list[list[dict]], answers: Sequence[tuple[int, int] | None], **rules: bool
) -> tuple[Course, float, float]:
    """One job on two executors under `Scripted`; also the longest stall, ms, and the parked share."""
    trace, workload = toy_trace(profiles), toy_workload([0], 2, **rules)
    if simulator == "reference":
        reference = run_reference(trace, workload, Scripted(answers))
        course = Course(reference.decisions, reference.tasks, reference.completions_ms)
        return course, reference.longest_stall_ms, reference.parked_time_ms / (2 * reference.completions_ms[0])
    simulation = Simulation(compile_profiles(trace), workload, record_tasks=True, record_decisions=True)
    script = list(answers)
    while simulation.advance():
        seen = simulation.observe()
        answer = script.pop(0) if script else (int(seen.candidate_stage[-1]), 1)
        if answer is None:
            simulation.act(NONE)
        else:
            simulation.act(answer[0], int(seen.job_held[0]) + answer[1])
    result = simulation.result()
    course = Course(decision_rows(result), task_rows(result), result.completion_ms.tolist())
    return course, result.stall_ms, result.parked_share


@both
def test_a_parked_executor_waits_beside_a_ready_stage(simulator: str) -> None:
    course, stall_ms, parked = run_ahead(simulator)
    assert course.decisions == [
        *AHEAD,
        # 100: one starts stage 0, the other one is parked. Nobody asks about it before stage 0 is complete.
        [1100, [0, None], 2, [0, 2], 1, 1],
        [1100, [0, None], 1, [0, 1], 1, 1],
        # 1150: stages 1 and 2 run fresh from 1100. Stage 2 has another task, which its executor takes until 1160.
        [1150, [0, 1], 1, None, 1, 1],
        [1160, [0, None], 1, None, 1, 1],  # the job is complete: its executor sits nowhere
    ]
    assert (course.completions_ms, stall_ms) == ([1160], 1000)
    assert parked == pytest.approx(1000 / (2 * 1160))


@both
def test_a_parked_executor_is_offered_to_a_ready_stage(simulator: str) -> None:
    course, stall_ms, parked = run_ahead(simulator, offer_parked=True)
    assert course.decisions == [
        *AHEAD,
        # 100: the other executor is parked, and asked about at once. It runs stage 2 until 160, then waits for stage 1.
        [100, [0, None], 1, [0, 2], 1, 1],
        [160, [0, 2], 1, [0, 1], 1, 1],
        [1100, [0, None], 2, [0, 1], 1, 1],
        [1100, [0, None], 1, None, 1, 1],
        [1150, [0, None], 1, None, 1, 1],
    ]
    assert (course.completions_ms, stall_ms) == ([1150], 0)
    assert parked == pytest.approx(940 / (2 * 1150))


@both
def test_who_would_park_helps_itself_to_a_ready_stage(simulator: str) -> None:
    course, stall_ms, parked = run_ahead(simulator, back_up_parked=True)
    assert course.decisions == [
        *AHEAD,
        # 100: stage 1 is not ready, so the other executor takes stage 2, unasked, and waits for stage 1 from 160 on.
        [160, [0, 2], 1, [0, 1], 1, 1],
        [1100, [0, None], 2, [0, 1], 1, 1],
        [1100, [0, None], 1, None, 1, 1],
        [1150, [0, None], 1, None, 1, 1],
    ]
    assert (course.completions_ms, stall_ms) == ([1150], 0)
    assert parked == pytest.approx(940 / (2 * 1150))


SPARED = [[stage(2, fresh=1000), stage(2)]]
"""Both stages are ready from the start; of the executors of stage 0 one is to take stage 1, and one to idle."""


@both
def test_who_is_left_idle_parks_beside_a_ready_stage(simulator: str) -> None:
    course, stall_ms, _ = run_script(simulator, SPARED, [(0, 2), (1, 1), None])
    # 1100: the executors of stage 0 end. The first of them runs both tasks of stage 1, beside the other one.
    assert [(start, index) for start, _, _, index, *_ in course.tasks] == [(100, 0), (100, 0), (1100, 1), (1120, 1)]
    assert stall_ms == 20


@both
def test_who_is_left_idle_may_be_asked_to_help_first(simulator: str) -> None:
    course, stall_ms, _ = run_script(simulator, SPARED, [(0, 2), (1, 1), None], help_first=True)
    assert [(start, index) for start, _, _, index, *_ in course.tasks] == [(100, 0), (100, 0), (1100, 1), (1100, 1)]
    assert stall_ms == 0


# Failures ----------------------------------------------------------------------------------------------------------


@both
def test_a_task_that_failed_starts_again(simulator: str) -> None:
    """One executor. Attempt 0 lives 20 ms."""
    workload = toy_workload([0], 1, seed=412, recovery_ms=500, **FAILING)
    course = run(simulator, toy_trace([[stage(3)]]), workload)
    assert course.decisions == [
        [0, NOWHERE, 1, [0, 0], 1, 1],
        # Failed at 120, back at 620, in no job: it moves again.
        [620, NOWHERE, 1, [0, 0], 1, 1],
        [790, [0, None], 1, None, 1, 1],
    ]
    assert course.tasks == [
        (100, 20, 0, 0, "fresh", 0, 1),
        (720, 50, 0, 0, "fresh", 1, 0),
        (770, 10, 0, 0, "rest_wave", 2, 0),
        (780, 10, 0, 0, "rest_wave", 3, 0),
    ]
    assert course.completions_ms == [790]


@both
def test_another_executor_of_the_stage_takes_it_up(simulator: str) -> None:
    """Two executors. Attempt 1 lives 20 ms; who runs attempt 0 goes on with attempts 2 and 3."""
    workload = toy_workload([0], 2, seed=4367, recovery_ms=30, **FAILING)
    course = run(simulator, toy_trace([[stage(3)]]), workload)
    assert course.decisions == [
        [0, NOWHERE, 2, [0, 0], 2, 2],
        # 120: the second one fails; 150: it is back, as the first one ends. The event of its return was scheduled
        # later (at 120 and not at 100), so attempt 2 has started and attempt 3 wants an executor: it leaves, too late.
        [150, NOWHERE, 1, [0, 0], 1, 1],
        [170, [0, None], 1, None, 1, 1],
    ]
    assert course.tasks == [
        (100, 50, 0, 0, "fresh", 0, 0),
        (100, 20, 0, 0, "fresh", 1, 1),
        (150, 10, 0, 0, "rest_wave", 2, 0),
        (160, 10, 0, 0, "rest_wave", 3, 0),
    ]
    assert course.completions_ms == [170]


@both
def test_a_stage_comes_back_to_its_place_in_the_frontier(simulator: str) -> None:
    """Two roots, an executor each. Attempt 0 of stage 0 lives 30 ms; FIFO asks for the stage that opened first."""
    workload = toy_workload([0], 2, seed=1942, recovery_ms=10, **FAILING)
    course = run(simulator, toy_trace([[stage(1), stage(3)]]), workload)
    assert course.decisions == [
        [0, NOWHERE, 2, [0, 0], 1, 1],
        [0, NOWHERE, 1, [0, 1], 1, 1],
        # Stage 1 wants two, but stage 0 comes first. FIFO had granted 2 of 2, of which one is lost: one more.
        [140, NOWHERE, 1, [0, 0], 1, 1],
        # 170: stage 1 is complete. Its executor stays in the job: no candidate, but a task not started.
        [170, [0, 1], 1, None, 1, 1],
        [290, [0, None], 1, None, 1, 1],
    ]
    assert course.tasks[-1] == (240, 50, 0, 0, "fresh", 1, 0)
    assert course.completions_ms == [290]


@both
def test_a_failure_withdraws_a_promise(simulator: str) -> None:
    """Two executors, jobs of three tasks. Attempt 2 of job 0, from 150 to 250, lives 40 ms."""
    trace = toy_trace([[stage(3, rest_wave=100)], [stage(3)]])
    course = run(simulator, trace, toy_workload([0, 0], 2, seed=2239, recovery_ms=100, **FAILING))
    assert course.decisions == [
        [0, NOWHERE, 2, [0, 0], 2, 2],
        # 150: one goes on with attempt 2, the other one finds no task. Both are promised to job 1; the latter leaves.
        [150, [0, 0], 2, [1, 0], 2, 2],
        # 190: the former fails. Nobody sits on the stage any more: the promise is withdrawn. 290: it is back, and the
        # first job wants it.
        [290, NOWHERE, 1, [0, 0], 1, 1],
        # The other one has run all of job 1 (250 to 300, 310, 320) and is not wanted at job 0.
        [320, [1, None], 1, None, 1, 1],
        # 440: job 0 is complete, and its executor is decided on: no promise is left.
        [440, [0, None], 1, None, 1, 1],
    ]
    assert course.tasks == [
        (100, 50, 0, 0, "fresh", 0, 0),
        (100, 50, 0, 0, "fresh", 1, 0),
        (150, 40, 0, 0, "rest_wave", 2, 1),
        (250, 50, 1, 0, "fresh", 0, 0),
        (300, 10, 1, 0, "rest_wave", 1, 0),
        (310, 10, 1, 0, "rest_wave", 2, 0),
        (390, 50, 0, 0, "fresh", 3, 0),
    ]
    assert course.completions_ms == [440, 320]


@both
def test_the_promise_made_last_is_withdrawn(simulator: str) -> None:
    """Three executors. Attempt 3 of job 0, from 150 to 250, lives 40 ms."""
    trace = toy_trace([[stage(5, rest_wave=100)], [stage(2, fresh=250)], [stage(5)]])
    course = run(simulator, trace, toy_workload([0, 0, 0], 3, seed=1008, recovery_ms=1000, **FAILING))
    assert course.decisions == [
        [0, NOWHERE, 3, [0, 0], 3, 3],
        # 150: two go on, the third leaves for job 1, to arrive at 250. One more is promised to each job.
        [150, [0, 0], 3, [1, 0], 2, 2],
        [150, [0, 0], 1, [2, 0], 1, 1],
        # 190: the first fails; the promise to job 2 goes. 250: the second does its task again, until 350, and then
        # keeps the promise to job 1 without being asked: from 450 to 700.
        # 500: the third is done there (250 to 500).
        [500, [1, 0], 2, [2, 0], 2, 2],
        # It runs all of job 2 (600 to 650, then 10 ms each), so the second one's promise to that job vanishes.
        [690, [2, None], 1, None, 1, 1],
        [700, [1, None], 1, None, 1, 1],
        # All jobs are complete when the first is back: nobody wants the three in the pool.
        [1190, NOWHERE, 3, None, 3, 3],
    ]
    assert [task for task in course.tasks if task[2] == 0] == [
        (100, 50, 0, 0, "fresh", 0, 0),
        (100, 50, 0, 0, "fresh", 1, 0),
        (100, 50, 0, 0, "fresh", 2, 0),
        (150, 40, 0, 0, "rest_wave", 3, 1),
        (150, 100, 0, 0, "rest_wave", 4, 0),
        (250, 100, 0, 0, "rest_wave", 5, 0),
    ]
    assert [task[0] for task in course.tasks if task[2] == 1] == [250, 450]
    assert course.completions_ms == [350, 700, 690]


@both
def test_a_failure_calls_those_who_wait_in_the_job(simulator: str) -> None:
    """A chain of two stages, an executor each. Attempt 0 of stage 0 lives 30 ms, while the other one waits."""
    trace = toy_trace([[stage(1), stage(1, [0])]])
    course = run(simulator, trace, toy_workload([0], 2, seed=1942, recovery_ms=100, **FAILING))
    assert course.decisions == [
        [0, NOWHERE, 2, [0, 0], 1, 1],
        [0, NOWHERE, 1, [0, 1], 1, 1],
        [130, [0, None], 1, [0, 0], 1, 1],
        [180, [0, None], 1, [0, 1], 1, 1],
        # 230: first the other one is back (scheduled at 130), with nothing to do; then the job ends (scheduled at 180).
        [230, NOWHERE, 1, None, 1, 1],
        [230, [0, None], 1, None, 1, 1],
    ]
    assert course.tasks == [
        (100, 30, 0, 0, "fresh", 0, 1),
        (130, 50, 0, 0, "fresh", 1, 0),
        (180, 50, 0, 1, "fresh", 0, 0),
    ]
    assert course.completions_ms == [230]


ONE_TASK = [[stage(1)]]
"""Two executors, one of them idle. Attempt 0 lives 30 ms."""


@both
def test_a_recovery_offers_the_whole_pool(simulator: str) -> None:
    course = run(simulator, toy_trace(ONE_TASK), toy_workload([0], 2, seed=1942, recovery_ms=100, **FAILING))
    assert course.decisions == [
        [0, NOWHERE, 2, [0, 0], 1, 1],
        [0, NOWHERE, 1, None, 1, 1],
        # 130: nobody is asked. 230: the one that idled is the first of the pool, and leaves.
        [230, NOWHERE, 2, [0, 0], 1, 1],
        [230, NOWHERE, 1, None, 1, 1],
        [380, [0, None], 1, None, 1, 1],
    ]
    assert course.completions_ms == [380]


@both
@pytest.mark.parametrize(
    ("recovery_ms", "last"),
    [
        # 230: the failed one is back before the other one reaches the stage, and alone in the pool.
        (100, [[230, NOWHERE, 1, None, 1, 1], [280, [0, None], 1, None, 1, 1]]),
        # The job ends at 280 while it is down; 10,130: both are in the pool, and there is no job.
        (10_000, [[280, [0, None], 1, None, 1, 1], [10_130, NOWHERE, 2, None, 2, 2]]),
    ],
)
@pytest.mark.parametrize("rule", ["work_conserving", "offer_at_completion"])
def test_a_failure_offers_the_pool_by_two_rules(simulator: str, rule: str, recovery_ms: int, last: list) -> None:
    rules = {rule: True, "recovery_ms": recovery_ms, **FAILING}
    course = run(simulator, toy_trace(ONE_TASK), toy_workload([0], 2, seed=1942, **rules))
    assert course.decisions == [
        [0, NOWHERE, 2, [0, 0], 1, 1],
        [0, NOWHERE, 1, None, 1, 1],
        [130, NOWHERE, 1, [0, 0], 1, 1],
        *last,
    ]
    assert course.tasks == [(100, 30, 0, 0, "fresh", 0, 1), (230, 50, 0, 0, "fresh", 1, 0)]
    assert course.completions_ms == [280]


# Stragglers --------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("slowdown", "durations_ms"),
    [(1.5, [1530, 11, 17]), (3.0, [3060, 11, 33]), (1.0, [1020, 11, 11])],
)
def test_stragglers(simulator: str, slowdown: float, durations_ms: list[int]) -> None:
    """One executor: 20 ms and 1,000 of warm-up, then 11 ms a task. Attempts 0 and 2 are stragglers."""
    trace = toy_trace([[stage(3, fresh={1: []}, rest_wave=11)]])
    rules = {"straggler_probability": 0.5, "straggler_slowdown": slowdown}
    course = run(simulator, trace, toy_workload([0], 1, seed=6, **rules))
    assert [task[1] for task in course.tasks] == durations_ms  # 16.5 is rounded up
    assert course.completions_ms == [100 + sum(durations_ms)]


@both
def test_all_or_none_are_stragglers(simulator: str) -> None:
    trace = toy_trace([[stage(20)]])
    for probability, duration_ms in ((0.0, 10), (1.0, 20)):
        rules = {"straggler_probability": probability, "straggler_slowdown": 2.0}
        course = run(simulator, trace, toy_workload([0], 1, seed=6, **rules))
        assert [task[1] for task in course.tasks[1:]] == [duration_ms] * 19


@both
def test_a_straggler_fails_in_the_time_that_it_takes_longer(simulator: str) -> None:
    """Attempt 0 is a straggler: 500 ms instead of 50, and lives 200. Attempt 1 is none."""
    rules = {"straggler_probability": 0.5, "straggler_slowdown": 10.0, "recovery_ms": 0, **FAILING}
    course = run(simulator, toy_trace([[stage(1)]]), toy_workload([0], 1, seed=7369, **rules))
    assert course.tasks == [(100, 200, 0, 0, "fresh", 0, 1), (400, 50, 0, 0, "fresh", 1, 0)]
    assert course.completions_ms == [450]
