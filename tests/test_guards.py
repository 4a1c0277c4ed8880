"""Guards: a heuristic takes over when more has piled up than training saw, and hands back when it has cleared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from clearsched import decisions, evaluation, params
from clearsched.cli import app
from clearsched.compiled.guard import ROWS, Record, TakeOver
from clearsched.errors import ClearschedError
from clearsched.evaluation import comparison
from clearsched.evaluation.guards import guard_lines, take_over_table
from clearsched.evaluation.rollouts import roll_out
from clearsched.evaluation.worst import worst_lines
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs import command
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator import state as columns
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Simulation, Workload, simulate
from clearsched.problems.policy import heuristic
from clearsched.reading.verification.verify import beneath
from clearsched.schemas import TAKE_OVERS, read_table
from clearsched.scorers.guard import Bound, Guard, read_guard
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.scorer import read_scorer
from clearsched.scorers.settings import GuardParams
from clearsched.scorers.text import render
from clearsched.search import guarding, safety
from clearsched.search.guard_bounds import measured, rounded_up
from clearsched.search.probing import Probes
from clearsched.search.trials import trials
from clearsched.teacher import load_policy as load_teacher
from clearsched.teacher.checkpoints import save_checkpoint
from clearsched.teacher.guarding import Watched
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.rollouts import run_lockstep
from conformance.test_conformance import CASES, drawn
from deferrable_jobs.deferrable_toys import run as run_deferrable
from deferrable_jobs.deferrable_toys import toy
from other_problem import PROBLEM as OTHER
from test_simulator_properties import Instance, instances
from toys import stage, toy_trace, toy_workload

DAG, DEFERRABLE = find_problem("dag_jobs"), find_problem("deferrable_jobs")

REQUESTED = 6
"""Column of a recorded decision (docs/simulator.md §9)."""

PARKS = {
    "rules": [
        {"if": "stage_is_ready < 1 and job_executors < 3", "then": 3},
        {"if": "stage_is_ready >= 1 and job_executors < 1", "then": 2},
        {"if": "otherwise", "then": -1},
    ]
}
"""A job gets one executor for what is ready and parks two more for what is not: its other ready stages wait."""


def policy(problem: Any, scorers: dict[str, Any], none: bool = True) -> ScoredPolicy:
    """A policy without a guard."""
    names = {choice.name: [feature.name for feature in choice.features] for choice in problem.choices}
    read = {name: read_scorer(value, names[name], "x") for name, value in scorers.items()}
    return ScoredPolicy("mine", problem, read, none)


def parks(**bounds: tuple[float, float]) -> ScoredPolicy:
    """The policy that parks; with bounds also a guard, of fair."""
    mine = policy(DAG, {"stage": PARKS, "limit": 0.5})
    when = {name: Bound(*bound) for name, bound in bounds.items()}
    return replace(mine, guard=Guard("fair", when)) if bounds else mine


IDLING = {"failures_per_hour": 1e-9}
"""Where executors may fail a learned policy may idle in a batch too (docs/simulator.md §5); here none does fail."""


def lock() -> tuple[DagJobsInstance, Workload]:
    """Two executors wait 20 s for a task to end, beside 30 tasks that could start; a chain of eight stages besides."""
    waits = [stage(1, fresh=20_000), stage(2, [0], fresh=300), stage(30, first_wave=200, rest_wave=200, fresh=200)]
    chain = [stage(1, [i - 1] if i else [], rest_wave=300, first_wave=300, fresh=300) for i in range(8)]
    return DagJobsInstance(compile_profiles(toy_trace([waits, chain]), 0)), toy_workload([0, 100], 6, **IDLING)


def result(mine: Any, instance: DagJobsInstance, workload: Workload) -> EpisodeResult:
    """One episode, all of it recorded."""
    (found,) = mine.run(instance, [workload], record=True)
    return found  # type: ignore[no-any-return]


def same(one: EpisodeResult, other: EpisodeResult) -> bool:
    """Whether two runs agree in every task and decision; a request beyond the limit is told as the limit by some."""
    assert one.decisions is not None and other.decisions is not None
    mine, theirs = (np.delete(run.decisions, REQUESTED, axis=1) for run in (one, other) if run.decisions is not None)
    return np.array_equal(one.tasks, other.tasks) and np.array_equal(mine, theirs)  # type: ignore[arg-type]


def test_a_lock_is_taken_over_and_clears() -> None:
    instance, workload = lock()
    plain, guarded = (result(mine, instance, workload) for mine in (parks(), parks(stall_s=(1.0, 0.0))))
    assert plain.guard is None
    assert plain.completion_ms.tolist() == [26_500, 2600], "30 tasks of 200 ms after 20 s, and what waits for them"
    assert guarded.completion_ms.tolist() == [20_400, 2600]
    assert guarded.stall_ms < plain.stall_ms / 5
    assert guarded.guard is not None
    # Executors are parked from 0.1 s on. At 1.4 s the fifth stage of the chain begins, the first after 1.1 s.
    assert guarded.guard.take_overs == (TakeOver(1.4, 4.3, 1, pytest.approx(1.3)),)
    assert guarded.guard.share(guarded.makespan_s) == pytest.approx(2.9 / 20.4)


def test_what_never_exceeds_its_bounds_schedules_as_without() -> None:
    instance, workload = lock()
    plain = result(parks(), instance, workload)
    watched = result(parks(stall_s=(20.4, 1.0), backlog_s=(100.0, 50.0)), instance, workload)
    assert same(plain, watched)
    assert watched.guard is not None and watched.guard.take_overs == ()
    work_s = 0.01 + 2 * 0.01 + 30 * 0.2 + 8 * 0.3  # at 0.1 s, when nothing has started
    assert watched.guard.most.tolist() == pytest.approx([work_s / 6, 20.3, (0.01 + 2 * 0.01 + 30 * 0.2) / 6])


def test_a_guard_that_is_always_on_is_the_heuristic() -> None:
    instance, workload = lock()
    always = result(parks(backlog_s=(0.0, 0.0)), instance, workload)
    assert same(always, result(heuristic(DAG, "fair"), instance, workload))


class ByHand:
    """The guard in plain Python: the gauges summed anew, one decision at a time, each answer checked by `act`."""

    def __init__(self, mine: ScoredPolicy) -> None:
        assert mine.guard is not None
        self.mine, self.other = mine.compiled, mine.guard.policy(DAG).compiled
        self.bounds = [mine.guard.when.get(gauge.name, Bound(np.inf, np.inf)) for gauge in DAG.gauges]
        self.taken: list[list[Any]] = []

    def gauges(self, simulation: Simulation) -> list[float]:
        state = simulation.state
        now_ms, left_ms, since_ms = state.scalar[columns.TIME_MS], [0.0], []
        for j in state.active[: state.scalar[columns.NUM_ACTIVE]]:
            first, count = state.job[j, columns.BASE], state.job[j, columns.NUM_STAGES]
            rows = slice(first, first + count)
            tasks, task_ms = state.stage[rows, columns.UNSTARTED], state.known[rows, columns.TASK_MS]
            left_ms.append(float((tasks * task_ms).sum()))
            waits = (state.stage[rows, columns.WAITING] == 0) & (state.stage[rows, columns.DEMAND] > 0)
            if state.job[j, columns.POOL] > 0 and waits.any():
                since_ms.append(state.job[j, columns.STALLED_SINCE_MS])
        backlog_s, largest_s = (ms / len(state.selected) / 1000 for ms in (sum(left_ms), max(left_ms)))
        return [backlog_s, (now_ms - min(since_ms, default=now_ms)) / 1000, largest_s]

    def decides(self, simulation: Simulation) -> bool:
        """Whether the heuristic does."""
        values = self.gauges(simulation)
        high = [g for g, value in enumerate(values) if value > self.bounds[g].above + 1e-9]
        low = all(value <= self.bounds[g].until + 1e-9 for g, value in enumerate(values))
        if self.taken and self.taken[-1][1] is None:
            if low:
                self.taken[-1][1] = simulation.time_s
        elif high:
            self.taken.append([simulation.time_s, None, high[0]])
        return bool(self.taken) and self.taken[-1][1] is None

    def run(self, simulation: Simulation) -> EpisodeResult:
        while simulation.advance():
            compiled = self.other if self.decides(simulation) else self.mine
            simulation.act(*simulation.reference_choice(compiled))
        return simulation.result()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    instances(),
    st.fixed_dictionaries({"backlog_s": st.floats(0, 1), "stall_s": st.floats(0, 0.3), "largest_s": st.floats(0, 1)}),
    st.floats(0, 1),
    st.sampled_from(["fair", "capped_srpt"]),
)
def test_loop_python_and_lockstep_agree_and_no_answer_is_refused(
    drawn: Instance, above: dict[str, float], clear: float, name: str
) -> None:
    trace, workload, warmup_ms = drawn
    profiles = compile_profiles(trace, warmup_ms)
    when = {gauge: Bound(value, clear * value) for gauge, value in above.items()}
    mine = replace(parks(), guard=Guard(name, when))
    by_hand, simulation = ByHand(mine), Simulation(profiles, workload, record_tasks=True, record_decisions=True)
    expected = by_hand.run(simulation)
    found = simulate(profiles, workload, mine.guarded, record_tasks=True, record_decisions=True)
    assert same(found, expected)
    assert found.guard is not None
    assert [[t.from_s, t.until_s, t.gauge] for t in found.guard.take_overs] == by_hand.taken
    beside = replace(workload, seed=workload.seed + 1)  # an episode in the other lane changes nothing
    (stepped, _) = in_lockstep(mine, DagJobsInstance(profiles), [workload, beside])
    assert same(stepped, found) and stepped.guard.take_overs == found.guard.take_overs
    assert stepped.guard.most.tolist() == found.guard.most.tolist()


def in_lockstep(mine: ScoredPolicy, instance: Any, episodes: Sequence[Any]) -> list[Any]:
    """Episodes as a network's run: its answers, here another policy's, then the guard's word."""
    assert mine.guard is not None
    lockstep, watched = instance.lockstep(episodes, record=True), Watched(mine.guard, mine.problem, len(episodes))
    run_lockstep(lockstep, lambda _: watched.overrule(lockstep, lockstep.ask(mine.compiled)), by_heuristic=True)
    return watched.told(list(lockstep.results()))


