"""`clearsched students patch`, and the patches of params: what they do to toys, what is told, what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from clearsched import params, reading, students
from clearsched.cli import app
from clearsched.decisions import experts
from clearsched.edge_cases import patch_command
from clearsched.errors import ClearschedError
from clearsched.figures.rules import blocks_of
from clearsched.figures.style import Subject
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.deferrable_jobs.instance import DeferrableJobs
from clearsched.problems.episodes import NONE
from clearsched.problems.policy import heuristic
from clearsched.schemas import PATCH_CHANGES, read_table
from clearsched.scorers.patches import read_patches
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.scorers.scorer import read_scorer
from clearsched.search import safety
from clearsched.search.guard_bounds import measured
from clearsched.search.safety import Verdict
from clearsched.students import fitting, patching
from clearsched.students.patch_changes import changes_of
from clearsched.students.patch_trial import Compared, compare
from conformance.cases import CASES
from conformance.test_conformance import drawn
from deferrable_jobs.deferrable_toys import run_compiled, toy
from toys import stage, toy_trace, toy_workload

ALWAYS = {"when": "always", "do": "avoid"}
DAG, DEFERRABLE = find_problem("dag_jobs"), find_problem("deferrable_jobs")


def policy(problem: Any, scorers: dict[str, Any], *patches: dict[str, Any], none: bool = False) -> ScoredPolicy:
    """A policy of a problem with patches."""
    names = {choice.name: [feature.name for feature in choice.features] for choice in problem.choices}
    read = {name: read_scorer(value, names[name], "x") for name, value in scorers.items()}
    return ScoredPolicy("mine", problem, read, none, patches=read_patches(patches, problem, "x"))


def two_jobs() -> tuple[DagJobsInstance, Any]:
    """One executor, a job of 8 tasks before one of 3: the short one first is 280 ms on average (conformance)."""
    return DagJobsInstance(compile_profiles(toy_trace([[stage(8)], [stage(3)]]))), toy_workload([0, 0], 1)


def completions(mine: ScoredPolicy, instance: DagJobsInstance, workload: Any) -> list[int]:
    """When each job ends, ms."""
    return instance.simulate(mine.compiled, [workload])[0].completion_ms.tolist()


LONG_FIRST = {"stage": {"job_work_left_s": 1.0}, "limit": 1.0}


def test_prefer_and_avoid_on_two_jobs() -> None:
    instance, workload = two_jobs()
    plain = completions(policy(DAG, LONG_FIRST), instance, workload)
    shortest = [390, 170]
    assert plain != shortest
    for patch in (
        {"when": "job_tasks_left <= 3 tasks", "do": "prefer"},
        {"when": "job_tasks_left > 3", "do": "avoid"},
        {"when": "job_tasks_left > 3", "do": "idle"},  # refused where nothing else is going to happen: it comes last
    ):
        assert completions(policy(DAG, LONG_FIRST, patch), instance, workload) == shortest
    never = {"when": "job_tasks_left > 99", "do": "avoid"}
    assert completions(policy(DAG, LONG_FIRST, never), instance, workload) == plain
    both = {"when": "always", "do": "prefer"}
    assert completions(policy(DAG, LONG_FIRST, both), instance, workload) == plain


def test_a_cap_bounds_the_executors_of_a_job() -> None:
    """Four tasks on four executors end together; on one, one after another."""
    instance, workload = DagJobsInstance(compile_profiles(toy_trace([[stage(4)]]))), toy_workload([0], 4)

    def executors(*patches: dict[str, Any]) -> int:
        (result,) = instance.simulate(policy(DAG, LONG_FIRST, *patches).compiled, [workload], record=True)
        assert result.decisions is not None
        return int(result.decisions[0, 7])

    assert executors() == 4
    assert executors({"when": "job_age_s < 1 s", "cap": 0.5}) == 2
    assert executors({"when": "job_age_s >= 1 s", "cap": 0.5}) == 4
    assert executors({"when": "always", "cap": 0.5}, {"when": "always", "cap": 0.75}) == 2
    assert executors({"when": "always", "cap": 0.01}) == 1, "who is chosen gets one"


def test_keep_local_keeps_the_freed_executor_in_its_job() -> None:
    """Two jobs of two stages each, one executor: without it the shortest work left is taken, wherever that is."""
    profiles = [[stage(4), stage(4, [0])], [stage(2), stage(1, [0])]]
    instance, workload = DagJobsInstance(compile_profiles(toy_trace(profiles))), toy_workload([0, 10], 1)
    shortest = {"stage": {"job_work_left_s": -1.0}, "limit": 1.0}
    plain = completions(policy(DAG, shortest), instance, workload)
    kept = completions(policy(DAG, shortest, {"when": "always", "do": "keep_local"}), instance, workload)
    assert plain[1] < plain[0]
    assert kept[0] < kept[1]


def test_idle_waits_where_the_problem_may() -> None:
    """The dip of the conformance tests: the job of 2 cores that starts at once is evicted in slot 2."""
    episode = toy([(0, 3, 1000, 9), (1, 3, 2000, 8)], [3000, 3000, 2000, 3000, 3000, 3000])
    eager = {"start": 1.0}
    assert run_compiled(episode, policy(DEFERRABLE, eager).compiled).measures["evictions_per_job"] == 0.5
    patched = policy(
        DEFERRABLE, eager, {"when": "room_least < 0 cores", "do": "idle", "because": "it would be evicted"}
    )
    assert patched.may_idle
    outcome = run_compiled(episode, patched.compiled)
    assert outcome.measures["evictions_per_job"] == 0
    assert outcome.measures["cost"] == pytest.approx(1 / 3), "the optimum"


def test_changed_decisions_are_counted_and_told() -> None:
    """Of the run with the patch; who is responsible is told, of several the one that counts first."""
    instance, workload = two_jobs()
    before = policy(DAG, LONG_FIRST)
    after = policy(DAG, LONG_FIRST, {"when": "job_tasks_left <= 3", "do": "prefer"}, {"when": "always", "cap": 1.0})
    changes = changes_of(before, after, instance, [workload, workload])
    assert changes.decisions == 4, "in each run one for the short job and one, once it is done, for the long one"
    assert (changes.candidate, changes.level) == (2, 0)
    assert changes.by_patch == {1: 2}
    assert [(example.episode, example.time_s, example.patch) for example in changes.examples] == [(0, 0, 1), (1, 0, 1)]
    assert changes.examples[0].after.candidate == 1
    assert changes.table.to_pylist() == [
        {"episode": episode, "decision": 0, "time_s": 0.0, "candidates": 2, "patch": 1}
        | {"before": 0, "before_level": 1, "after": 1, "after_level": 1}
        for episode in (0, 1)
    ]
    same = changes_of(after, after, instance, [workload])
    assert (same.examples, len(same.table)) == ([], 0)


def test_a_changed_level_stands_in_the_table_with_both() -> None:
    """One job of two stages on four executors, of which the second may have few: the first decision stays as it was."""
    profile = toy_trace([[stage(4), stage(4, [0])]])
    instance, workload = DagJobsInstance(compile_profiles(profile)), toy_workload([0], 4)
    before = policy(DAG, LONG_FIRST)
    after = policy(DAG, LONG_FIRST, {"when": "job_stages_left < 2 stages", "cap": 0.25})
    rows = changes_of(before, after, instance, [workload]).table.to_pylist()
    assert rows
    assert {(row["before"], row["after"]) for row in rows} == {(1, 1)}
    assert all(row["after_level"] < row["before_level"] == 4 for row in rows)
    assert {row["patch"] for row in rows} == {1}
    assert all(row["decision"] > 0 and row["time_s"] > 0 for row in rows)


def test_no_candidate_is_told_as_the_log_tells_it() -> None:
    """The dip: the second job waits, and there is no level."""
    episode = toy([(0, 3, 1000, 9), (1, 3, 2000, 8)], [3000, 3000, 2000, 3000, 3000, 3000])
    instance, entry = DeferrableJobs.__new__(DeferrableJobs), {"when": "room_least < 0 cores", "do": "idle"}
    rows = changes_of(
        policy(DEFERRABLE, {"start": 1.0}), policy(DEFERRABLE, {"start": 1.0}, entry), instance, [episode]
    )
    (row,) = {(row["before"], row["after"], row["before_level"], row["after_level"]) for row in rows.table.to_pylist()}
    assert row == (1, NONE, None, None)


def test_the_comparison_by_hand() -> None:
    instance, workload = two_jobs()
    before, after = policy(DAG, LONG_FIRST), policy(DAG, LONG_FIRST, {"when": "job_tasks_left <= 3", "do": "prefer"})
    instance.drawn = None
    compared = compare(before, after, heuristic(DAG, "fair"), instance, [workload], "two jobs")
    assert compared.after.objective == pytest.approx(0.280)
    assert compared.after.worst_job == pytest.approx(0.390)
    assert compared.after.tail == pytest.approx(0.170 + 0.95 * 0.220)
    assert compared.before.objective > compared.after.objective


@pytest.fixture(autouse=True)
def few_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some jobs on few executors: more than in a scenario hangs on a single one."""
    monkeypatch.setattr(safety, "NEAR", safety.LIMIT)


