"""Each heuristic on instances small enough to know its answers by hand; the registry; the tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearsched.errors import ClearschedError
from clearsched.files import read_json, write_json
from clearsched.heuristics import tune
from clearsched.heuristics.tuning import grid, read_tuned, tuned_heuristic
from clearsched.problems import find_problem
from clearsched.problems import policy as policies
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.policies import CODES, HEURISTICS, LEARNED
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.dispatch import MOST_PARAMETERS, choose_heuristic, reads_work
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, Workload, simulate
from clearsched.problems.dag_jobs.traces import Trace, write_trace
from clearsched.problems.dag_jobs.workloads import build, read_workloads
from clearsched.problems.policy import CompiledPolicy
from clearsched.registry import load
from clearsched.schemas import TUNING, read_table
from stages import stage_params
from toys import decision_rows, stage, toy_trace, toy_workload

Answers = list[tuple[list[int] | None, int, int]]
"""([job, stage] or None, requested, committed) of consecutive decisions."""


def even(num_tasks: int, duration_s: float, parents: tuple[int, ...] = ()) -> dict[str, Any]:
    """A stage whose tasks all last the same."""
    duration_ms = round(duration_s * 1000)
    return stage(num_tasks, parents, first_wave=duration_ms, rest_wave=duration_ms, fresh=duration_ms)


def decisions(trace: Trace, workload: Workload, policy: CompiledPolicy) -> list[list[Any]]:
    return decision_rows(simulate(compile_profiles(trace), workload, policy.compiled, record_decisions=True))


def answers_at_0(jobs: list[list[dict]], num_executors: int, name: str, **parameters: float) -> Answers:
    rows = decisions(toy_trace(jobs), toy_workload([0] * len(jobs), num_executors), heuristic(name, **parameters))
    return [tuple(row[3:]) for row in rows if row[0] == 0]


A, B, C = [0, 0], [1, 0], [2, 0]
THREE = [[even(8, 10)], [even(2, 10)], [even(5, 20)]]
"""Jobs of 80, 20 and 100 executor-seconds in 8, 2 and 5 tasks, for 10 executors."""


@pytest.mark.parametrize(
    ("name", "parameters", "answers"),
    [
        # In order of arrival, as many as there are tasks.
        ("fifo", {}, [(A, 8, 8), (B, 2, 2)]),
        # A third each, rounded up: 4. B can use 2 only; then A and C share: 5, and 4 executors are left.
        ("fair", {}, [(A, 4, 4), (B, 2, 2), (C, 4, 4)]),
        ("weighted_fair", {"alpha": 0}, [(A, 4, 4), (B, 2, 2), (C, 4, 4)]),
        # Shares as 80 : 20 : 100.
        ("weighted_fair", {"alpha": 1}, [(A, 4, 4), (B, 1, 1), (C, 5, 5)]),
        # Shares as 1/80 : 1/20 : 1/100, rounded up: 2, 7, 2; without B, which has its two: 6, -, 5. A was asked before.
        ("weighted_fair", {"alpha": -1}, [(A, 2, 2), (B, 2, 2), (C, 5, 5), (None, 1, 1)]),
        # Least work first, everything to it.
        ("sjf_cp", {}, [(B, 10, 2), (A, 8, 8)]),
        # Least work first, each up to its weighted fair share.
        ("wsjf", {"alpha": 1}, [(B, 1, 1), (A, 4, 4), (C, 5, 5)]),
        ("wsjf", {"alpha": -1}, [(B, 7, 2), (A, 6, 6), (C, 5, 2)]),
        # With 5 s more for each job, 85 : 25 : 105 of 10, rounded up: 4, 2, 5.
        ("capped_srpt", {"p": 1, "m": 1}, [(B, 2, 2), (A, 4, 4), (C, 5, 4)]),
        # Twice that: 8, 3, 10.
        ("capped_srpt", {"p": 1, "m": 2}, [(B, 3, 2), (A, 8, 8)]),
        # p = 0 is an equal share.
        ("capped_srpt", {"p": 0, "m": 0.9}, [(B, 3, 2), (A, 3, 3), (C, 3, 3), (None, 2, 2)]),
        ("capped_srpt", {"p": 0, "m": 30}, [(B, 100, 2), (A, 100, 8)]),
        # At time 0 no executor has a job to stay in, so local SRPT is capped SRPT.
        ("local_srpt", {"p": 1, "m": 1}, [(B, 2, 2), (A, 4, 4), (C, 5, 4)]),
    ],
)
def test_three_jobs_at_once(name: str, parameters: dict[str, float], answers: Answers) -> None:
    assert answers_at_0(THREE, 10, name, **parameters) == answers


def test_capped_srpt_when_all_jobs_are_at_their_limit() -> None:
    """Limits of 1 and 1: then the smaller job gets all the rest for its second stage."""
    jobs = [[even(2, 10), even(2, 10)], [even(1, 100)]]
    answers = answers_at_0(jobs, 6, "capped_srpt", p=1, m=0.1)
    assert answers == [(A, 1, 1), (B, 1, 1), ([0, 1], 4, 2), (None, 2, 2)]


def test_whole_shares_are_not_rounded_up() -> None:
    """Three jobs of the same odd work on 9 executors: 3 each, though 1/3 is no whole number of bits."""
    jobs = [[even(9, 0.7)]] * 3
    for name, parameters in (("fair", {}), ("weighted_fair", {"alpha": 0.3}), ("capped_srpt", {"p": 0.7, "m": 1})):
        answers = answers_at_0(jobs, 9, name, **parameters)
        assert [committed for _, _, committed in answers] == [3, 3, 3]


ONE_JOB = [even(1, 0.1), even(1, 0.01), even(1, 0.01, (1,)), even(1, 0.01, (2,)), even(1, 0.2), even(1, 0.01, (4,))]
"""Roots 0, 1, 4; chains 1 -> 2 -> 3 and 4 -> 5; stages 4 and 0 are the long ones."""


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("fifo", [0, 1, 4, 2, 3, 5]),  # open stages by index, then the others by index
        ("fair", [0, 1, 4, 2, 3, 5]),
        ("sjf_cp", [4, 0, 1, 2, 3, 5]),  # open stages, then the others, each by longest critical path
        ("wsjf", [1, 4, 0, 2, 3, 5]),  # open stages, then the others, each by most levels below
        ("capped_srpt", [1, 4, 0, 2, 3, 5]),
    ],
)
def test_order_of_stages_within_a_job(name: str, order: list[int]) -> None:
    """A stage becomes a candidate once its parent has all the executors it can use."""
    answers = answers_at_0([ONE_JOB], 6, name)
    assert [target for target, _, _ in answers] == [[0, index] for index in order]


@pytest.mark.parametrize(
    ("name", "parameters", "target"),
    [
        ("fifo", {}, [0, 1]),
        ("fair", {}, [0, 1]),  # the executor stays on its job
        ("sjf_cp", {}, [0, 1]),  # 10 s left against 20 s
        ("capped_srpt", {"p": 0, "m": 1}, [0, 1]),
        ("wsjf", {"alpha": 0}, [1, 0]),  # 20 s in all against 30 s
    ],
)
def test_work_left_and_work_in_all(name: str, parameters: dict[str, float], target: list[int]) -> None:
    """One executor has finished 20 s of a job of 30 s when a job of 20 s waits."""
    trace = toy_trace([[even(1, 20), even(1, 10, (0,))], [even(2, 10)]])
    rows = decisions(trace, toy_workload([0, 1000], 1), heuristic(name, **parameters))
    assert rows[1] == [20_100, [0, None], 1, target, 1, 1]


@pytest.mark.parametrize("name", sorted(HEURISTICS))
def test_jobs_without_work(name: str) -> None:
    """Durations of 0 ms are measured now and then: such a job's share is still a number."""
    trace = toy_trace([[even(3, 0)], [even(2, 1)]])
    result = simulate(compile_profiles(trace), toy_workload([0, 0], 2), heuristic(name).compiled)
    assert result.completion_ms[0] <= 3200
    only = simulate(compile_profiles(trace), toy_workload([0], 1), heuristic(name).compiled)
    assert only.completion_ms.tolist() == [100]