@pytest.mark.parametrize("place", range(len(DEFERRABLE.gauges)))
def test_lockstep_and_loop_agree_on_deferrable_jobs(place: int, tmp_path: Path) -> None:
    instance = DEFERRABLE.open(*drawn(DEFERRABLE, tmp_path))
    plain, episodes = policy(DEFERRABLE, {"start": {"job_cpu": -1.0}}, none=False), instance.split("train")
    name = DEFERRABLE.gauges[place].name
    guard = measured(GuardParams(heuristic="fifo", margin=1.0, gauges=(name,)), plain, instance)
    assert guard is not None
    often = {name: Bound(guard.when[name].above / 4, guard.when[name].above / 8)}
    mine = replace(plain, guard=replace(guard, when=often))
    expected, found = mine.run(instance, episodes), in_lockstep(mine, instance, episodes)
    assert [outcome.measures for outcome in found] == [outcome.measures for outcome in expected]
    assert [outcome.guard.take_overs for outcome in found] == [outcome.guard.take_overs for outcome in expected]
    assert {taken.gauge for outcome in found for taken in outcome.guard.take_overs} == {place}


@pytest.mark.parametrize("problem", [DAG, DEFERRABLE], ids=lambda problem: problem.name)
def test_a_network_has_a_guard_and_keeps_it(problem: Any, tmp_path: Path) -> None:
    """One that always decides is its heuristic; what its JSON file says is what runs."""
    instance = problem.open(*drawn(problem, tmp_path))
    sizes, name = {"embedding": 4, "hidden": 4, "rounds": 1}, problem.baseline
    network, always = problem.network(sizes, instance.none), {gauge.name: Bound(0.0, 0.0) for gauge in problem.gauges}
    episodes = instance.split("train")[:3]
    guarded = TeacherPolicy(network, problem, guard=Guard(name, always))
    found, expected = guarded.run(instance, episodes), heuristic(problem, name).run(instance, episodes)
    assert [outcome.measures for outcome in found] == [outcome.measures for outcome in expected]
    path = tmp_path / "teacher.safetensors"
    save_checkpoint(path, network, problem, sizes, {"guard": Guard(name, always).to_json()})
    read = load_teacher(path)
    assert read.guard == guarded.guard
    assert [outcome.guard.take_overs for outcome in read.run(instance, episodes)] == [
        outcome.guard.take_overs for outcome in found
    ]
    never = TeacherPolicy(network, problem, guard=Guard(name, {problem.gauges[0].name: Bound(1e12, 1e12)}))
    alone = TeacherPolicy(network, problem).run(instance, episodes)
    assert [outcome.measures for outcome in never.run(instance, episodes)] == [outcome.measures for outcome in alone]
    assert all(outcome.guard is None for outcome in alone)
    save_checkpoint(path, network, problem, sizes, {"guard": {"heuristic": name, "when": {"nothing_s": {}}}})
    with pytest.raises(ClearschedError, match=r"teacher.json: guard.when: unknown gauge 'nothing_s'"):
        load_teacher(path)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(instances())
