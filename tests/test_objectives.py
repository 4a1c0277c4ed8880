"""Objectives: what policies are made for is a choice of params, and every stage follows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clearsched import decisions, evaluation, figures, heuristics, schemas, students, teacher
from clearsched.decisions.summary import describe, summarise
from clearsched.errors import ClearschedError
from clearsched.evaluation.rollouts import GUARDED_PERCENT, TAKE_OVERS
from clearsched.files import read_json
from clearsched.params import defaults, parse
from clearsched.problems import PROBLEMS, find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import TAIL, EpisodeResult, ideal_ms, percentile
from clearsched.problems.objectives import objectives
from clearsched.problems.policy import heuristic
from clearsched.schemas import COMPARISON, LEARNING_CURVE, TUNING, read_table, write_table
from conformance.cases import CASES
from stages import stage_params
from toys import stage, toy_trace, toy_workload

DAG_JOBS = find_problem("dag_jobs")
EVERY = [(problem, measure.name) for problem in PROBLEMS for measure in objectives(find_problem(problem))]
TEACHER = {
    "network": {"embedding": 4, "hidden": 8, "rounds": 1},
    "clone": {"episodes": 2, "epochs": 1, "dagger_rounds": 0, "batch_size": 64},
    "improve": {"iterations": 1, "sequences": 2, "rollouts": 2, "validate_every": 1},
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_params_allow_what_the_problem_calls_objectives(problem: str) -> None:
    names = tuple(measure.name for measure in objectives(find_problem(problem)))
    workload: Any = defaults(problem).workload
    assert get_args(type(workload).model_fields["objective"].annotation) == names
    assert workload.objective == names[0] and len(names) > 1
    with pytest.raises(ClearschedError) as error:
        parse({"problem": problem, "workload": {"objective": "speed"}}, "params.yaml")
    assert "workload.objective" in str(error.value) and "\n" not in str(error.value)
    assert all(name in str(error.value) for name in names)


@pytest.mark.parametrize(("name", "objective"), EVERY)
def test_each_objective_is_tuned_trained_for_and_compared(name: str, objective: str, tmp_path: Path) -> None:
    """From params to the table: the stages ask the episodes' file for the objective."""
    problem, case = find_problem(name), dict(CASES[name].params)
    case["workload"] = {**case["workload"], "objective": objective}
    known = [*problem.heuristics, "teacher", "boosted_trees"]
    params = stage_params(
        name,
        **case,
        teacher=TEACHER,
        decisions={"episodes": 2, "held_out": 1},
        students={"boosted_trees": {"trees": 3, "depth": 2}, "dagger_rounds": 0},
        evaluation={"policies": known, "bootstrap": 200},
    )
    trace, workloads, tuned = (tmp_path / file for file in ("trace.parquet", "workloads.parquet", "tuned.json"))
    problem.build(params, trace)
    problem.draw(params, trace, workloads)
    instance = problem.open(trace, workloads)
    assert instance.objective.name == objective
    found = heuristics.tune(params, trace, workloads, tmp_path / "tuning.parquet", tuned)
    values = found["validation"]
    assert found["measure"] == read_table(tmp_path / "tuning.parquet", TUNING)[1]["measure"] == objective
    assert values[found["best"]] == min(values.values())
    best = heuristic(problem, found["best"], found[found["best"]])
    outcomes = best.run(instance, instance.split("validation"))
    assert values[found["best"]] == pytest.approx(np.mean([outcome.measures[objective] for outcome in outcomes]))

    told = teacher.train(params, trace, workloads, tuned, [], tmp_path)["validation"]
    assert (told["measure"], told["heuristic"]) == (objective, pytest.approx(values[found["best"]]))
    assert told["teacher"] <= told["clone"]
    assert read_table(tmp_path / "learning_curve.parquet", LEARNING_CURVE)[1]["measure"] == objective

    log, out = tmp_path / "decisions.parquet", tmp_path / "evaluation"
    decisions.log(params, trace, workloads, tuned, found["best"], log)
    assert summarise(log)["objective"] == objective and f" for {objective} " in " ".join(describe(log).split())
    fitted = []
    if objective in ("makespan_s", "missed_share"):
        fitted = [students.fit(params, "boosted_trees", trace, workloads, tuned, found["best"], log, tmp_path)]
        assert len(students.load_policy(fitted[0]).evidence[f"validation_{objective}"]) == 1

    evaluation.run(params, trace, workloads, tuned, tmp_path / "teacher.safetensors", fitted, log, out)
    table, metadata = read_table(out / "comparison.parquet", COMPARISON)
    rows = table.to_pylist()
    assert metadata["objective"] == rows[0]["measure"] == objective
    first = [row["mean"] for row in rows if row["measure"] == objective]
    assert len(first) == len(problem.heuristics) + 1 + len(fitted) and first == sorted(first)
    told = {measure.name for measure in problem.measures if measure.compared or measure.beside} | {objective}
    told |= {TAKE_OVERS, GUARDED_PERCENT} if params.teacher.guard.heuristic else set()  # a problem's default may be one
    assert {row["measure"] for row in rows} == told
    label = instance.objective.label
    assert (out / "comparison.txt").read_text("utf-8").startswith(f"{label[0].upper()}{label[1:]} (")
    metrics = read_json(out / "metrics.json")["teacher"]
    assert metrics["ci_low"] <= metrics[objective] <= metrics["ci_high"]