def test_a_choice_that_is_only_looked_at_changes_nothing() -> None:
    """FIFO counts the executors it grants; asked twice (as for a teacher's labels), it answers twice the same."""
    trace = toy_trace([[even(1, 10), even(1, 10)], [even(4, 10)]])
    for name in sorted(HEURISTICS):
        policy = heuristic(name).compiled
        simulation = Simulation(compile_profiles(trace), toy_workload([0, 0], 2))
        assert simulation.advance()
        first = simulation.reference_choice(policy)
        assert all(simulation.reference_choice(policy) == first for _ in range(5))


# Registry ----------------------------------------------------------------------------------------------------------


def test_names_and_settings() -> None:
    assert set(HEURISTICS) == {"fifo", "sjf_cp", "fair", "weighted_fair", "wsjf", "capped_srpt", "local_srpt"}
    policy = policies.heuristic(PROBLEM, "capped_srpt", {"p": 0.25, "m": 2})
    assert (policy.name, policy.kind, policy.mode, policy.settings) == (
        "capped_srpt",
        "heuristic",
        "argmax",
        {"p": 0.25, "m": 2.0},
    )
    assert heuristic("capped_srpt").settings == {"p": 0.4, "m": 3.0}
    assert heuristic("fair").settings == {}
    assert heuristic("weighted_fair").settings == {"alpha": -1.0}