def test_unreachable_bounds_change_nothing(drawn: Instance) -> None:
    trace, workload, warmup_ms = drawn
    instance = DagJobsInstance(compile_profiles(trace, warmup_ms))
    watched = result(parks(backlog_s=(1e12, 1e12), stall_s=(1e12, 1e12)), instance, workload)
    assert same(watched, result(parks(), instance, workload))


def test_more_take_overs_than_the_log_has_room_for() -> None:
    """A job a second on one executor: each is one too many until its second stage has begun."""
    count = 3 * ROWS
    instance = DagJobsInstance(
        compile_profiles(toy_trace([[stage(1, rest_wave=100), stage(1, [0], rest_wave=100)]]), 0)
    )
    workload = toy_workload([1000 * number for number in range(count)], 1, profile=[0] * count)
    mine = replace(policy(DAG, {"stage": 1.0, "limit": 1.0}, none=False), guard=BOTH)
    found = result(mine, instance, workload)
    assert found.guard is not None
    assert [taken.from_s for taken in found.guard.take_overs] == [float(number) for number in range(count)]


def test_deferrable_jobs_have_a_backlog() -> None:
    """Jobs of 2 h on a cluster of one core that holds one: the shortest first, in order of arrival beyond 3 h."""
    jobs = [(0, 24, 1000, 999), (0, 30, 1000, 999), (0, 6, 1000, 999)]
    episode = toy(jobs, [1000], slot_s=300)
    mine = policy(DEFERRABLE, {"start": {"job_duration_min": -1.0}}, none=False)
    instance: Any = DeferrableAlone()
    plain = instance.simulate(mine.guarded, [episode])[0]
    assert plain.completion.tolist() == [30, 60, 6] and plain.guard is None
    above = instance.simulate(replace(mine, guard=Guard("fifo", {"backlog_h": Bound(3.0, 3.0)})).guarded, [episode])[0]
    assert above.completion.tolist() == [24, 60, 30], "5 h wait at first: the first; then 3 h: the shortest"
    assert above.guard.take_overs == (TakeOver(0.0, 24 * 300.0, 0, 5.0),)
    always = instance.simulate(replace(mine, guard=Guard("fifo", {"backlog_h": Bound(0.0, 0.0)})).guarded, [episode])[0]
    assert always.completion.tolist() == run_deferrable(episode, "fifo").completion.tolist()