@pytest.mark.parametrize(("name", "objective"), EVERY)
def test_what_is_lost_from_the_start_is_each_objective(name: str, objective: str, tmp_path: Path) -> None:
    """Undiscounted, up to the number of jobs; of the 95th percentile it is the mean of the tail."""
    problem, case = find_problem(name), dict(CASES[name].params)
    case["workload"] = {**case["workload"], "objective": objective}
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    params = stage_params(name, **case)
    problem.build(params, trace)
    problem.draw(params, trace, workloads)
    instance = problem.open(trace, workloads)
    episodes = instance.split("train")
    factor = case["workload"]["jobs"] if objective in ("jct_s", "slowdown") else 1
    for rule in problem.heuristics:
        for outcome in instance.simulate(heuristic(problem, rule).compiled, episodes):
            value = outcome.measures[objective]
            if objective == "jct_p95_s":
                value = outcome.jct_s[outcome.jct_s >= np.quantile(outcome.jct_s, TAIL)].mean()
            assert outcome.cost_to_go(np.zeros(1), np.inf)[0] == pytest.approx(-factor * value, rel=1e-9, abs=1e-12)
            times = np.linspace(0.0, 4 * outcome.scale_s, 9)
            whole, near = outcome.cost_to_go(times, np.inf), outcome.cost_to_go(times, outcome.scale_s)
            assert (np.diff(whole) >= -1e-9).all() and (near >= whole - 1e-9).all()
    lanes = instance.lockstep(episodes, 2)
    while lanes.advance():
        lanes.answer(lanes.ask(heuristic(problem, problem.baseline).compiled))
    alone = instance.simulate(heuristic(problem, problem.baseline).compiled, episodes)
    for one, other in zip(lanes.results(), alone, strict=True):
        assert one.cost_to_go(np.zeros(1), 9.0) == other.cost_to_go(np.zeros(1), 9.0)


def result(objective: str) -> EpisodeResult:
    """Jobs that take 2, 10 and 3 s and would take 1, 5 and 3 s alone."""
    columns = ([0, 0, 1000], [2000, 10_000, 4000], [1000.0, 5000.0, 3000.0])
    return EpisodeResult(*map(np.array, columns), 0, 0, objective=objective)


def test_measures_by_hand() -> None:
    found = result("jct_s").measures
    # the 95th percentile lies at 0.95 x 2 = 1.9 of 2, 3, 10: 3 + 0.9 x 7
    assert found == {
        "jct_s": 5.0,
        "jct_p95_s": pytest.approx(9.3),
        "slowdown": 5 / 3,
        "makespan_s": 10.0,
        "jct_p99_s": pytest.approx(9.86),
        "parked_percent": 0.0,
        "stall_s": 0.0,
        "num_tasks": 0,
    }


