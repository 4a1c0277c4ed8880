"""The features of a candidate: their formulas evaluated by Python itself, and two toy decisions by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clearsched.compiled.feature import Feature
from clearsched.compiled.features import compile_columns, count_smaller, new_rows
from clearsched.problems.dag_jobs.features import (
    FEATURE_NAMES,
    FEATURES,
    JOB_QUANTITIES,
    NUM_FEATURES,
    NUM_JOB_FEATURES,
    STAGE_QUANTITIES,
    docs_table,
)
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator import state as columns
from clearsched.problems.dag_jobs.simulator.candidates import executors_held
from clearsched.problems.dag_jobs.simulator.loop import EVERY, run_or_raise
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.rows import comes_before, fill_features
from clearsched.problems.dag_jobs.simulator.simulate import Simulation, start
from clearsched.problems.dag_jobs.simulator.state import State
from clearsched.scorers.policy import load_policy
from toys import stage, toy_trace, toy_workload

ROOT = Path(__file__).parents[1]
FORK = [stage(4), stage(2, first_wave=31), stage(3, [0, 1]), stage(9, [0]), stage(1, [2])]
CHAIN = [stage(6), stage(8, [0]), stage(5, [1])]
WIDE = [stage(2, rest_wave=7 + i) for i in range(5)] + [stage(3, [0, 2])]


@pytest.fixture(scope="module")
def profiles() -> Profiles:
    return compile_profiles(toy_trace([FORK, CHAIN, WIDE]))


def matrix(state: State) -> tuple[np.ndarray, np.ndarray]:
    """The feature matrix of the pending decision and the stage of each row."""
    rows, stages = new_rows(len(state.stage), NUM_FEATURES), np.empty(len(state.stage), np.int64)
    count = fill_features(state, rows, stages)
    return rows[:count], stages[:count]


def candidates_of(state: State) -> list[int]:
    """The candidates in order of their jobs' arrival and of their index."""
    found = []
    for j in state.active[: state.scalar[columns.NUM_ACTIVE]]:
        base = state.job[j, columns.BASE]
        marks = state.stage[base : base + state.job[j, columns.NUM_STAGES], columns.CANDIDATE]
        found += (base + np.flatnonzero(marks)).tolist()
    return found