def test_deferrable_jobs_have_an_error_of_the_forecast() -> None:
    """A job a slot of half an hour, two hours looked back on: of four slots one was foreseen 2 cores too low."""
    jobs = [(slot, 1, 500, 99) for slot in range(8)]
    episode = toy(jobs, [1000] * 8, slot_s=1800)
    foreseen = episode.forecast.copy()
    foreseen[1, 1] -= 2000
    episode = replace(episode, forecast=foreseen)
    mine = policy(DEFERRABLE, {"start": {"job_duration_min": -1.0}}, none=False)
    instance: Any = DeferrableAlone()
    for bound, expected in (
        (0.99, (TakeOver(1800.0, 5 * 1800.0, 1, 1.0),)),  # root of 4 / 4, until the slot is out of sight
        (1.0, ()),
    ):
        guard = Guard("fifo", {"forecast_error_cores": Bound(bound, bound)})
        (outcome,) = instance.simulate(replace(mine, guard=guard).guarded, [episode])
        assert outcome.guard.take_overs == expected
        assert outcome.guard.most.tolist() == pytest.approx([0.25, 1.0])


class DeferrableAlone:
    """`simulate` of the instance, without its files."""

    def simulate(self, compiled: Any, episodes: Sequence[Any]) -> list[Any]:
        from clearsched.problems.deferrable_jobs.instance import DeferrableJobs

        return DeferrableJobs.simulate(None, compiled, episodes)  # type: ignore[arg-type]


