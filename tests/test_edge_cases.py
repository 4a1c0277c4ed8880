"""Edge cases: each is what its name says, every policy runs on each, and one table tells of all."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from clearsched import edge_cases
from clearsched.cli import app
from clearsched.edge_cases import figure as edge_case_figure
from clearsched.edge_cases.case import Case
from clearsched.edge_cases.cases import (
    APART,
    NORMAL,
    cases_of,
    cases_run,
    changes_trace,
    params_apart,
    params_of,
)
from clearsched.edge_cases.text import render
from clearsched.errors import ClearschedError
from clearsched.evaluation.comparison import compare
from clearsched.evaluation.rollouts import Rollout
from clearsched.evaluation.statistics import Bootstrap
from clearsched.figures import subject
from clearsched.files import write_json
from clearsched.params import Params, parse, read_scenarios, read_yaml
from clearsched.problems import PROBLEMS, find_problem
from clearsched.problems.dag_jobs.simulator.estimates import Estimates
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import simulate
from clearsched.problems.dag_jobs.traces import Trace, write_trace
from clearsched.problems.dag_jobs.workloads import Workloads, build, executor_ms, load_inputs
from clearsched.problems.dag_jobs.workloads.giants import with_giants
from clearsched.problems.policy import heuristic
from clearsched.registry import load
from clearsched.schemas import EDGE_CASES, TAKE_OVERS, read_table
from clearsched.shipped import store
from clearsched.teacher.checkpoints import load_policy as load_teacher
from conformance.cases import CASES
from reference_policies import fair
from toys import assert_same, micro_trace, run_reference, stage, toy_trace, toy_workload

ROOT = Path(__file__).parents[1]
FEW = {"train": 1, "validation": 1, "test": 3}


@pytest.fixture(scope="module")
def micro(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("micro") / "trace.parquet"
    write_trace(path, micro_trace())
    return path


def drawn(trace: Path, **workload: Any) -> Workloads:
    """Test episodes of 20 jobs, drawn with what is given of the workload."""
    params = parse({"workload": {"jobs": 20, "episodes": FEW} | workload}, "test", whole=False)
    return build(params, trace, trace.with_name("workloads.parquet"))


# What they change of the episodes -----------------------------------------------------------------------------------


def test_a_surge_comes_at_its_load(micro: Path) -> None:
    """Jobs and gaps outside are those of the episode without; the gaps within are 0.85 / 1.2 as long."""
    plain, surge = (drawn(micro, surge=given) for given in ({}, {"jobs": 8, "after_job": 5, "load": 1.2}))
    for before, after in zip(plain.split("test"), surge.split("test"), strict=True):
        np.testing.assert_array_equal(before.profile, after.profile)
        assert before.seed == after.seed
        gaps, shorter = np.diff(before.arrival_ms), np.diff(after.arrival_ms)
        wanted = gaps.astype(float)
        wanted[4:12] *= 0.85 / 1.2
        np.testing.assert_allclose(shorter, wanted, atol=1)


def test_the_load_of_a_surge_measured(micro: Path) -> None:
    """Executor time that the jobs of a long surge ask for, per executor time that there is."""
    drawn(micro, jobs=4000, surge={"jobs": 3000, "after_job": 500, "load": 1.2})
    profiles, workloads = load_inputs(micro, micro.with_name("workloads.parquet"))
    asked = executor_ms(profiles, 10, 2000)
    for episode in workloads.split("test"):
        for part, load_asked in ((slice(1, 500), 0.85), (slice(500, 3500), 1.2), (slice(3500, 4000), 0.85)):
            span = episode.arrival_ms[part.stop - 1] - episode.arrival_ms[part.start - 1]
            assert asked[episode.profile[part]].sum() / (10 * span) == pytest.approx(load_asked, rel=0.15)


def test_a_giant_has_many_times_the_tasks_of_its_profile(micro: Path) -> None:
    plain = drawn(micro)
    whole = compile_profiles(micro_trace())
    drawn(micro, giant={"tasks": 20, "after_job": 7})
    profiles, giants = load_inputs(micro, micro.with_name("workloads.parquet"))
    for before, after in zip(plain.split("test"), giants.split("test"), strict=True):
        np.testing.assert_array_equal(before.arrival_ms, after.arrival_ms)
        times = profiles.num_tasks[after.profile] / whole.num_tasks[before.profile]
        assert times.tolist() == [20.0 if job == 7 else 1.0 for job in range(20)]
        assert profiles.work_ms[after.profile[7]] == pytest.approx(20 * whole.work_ms[before.profile[7]])


def test_the_giant_is_none_of_the_swarm(micro: Path) -> None:
    """Both come after job 10: the giant is the job that had this number before the swarm came."""
    plain = drawn(micro)
    whole = compile_profiles(micro_trace())
    drawn(micro, giant={"tasks": 20, "after_job": 10}, swarm={"jobs": 5, "after_job": 10, "smallest": 0.1})
    profiles, both = load_inputs(micro, micro.with_name("workloads.parquet"))
    for before, after in zip(plain.split("test"), both.split("test"), strict=True):
        assert profiles.work_ms[after.profile[15]] == pytest.approx(20 * whole.work_ms[before.profile[10]])


def test_an_edge_case_is_never_milder_than_the_scenario() -> None:
    busy = parse({"workload": {"load": 1.3, "faults": {"straggler_probability": 0.1}}}, "test", whole=False)
    assert "overload" not in cases_run(busy)
    slow = params_of(busy, "stragglers")
    assert slow is not None
    assert (slow.workload.faults.straggler_probability, slow.workload.faults.straggler_slowdown) == (0.1, 8.0)


def test_what_something_may_be_tuned_on_is_drawn_apart(micro: Path) -> None:
    """Not with the arrivals or the luck of any episode that `edge_cases.run` draws; the change is there."""
    asked = parse({"workload": {"jobs": 20}, "edge_cases": {"episodes": 4}}, "test")
    for name in ("giant_job", "unseen_jobs"):
        found = []
        for changed, split in ((params_of(asked, name), "test"), (params_apart(asked, name, 4), "validation")):
            assert changed is not None
            found.append(build(changed, micro, micro.with_name("workloads.parquet")).split(split))
            assert (changed.workload.giant.tasks, changed.traces == asked.traces) == (
                (20, True) if name == "giant_job" else (1, False)
            )
        assert len(found[1]) == 4
        assert not {one.seed for one in found[0]} & {one.seed for one in found[1]}
        assert not {tuple(one.arrival_ms) for one in found[0]} & {tuple(one.arrival_ms) for one in found[1]}
    theirs, apart = params_of(asked, "unseen_jobs"), params_apart(asked, "unseen_jobs", 4)
    assert theirs is not None
    assert apart is not None
    assert theirs.traces.seed != apart.traces.seed, "other jobs, too"
    batch = parse({"workload": {"arrivals": "batch"}}, "test")
    assert params_apart(batch, "overload", 4) is None


def test_queries_of_the_test_stay_out_of_what_is_drawn_apart() -> None:
    """A seed numbers the queries: with another one those of the test would be among the others."""
    by_query = parse({"workload": {"split": "template"}}, "test")
    for name, own in (("giant_job", by_query.seed), ("unseen_jobs", by_query.seed + APART)):
        apart = params_apart(by_query, name, 4)
        assert apart is not None
        assert apart.seed == own
        assert (apart.workload.episodes.validation, apart.workload.episodes.test) == (4, 1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"workload": {"jobs": 0}},
            "does not fit the scenario: workload.jobs: 0 is not allowed: expected a whole number",
        ),
        ({"workload": {"job": 1}}, "does not fit the scenario: workload.job: unknown key; the nearest known key is"),
        ({"teacher": {}}, "changes teacher: it may change traces and workload"),
    ],
)
def test_what_does_not_fit_the_scenario_is_one_line(
    changes: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_cases.cases, "load", lambda _: lambda params: changes)
    with pytest.raises(ClearschedError) as error:
        params_of(parse({}, "test"), "overload")
    assert str(error.value).startswith(f"edge case overload: {told}")
    assert "\n" not in str(error.value)


def test_giants_stand_with_their_source_in_a_mix() -> None:
    parts = [{"source": name, "profiles": count} for name, count in (("a", 1), ("b", 2))]
    trace = toy_trace([[stage(2)], [stage(3), stage(1, [0])], [stage(4)]])
    mixed = Trace(trace.stages, trace.levels, {**trace.metadata, "mix": parts})
    made = with_giants(mixed, np.array([0, 0, 1, 2]), np.array([False, True, True, False]), 2.5)
    assert made.stages["profile"].to_pylist() == [0, 1, 2, 2, 3]
    assert made.stages["num_tasks"].to_pylist() == [2, 5, 8, 2, 4], "2.5 x 3 is rounded to even"
    assert [part["profiles"] for part in made.metadata["mix"]] == [2, 2]


def test_a_swarm_is_of_the_smallest_and_comes_at_once(micro: Path) -> None:
    plain = drawn(micro)
    swarm = drawn(micro, swarm={"jobs": 30, "after_job": 4, "smallest": 0.1})
    asked = executor_ms(compile_profiles(micro_trace()), 10, 2000)
    tiny = np.argsort(asked, kind="stable")[: int(np.ceil(0.1 * len(asked)))]
    for before, after in zip(plain.split("test"), swarm.split("test"), strict=True):
        of_swarm = slice(4, 34)
        assert set(after.profile[of_swarm]) <= set(tiny)
        assert set(after.arrival_ms[of_swarm]) == {before.arrival_ms[3]}
        for name in ("profile", "arrival_ms"):
            rest = np.delete(getattr(after, name), np.arange(4, 34))
            np.testing.assert_array_equal(rest, getattr(before, name), err_msg="the others are as they were")
        assert before.seed == after.seed


def test_an_outage_takes_its_share_for_its_time(micro: Path) -> None:
    workloads = drawn(micro, outage={"share": 0.3, "after_job": 5, "jobs": 10})
    gap, rules = workloads.settings["mean_interarrival_ms"], workloads.split("test")[0].semantics
    assert (rules.outage_executors, rules.outage_from_ms) == (3, round(5 * gap))
    assert rules.outage_until_ms == round(5 * gap) + round(10 * gap)


def test_an_outage_follows_the_arrivals_of_its_split(micro: Path) -> None:
    """Splits by template hold other jobs, which come at another rate; the file tells it too."""
    workloads = drawn(micro, split="template", outage={"share": 0.3, "after_job": 5, "jobs": 10})
    read = load_inputs(micro, micro.with_name("workloads.parquet"))[1]
    gaps = {split: facts["mean_interarrival_ms"] for split, facts in workloads.settings["splits"].items()}
    assert len(set(gaps.values())) == 3
    for split, gap in gaps.items():
        for rules in (workloads.split(split)[0].semantics, read.split(split)[0].semantics):
            assert rules.outage_executors == 3
            assert rules.outage_from_ms == round(5 * gap)
            assert rules.outage_until_ms == round(5 * gap) + round(10 * gap)


def test_an_outage_by_hand() -> None:
    """Two executors, a job of 6 tasks of 10 ms (50 when fresh), 100 ms to get there: one is lost from 155 to 400."""
    trace = toy_trace([[stage(6)]])
    rules = {"outage_executors": 1, "outage_from_ms": 155, "outage_until_ms": 400}
    workload = toy_workload([0], 2, **rules)
    reference = run_reference(trace, workload, fair)
    # 150: both have done a task and start the next; 160: the one that ends first is lost, the other does the rest.
    assert [(start, ms, failed) for start, ms, *_, failed in reference.tasks] == [
        *((100, 50, 0), (100, 50, 0), (150, 10, 0), (150, 10, 0)),
        *((160, 0, 1), (160, 10, 0), (170, 10, 0)),
    ]
    policy = heuristic(find_problem("dag_jobs"), "fair").compiled
    result = simulate(compile_profiles(trace), workload, policy, record_tasks=True, record_decisions=True)
    assert_same(result, reference)
    assert result.completion_ms.tolist() == [180]


def test_estimates_of_params_reach_the_episodes(micro: Path) -> None:
    arrays = compile_profiles(micro_trace()).arrays
    mean = float(arrays.num_tasks @ arrays.mean_ms / arrays.num_tasks.sum())
    assert drawn(micro, estimates={"error": 2.0}).split("test")[0].estimates == Estimates(2.0)
    missing = drawn(micro, estimates={"missing": 0.3}).split("test")[0].estimates
    assert (missing.error, missing.missing, missing.unknown_task_ms) == (1.0, 0.3, pytest.approx(mean))
    assert "estimates" not in drawn(micro).settings


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        ({"estimates": {"error": 0.5}}, "workload.estimates.error: 0.5 is not allowed"),
        ({"estimates": {"missing": 1.5}}, "workload.estimates.missing: 1.5 is not allowed"),
        ({"arrivals": "batch", "surge": {"jobs": 5}}, "surge.jobs must be 0 where arrivals are batch"),
        ({"jobs": 12, "surge": {"jobs": 5}}, "surge ends with job 15: jobs must be 15 or more, it is 12"),
        ({"jobs": 5, "giant": {"tasks": 2}}, "giant.after_job is 10: jobs must be 11 or more, it is 5"),
        ({"jobs": 5, "swarm": {"jobs": 2}}, "swarm.after_job is 10: jobs must be 10 or more, it is 5"),
        ({"arrivals": "batch", "outage": {"share": 0.5}}, "outage.share must be 0 where arrivals are batch"),
        ({"swarn": {"jobs": 2}}, "workload.swarn: unknown key; the nearest known key is workload.swarm"),
    ],
)
def test_settings_that_do_not_fit_are_one_line(workload: dict[str, Any], told: str) -> None:
    with pytest.raises(ClearschedError) as error:
        parse({"workload": workload}, "params.yaml")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


# Which there are ----------------------------------------------------------------------------------------------------


def small(problem: str, **sections: Any) -> Params:
    """Params of a problem for a few seconds: heuristics alone, few episodes."""
    heuristics = list(find_problem(problem).heuristics)
    given = {"evaluation": {"policies": heuristics, "bootstrap": 100}, "edge_cases": {"episodes": 2}}
    return parse({"problem": problem, **CASES[problem].params, **given, **sections}, "test", whole=False)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_case_of_a_problem_changes_something(problem: str) -> None:
    params = small(problem)
    names = cases_run(params)
    assert names == list(cases_of(find_problem(problem))), "the defaults can have all of them"
    assert names[0] == NORMAL.name
    for name in names[1:]:
        changed = params_of(params, name)
        assert changed is not None
        own = params.workload.model_copy(update={"episodes": changed.workload.episodes})
        assert (changed.workload, changed.traces) != (own, params.traces), name


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_scenario_has_edge_cases(path: Path) -> None:
    params = read_scenarios([read_yaml(ROOT / "params.yaml")], {"scenarios": f"[{path}]"}, "test")[path.stem]
    names = cases_run(params)
    assert len(names) > 3
    is_batch = getattr(params.workload, "arrivals", "") == "batch"
    assert (params.problem == "dag_jobs" and not is_batch) == ("executors_lost" in names), "a batch has no time between"


def test_unknown_and_impossible_cases_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"edge_cases\.names.*the nearest is giant_job"):
        parse({"edge_cases": {"names": ["gaint_job"]}}, "params.yaml")
    with pytest.raises(ClearschedError, match="each name once"):
        parse({"edge_cases": {"names": ["normal", "normal"]}}, "params.yaml")
    with pytest.raises(ClearschedError, match=r"unknown edge case 'gaint_job'.*did you mean giant_job"):
        params_of(small("dag_jobs"), "gaint_job")
    batch = small("dag_jobs", workload={"arrivals": "batch"})
    assert params_of(batch, "overload") is None
    with pytest.raises(ClearschedError, match="edge case overload: the scenario default cannot have it"):
        edge_cases.run(batch, "overload", *([tmp_path / "none"] * 3), (), tmp_path)
    given = small("dag_jobs", workload={"giant": {"tasks": 3, "after_job": 2}, "jobs": 5})
    assert params_of(given, "tiny_jobs").workload.giant.tasks == 3, "what the scenario has besides stays"
    with pytest.raises(ClearschedError, match="no such file; run the edge cases first"):
        edge_cases.show(tmp_path)


# All of them in one table -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_policy_on_every_case(problem: str, tmp_path: Path) -> None:
    """By the commands behind the rules: the tables, the sentences, and equal bytes when run again."""
    params, own = small(problem), find_problem(problem)
    settings = tmp_path / "edge_cases.json"
    held = ("problem", "scenario", "seed", "traces", "workload", "evaluation", "edge_cases")
    write_json(settings, {name: params.model_dump(mode="json")[name] for name in held})
    own.build(params, tmp_path / "trace.parquet")
    write_json(tmp_path / "tuned.json", {"best": own.yardsticks[-1]})
    (tmp_path / "teacher").write_bytes(b"not asked")

    def command(*arguments: str) -> None:
        answer = CliRunner().invoke(app, ["edge-cases", *arguments, "--params", str(settings)], catch_exceptions=False)
        assert answer.exit_code == 0, answer.output

    def run_all(out: Path) -> dict[str, bytes]:
        names = cases_run(params)
        inputs = [f"--{name}={tmp_path / file}" for name, file in FILES.items()]
        for name in names:
            # The command wants a student; one that params do not list is not read.
            command("run", name, *inputs, f"--student={tmp_path / 'teacher'}", f"--out={out / name}")
            assert (out / name / "trace.parquet").exists() == changes_trace(params, name)
        command("compare", *(str(out / name) for name in names), f"--out={out}")
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("edge_cases.*"))}

    one = run_all(tmp_path / "one")
    assert set(one) == {f"edge_cases.{end}" for end in ("parquet", "txt", "svg", "png", "csv")}
    assert not list((tmp_path / "one").rglob("take_overs.parquet")), "nobody has a guard"
    table, metadata = read_table(tmp_path / "one" / "edge_cases.parquet", EDGE_CASES)
    of_objective = [row for row in table.to_pylist() if row["measure"] == own.measures[0].name]
    assert metadata["objective"] == own.measures[0].name
    assert {(row["edge_case"], row["policy"]) for row in of_objective} == {
        (case, policy) for case in cases_run(params) for policy in own.heuristics
    }
    text = edge_cases.show(tmp_path / "one")
    for case in cases_of(own).values():
        assert f"\n{case.label}: 2 test episodes" in text
    if problem == "deferrable_jobs":
        assert run_all(tmp_path / "two") == one


def test_take_overs_on_edge_cases_are_logged(tmp_path: Path) -> None:
    """Each of them, where guards are there for: here one that takes over at once."""
    params, own = small("dag_jobs"), find_problem("dag_jobs")
    params = params.model_copy(
        update={"evaluation": params.evaluation.model_copy(update={"policies": ("fair", "mine")})}
    )
    own.build(params, tmp_path / "trace.parquet")
    write_json(tmp_path / "tuned.json", {"best": "fair"})
    mine = {"kind": "student", "name": "mine", "stage": {"job_work_left_s": -1.0}, "limit": 1.0}
    for above in (0.0, 1e9):
        guard = {"heuristic": "fair", "when": {"backlog_s": {"above": above, "until": above / 2}}}
        write_json(tmp_path / "mine.json", mine | {"guard": guard})
        out = tmp_path / f"above {above:g}"
        edge_cases.run(
            params, "giant_job", tmp_path / "trace.parquet", tmp_path / "tuned.json", tmp_path / "trace.parquet",
            [tmp_path / "mine.json"], out,
        )  # fmt: skip
        table, metadata = read_table(out / "take_overs.parquet", TAKE_OVERS)
        assert metadata["edge_case"] == "giant_job"
        assert bool(len(table)) is (above == 0) and set(table["policy"].to_pylist()) <= {"mine"}


def made_up(**jct_s: list[float]) -> Case:
    """A case of a student and heuristics with the given mean JCTs of each episode."""
    problem = find_problem("dag_jobs")
    names = [measure.name for measure in problem.measures]
    kinds = {"rule_list": "student"}
    rollouts = [
        Rollout(
            SimpleNamespace(name=name, kind=kinds.get(name, "heuristic"), mode="argmax", settings={}),
            [SimpleNamespace(measures=dict.fromkeys(names, value)) for value in values],
            problem.measures,
        )
        for name, values in jct_s.items()
    ]
    rows = compare(problem, rollouts, "local_srpt", Bootstrap(0, 0.95, 200)).to_pylist()
    return Case("c", "a case", "4 episodes", rows, {one.name: one.objective for one in rollouts})


def test_a_network_holds_among_more_jobs_than_it_ever_saw(tmp_path: Path) -> None:
    """It took 17 times fair's time: at 120 candidates the sum over all jobs said that nobody should start."""
    layers = [read_yaml(ROOT / "params.yaml")]
    given = {"scenarios": [str(ROOT / "scenarios" / "micro.yaml")], "edge_cases": {"episodes": 2}}
    (scenario,) = read_scenarios(layers, given, "test").values()
    problem, params = find_problem(scenario.problem), params_of(scenario, "tiny_jobs")
    trace, workloads = tmp_path / "trace.parquet", tmp_path / "workloads.parquet"
    problem.build(params, trace)
    problem.draw(params, trace, workloads)
    instance = problem.open(trace, workloads)
    teacher = load_teacher(store.FOLDER / "micro" / "teacher.safetensors")
    episodes = instance.split("test")
    own, theirs = (
        np.array([outcome.measures["jct_s"] for outcome in policy.run(instance, episodes)])
        for policy in (teacher, heuristic(problem, "fair"))
    )
    assert (own < 1.2 * theirs).all()