def test_unknown_names() -> None:
    with pytest.raises(ClearschedError, match=r"unknown heuristic 'fare': known are .*; did you mean fair\?"):
        heuristic("fare")
    with pytest.raises(ClearschedError, match="fifo has no parameter alpha"):
        heuristic("fifo", alpha=1.0)


def test_the_loop_runs_each_entry_of_the_registry() -> None:
    """What is generated for the loop calls the entry's function with its parameters, in their order."""
    trace = toy_trace([[even(8, 10)], [even(2, 10)], [even(5, 20)]])
    given = {"alpha": -0.7, "p": 0.3, "m": 1.7}
    assert LEARNED not in CODES.values()
    for name, entry in HEURISTICS.items():
        simulation = Simulation(compile_profiles(trace), toy_workload([0, 0, 0], 10))
        assert simulation.advance()
        values = list(entry.defaults) if name == "fair" else [given[parameter] for parameter in entry.parameters]
        parameters = np.array([*values, *[np.nan] * (MOST_PARAMETERS - len(values))])
        wanted = load(entry.function)(simulation.state, *values)
        assert choose_heuristic(simulation.state, CODES[name], parameters) == wanted, name
    assert not reads_work(CODES["fifo"]) and not reads_work(CODES["fair"]) and reads_work(CODES["sjf_cp"])
    assert reads_work(LEARNED)


# Tuning ------------------------------------------------------------------------------------------------------------

GRID = {
    "weighted_fair": {"alpha_min": -1.0, "alpha_max": 1.0, "alpha_step": 0.5},
    "capped_srpt": {"p": [0.4, 0.8], "m": [1.0, 3.0]},
}
WORKLOAD = {"executors": 4, "jobs": 6, "episodes": {"train": 1, "validation": 3, "test": 1}}


TUNED_TRACE = toy_trace([[even(8, 1), even(4, 1, (0,))], [even(30, 1)], [even(2, 3)]])


def params() -> Any:
    return stage_params(workload=WORKLOAD, heuristics=GRID)


def test_the_grid() -> None:
    settings = list(grid(PROBLEM, params().heuristics))
    assert [values for name, values in settings if name == "wsjf"] == [{"alpha": a} for a in (-1, -0.5, 0, 0.5, 1)]
    assert [values for name, values in settings if name == "capped_srpt"] == [
        {"p": p, "m": m} for p in (0.4, 0.8) for m in (1, 3)
    ]
    assert [name for name, values in settings if not values] == ["fifo", "sjf_cp", "fair"]