def test_json_text_and_loop_agree(tmp_path: Path) -> None:
    instance, workload = lock()
    mine = parks(stall_s=(1.0, 0.25))
    mine.write(tmp_path / "mine.json")
    again = load_policy(tmp_path / "mine.json")
    assert again.guard == mine.guard
    assert same(result(again, instance, workload), result(mine, instance, workload))
    text = " ".join(render(again).split())
    assert (
        "The guard: when the longest stall is above 1 s, fair schedules until the longest stall is at most 0.25 s."
        in text
    )
    assert "for how long, by now, executors have been parked" in text and "backlog" not in text
    assert "It has a guard" in beneath(again) and not beneath(parks())
    content = json.loads((tmp_path / "mine.json").read_text())
    content["guard"]["when"]["stall_s"]["above"] = 100.5
    (tmp_path / "mine.json").write_text(json.dumps(content))
    assert "above 100.5 s" in render(load_policy(tmp_path / "mine.json"))


BOTH = Guard("fair", {"backlog_s": Bound(0.15, 0.15)})

GOOD = {"heuristic": "fair", "when": {"backlog_s": {"above": 2.0, "until": 1.0}}}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([], "`heuristic`, `when`"),
        ({**GOOD, "margin": 1}, "`heuristic`, `when`"),
        ({**GOOD, "heuristic": "fare"}, "did you mean fair"),
        ({**GOOD, "settings": {"alpha": "x"}}, "numbers by the name"),
        ({**GOOD, "settings": {"beta": 1.0}}, "no parameter beta"),
        ({**GOOD, "when": {}}, "a bound by the name of a gauge"),
        ({**GOOD, "when": {"backlock_s": {"above": 2.0, "until": 1.0}}}, "did you mean backlog_s"),
        ({**GOOD, "when": {"backlog_s": {"above": 2.0}}}, "`above` and `until`"),
        ({**GOOD, "when": {"backlog_s": {"above": True, "until": 1.0}}}, "`above` and `until`"),
        ({**GOOD, "when": {"backlog_s": {"above": 1.0, "until": 2.0}}}, "from 0 to above"),
        ({**GOOD, "when": {"backlog_s": {"above": 1.0, "until": -1.0}}}, "from 0 to above"),
    ],
)
def test_a_broken_guard_is_told_in_one_line(value: Any, told: str) -> None:
    with pytest.raises(ClearschedError, match=told) as error:
        read_guard(value, DAG, "mine.json: guard")
    assert str(error.value).startswith("mine.json: guard") and "\n" not in str(error.value)


def test_a_problem_without_gauges_has_no_guard() -> None:
    with pytest.raises(ClearschedError, match="queue has no gauges"):
        read_guard(GOOD, OTHER, "mine.json: guard")


@pytest.mark.parametrize("value", [1.0, 0.0123456, 99.91, 100.0, 123456.0, 9.999])
def test_bounds_are_rounded_up(value: float) -> None:
    rounded = rounded_up(value)
    assert value <= rounded <= value * 1.01
    assert float(f"{rounded:.3g}") == rounded
    assert rounded_up(0.0) == 0.0


SCORERS = {DAG.name: {"stage": {"job_work_left_s": -1.0}, "limit": 0.5}, DEFERRABLE.name: {"start": {"job_cpu": -1.0}}}