@pytest.mark.parametrize(
    ("arrival_ms", "completion_ms", "cleared_s"),
    [
        ([0] * 20, range(100, 2100, 100), 1.8),  # two of twenty are left
        ([0] * 20 + [1_750] * 3, [*range(100, 2100, 100), 1_900, 1_950, 3_000], 1.95),  # 5 came back, then 2 are left
        ([0] * 10 + [5, 5], [10] * 10 + [5, 5], 0.01),  # all at once; who comes and goes at one moment was there
        ([0] * 9, range(100, 1000, 100), 0.0),  # few: no backlog
        ([0] * 10, [500] * 9 + [90_000], 0.5),  # the last one may take as long as it will: `end_s` tells
    ],
)
def test_when_a_backlog_is_cleared(arrival_ms: list[int], completion_ms: Sequence[int], cleared_s: float) -> None:
    count = len(arrival_ms)
    found = EpisodeResult(np.array(arrival_ms), np.array(completion_ms), np.ones(count), 0, 0)
    assert found.cleared_s == cleared_s


@pytest.mark.parametrize(
    ("objective", "at_0", "at_3", "discounted"),
    [
        ("jct_s", 15.0, 8.0, True),  # at 3 s, 7 s and 1 s are left
        ("slowdown", 5.0, 7 / 5 + 1 / 3, True),
        ("jct_p95_s", 10.0, 7.0, True),  # the longest alone is the tail
        ("makespan_s", 10.0, 7.0, False),
    ],
)
def test_cost_to_go_by_hand(objective: str, at_0: float, at_3: float, discounted: bool) -> None:
    outcome, times = result(objective), np.array([0.0, 3.0, 99.0])
    np.testing.assert_allclose(outcome.cost_to_go(times, np.inf), [-at_0, -at_3, 0.0])
    np.testing.assert_allclose(outcome.cost_to_go(times, 1e9), [-at_0, -at_3, 0.0], rtol=1e-6)
    near = outcome.cost_to_go(times, 1.0)
    assert (near[:2] > [-at_0, -at_3]).all() == discounted


@pytest.mark.parametrize("count", [1, 2, 3, 20, 40, 101])
def test_percentile_is_that_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).exponential(size=count)
    assert percentile(values, TAIL) == pytest.approx(np.quantile(values, TAIL))


def test_the_ideal_time_is_the_longest_path_or_the_work_over_the_executors() -> None:
    """Tasks last 10 ms: a chain of three takes 30 ms at least, 12 tasks on 2 executors 60, on 100 the 10 of one."""
    chain, wide = [stage(1), stage(2, [0]), stage(1, [1])], [stage(12)]
    arrays = compile_profiles(toy_trace([chain, wide])).arrays
    assert ideal_ms(arrays, 2, np.array([0, 1, 0])).tolist() == [30.0, 60.0, 30.0]
    assert ideal_ms(arrays, 100, np.array([1])).tolist() == [10.0]


def test_the_best_policy_for_the_makespan_is_not_the_best_for_the_jct() -> None:
    """Two executors, nothing but 10 ms tasks and free moves: a chain of three tasks and four jobs of one task.

    Short jobs first: they end at 10, 10, 20, 20, the chain at 50; mean 22, makespan 50. The chain first: it ends at 30,
    beside it the others at 10, 20, 30, 40 or, one of them after the chain, at 10, 20, 30, 40; mean 26, makespan 40.
    """
    flat = {"first_wave": 10, "rest_wave": 10, "fresh": 10}
    chain = [stage(1, **flat), stage(1, [0], **flat), stage(1, [1], **flat)]
    cluster = DagJobsInstance(compile_profiles(toy_trace([chain, *([[stage(1, **flat)]] * 4)]), warmup_delay_ms=0))
    episode = toy_workload([0] * 5, 2, moving_delay_ms=0)
    found = {name: heuristic(DAG_JOBS, name).run(cluster, [episode])[0].measures for name in DAG_JOBS.heuristics}
    by_jct = min(found, key=lambda name: found[name]["jct_s"])
    by_makespan = min(found, key=lambda name: found[name]["makespan_s"])
    assert (found[by_jct]["jct_s"], found[by_jct]["makespan_s"]) == pytest.approx((0.022, 0.05))
    assert (found[by_makespan]["jct_s"], found[by_makespan]["makespan_s"]) == pytest.approx((0.026, 0.04))