def quantities(state: State, s: int) -> dict[str, float]:
    """What the formulas read of candidate s, looked up in plain Python."""
    j = int(state.stage[s, columns.JOB])
    job, stages, profile_stage = state.job[j], state.stage[s], state.stage[s, columns.PROFILE_STAGE]
    jobs = state.active[: state.scalar[columns.NUM_ACTIVE]].tolist()
    weights = {i: state.work[i, columns.WORK_LEFT_MS] + 5000.0 for i in jobs}
    roots = {i: float(state.work[i, columns.WORK_ROOT]) for i in jobs}
    assert all(math.isclose(roots[i], (weights[i] - 4000.0) ** 0.2) for i in jobs)
    choosable = [i for i in jobs if state.job[i, columns.NUM_CANDIDATES] > 0]
    rivals = [
        other
        for other in range(job[columns.BASE], job[columns.BASE] + job[columns.NUM_STAGES])
        if state.stage[other, columns.CANDIDATE] == 1 and other != s
    ]
    arrays = state.profiles
    offered = state.scalar[columns.READY_AT] if state.scalar[columns.READY_KIND] == columns.READY_POOL else columns.NONE
    parked = {i: 0 if i == offered else int(state.job[i, columns.POOL]) for i in jobs}
    found = {
        "is_source": int(j == state.scalar[columns.SOURCE_JOB]),
        "held": executors_held(state, j),
        "parked": parked[j],
        "work_left_ms": state.work[j, columns.WORK_LEFT_MS],
        "work_ms": arrays.work_ms[job[columns.PROFILE]],
        "tasks_left": job[columns.TASKS_LEFT],
        "stages_left": job[columns.STAGES_LEFT],
        "time_ms": state.scalar[columns.TIME_MS],
        "arrival_ms": job[columns.ARRIVAL_MS],
        "critical_path_left_ms": state.work[j, columns.CRITICAL_PATH_LEFT_MS],
        "smaller_jobs": sum(weights[i] < weights[j] for i in choosable),
        "weight": weights[j],
        "smallest_weight": min(weights[i] for i in choosable),
        "sum_weight": sum(weights.values()),
        "sqrt_weight": math.sqrt(weights[j]),
        "sum_sqrt_weight": sum(map(math.sqrt, weights.values())),
        "root": roots[j],
        "sum_power_20": sum(roots.values()),
        "sum_power_40": sum(root * root for root in roots.values()),
        "sum_power_60": sum(root * root * root for root in roots.values()),
        "sum_power_80": sum(root * root * root * root for root in roots.values()),
        "moving_delay_ms": state.scalar[columns.MOVING_DELAY_MS],
        "jobs": len(jobs),
        "executors": state.scalar[columns.NUM_EXECUTORS],
        "waiting_parents": stages[columns.WAITING],
        "unstarted": stages[columns.UNSTARTED],
        "running": stages[columns.RUNNING],
        "moving": stages[columns.MOVING],
        "promised": stages[columns.COMMITTED],
        "task_ms": arrays.mean_ms[profile_stage],
        "levels_below": arrays.levels_below[profile_stage],
        "critical_path_ms": arrays.critical_path_ms[profile_stage],
        "earlier_candidates": sum(bool(comes_before(state, other, s)) for other in rivals),
        "parked_in_all": sum(parked.values()),
        "to_decide": state.scalar[columns.TO_DECIDE],
    }
    assert set(found) == set(JOB_QUANTITIES) | set(STAGE_QUANTITIES)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_every_column_is_its_formula(profiles: Profiles, seed: int) -> None:
    """At every decision of random episodes under random answers."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.integers(0, 60, 8))
    workload = toy_workload(arrivals.tolist(), int(rng.integers(1, 9)), profile=rng.integers(3, size=8), seed=seed)
    simulation = Simulation(profiles, workload)
    compiled = [compile(feature.formula, feature.name, "eval") for feature in FEATURES]
    decisions = 0
    while simulation.advance():
        rows, stages = matrix(simulation.state)
        assert stages.tolist() == candidates_of(simulation.state)
        for row, s in zip(rows, stages.tolist(), strict=True):
            names = quantities(simulation.state, s)
            expected = np.array([eval(formula, {}, names) for formula in compiled], np.float32)
            assert dict(zip(FEATURE_NAMES, row, strict=True)) == dict(zip(FEATURE_NAMES, expected, strict=True))
        s = int(rng.choice(stages))
        held = executors_held(simulation.state, simulation.state.stage[s, columns.JOB])
        simulation.act(s, held + int(rng.integers(1, 4)))
        decisions += 1
    assert decisions > 20


@pytest.mark.parametrize("offered", [False, True])
def test_parked_executors_are_told_but_for_those_decided_on(offered: bool) -> None:
    """Of three executors one runs stage 0, one is parked for stage 1, one idles until another job arrives at 200 ms."""
    trace = toy_trace([[stage(1, fresh=1000), stage(1, [0]), stage(2)]])
    simulation = Simulation(compile_profiles(trace), toy_workload([0, 200], 3, profile=[0, 0], offer_parked=offered))
    for chosen in (0, 1, -1):
        assert simulation.advance()
        simulation.act(chosen, 1 + chosen)
    assert simulation.advance()
    rows, stages = matrix(simulation.state)
    seen = {name: rows[:, FEATURE_NAMES.index(name)].tolist() for name in ("job_parked", "parked_share")}
    if offered:  # at 100 ms, about the parked one itself
        assert (simulation.time_s, stages.tolist()) == (0.1, [1, 2])
        assert seen == {"job_parked": [0, 0], "parked_share": [0, 0]}
    else:
        assert (simulation.time_s, stages.tolist()) == (0.2, [1, 2, 3, 5])
        assert seen == {"job_parked": [1, 1, 0, 0], "parked_share": [pytest.approx(1 / 3)] * 4}


def test_the_layout_of_the_rows_does_not_matter(profiles: Profiles) -> None:
    simulation = Simulation(profiles, toy_workload([0, 0, 0], 3))
    simulation.advance()
    rows, stages = np.zeros((40, NUM_FEATURES), np.float32), np.zeros(40, np.int64)
    count = fill_features(simulation.state, rows, stages)
    np.testing.assert_array_equal(rows[:count], matrix(simulation.state)[0])
    assert not rows[count:].any()


def test_two_jobs_by_hand() -> None:
    """At time 0, three executors in the global pool: a chain of 2 + 1 tasks, a job of 4 tasks; 10 ms a task."""
    profiles = compile_profiles(toy_trace([[stage(2), stage(1, [0])], [stage(4)]]))
    simulation = Simulation(profiles, toy_workload([0, 0], 3))
    simulation.advance()
    moving_delay_s = simulation.state.scalar[columns.MOVING_DELAY_MS] / 1000
    rows, stages = matrix(simulation.state)
    assert stages.tolist() == [0, 2]
    seen = {name: rows[:, place].tolist() for place, name in enumerate(FEATURE_NAMES)}
    expected = {
        "job_is_source": [0, 0],
        "job_executors": [0, 0],
        "job_work_left_s": [0.03, 0.04],
        "job_work_total_s": [0.03, 0.04],
        "job_tasks_left": [3, 4],
        "job_stages_left": [2, 1],
        "job_age_s": [0, 0],
        "job_critical_path_s": [0.03, 0.04],
        "job_work_rank": [0, 1],
        "job_work_to_smallest": [1, 5.04 / 5.03],
        "job_work_share": [5.03 / 10.07, 5.04 / 10.07],
        "job_sqrt_share": [5.03**0.5 / (5.03**0.5 + 5.04**0.5), 5.04**0.5 / (5.03**0.5 + 5.04**0.5)],
        "job_sqrt_load": [0, 0],
        **{f"job_load_{power}": [0, 0] for power in (20, 40, 60, 80, "work")},
        "job_fair_load": [0, 0],
        **{
            f"job_share_{power}": [
                1.03 ** (power / 100) / (1.03 ** (power / 100) + 1.04 ** (power / 100)),
                1.04 ** (power / 100) / (1.03 ** (power / 100) + 1.04 ** (power / 100)),
            ]
            for power in (20, 40, 60, 80)
        },
        "job_executor_share": [0, 0],
        "job_work_per_executor_s": [0.03, 0.04],
        "job_move_s": [moving_delay_s] * 2,
        "job_parked": [0, 0],
        "stage_is_ready": [1, 1],
        "stage_tasks_left": [2, 4],
        "stage_demand": [2, 4],
        "stage_task_s": [0.01, 0.01],
        "stage_work_left_s": [0.02, 0.04],
        "stage_levels_below": [1, 0],
        "stage_critical_path_s": [0.03, 0.04],
        "stage_executors": [0, 0],
        "stage_rank": [0, 0],
        "executors_to_decide": [3, 3],
        "parked_share": [0, 0],
        "jobs_in_system": [2, 2],
    }
    assert seen == {name: pytest.approx(values, rel=1e-6) for name, values in expected.items()}

    simulation.act(2, 2)  # two of the three executors to the second job: its load is 2 of 3, half of which is fair
    simulation.advance()
    rows, stages = matrix(simulation.state)
    assert stages.tolist() == [0]
    assert rows[0, FEATURE_NAMES.index("executors_to_decide")] == 1
    assert simulation.reference_choice(heuristic("fifo").compiled)[0] == 0


def test_ranks_of_many_keys_are_those_of_few() -> None:
    """Above a number of keys they are sorted instead of compared with each other."""
    keys = np.random.default_rng(0).integers(50, size=200).astype(float)
    ranks = np.full(200, -1.0)
    count_smaller(keys, ranks, np.empty(200), 10, 150)
    assert ranks[10:160].tolist() == [float((keys[10:160] < key).sum()) for key in keys[10:160]]
    assert (ranks[:10] == -1).all()
    assert (ranks[160:] == -1).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3.5e38])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_number_that_is_none_is_found_whichever_it_is(value: float, place: int) -> None:
    """As it is written: of float32, where what is too large for it is infinite."""
    features = [Feature(name, "", "", name) for name in "xyz"]
    write, rows, read = compile_columns(1, features, list("xyz")), new_rows(3, 5), np.ones(5, bool)
    rows[:] = np.nan  # what others hold does not count
    assert write(rows, 1, read, 0.5, 3.4e38, True) is True
    assert rows[1, 1:4].tolist() == [0.5, np.float32(3.4e38), 1.0]
    numbers = [value if i == place else -2.0 for i in range(3)]
    assert write(rows, 2, read, *numbers) is False
    assert np.isfinite(rows[2, 1:4]).tolist() == [i != place for i in range(3)]
    read[1 + place] = False  # nor what nobody reads, which is not written
    assert write(rows, 0, read, *numbers) is True
    assert np.isfinite(rows[0, 1:4]).tolist() == [i != place for i in range(3)]
    rows[0] = np.nan
    assert np.isnan(rows[0]).all() and np.isnan(rows[:3, [0, 4]]).all()


def test_a_policy_decides_the_same_whether_or_not_all_is_written(profiles: Profiles) -> None:
    """Rules that ask for some features of both kinds, for the rank among stages and not for that among jobs."""
    policy = load_policy(ROOT / "examples" / "rule_list.json").compiled
    read = {name for name, is_read in zip(FEATURE_NAMES, policy.read, strict=True) if is_read}
    assert {"job_is_source", "job_sqrt_share", "stage_rank"} < read and "job_work_rank" not in read
    generator = np.random.default_rng(0)
    for seed in range(20):
        workload = toy_workload(
            np.sort(generator.integers(200, size=9)).tolist(), 4, profile=generator.integers(3, size=9), seed=seed
        )
        states = [start(profiles, workload) for _ in range(2)]
        for state, each in zip(states, (policy, policy._replace(read=EVERY)), strict=True):
            run_or_raise(state, each)
        for name in ("scalar", "job", "stage"):
            np.testing.assert_array_equal(*(getattr(state, name) for state in states))


def test_rows_are_as_many_as_asked_for() -> None:
    for capacity in (0, 1, 16, 17, 100):
        rows = new_rows(capacity, NUM_FEATURES)
        assert rows.shape[0] >= capacity
        assert (rows.dtype, rows.shape[1]) == (np.float32, NUM_FEATURES)


def test_definitions() -> None:
    assert len(set(FEATURE_NAMES)) == NUM_FEATURES
    assert [name.startswith("job_") for name in FEATURE_NAMES] == [i < NUM_JOB_FEATURES for i in range(NUM_FEATURES)]
    assert {feature.monotone for feature in FEATURES} == {-1, 0, 1}
    used = {name for feature in FEATURES for name in compile(feature.formula, "formula", "eval").co_names}
    assert used == set(JOB_QUANTITIES) | set(STAGE_QUANTITIES)


def test_the_documentation_has_the_table() -> None:
    assert docs_table() in (ROOT / "docs" / "decisions.md").read_text()