@pytest.mark.parametrize("problem", [DAG, DEFERRABLE], ids=lambda problem: problem.name)
def test_bounds_lie_above_what_training_came_to(problem: Any, tmp_path: Path) -> None:
    trace, workloads = drawn(problem, tmp_path)
    instance = problem.open(trace, workloads)
    mine = policy(problem, SCORERS[problem.name], none=False)
    names = tuple(gauge.name for gauge in problem.gauges)
    given = GuardParams(heuristic=problem.baseline, margin=1.0, clear=0.5, gauges=names)
    plain = measured(given.model_copy(update={"gauges": ()}), mine, instance)
    assert plain is not None and list(plain.when) == [gauge.name for gauge in problem.gauges if not gauge.by_name]
    watched = replace(mine, guard=measured(given, mine, instance))
    episodes = [*instance.split("train"), *instance.split("validation")]
    seen = watched.run(instance, episodes)
    assert not any(outcome.guard.take_overs for outcome in seen)
    assert watched.guard is not None
    alone = measured(given.model_copy(update={"gauges": (problem.gauges[-1].name,)}), mine, instance)
    assert alone is not None
    assert alone.when == {problem.gauges[-1].name: watched.guard.when[problem.gauges[-1].name]}
    for place, gauge in enumerate(problem.gauges):
        most = max(outcome.guard.most[place] for outcome in seen)
        bound = watched.guard.when[gauge.name]
        assert bound.above >= most and bound.until == rounded_up(bound.above / 2)
    assert [o.measures for o in seen] == [o.measures for o in mine.run(instance, episodes)]
    mine.write(tmp_path / "mine.json")
    command = ["students", "guard", str(tmp_path / "mine.json"), "--heuristic", problem.baseline]
    command += ["--trace", str(trace), "--workloads", str(workloads), "--out", str(tmp_path / "out")]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0, told.output
    assert "guard: when the backlog is above" in told.output
    assert load_policy(tmp_path / "out" / "mine.json").guard is not None
    assert "The guard:" in (tmp_path / "out" / "mine.txt").read_text()
    watched = CliRunner().invoke(app, [*command, "--gauge", "backlock"])
    assert isinstance(watched.exception, ClearschedError)
    assert "students.guard.gauges: unknown gauge 'backlock'" in str(watched.exception)
    name = problem.heuristics["threshold" if problem is DEFERRABLE else "capped_srpt"].parameters[0]
    settled = [*command[:4], "threshold" if problem is DEFERRABLE else "capped_srpt", *command[5:]]
    assert CliRunner().invoke(app, [*settled, "--setting", f"{name}=0.5"]).exit_code == 0
    assert load_policy(tmp_path / "out" / "mine.json").guard.settings == {name: 0.5}  # type: ignore[union-attr]
    for wrong, why in (
        (f"{name}=half", "expected NAME=NUMBER"),
        (f"{name}=1e7", "a number from -1e+06"),
        (f"{name}=nan", "a number from"),
        ("q=1", "has no parameter q"),
    ):
        refused = CliRunner().invoke(app, [*settled, "--setting", wrong])
        assert isinstance(refused.exception, ClearschedError) and why in str(refused.exception)
    command[4] = "nobody"
    told = CliRunner().invoke(app, command)
    assert told.exit_code != 0 and isinstance(told.exception, ClearschedError)


def test_a_guarded_policy_that_strays_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = DAG.open(*drawn(DAG, tmp_path))
    mine = policy(DAG, SCORERS[DAG.name], none=False)
    told: list[str] = []
    given = GuardParams(heuristic="fair")
    assert guarding.guarded(GuardParams(), mine, instance) is mine
    safe = guarding.guarded(given, mine, instance, tell=told.append)
    assert safe.guard is not None and "stress" in safe.evidence
    assert told[1:] == ["guard: with it, on its worst episode it takes 1.61 times the baseline's: do not deploy it"]
    monkeypatch.setattr(guarding, "judge_whole", lambda *_, **__: [safety.Verdict(9.0, 3), safety.Verdict(1.0, 9)])
    with pytest.raises(ClearschedError, match="the guard is refused, nothing was written: with it, on its worst"):
        guarding.guarded(given, mine, instance, tell=told.append)