def test_who_loses_and_who_strays_is_told_in_words() -> None:
    """Worse than capped SRPT, better than local SRPT, and once twice as long as fair."""
    fair_s, local_s, capped_s = 3 * [10.0, 20.0, 10.0, 30.0], 3 * [22.0, 45.0, 23.0, 66.0], 3 * [9.0, 18.0, 8.0, 25.0]
    problem = find_problem("dag_jobs")
    case = made_up(fair=fair_s, local_srpt=local_s, capped_srpt=capped_s, rule_list=3 * [20.0, 21.0, 12.0, 31.0])
    text = render(problem, problem.measures[0], [case], Bootstrap(0, 0.95, 200))
    assert "* a case: rule list: 40 % above tuned capped SRPT" in text.replace(".0 %", " %")
    assert "CI over episodes" in text and "worse with one training seed" in text and "loses" not in text
    assert "rule list: 2.00 times fair on its worst episode" in text
    assert "* a case: heuristics above 1.5 times fair on an episode: tuned local SRPT 2.30" in text
    assert "stall: longest time that executors were parked" in text and "p99 JCT (s)  parked (%)  stall (s)" in text
    assert "above tuned local SRPT" not in text
    told = ["* rule list is not safe by its own check: why: do not deploy it"]
    twice = [each._replace(unsafe=told, name=name) for name, each in (("c", case), ("d", case))]
    assert render(problem, problem.measures[0], twice, Bootstrap(0, 0.95, 200)).count(told[0]) == 1
    assert "by its own check" not in text
    fine = made_up(fair=fair_s, local_srpt=local_s, capped_srpt=capped_s, rule_list=3 * [9.0, 17.0, 8.0, 25.0])
    told = render(problem, problem.measures[0], [fine], Bootstrap(0, 0.95, 200))
    assert "* no learned policy is shown to be worse" in told
    assert "rule list" not in " ".join(line for line in told.splitlines() if "times fair" in line)


