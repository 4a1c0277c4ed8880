"""The benchmarks run, on tiny settings, and count what they say they count. No times are asserted."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from matplotlib import rc_context

from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.params import stage_values, write_stage
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.families import Reserve, StayAndMove
from clearsched.problems.dag_jobs.instance import open_instance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload, result_of, simulate, start
from clearsched.problems.dag_jobs.traces import write_trace
from clearsched.problems.dag_jobs.workloads import build
from clearsched.problems.dag_jobs.workloads.stress import like
from clearsched.schemas import COMPARISON, EDGE_CASES, SEEDS, write_table
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.scorer import read_scorer
from clearsched.search.sampling import ground_of
from clearsched.search.searching import policy_of
from clearsched.shipped import store as shipped
from conformance.test_conformance import drawn
from stages import stage_params
from toys import micro_trace, stage, toy_trace

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.fixture(scope="module")
def embedded() -> Profiles:
    return compile_profiles(micro_trace())


def script(name: str) -> ModuleType:
    return import_module(name)


def run(name: str, *arguments: str) -> str:
    answer = subprocess.run([sys.executable, FOLDER / name, *arguments], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def num_tasks(profiles: Profiles, workload: Workload) -> int:
    """Tasks of a workload, counted from the profiles."""
    arrays = profiles.arrays
    return sum(int(arrays.num_tasks[arrays.stage_start[p] : arrays.stage_start[p + 1]].sum()) for p in workload.profile)


def test_the_loads_of_the_switch_are_those_of_the_phases() -> None:
    """Calms of 600 s and bursts of 200 s that are five times as busy, at 0.7 on average."""
    loads = script("switch").loads(ROOT / "scenarios" / "changing-load.yaml")
    quiet, crowded = loads["quiet"]["load"], loads["crowded"]["load"]
    assert crowded == pytest.approx(5 * quiet)
    assert (600 * quiet + 200 * crowded) / 800 == pytest.approx(loads["changing"]["load"]) == 0.7
    assert loads["changing"]["arrivals"] == "bursty" and "arrivals" not in loads["quiet"]


def test_a_guard_beside_a_giant_is_told_by_name_and_parameters() -> None:
    guard_of = script("stress").guard_of
    told = guard_of("capped_srpt:p=0,m=1.25", 3.0)
    assert (told.heuristic, told.settings) == ("capped_srpt", {"p": 0.0, "m": 1.25})
    assert (told.margin, told.gauges) == (3.0, ("largest_s",))
    with pytest.raises(ClearschedError, match="expected NAME=NUMBER"):
        guard_of("capped_srpt:p", 3.0)
    assert guard_of("local_srpt", 1.0).settings == {} and guard_of("none", 1.0).heuristic is None


def test_simulator_prints_one_json_object() -> None:
    settings = script("settings")
    embedded = compile_profiles(settings.load(None), settings.WARMUP_DELAY_MS)
    answer = json.loads(run("simulator.py", "--json", "--cpu-seconds", "0", "--reference", "1"))
    per_second = ("task_events_per_cpu_second", "episodes_per_cpu_second", "decisions_per_cpu_second")
    assert {*per_second, "times_faster_than_reference"} <= set(answer)
    for name in ("a", "b"):
        assert all(answer[key][name] > 0 for key in answer)
        # One batch of five episodes: the rates are in the ratio of its counts.
        workloads = [settings.SETTINGS[name].episode(embedded.trace.num_profiles, 0, index) for index in range(5)]
        expected = sum(num_tasks(embedded, workload) for workload in workloads) / 5
        assert answer[per_second[0]][name] / answer[per_second[1]][name] == pytest.approx(expected)
        fair = heuristic("fair").compiled
        expected = sum(simulate(embedded, workload, fair).num_decisions for workload in workloads) / 5
        assert answer[per_second[2]][name] / answer[per_second[1]][name] == pytest.approx(expected)


def test_table(embedded: Profiles) -> None:
    table = script("table")
    lines = table.measure(embedded, None, 0.0, 1)
    assert all(math.isfinite(row.a) and row.a > 0 and row.b > 0 for row in lines)
    plain = next(row for row in lines if "plain" in row.what)
    fast = next(row for row in lines if row.what == "task events")
    assert fast.ratio_a == pytest.approx(fast.a / plain.a) and fast.ratio_b == pytest.approx(fast.b / plain.b)
    text = table.format_table(lines).splitlines()
    assert len(text) == len(lines) + 1
    assert all(row.what in line for row, line in zip(lines, text[1:], strict=True))


def test_numbers_of_the_table() -> None:
    table = script("table")
    assert [table.format_number(value) for value in (None, 1234567.8, 128.4, 60.24, 0.3551)] == [
        "-",
        "1,234,568",
        "128",
        "60.2",
        "0.355",
    ]


def test_the_feature_matrix_is_filled_at_every_decision(embedded: Profiles) -> None:
    policies, settings = script("policies"), script("settings")
    setting = settings.SETTINGS["c"]
    state, policy = start(embedded, setting.episode(embedded.trace.num_profiles, 0, 0)), heuristic("fair").compiled
    decisions, candidates = policies.run(state, policy, policies.new_scratch(state), True)
    expected = simulate(embedded, setting.episode(embedded.trace.num_profiles, 0, 0), policy)
    assert decisions == expected.num_decisions
    assert result_of(state).completion_ms.tolist() == expected.completion_ms.tolist()
    found = policies.matrices(embedded, setting)
    assert sum(len(rows) for rows in found) == candidates
    assert all(np.isfinite(rows).all() for rows in found)


def test_trees_are_scored_as_they_are_walked(embedded: Profiles) -> None:
    policies, settings = script("policies"), script("settings")
    seen = np.concatenate(policies.matrices(embedded, settings.SETTINGS["c"]))
    seen = seen[:: len(seen) // 40][:40]
    generator = np.random.default_rng(0)
    trees = policies.pack([policies.fit_like(generator, seen, 3) for _ in range(50)], seen.shape[1], "test")
    rows = policies.new_rows(len(seen), seen.shape[1])
    rows[: len(seen)] = seen
    fast, walked = np.zeros(len(seen) + policies.BLOCK), np.zeros(len(seen) + policies.BLOCK)
    policies.write_scores(policies.Packed(trees=trees), rows, len(seen), fast)
    t = trees
    policies.add_walk(t.root, t.feature, t.threshold, t.left, t.right, t.value, rows, len(seen), walked)
    assert fast[: len(seen)].tolist() == walked[: len(seen)].tolist()
    assert len(set(fast[: len(seen)])) > 5


def test_scaling_counts_tasks_and_draws(embedded: Profiles, tmp_path: Path) -> None:
    scaling, settings, style = script("scaling"), script("settings"), import_module("clearsched.figures.style")
    points = [
        scaling.batch_point(embedded, curve, executors, 3, 0.0)
        for executors in (2, 4)
        for curve in ("jobs in proportion", "20 jobs")
    ]
    workload = settings.Setting("a", 3, 2, 0).episode(embedded.trace.num_profiles, 0, 0)
    assert points[0].task_events == num_tasks(embedded, workload)
    assert points[0].event_ns == pytest.approx(1e9 * points[0].cpu_s / points[0].task_events)
    with rc_context(style.RC):
        style.save(scaling.draw_executors(points), tmp_path / "executors", 50)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".png", ".svg"]
    assert len((tmp_path / "executors.csv").read_text().splitlines()) == 5


def test_scaling_measures_replays_in_an_own_process(tmp_path: Path) -> None:
    shown = run("scaling.py", "--executors", "", "--jobs", "5", "--out", str(tmp_path)).splitlines()
    assert shown[0].split()[:5] == ["replay", "50", "executors", "5", "jobs"]
    assert shown[1:] == [str(tmp_path / f"jobs.{suffix}") for suffix in ("svg", "png", "csv")]


def test_the_branches_that_record_are_found(tmp_path: Path) -> None:
    recording = script("recording")
    assert recording.cut_out(tmp_path) >= 2
    for path in (tmp_path / "clearsched" / "problems" / "dag_jobs" / "simulator").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        compile(text, path, "exec")
        assert not recording.BRANCH.search(text) or path.name not in ("engine.py", "executors.py", "logs.py")


def test_quality_names_every_policy() -> None:
    answer = json.loads(run("quality.py", "--settings", "c", "--episodes", "2", "--tuning-episodes", "1", "--json"))
    names = [row["policy"] for row in answer["c"]]
    assert names == ["fifo", "sjf_cp", "fair", "weighted_fair", "wsjf", "capped_srpt"]
    assert all(row["mean_jct_s"] > 0 for row in answer["c"])


def test_corrections_are_measured_on_the_same_episodes() -> None:
    rows = json.loads(run("corrections.py", "--settings", "c", "--episodes", "2", "--json"))["c"]
    assert {row["policy"] for row in rows} == {"fifo", "fair", "capped_srpt"}
    for row in rows:
        change = 100 * (row["changed_jct_s"] / row["published_jct_s"] - 1)
        assert row["percent"] == pytest.approx(change)
        assert "stragglers" not in row["change"] or change > 0
        # Jobs at time 0 leave no executor idle that a stage could use, and the embedded levels are neighbours.
        assert row["change"] not in ("work_conserving", "right_interpolation") or change == 0


def test_edge_cases_are_measured_by_another_seed(tmp_path: Path) -> None:
    """On the params and trace of a run: every case that it can have, each policy next to fair."""
    params = stage_params(workload={"jobs": 6, "executors": 4, "episodes": {"train": 1, "validation": 1, "test": 2}})
    (tmp_path / "params").mkdir()
    for part in ("traces", "workloads"):
        write_stage(stage_values(params, part), part, tmp_path / "params" / f"{part}.json")
    write_trace(tmp_path / "traces" / "trace.parquet", micro_trace())
    policy = shipped.FOLDER / "default" / "stay_and_move.json"
    rows = json.loads(run("edge_cases.py", str(tmp_path), str(policy), "--episodes", "2", "--json"))
    cases = [row["case"] for row in rows]
    assert cases[0] == "normal" and {"giant_job", "tiny_jobs", "unseen_jobs"} < set(cases)
    assert all(row["episodes"] == 2 and 0 < row["to_fair"] <= row["worst_to_fair"] for row in rows)


def test_worse_forecasts_are_told_next_to_fifo(tmp_path: Path) -> None:
    """Who reads no forecast comes to the same whatever it says; a guard that is always on is its heuristic."""
    problem = find_problem("deferrable_jobs")
    trace, workloads = drawn(problem, tmp_path)
    names = [feature.name for feature in problem.choices[0].features]
    waits = ScoredPolicy("waits", problem, {"start": read_scorer({"room_least": 1.0}, names, "x")}, none=True)
    waits.write(tmp_path / "waits.json")
    forecasts = script("forecasts")
    instance = problem.open(trace, workloads)
    asked = ["fifo", "edf", "threshold:-1.5,0.25", str(tmp_path / "waits.json")]
    policies = forecasts.policies_of(asked, [-1.5], [1.0, 1.25], instance)
    rows = {(row["policy"], row["times"]): row for row in forecasts.measure(policies, instance, (1.0, 4.0))}
    assert len(rows) == 2 * 6
    for name in ("fifo", "edf"):
        assert rows[name, 1.0] == rows[name, 4.0] | {"times": 1.0}
    assert rows["fifo", 4.0]["worst_to_fifo"] == 1.0 and rows["fifo", 4.0]["above"] == 0
    guarded = "waits, threshold (-1.5) from 1 times on"
    assert rows[guarded, 1.0] == rows["waits", 1.0] | {"policy": guarded}, "no guard takes over where it was measured"
    assert rows[guarded, 4.0]["cost"] != rows["waits", 4.0]["cost"], "and it does where forecasts are worse"


def test_a_flaw_is_measured_by_its_correction(tmp_path: Path) -> None:
    """Tasks last longer the more executors a job has: near the next level published rules mostly draw the shorter."""
    split = {"train": 2, "validation": 1, "test": 1}
    params = stage_params(workload={"jobs": 8, "executors": 9, "load": 1.5, "episodes": split})
    levels = {5: [1000], 10: [9000]}
    trace = toy_trace([[stage(60, first_wave=levels, rest_wave=levels, fresh=levels)]], levels=(5, 10))
    (tmp_path / "traces").mkdir()
    write_trace(tmp_path / "traces" / "trace.parquet", trace)
    build(params, tmp_path / "traces" / "trace.parquet", tmp_path / "traces" / "workloads.parquet")
    rows = json.loads(run("corrected.py", str(tmp_path), "fair", "fifo", "--episodes", "3", "--json"))
    assert [row["policy"] for row in rows] == ["fair", "fifo"] and rows[0]["percent"] == [0, 0]
    own, fair = (row["jct_s"] for row in reversed(rows))
    assert own[1] > 2 * own[0], "under FIFO a job has nine executors: one draw of five is the longer, and four of five"
    assert rows[1]["percent"] == pytest.approx(
        [100 * (fifo / other - 1) for fifo, other in zip(own, fair, strict=True)]
    )


def test_what_parts_of_a_reserve_are_worth_is_measured(tmp_path: Path) -> None:
    """Without its caps for large jobs it is stay-and-move with the same numbers, to the last digit."""
    sizes = {"jobs": 6, "executors": 8, "load": 1.5, "episodes": {"train": 3, "validation": 1, "test": 1}}
    params = stage_params(workload={**sizes, "stress": 0.02, "safety_cases": ["executors_lost"]})
    trace, workloads = (tmp_path / f"traces/{name}.parquet" for name in ("trace", "workloads"))
    trace.parent.mkdir()
    write_trace(trace, micro_trace())
    build(params, trace, workloads)
    instance = open_instance(trace, workloads)
    train = instance.split("train")
    ground = ground_of(instance, train, heuristic("fair").compiled)
    programs = [family(ground) for family in (Reserve, StayAndMove)]
    values = np.array([number.start for number in programs[0].numbers])
    values[-3:] = -2.0, 0.5, 1.0  # nearly every job is large, and leaves half
    own, plain = (
        policy_of("found", find_problem("dag_jobs"), True, False, program, values[: len(program.numbers)])
        for program in programs
    )
    own.write(tmp_path / "reserve.json")
    measured = run("reserve.py", str(tmp_path), str(tmp_path / "reserve.json"), "--fresh", "5", "--seed", "3", "--json")
    rows = {(row["without"], row["streams"]): row for row in json.loads(measured)}
    assert {streams for _, streams in rows} == {"the check", "drawn anew", "executors_lost"}
    assert {without for without, _ in rows} >= {
        "(nothing)",
        "what it holds",
        "the reserve",
        "idling",
        "both corrections",
    }
    drawn = [*instance.stressed_by(like(train, 5), train, 3)]
    for name, policy in (("(nothing)", own), ("the reserve", plain)):
        expected = np.mean([outcome.measures["jct_s"] for outcome in policy.run(instance, drawn)])
        assert rows[name, "drawn anew"]["jct_s"] == pytest.approx(expected)
    assert rows["(nothing)", "drawn anew"]["jct_s"] != rows["the reserve", "drawn anew"]["jct_s"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler `cc`")
def test_exported_code_is_measured() -> None:
    answer = json.loads(run("export.py", "--cpu-seconds", "0", "--json"))["us_a_decision"]
    assert list(answer) == ["stay_and_move", "rule_list", "boosted_trees"]
    assert all(0 < cost < 1e4 for cost in answer.values())


def test_an_exported_network_is_measured() -> None:
    pytest.importorskip("onnx", reason="no onnx")
    pytest.importorskip("onnxruntime", reason="no onnxruntime")
    answer = json.loads(run("export_network.py", "--cpu-seconds", "0", "--json"))
    assert all(value > 0 for value in answer.values())
    assert answer["stages_a_decision"] > answer["candidates_a_decision"] > 1


def test_a_trace_that_is_not_there_is_told() -> None:
    answer = subprocess.run(
        [sys.executable, FOLDER / "simulator.py", "--profiles", "none.parquet"], capture_output=True, text=True
    )
    assert answer.returncode == 2
    assert "none.parquet" in answer.stderr.splitlines()[-1] and "Traceback" not in answer.stderr


def test_the_other_fair_is_fair_where_a_job_is_alone(embedded: Profiles) -> None:
    """All shares are one job's; with several jobs the two rules differ."""
    published = script("published")
    instance = published.DagJobsInstance(embedded)
    alone = [Workload([profile], [0], 6, 1000, seed=profile) for profile in (3, 40, 77)]
    for every_job in (True, False):
        found = published.mean_jct_s(published.OtherFair(every_job), instance, alone)
        assert found == pytest.approx(published.mean_jct_s(heuristic("fair"), instance, alone), rel=0.1)
    several = [Workload([3, 40, 77, 9], [0, 0, 0, 0], 6, 1000, seed=1)]
    both = [published.mean_jct_s(published.OtherFair(every_job), instance, several)[0] for every_job in (True, False)]
    assert both[0] != both[1]