def test_only_an_unsafe_policy_is_given_a_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student, and a searched policy that was made elsewhere: who is safe alone has none, and tells so."""
    trace, workloads = drawn(DAG, tmp_path)
    instance, mine = DAG.open(trace, workloads), policy(DAG, SCORERS[DAG.name], none=False)
    given, limit = GuardParams(heuristic="fair", only_if_unsafe=True), [9.0]
    asked: list[bool] = []

    def judge(_: Any, policies: Any, **__: Any) -> list[safety.Verdict]:
        asked.extend(each.guard is not None for each in policies)
        found = [safety.Verdict(1.0 if each.guard else limit[0], 8) for each in policies]
        return found[: 1 + next((place for place, each in enumerate(found) if not each.strays), len(found))]

    monkeypatch.setattr(guarding, "judge_whole", judge)
    for alone, needs in ((1.0, False), (9.0, True)):
        limit[0] = alone
        told: list[str] = []
        found = guarding.guarded(given, mine, instance, tell=told.append)
        assert (found.guard is not None) == needs == bool(told)
        assert asked[0] is False and found.evidence["stress"]["worst"] == 1.0
        mine.write(tmp_path / "mine.json")
        (tmp_path / "tuned.json").write_text(json.dumps({"problem": DAG.name, "fair": {}}))
        guarding.guard_shipped(given, tmp_path / "mine.json", trace, workloads, tmp_path / "tuned.json")
        read = load_policy(tmp_path / "mine.json")
        assert (read.guard is not None) == needs and read.evidence["stress"]["worst"] == 1.0


def test_a_search_asks_policies_with_the_guard_that_one_of_them_will_have(tmp_path: Path) -> None:
    """Who never starts a job of its own accord is no policy, unless a guard schedules in its place."""
    instance = DEFERRABLE.open(*drawn(DEFERRABLE, tmp_path))
    never, fifo = policy(DEFERRABLE, {"start": -1.0}), heuristic(DEFERRABLE, "fifo")
    episodes = instance.split("train")
    always = Guard("fifo", {"backlog_h": Bound(0.0, 0.0)})
    with trials(instance, instance.objective) as runs:
        alone, guarded = (Probes(runs, fifo, episodes, [], guard) for guard in (None, always))
        assert alone.verdict(never).strays and not alone.is_safe(never)
        assert guarded.verdict(never) == alone.verdict(replace(never, guard=always)) == alone.verdict(fifo)
        seldom = replace(never, guard=Guard("fifo", {"backlog_h": Bound(1e9, 1e9)}))
        assert guarded.verdict(seldom).strays, "a guard of its own is not taken away"
        assert guarded.verdict(fifo) == alone.verdict(fifo)


def test_tables_tell_take_overs_where_there_is_a_guard() -> None:
    instance, workload = lock()
    fair = heuristic(DAG, "fair")
    runs = roll_out(DAG, [fair, parks(stall_s=(1.0, 0.0))], instance, [workload, workload])
    bootstrap = comparison.Bootstrap(resamples=99)
    rows = comparison.compare(DAG, runs, "fair", bootstrap).to_pylist()
    of = {(row["measure"], row["policy"]): row["mean"] for row in rows}
    assert (of["take_overs", "mine"], of["take_overs", "fair"]) == (1.0, 0.0)
    assert of["guarded_percent", "mine"] == pytest.approx(100 * 2.9 / 20.4)
    table = "\n".join(worst_lines(DAG, rows, DAG.measures[0]))
    assert "take-overs" in table and "guarded (%)" in table
    taken = take_over_table(DAG, runs)
    assert taken.schema == TAKE_OVERS
    assert taken.to_pylist()[1] == {
        "policy": "mine", "episode": 1, "from_s": 1.4, "until_s": 4.3, "heuristic": "fair", "gauge": "stall_s",
        "unit": "s", "value": pytest.approx(1.3), "bound": 1.0,
    }  # fmt: skip
    (line,) = guard_lines(DAG, runs)
    assert line.startswith("* mine: its guard took over twice (2 by the longest stall) in 2 of 2 episodes, 14 % of")
    (line,) = guard_lines(DAG, roll_out(DAG, [parks(stall_s=(99.0, 9.0))], instance, [workload]))
    assert "its guard never took over" in line
    without = comparison.compare(DAG, roll_out(DAG, [fair, parks()], instance, [workload]), "fair", bootstrap)
    assert "take_overs" not in without["measure"].to_pylist()


def test_an_evaluation_writes_take_overs_where_there_is_a_guard(tmp_path: Path) -> None:
    given = {"problem": "dag_jobs", "seed": 3, **CASES["dag_jobs"].params}
    given |= {
        "evaluation": {"policies": ["fair", "rule_list"], "bootstrap": 100},
        "decisions": {"episodes": 1, "held_out": 1},
    }
    chosen = params.parse(given, "x", whole=False)
    trace, workloads = drawn(DAG, tmp_path)
    tuned, teacher, log, student = (tmp_path / name for name in ("tuned.json", "none", "log.parquet", "rule_list.json"))
    tuned.write_text('{"best": "fair"}')
    teacher.touch()  # a teacher that is not compared is not read
    decisions.log(chosen, trace, workloads, None, "fair", log)
    mine = policy(DAG, SCORERS["dag_jobs"], none=False)
    for guard in (Guard("fair", {"backlog_s": Bound(1.0, 0.5)}), None):
        replace(mine, name="rule_list", guard=guard).write(student)
        evaluation.run(chosen, trace, workloads, tuned, teacher, [student], log, tmp_path / "out")
        told = (tmp_path / "out" / "comparison.txt").read_text()
        metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
        assert (tmp_path / "out" / "take_overs.parquet").is_file() == bool(guard)
        assert ("* rule list: its guard took over" in told) == ("take_overs" in metrics["rule_list"]) == bool(guard)
        if guard:
            taken, _ = read_table(tmp_path / "out" / "take_overs.parquet", TAKE_OVERS)
            assert len(taken) >= 1 and set(taken["gauge"].to_pylist()) == {"backlog_s"}
            assert metrics["rule_list"]["guarded_percent"] > 0 == metrics["fair"]["guarded_percent"]


def test_the_command_line_tells_take_overs_and_a_replay_refuses() -> None:
    instance, workload = lock()
    guarded = parks(stall_s=(1.0, 0.0))
    told = command._take_overs(result(guarded, instance, workload))["take_overs"]
    assert told == [{"from_s": 1.4, "until_s": 4.3, "gauge": "stall_s", "value": pytest.approx(1.3)}]
    assert command._take_overs(result(parks(), instance, workload)) == {}
    with pytest.raises(ClearschedError, match="traces replay: mine has a guard, which a replay does not run"):
        command.replay_trace(Path("none"), guarded, 4)


def test_a_take_over_to_the_end_counts_to_the_end() -> None:
    record = Record(np.zeros(1), (TakeOver(0.0, 0.0, 0, 1.0), TakeOver(2.0, 3.0, 0, 1.0), TakeOver(9.0, None, 0, 1.0)))
    assert record.share(10.0) == pytest.approx(0.2)
    assert record.share(0.0) == 0.0


def test_params_know_the_heuristics() -> None:
    found = params.parse({"students": {"guard": {"heuristic": "fair", "margin": 2.0}}}, "x")
    assert found.students.guard.heuristic == "fair"
    assert params.parse({}, "x").students.guard.heuristic is None
    with pytest.raises(
        ClearschedError, match=r'x: students.guard.heuristic: "fare" is not allowed: expected one of fifo'
    ):
        params.parse({"students": {"guard": {"heuristic": "fare"}}}, "x")


@pytest.mark.parametrize("section", ["search", "teacher", "students"])
def test_params_know_the_parameters_of_the_heuristic(section: str) -> None:
    found = params.parse({section: {"guard": {"heuristic": "capped_srpt", "settings": {"p": 0.3, "m": 2}}}}, "x")
    assert getattr(found, section).guard.settings == {"p": 0.3, "m": 2}
    for guard, told in (
        (
            {"heuristic": "capped_srpt", "settings": {"q": 1}},
            '{"q": 1.0} is not allowed: parameters of capped_srpt: p, m',
        ),
        (
            {"heuristic": "fifo", "settings": {"p": 1}},
            '{"p": 1.0} is not allowed: parameters of fifo: it has none: write {}',
        ),
        (
            {"settings": {"p": "half"}},
            '"half" is not allowed: expected a mapping, to each name a number >= -1000000, <= 1000000',
        ),
        (
            {"settings": {"p": 1e7}},
            "10000000.0 is not allowed: expected a mapping, to each name a number >= -1000000, <= 1000000",
        ),
        ({"settings": 3}, "3 is not allowed: expected a mapping, to each name a number >= -1000000, <= 1000000"),
    ):
        with pytest.raises(ClearschedError) as error:
            params.parse({section: {"guard": guard}}, "x")
        assert str(error.value) == f"x: {section}.guard.settings: {told}"


def test_parameters_that_are_named_count_before_the_tuned_ones(tmp_path: Path) -> None:
    instance = DEFERRABLE.open(*drawn(DEFERRABLE, tmp_path))
    mine = policy(DEFERRABLE, SCORERS[DEFERRABLE.name], none=False)
    tuned = tmp_path / "tuned.json"
    tuned.write_text(json.dumps({"problem": DEFERRABLE.name, "threshold": {"safety": 1.0, "slack": 0.5}}))
    for named, expected in (({}, {"safety": 1.0, "slack": 0.5}), ({"safety": -2.0}, {"safety": -2.0, "slack": 0.5})):
        guard = measured(GuardParams(heuristic="threshold", settings=named), mine, instance, tuned)
        assert guard is not None and guard.settings == expected