def test_the_figure_reaches_to_whoever_is_better() -> None:
    """Far below the reference is a point; further above than anybody is below, an arrow and a number."""
    problem = find_problem("dag_jobs")
    one, other = 6 * [15.0, 30.0], 6 * [35.0, 70.0]
    case = made_up(fair=6 * [18.0, 37.0], local_srpt=6 * [23.0, 48.0], rule_list=one, fifo=other)
    drawn = edge_case_figure.draw([case], problem.measures[0], subject(problem), 0.95)
    axes = drawn.figure.axes[0]
    reference = next(row for row in case.rows if row["policy"] == case.rows[0]["reference"])["mean"]
    best = 100 * min(row["difference"] for row in case.of(problem.measures[0])) / reference
    assert best < -30 and axes.get_xlim() == pytest.approx((1.1 * best, -1.1 * best))
    arrows = [text.get_text() for text in axes.texts]
    worse = [100 * row["difference"] / reference for row in case.of(problem.measures[0])]
    assert arrows == [f"{percent:+.0f}" for percent in worse if percent > -best] and arrows


def test_cases_of_several_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match="no such file"):
        edge_cases.compare(small("dag_jobs"), [tmp_path], tmp_path)
    assert not list(tmp_path.iterdir())


FILES = {"trace": "trace.parquet", "tuned": "tuned.json", "teacher": "teacher"}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_case_is_told_on_the_page(problem: str) -> None:
    page = (ROOT / "docs" / "edge-cases.md").read_text("utf-8")
    for case in cases_of(find_problem(problem)).values():
        assert f"| `{case.name}` |" in page, case.name
        assert not case.changes or callable(load(case.changes))