def test_a_ratio_and_its_interval() -> None:
    mid, low, high = script("published").ratio(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    assert (mid, low, high) == pytest.approx((1.0, 0.5, 1.5))


def test_scenarios_are_told_by_what_their_runs_wrote(tmp_path: Path) -> None:
    """Of every learned policy the most next to the baseline: on test, with any seed, on edge cases, by its check."""
    told = {"measure": "jct_s", "unit": "s", "mode": "argmax", "settings": "", "episodes": 2, "reference": "fair"}
    numbers = dict.fromkeys(("ci_low", "ci_high", "worst", "difference_low", "difference_high"), 0.0)
    rows = [
        {"policy": "fair", "kind": "heuristic", "mean": 10.0, "difference": 0.0, "worst_to_baseline": 1.0},
        {"policy": "teacher", "kind": "teacher", "mean": 8.0, "difference": -2.0, "worst_to_baseline": 0.9}
        | {"seeds": 2, "seeds_difference": -1.5, "seeds_low": -3.0, "seeds_high": 1.0},
        {"policy": "rule_list", "kind": "student", "mean": 9.0, "difference": -1.0, "worst_to_baseline": 1.1},
    ]
    rows = [told | numbers | row for row in rows]
    seeds = [("teacher", 0, 0.9), ("teacher", 1, 1.55), ("rule_list", 0, 1.1)]
    by_seed = [
        {"policy": name, "kind": "student", "seed": seed, "chosen": not seed, "mean": 8.0, "worst": 9.0}
        | {"worst_to_baseline": most}
        for name, seed, most in seeds
    ]
    cases = [
        row | {"edge_case": case, "label": case, "worst_to_baseline": most}
        for row in rows[1:]
        for case, most in (("normal", 0.8), ("giant_job", 1.25))
    ]
    folder = tmp_path / "toy"
    tables = {
        "evaluation/comparison": (rows, COMPARISON),
        "evaluation/seeds": (by_seed, SEEDS),
        "edge_cases/edge_cases": (cases, EDGE_CASES),
    }
    for name, (content, schema) in tables.items():
        write_table(folder / f"{name}.parquet", pa.Table.from_pylist(content, schema), schema, {"objective": "jct_s"})
    stress = {"worst": 1.05, "end": 1.1, "cleared": 0.9, "of_limit": 0.1, "hard": 1.6, "batch_end": 0.0}
    write_json(folder / "teacher/teacher.json", {"stress": stress})
    write_json(folder / "students/rule_list.json", {"stress": stress | {"hard": 1.3}})
    network, rules = json.loads(run("scenarios.py", str(folder), "--json"))
    assert (network["difference"], rules["difference"]) == ("-15.0 (-30.0 to +10.0)", "-10.0 (+0.0 to +0.0)")
    assert (network["test"], network["seeds"], network["edge"], network["case"]) == (0.9, 1.55, 1.25, "giant_job")
    assert network["verdict"].startswith("not safe: on an episode of the hardest kind it takes 1.60 times")
    assert (rules["verdict"], rules["check"], rules["end"]) == ("safe", 1.05, 1.1)
    shutil.rmtree(folder / "edge_cases")
    assert run("scenarios.py", str(folder)).splitlines()[2].startswith("| toy | teacher | 8 | -15.0 (-30.0 to +10.0) |")