def test_episodes_that_name_no_objective_or_another_are_refused(tmp_path: Path) -> None:
    for name in PROBLEMS:
        problem, case = find_problem(name), CASES[name].params
        trace, workloads = tmp_path / f"{name}.parquet", tmp_path / f"{name}_episodes.parquet"
        params = stage_params(name, **case)
        problem.build(params, trace)
        problem.draw(params, trace, workloads)
        schema = pq.read_schema(workloads).remove_metadata()
        table, settings = schemas.read_table(workloads, schema)
        write_table(workloads, table, schema, {**settings, "objective": "speed"})
        with pytest.raises(ClearschedError, match=f"'speed' is no objective of {name}"):
            _ = problem.open(trace, workloads).objective
        del settings["objective"]
        write_table(workloads, table, schema, settings)
        with pytest.raises(ClearschedError, match=r"its metadata(: objective: Field| lacks objective)"):
            problem.open(trace, workloads)


# The figure ----------------------------------------------------------------------------------------------------------


def evaluated(folder: Path, objective: str, policies: dict[str, tuple[str, Sequence[float], Sequence[float]]]) -> Path:
    """A scenario's tables, as far as the figure reads them: of each policy kind, mean JCT and makespan by episode."""
    about = {"problem": "dag_jobs", "objective": objective}
    episodes = [
        {"policy": name, "kind": kind, "mode": "argmax", "episode": number, "num_decisions": 1}
        | dict.fromkeys((measure.name for measure in DAG_JOBS.measures), 1.0)
        | {"jct_s": one, "jct_p95_s": one, "makespan_s": other}
        for name, (kind, jct_s, makespan_s) in policies.items()
        for number, (one, other) in enumerate(zip(jct_s, makespan_s, strict=True))
    ]
    numbers = dict.fromkeys(
        ("mean", "ci_low", "ci_high", "worst", "difference", "difference_low", "difference_high"), 1.0
    )
    compared = [
        {"policy": name, "kind": kind, "mode": "argmax", "settings": "", "episodes": len(jct_s), "measure": measure}
        | {"unit": "s", "reference": "fair", "difference_percent": None, **numbers}
        for measure in dict.fromkeys((objective, "jct_s"))
        for name, (kind, jct_s, _) in policies.items()
    ]
    for name, rows, schema in (
        ("episodes", episodes, schemas.episodes(DAG_JOBS.measures)),
        ("comparison", compared, COMPARISON),
    ):
        write_table(folder / "evaluation" / f"{name}.parquet", pa.Table.from_pylist(rows, schema=schema), schema, about)
    return folder


def test_one_objective_is_drawn_against_another(tmp_path: Path) -> None:
    """Means by hand; the best heuristic and what was made for the objective are drawn, other policies are not."""
    of = {
        "fair": ("heuristic", [2.0, 4.0], [10.0, 10.0]),
        "fifo": ("heuristic", [9.0, 9.0], [9.0, 9.0]),
        "weights": ("searched", [1.0, 1.0], [12.0, 14.0]),
        "teacher": ("teacher", [2.0, 2.0], [11.0, 11.0]),
        "rule_list": ("student", [2.0, 2.0], [11.0, 11.0]),
    }
    one, two = evaluated(tmp_path / "one", "jct_s", of), evaluated(tmp_path / "two", "makespan_s", of)
    paths = figures.compare([one, two], tmp_path / "out", dpi=60)
    assert {path.name for path in paths} == {
        f"{name}.{end}" for name in ("data_sets", "objectives") for end in ("svg", "png", "csv")
    }
    lines = (tmp_path / "out" / "objectives.csv").read_text("utf-8").splitlines()
    header, *rows = (line.split(",") for line in lines)
    found = {(row[0], row[2]): dict(zip(header, row, strict=True)) for row in rows}
    assert set(found) == {(s, p) for s in ("one", "two") for p in ("best heuristic", "searched weights", "teacher")}
    point = found["two", "best heuristic"]
    assert (point["objective"], point["policy"], point["jct_s"], point["makespan_s"]) == (
        "makespan_s",
        "fair",
        "3.0",
        "10.0",
    )
    assert (point["makespan_s_ci_low"], point["makespan_s_ci_high"]) == ("10.0", "10.0")
    assert 2.0 <= float(point["jct_s_ci_low"]) < 3.0 < float(point["jct_s_ci_high"]) <= 4.0
    assert found["one", "searched weights"]["makespan_s"] == "13.0"
    same = figures.compare([one, evaluated(tmp_path / "three", "jct_s", of)], tmp_path / "same", dpi=60)
    assert {path.stem for path in same} == {"data_sets"}