@pytest.fixture(scope="module", params=["dag_jobs", "deferrable_jobs"])
def problem(request: pytest.FixtureRequest) -> Any:
    return find_problem(request.param)


@pytest.fixture(scope="module")
def files(problem: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A trace, its episodes, a student, patches."""
    folder = tmp_path_factory.mktemp(problem.name)
    trace, workloads = drawn(problem, folder)
    first, *others = problem.choices
    name = {"dag_jobs": "job_fair_load", "deferrable_jobs": "job_duration_min"}[problem.name]
    least = {"dag_jobs": "job_work_left_s", "deferrable_jobs": name}[problem.name]
    scorers = {first.name: {least: -1.0}} | {choice.name: 1.0 for choice in others}
    policy(problem, scorers).write(folder / "mine.json")
    entry = {"when": f"{name} > 1", "do": "avoid", "because": "who has enough waits"}
    (folder / "patches.yaml").write_text(f"patches: {json.dumps([entry])}")
    asked = params.parse({"problem": problem.name, "seed": 3, **CASES[problem.name].params}, "test", whole=False)
    params.write_stage(params.stage_values(asked, "edge_cases"), "edge_cases", folder / "edge_cases.json")
    return {"trace": str(trace), "workloads": str(workloads), "student": str(folder / "mine.json")} | {
        "patches": str(folder / "patches.yaml"),
        "out": str(folder / "out"),
        "params": str(folder / "edge_cases.json"),
    }


def command(files: dict[str, str], **changed: Any) -> Any:
    """The command's result; a user's mistake is raised."""
    given = files | changed
    arguments = ["students", "patch", given["student"], "--patches", given["patches"], "--out", given["out"]]
    for option in ("trace", "workloads"):
        values = given[option] if isinstance(given[option], list) else [given[option]]
        arguments += [part for value in values for part in (f"--{option}", value)]
    if "edge_cases" in given:
        arguments += ["--edge-cases", given["edge_cases"], "--edge-episodes", "2"]
    found = CliRunner().invoke(app, arguments)
    if found.exception:
        raise found.exception
    return found


def test_the_command_tells_before_and_after_and_writes(problem: Any, files: dict[str, str], tmp_path: Path) -> None:
    out = str(tmp_path)
    told = command(files, workloads=[files["workloads"]] * 2, out=out).output
    assert told.count("before       after    change") == 2
    assert len(re.findall(r"Decisions changed: [\d,]+ of [\d,]+ \(", told)) == 2
    assert "patch 1: " in told
    assert "(who has enough waits)" in told
    table, metadata = read_table(tmp_path / "mine_changes.parquet", PATCH_CHANGES)
    assert set(table["load"].to_pylist()) <= {files["workloads"]}
    counted = [int(found.replace(",", "")) for found in re.findall(r"Decisions changed: ([\d,]+) of", told)]
    assert len(table) == sum(counted)
    assert len(table) or problem is DEFERRABLE, "whose few jobs have no other to give way to"
    assert (metadata["problem"], metadata["patches"][0]["because"]) == (problem.name, "who has enough waits")
    assert str(tmp_path / "mine_changes.parquet") in told
    patched = load_policy(tmp_path / "mine.json")
    assert patched.patches[0].because == "who has enough waits"
    assert patched.evidence["stress"]["worst"] <= safety.NEAR
    assert (tmp_path / "mine.txt").read_text() == reading.show(tmp_path / "mine.json")
    assert "because who has enough waits" in reading.show(tmp_path / "mine.json")
    # The file of patches is the whole of them: an empty one takes them off again.
    (tmp_path / "none.yaml").write_text("[]")
    command(files, student=str(tmp_path / "mine.json"), patches=str(tmp_path / "none.yaml"), out=str(tmp_path / "off"))
    assert load_policy(tmp_path / "off" / "mine.json").patches == ()


def test_edge_cases_come_after_the_normal_load(problem: Any, files: dict[str, str], tmp_path: Path) -> None:
    told = command(files, edge_cases=files["params"], out=str(tmp_path / "out")).output
    assert told.count("before       after    change") == 1 + len(problem.edge_cases)
    places = [
        told.index(f"edge case {name} ({case.label}): 2 validation ") for name, case in problem.edge_cases.items()
    ]
    assert 0 == told.index(f"{files['workloads']}: ") < places[0]
    assert places == sorted(places)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"], "what was drawn is gone"
    table, _ = read_table(tmp_path / "out" / "mine_changes.parquet", PATCH_CHANGES)
    assert set(table["load"].to_pylist()) <= {files["workloads"], *problem.edge_cases}
    if "giant_job" not in problem.edge_cases:
        return
    name = heuristic(problem, problem.baseline).name
    shown = {each.splitlines()[0]: each for each in re.split(r"\n(?=edge case )", told)}
    giant = next(text for load, text in shown.items() if load.startswith("edge case giant_job"))
    before, after = re.search(rf"worst of the hardest kind, times {name}'s +([\d.]+) +([\d.]+)", giant).groups()
    assert float(before) > 0 < float(after) and f"worst episode, times {name}'s" not in giant
    others = [text for load, text in shown.items() if not load.startswith("edge case giant_job")]
    assert all("hardest kind" not in text and f"worst episode, times {name}'s" in text for text in others)


def test_one_edge_case_is_enough_to_refuse(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever the normal load says: every load after it is asked."""
    asked: list[str] = []
    monkeypatch.setattr(patch_command, "refuse_worse", lambda compared, _: asked.append(compared.load))
    command(files, edge_cases=files["params"], out=str(tmp_path / "out"))
    assert [load.split()[2] for load in asked] == list(load_policy(files["student"]).problem.edge_cases)


def test_wrong_params_of_edge_cases_are_one_line(files: dict[str, str], problem: Any, tmp_path: Path) -> None:
    other = {"dag_jobs": "deferrable_jobs", "deferrable_jobs": "dag_jobs"}[problem.name]
    asked = params.parse({"problem": other}, "test")
    params.write_stage(params.stage_values(asked, "edge_cases"), "edge_cases", tmp_path / "other.json")
    params.write_stage(params.stage_values(asked, "figures"), "figures", tmp_path / "figures.json")
    for name, told in (
        ("other", f"other.json: of the problem {other}, and the policy is of {problem.name}"),
        ("figures", "figures.json: the stage edge_cases needs the sections seed, traces"),
        ("missing", "missing.json: no such file"),
    ):
        with pytest.raises(ClearschedError, match=re.escape(told)) as caught:
            command(files, edge_cases=str(tmp_path / f"{name}.json"), out=str(tmp_path / "out"))
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_what_strays_is_refused_and_nothing_written(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And whether it did before: whoever has patched what was unsafe looks for the fault in vain."""
    monkeypatch.setattr(safety, "NEAR", 0.1)
    line = (
        r"the patches are refused, nothing was written: with them, on its worst episode it takes [\d.]+ times .*; "
        r"without them it is not safe either: on its worst episode it takes [\d.]+ times the baseline's \(the baseline"
    )
    with pytest.raises(ClearschedError, match=line):
        command(files, out=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_refusal_tells_that_it_is_safe_without_the_patches(
    files: dict[str, str], problem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = load_policy(files["student"])
    patched = replace(mine, patches=read_patches([ALWAYS], problem, "x"))
    monkeypatch.setattr(
        safety.Check, "verdict", lambda _, policy: Verdict(3.0 if policy.patches else 1.0, 8, of_limit=0.5)
    )
    with pytest.raises(
        ClearschedError, match=r"it takes 3.00 times the baseline's; without them it is safe \(the base"
    ):
        patching.checked(patched, problem.open(Path(files["trace"]), Path(files["workloads"])))


def test_an_edge_case_may_stray_no_further_than_before(files: dict[str, str], problem: Any) -> None:
    mine = load_policy(files["student"])
    instance = problem.open(Path(files["trace"]), Path(files["workloads"]))
    episodes = instance.split("validation")
    compared = compare(mine, mine, heuristic(problem, problem.baseline), instance, episodes, "edge")

    def with_verdict(was: Verdict, now: Verdict) -> Compared:
        return compared._replace(
            before=compared.before._replace(verdict=was), after=compared.after._replace(verdict=now)
        )

    patching.refuse_worse(with_verdict(Verdict(2.0, 8), Verdict(1.9, 8)), "x")
    patching.refuse_worse(with_verdict(Verdict(1.0, 8, 3.0), Verdict(1.4, 8, 2.9, hard=1.5)), "x")
    allowed = f"at most {safety.NEAR:g} times"
    with pytest.raises(
        ClearschedError, match=rf"on edge an episode takes 2.10 times .* \(2.00 without them\) .* {allowed}"
    ):
        patching.refuse_worse(with_verdict(Verdict(2.0, 8), Verdict(2.1, 8)), "x")
    with pytest.raises(ClearschedError, match=r"on edge a backlog is cleared after 1.70 times its time \(1.10 without"):
        patching.refuse_worse(with_verdict(Verdict(1.0, 8, cleared=1.1), Verdict(1.0, 8, cleared=1.7)), "x")
    with pytest.raises(ClearschedError, match=r"on edge an episode of the hardest kind takes 1.60 times"):
        patching.refuse_worse(with_verdict(Verdict(1.0, 8, hard=1.4), Verdict(1.0, 8, hard=1.6)), "x")
    with pytest.raises(ClearschedError, match=r"on edge a measure is 1.20 times its limit \(0.30 without them\)"):
        patching.refuse_worse(with_verdict(Verdict(1.0, 8, 0.3), Verdict(1.0, 8, 1.2)), "x")


def test_wrong_files_are_one_line(files: dict[str, str], problem: Any, tmp_path: Path) -> None:
    def told(text: str) -> str:
        (tmp_path / "p.yaml").write_text(text)
        with pytest.raises(ClearschedError) as caught:
            command(files, patches=str(tmp_path / "p.yaml"))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "p.yaml: line 1: not valid YAML" in told("- when: [")
    assert "p.yaml: a list of patches expected" in told("when: always")
    assert "p.yaml: patch 1: when: unknown feature 'jobs_age'" in told("- {when: jobs_age > 3, do: avoid}")
    with pytest.raises(ClearschedError, match="a teacher or a heuristic takes none"):
        command(files, student="teacher.safetensors")
    with pytest.raises(ClearschedError, match="--trace: 3 given: one for all workloads, or one for each of 1"):
        command(files, trace=[files["trace"]] * 3)
    assert not Path(files["out"]).exists()


def test_params_tell_a_broken_patch_before_anything_runs() -> None:
    good = {"when": "job_age_s > 600 s", "do": "prefer", "because": "long waiters", "priority": 1}
    read = params.parse({"students": {"patches": [good]}}, "params.yaml")
    assert read.students.patches[0].priority == 1
    line = r"^params.yaml: students.patches: patch 2: when: unknown feature 'job_ages_s'; did you mean job_age_s\?$"
    with pytest.raises(ClearschedError, match=line):
        params.parse({"students": {"patches": [good, good | {"when": "job_ages_s > 3"}]}}, "params.yaml")
    with pytest.raises(ClearschedError, match=r"students.patches\[0\].cap: 3 is not allowed"):
        params.parse({"students": {"patches": [{"when": "always", "cap": 3}]}}, "params.yaml")


def test_a_fit_lays_the_patches_of_params_on_its_student(files: dict[str, str], problem: Any) -> None:
    mine = load_policy(files["student"])
    instance = problem.open(Path(files["trace"]), Path(files["workloads"]))
    entry = json.loads(Path(files["patches"]).read_text().removeprefix("patches: "))
    settings = params.parse({"problem": problem.name, "students": {"patches": entry}}, "test", whole=False).students
    laid = patching.laid_on(settings, mine, instance)
    assert laid.patches == replace(mine, patches=read_patches(entry, problem, "x")).patches
    assert laid.evidence["stress"]["heuristic"] == problem.baseline
    assert patching.laid_on(settings.model_copy(update={"patches": ()}), mine, instance) is mine
    assert np.isfinite(instance.simulate(laid.compiled, instance.split("test"))[0].scale_s)


def test_patches_of_params_are_checked_with_the_guard_that_the_student_will_have(
    files: dict[str, str], problem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who is safe by a guard alone could not be patched: it strays with patches and without them."""
    mine = load_policy(files["student"])
    instance = problem.open(Path(files["trace"]), Path(files["workloads"]))
    entry = json.loads(Path(files["patches"]).read_text().removeprefix("patches: "))
    given = {"guard": {"heuristic": problem.baseline, "settings": {}}, "patches": entry}
    settings = params.parse({"problem": problem.name, "students": given}, "test", whole=False).students
    asked: list[Any] = []

    def judged(_: Any, policies: list[Any], *__: Any) -> list[Any]:
        asked.extend(policies)
        return [safety.Verdict(9.0 if policy.guard is None else 1.0, 3) for policy in policies]

    monkeypatch.setattr(patching, "judge_whole", judged)
    laid = patching.laid_on(settings, mine, instance)
    bare = replace(mine, patches=laid.patches)
    assert laid.guard == measured(settings.guard, bare, instance) and laid.guard is not None
    assert [policy.guard for policy in asked] == [laid.guard] * 2 and not asked[1].patches
    alone = settings.model_copy(update={"guard": settings.guard.model_copy(update={"heuristic": None})})
    with pytest.raises(ClearschedError, match="without them it is not safe either"):
        patching.laid_on(alone, mine, instance)


def test_a_fit_whose_patches_are_refused_is_kept_without_them(
    files: dict[str, str], problem: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What takes long in a fit is left out; the rest is `fit_one`."""
    mine = load_policy(files["student"])
    settings = params.parse({"problem": problem.name, "students": {"patches": [ALWAYS]}}, "test", whole=False).students
    asked = params.defaults(problem.name).model_copy(update={"students": settings})
    monkeypatch.setattr(experts, "load_expert", lambda *_: SimpleNamespace(name="expert"))
    monkeypatch.setattr(fitting, "check_log", lambda *_: None)
    monkeypatch.setattr(fitting, "task_of", lambda *_: SimpleNamespace(name="rule_list"))
    monkeypatch.setattr(fitting, "picked", lambda *_: mine)
    trace, workloads = Path(files["trace"]), Path(files["workloads"])

    def fit() -> Path:
        return students.fit(asked, "rule_list", trace, workloads, None, problem.baseline, trace, tmp_path)

    kept = tmp_path / "rule_list_unpatched"
    monkeypatch.setattr(safety, "NEAR", 0.1)
    line = rf"^{mine.name}: the patches are refused, what was fitted is kept without them in {kept}: with them, on its"
    with pytest.raises(ClearschedError, match=line):
        fit()
    assert sorted(path.name for path in tmp_path.iterdir()) == [kept.name, "rule_list_visits"]
    assert load_policy(kept / "rule_list.json").scorers == mine.scorers
    assert load_policy(kept / "rule_list.json").patches == ()
    assert (kept / "rule_list.txt").read_text() == reading.show(kept / "rule_list.json")
    monkeypatch.setattr(safety, "NEAR", 100.0)
    assert load_policy(fit()).patches
    assert not kept.exists(), "it would be of another fit"


def test_the_worked_example_is_what_the_page_prints() -> None:
    """Its file of patches, its scenario; and nothing happens where a move takes as long as by default."""
    root = Path(__file__).parents[1]
    text = (root / "examples" / "patches" / "patches.yaml").read_text("utf-8")
    page = (root / "docs" / "patches.md").read_text("utf-8")
    assert text[text.index("- when") :] in page
    (patch,) = patching.read_file(root / "examples" / "patches" / "patches.yaml", DAG)
    slow = params.load(root / "examples" / "patches" / "slow_moves.yaml").workload
    usual = params.defaults().workload
    rows = np.zeros((2, len(DAG.choices[0].features)), np.float32)
    names = [feature.name for feature in DAG.choices[0].features]
    rows[:, names.index("job_fair_load")] = 0.6
    rows[:, names.index("job_move_s")] = [usual.moving_delay_s, slow.moving_delay_s]
    rows[:, names.index("job_age_s")] = [0, 1]
    mine = policy(DAG, {"stage": {"job_age_s": 1.0}, "limit": 1.0})
    assert mine.scores(rows).argmax() == 1
    assert replace(mine, patches=(patch,)).scores(rows).argmax() == 0


def test_the_figure_of_the_rules_says_that_there_are_patches() -> None:
    rules = {"stage": {"rules": [{"if": "otherwise", "then": 1.0}]}, "limit": 1.0}
    patched = policy(DAG, rules, {"when": "always", "do": "prefer"})
    plain = replace(patched, patches=())
    notes = [next(iter(blocks_of(one, Subject(DAG, {})))).note for one in (plain, patched)]
    assert notes == ["", "On top lies 1 patch of a person: see the student's text."]