def test_tuning_keeps_the_best(tmp_path: Path) -> None:
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    write_trace(trace, TUNED_TRACE)
    build(params(), trace, workloads)
    outputs = [(tmp_path / f"{name}.parquet", tmp_path / f"{name}.json") for name in ("one", "two")]
    returned = [tune(params(), trace, workloads, *paths) for paths in outputs]
    assert [path.read_bytes() for path in outputs[0]] == [path.read_bytes() for path in outputs[1]]

    table, metadata = read_table(outputs[0][0], TUNING)
    assert (metadata["measure"], metadata["unit"]) == ("jct_s", "s")
    tuned = read_json(outputs[0][1])
    assert (tuned["problem"], tuned["measure"]) == ("dag_jobs", "jct_s")
    rows = table.to_pylist()
    assert len(rows) == 3 + 2 * 5 + 2 * 4
    instance = DagJobsInstance(compile_profiles(TUNED_TRACE))
    episodes = read_workloads(workloads).split("validation")
    for row, (name, values) in zip(rows, grid(PROBLEM, params().heuristics), strict=True):
        assert row["policy"] == name
        results = heuristic(name, **values).run(instance, episodes)
        assert row["mean"] == pytest.approx(np.mean([result.avg_jct_s for result in results]))
    means = {}
    for name in HEURISTICS:
        own = [row for row in rows if row["policy"] == name]
        chosen = [row for row in own if row["chosen"]]
        assert len(chosen) == 1
        means[name] = min(row["mean"] for row in own)
        assert chosen[0]["mean"] == means[name]
        assert chosen[0]["setting"] == ", ".join(f"{key}={value:g}" for key, value in tuned[name].items())
        assert tuned_heuristic(PROBLEM, name, outputs[0][1]).settings == tuned[name]
    assert tuned["best"] == min(means, key=means.__getitem__)
    assert tuned_heuristic(PROBLEM, "best", outputs[0][1]).name == tuned["best"]
    assert tuned["validation"] == pytest.approx(means)
    assert returned[0]["best"] == tuned["best"]


def test_tuning_knows_no_problem(tmp_path: Path) -> None:
    """The same function tunes the other problem by its own objective, over the grid of its own section."""
    problem = find_problem("deferrable_jobs")
    workload = {"jobs": 30, "slots": 60, "episodes": {"train": 1, "validation": 4, "test": 1}}
    slack = (-1.0, 0.25, 4.0)
    chosen = stage_params(
        "deferrable_jobs", workload=workload, heuristics={"threshold": {"safety": (-1.0, 1.0), "slack": slack}}
    )
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    problem.build(chosen, trace)
    problem.draw(chosen, trace, workloads)
    tuned = tune(chosen, trace, workloads, tmp_path / "tuning.parquet", tmp_path / "tuned.json")
    rows = read_table(tmp_path / "tuning.parquet", TUNING)[0].to_pylist()
    assert len(rows) == 5 + 2 * 3
    costs = {(row["policy"], row["setting"]): row["mean"] for row in rows}
    assert len(set(costs.values())) > 3, "the settings differ in what they reach"
    instance = problem.open(trace, workloads)
    results = tuned_heuristic(problem, "threshold", tmp_path / "tuned.json").run(instance, instance.split("validation"))
    mean = np.mean([result.measures["cost"] for result in results])
    assert mean == pytest.approx(tuned["validation"]["threshold"])
    assert mean == min(cost for (name, _), cost in costs.items() if name == "threshold")
    assert tuned["measure"] == "cost"


def test_a_measure_that_is_better_when_larger_is_maximised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    write_trace(trace, TUNED_TRACE)
    build(params(), trace, workloads)
    jct_s = PROBLEM.measures[0]
    monkeypatch.setattr(type(PROBLEM), "measures", (jct_s._replace(lower_is_better=False), *PROBLEM.measures[1:]))
    tuned = tune(params(), trace, workloads, tmp_path / "tuning.parquet", tmp_path / "tuned.json")
    rows = read_table(tmp_path / "tuning.parquet", TUNING)[0].to_pylist()
    for name in HEURISTICS:
        assert tuned["validation"][name] == max(row["mean"] for row in rows if row["policy"] == name)
    assert tuned["best"] == max(tuned["validation"], key=tuned["validation"].__getitem__)


def test_tuned_settings_of_another_problem_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    write_json(path, {"problem": "dag_jobs", "best": "fifo", "fifo": {}})
    assert read_tuned(path, PROBLEM)["best"] == "fifo"
    told = r"tuned\.json: heuristics of the problem dag_jobs, not of deferrable_jobs; tune them again$"
    with pytest.raises(ClearschedError, match=told):
        tuned_heuristic(find_problem("deferrable_jobs"), "best", path)
