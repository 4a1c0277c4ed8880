"""The papers' figures and claims, from made-up runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from typer.testing import CliRunner

from clearsched import figures
from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.evaluation.significance import holm
from clearsched.evaluation.statistics import Bootstrap, Interval
from clearsched.figures import style
from clearsched.imports import PACKAGE
from clearsched.paper import captions, decima_optimality, drawing, hu_patch, judging, optima
from clearsched.paper.bases import params_of, scenario_name
from clearsched.paper.decima_job_sizes import bins_of
from clearsched.paper.decima_learning import curve_of
from clearsched.paper.decima_stream import in_system, moving_mean
from clearsched.paper.decision_times import between_events
from clearsched.paper.experiments import ABLATED, ABLATION_LOADS, EXPERIMENTS, PATCH
from clearsched.paper.kinds import (
    PAPER_FIGURES,
    experiments_of,
    jobs_file,
    runs_of,
    seeds_file,
)
from clearsched.paper.marks import banded, strength
from clearsched.paper.material import HEADER, Material, Runs, adjusted, levels
from clearsched.paper.published import CLAIMS, Claim, figures_claimed
from clearsched.paper.running import busy_s, with_patches
from clearsched.paper.tables import BY_SEED, JOBS, LATENCY
from clearsched.params import parse, stage_values, write_stage
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.schemas import OPTIMALITY
from clearsched.schemas import FIDELITY, LEARNING_CURVE, STUDENTS_PARETO, read_table, write_table
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.teacher.times import write_times
from paper_toys import own, read_csv

POLICIES = {
    "fifo": "heuristic",
    "fair": "heuristic",
    "weighted_fair": "heuristic",
    "capped_srpt": "heuristic",
    "stay_and_move": "searched",
    "teacher": "teacher",
    "rule_list": "student",
    "switch": "student",
    "rule_list_patched": "student",
}
"""The last two run in experiments of their own; the made-up runs have all in all of them."""


def made_jobs(rng: np.random.Generator, tasks: bool) -> pa.Table:
    """Nine policies, the later the better, on four episodes of nine jobs."""
    work = rng.uniform(10, 500, 36)
    arrival = np.tile(np.arange(9) * 10.0, 4)
    rows = []
    for place, (policy, kind) in enumerate(POLICIES.items()):
        jct = work * (1.5 - 0.12 * place) + rng.uniform(0, 1, 36)
        for job in range(36):
            rows.append(
                {
                    "policy": policy,
                    "kind": kind,
                    "episode": job // 9,
                    "job": job % 9,
                    "arrival_s": arrival[job],
                    "jct_s": jct[job],
                    "work_s": work[job],
                    "busy_s": work[job] * 1.2 if tasks else None,
                }
            )
    return pa.Table.from_pylist(rows, schema=JOBS)


SHIFTS_S = {0: 0.0, 1: 30.0, 2: -15.0}
"""How much longer jobs take under the networks of other training seeds."""


def three_teachers(jobs: pa.Table) -> pa.Table:
    """What three training seeds of the teacher came to, on average worse than the one that was chosen."""
    own = Runs(jobs, {}, Bootstrap()).by_episode("teacher")
    rows = [
        {"policy": "teacher", "seed": seed, "chosen": not seed, "episode": episode, "jct_s": jct_s + shift}
        for seed, shift in SHIFTS_S.items()
        for episode, jct_s in enumerate(own)
    ]
    return pa.Table.from_pylist(rows, schema=BY_SEED)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with made-up data of everything that figures read."""
    folder, rng = tmp_path_factory.mktemp("results"), np.random.default_rng(1)
    for name, experiment in EXPERIMENTS.items():
        told = {"experiment": name, "setting": "4 test episodes of 9 jobs on 6 executors", "source": "tpch-spark"}
        jobs = made_jobs(rng, experiment.tasks)
        write_table(folder / jobs_file(name, "smoke"), jobs, JOBS, told)
        write_table(folder / seeds_file(name, "smoke"), three_teachers(jobs), BY_SEED, told)
    whole = dict.fromkeys(FIDELITY.names)
    faithful = [
        whole | {"policy": policy, "choice": choice, "decisions_of": of, "part": part, "decisions": 7, "trivial": 1,
                 "top1": share, "top1_low": share - 0.1, "top1_high": None if of == "real" else share + 0.05}
        for policy in ("rule_list", "boosted_trees")
        for choice, of, part, share in (
            ("stage", "all", "whole", 0.9), ("stage", "real", "whole", 0.7), ("stage", "all", "group", 0.8),
            ("limit", "all", "whole", 0.6),
        )
    ]  # fmt: skip
    fidelity = pa.Table.from_pylist(faithful, schema=FIDELITY)
    for base in ("stream", "imitated"):
        told = {"setting": "logged decisions of 2 validation episodes", "source": "tpch-spark"}
        write_table(folder / f"smoke-{base}/paper/fidelity.parquet", fidelity, FIDELITY, told)
    sized = [
        dict.fromkeys(STUDENTS_PARETO.names)
        | {"kind": kind, "by": "", "size": size, "safe": True, "picked": False, "complexity": size, "mean": 20.0,
           "difference_percent": 8.0 / size, "difference_low": 4.0 / size, "difference_high": 12.0 / size,
           "p": 0.001 * size, "p_holm": 0.004 * size, "worst": 40.0, "beside": [], "top1": 0.9 - 1 / size}
        for kind in ("rule_list", "pruned_tree")
        for size in (2, 8, 32)
    ]  # fmt: skip
    pareto = pa.Table.from_pylist(sized, schema=STUDENTS_PARETO)
    write_table(folder / "smoke-batch/students_pareto/students_pareto.parquet", pareto, STUDENTS_PARETO, {})
    learned = [
        dict.fromkeys(LEARNING_CURVE.names)
        | {"phase": phase, "iteration": n, "episodes": 10 * (n + 1), "loss": 1.0, "reference_objective": 20.0,
           "validation_objective": None if n == 1 else 21.0 - n}
        for n, phase in enumerate(("clone", "clone", "improve", "improve"))
    ]  # fmt: skip
    curve = pa.Table.from_pylist(learned, schema=LEARNING_CURVE)
    for base in ("batch", "stream", "rate_same"):
        below = folder / scenario_name("smoke", base)
        write_table(below / "teacher/seeds/0/learning_curve.parquet", curve, LEARNING_CURVE, {})
        spent = [] if base == "batch" else [10.0, 20.0, 30.0, 40.0]
        write_times(below / "benchmarks/teacher_train_0_times.parquet", learned[: len(spent)], spent)
    timed = [
        {"policy": policy, "kind": kind, "decision": n, "time_s": 0.5 * n, "candidates": 3, "latency_ms": ms + 0.01 * n}
        for policy, kind, ms in (
            ("teacher", "teacher", 2.0),
            ("rule_list", "student", 0.1),
            ("fair", "heuristic", 0.05),
        )
        for n in range(50)
    ]
    told = {
        "setting": "at most 50 decisions",
        "bytes": {"teacher": 50_000, "rule_list": 2_000},
        "memory_mib": {"teacher": 200.0, "rule_list": 0.1},
        "parameters": {"teacher": 12_000},
    }
    held = [
        {"instance": n, "jobs": 4 + n, "tasks": 9, "policy": policy, "kind": kind, "jct_s": gap + 10.0,
         "optimum_s": 10.0, "bound_s": 10.0, "proved": n < 3, "gap_percent": 10.0 * gap}
        for policy, kind, gap in (("fair", "heuristic", 2.0), ("teacher", "teacher", 0.0))
        for n in range(4)
    ]  # fmt: skip
    solved = pa.Table.from_pylist(held, schema=OPTIMALITY)
    about = {"instances": 4, "executors": 3}
    write_table(folder / "smoke-batch/paper/optimality.parquet", solved, OPTIMALITY, about)
    a_student().write(folder / "smoke-stream/students/rule_list.json")
    latency = pa.Table.from_pylist(timed, schema=LATENCY)
    write_table(folder / "smoke-stream/paper/latency.parquet", latency, LATENCY, told)
    return folder


def a_student() -> ScoredPolicy:
    """The searched policy of the package under the name of a student."""
    searched = load_policy(PACKAGE / "shipped" / "default" / "stay_and_move.json", find_problem("dag_jobs"))
    return replace(searched, name="rule_list", kind="student")


@pytest.mark.parametrize("name", PAPER_FIGURES)
def test_every_figure_is_drawn_with_its_data_and_caption(name: str, results: Path, tmp_path: Path) -> None:
    params = parse(
        {"problem": "dag_jobs", "seed": 3, "evaluation": {"bootstrap": 200}, "figures": {"dpi": 50}},
        "test",
        whole=False,
    )
    svg, png, data, caption = drawing.draw_figure(params, name, results, tmp_path)
    assert svg.stat().st_size > 5_000 and png.stat().st_size > 2_000
    rows = read_csv(data)
    assert rows and tuple(rows[0]) == HEADER, "the page that stands for a figure which could not be drawn"
    text = caption.read_text("utf-8")
    figure = PAPER_FIGURES[name]
    assert figure.answers in text and figure.shows in text and "Scale smoke, seed 3" in text
    for experiment in experiments_of(figure, "smoke"):
        assert (
            f"\n{experiment}: 4 test episodes of 9 jobs on 6 executors, a job every 10 s on average, jobs of " in text
        )
    assert list(captions.read_settings(caption)) == runs_of(figure, "smoke"), "all runs, no other line"


def test_the_batch_figure_tells_the_paired_difference(results: Path, tmp_path: Path) -> None:
    params = parse({"problem": "dag_jobs", "evaluation": {"bootstrap": 500}}, "test", whole=False)
    drawing.draw_figure(params, "decima_batch", results, tmp_path)
    table = read_csv(tmp_path / "decima_batch.csv")
    rows = {(row["panel"], row["policy"]): row for row in table if row["panel"] != "ratio"}
    ratios = {(row["policy"], row["x"]): row for row in table if row["panel"] == "ratio"}
    told = rows["difference_percent", "teacher"]
    means = {policy: float(rows["mean_jct_s", policy]["value"]) for policy in POLICIES}
    by_hand = 100 * (means["teacher"] / means["weighted_fair"] - 1)
    assert float(told["value"]) == pytest.approx(by_hand)
    assert float(told["low"]) < by_hand < float(told["high"]) < 0
    for other in ("fair", "weighted_fair"):
        assert float(ratios["fifo", other]["value"]) == pytest.approx(means["fifo"] / means[other])
    assert ("difference_percent", "weighted_fair") not in rows
    shift = 100 * np.mean(list(SHIFTS_S.values())) / means["weighted_fair"]
    assert told["seeds"] == "3"
    assert float(told["seeds_value"]) == pytest.approx(by_hand + shift), "of the mean over the training seeds"
    wide, narrow = (float(told[f"{of}high"]) - float(told[f"{of}low"]) for of in ("seeds_", ""))
    assert wide > narrow, "other networks are no nearer to each other than episodes"
    ratio = ratios["teacher", "fair"]
    assert float(ratio["seeds_value"]) == pytest.approx((means["teacher"] + 5.0) / means["fair"])
    assert float(ratio["seeds_low"]) < float(ratio["seeds_value"]) < float(ratio["seeds_high"])
    assert rows["difference_percent", "stay_and_move"]["seeds"] == "", "one seed"


def test_comparisons_are_adjusted_over_what_is_told_together(results: Path, tmp_path: Path) -> None:
    """Of policies of an experiment over all of them; of trainings of several bases over those of the figure."""
    for name, panel, x in (
        ("decima_batch", "difference_percent", "weighted_fair"),
        ("decima_ablation", "ratio_to_whole", "85"),
        ("decima_rates", "difference_percent", None),
    ):
        table = drawn(name, results, tmp_path)
        told = [row for row in table if row["panel"] == panel and row["x"] == (x or row["x"])]
        for policy in {row["policy"] for row in told} if x is None else {None}:
            rows = [row for row in told if policy in (None, row["policy"])]
            assert len(rows) > 1
            p = np.array([float(row["p"]) for row in rows])
            assert np.all((p > 0) & (p <= 1))
            assert [float(row["p_holm"]) for row in rows] == pytest.approx(holm(p).tolist())
    assert not any(row["p"] for row in table if row["panel"] == "mean_jct_s"), "nothing is compared there"


def test_sizes_tell_the_test_of_their_table(results: Path, tmp_path: Path) -> None:
    rows = [row for row in drawn("hu_rules", results, tmp_path) if row["panel"] == "difference_percent"]
    told = [(row["x"], float(row["p"]), float(row["p_holm"])) for row in rows]
    assert told == [(str(size), 0.001 * size, 0.004 * size) for size in (2, 8, 32)]


def test_a_comparison_is_shown_by_its_test_and_all_its_intervals() -> None:
    below, across = Interval(-2.0, -3.0, -1.0, 0.5, 40), Interval(-2.0, -5.0, 1.0, 1.5, 3)
    found = adjusted({"a": replace(levels(below, None, 1), p=0.02), "b": replace(levels(below, across, 3), p=0.001)})
    assert [found[name].p_holm for name in "ab"] == pytest.approx([0.02, 0.002])
    assert found["a"].shown_from(0.0) and not found["b"].shown_from(0.0), "by the seeds it may be either way"
    assert not replace(found["a"], p_holm=0.06).shown_from(0.0)
    assert not levels(below, None, 1).shown_from(0.0), "without a test nothing is"
    ratio = replace(levels(Interval(1.01, 0.99, 1.03, 0.01, 40), None, 1), p=0.01, p_holm=0.01)
    assert not ratio.shown_from(1.0) and strength(ratio, 1.0) and not strength(found["a"])
    assert found["a"].scaled(2.0).p_holm == found["a"].p_holm


def drawn(name: str, results: Path, out: Path) -> list[dict[str, str]]:
    """The CSV of a figure."""
    params = parse({"problem": "dag_jobs", "seed": 3, "evaluation": {"bootstrap": 200}}, "test", whole=False)
    drawing.draw_figure(params, name, results, out)
    return read_csv(out / f"{name}.csv")


def values(rows: list[dict[str, str]]) -> dict[tuple[str, str, str], float]:
    """By panel, policy and x."""
    return {(row["panel"], row["policy"], row["x"]): float(row["value"]) for row in rows}


def test_the_ablation_tells_how_many_times_the_whole_network(results: Path, tmp_path: Path) -> None:
    rows = values(drawn("decima_ablation", results, tmp_path))
    for what in set(ABLATED) - {"whole"}:
        means = [rows["mean_jct_s", each, "85"] for each in (what, "whole")]
        assert rows["ratio_to_whole", what, "85"] == pytest.approx(means[0] / means[1])
    fair = rows["mean_jct_s", "weighted_fair", "85"]
    assert rows["difference_percent", "limits", "85"] == pytest.approx(
        100 * (rows["mean_jct_s", "limits", "85"] / fair - 1)
    )
    assert {x for _, _, x in rows} == {"35", "85"}


def test_the_gap_is_over_instances_whose_optimum_is_proved(results: Path, tmp_path: Path) -> None:
    rows = values(drawn("decima_optimality", results, tmp_path))
    assert rows["instances_proved", "", ""] == 3
    assert (rows["gap_percent", "fair", ""], rows["gap_percent", "teacher", ""]) == (20.0, 0.0)
    assert (rows["optimal_share", "fair", ""], rows["optimal_share", "teacher", ""]) == (0.0, 1.0)


def test_without_the_solver_the_figure_says_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optima, "available", lambda: False)
    for name in ("tuned.json", "teacher.safetensors"):
        (tmp_path / name).write_text("{}", "utf-8")
    table = tmp_path / "results" / "smoke-batch" / decima_optimality.FILE
    params = params_of(own(), "batch")
    optima.hold_against_optimum(params, tmp_path / "tuned.json", tmp_path / "teacher.safetensors", (), table)
    rows = drawn("decima_optimality", tmp_path / "results", tmp_path)
    assert "pip install 'clearsched[optimum]'" in rows[0]["note"]


def test_fidelity_has_its_intervals(results: Path, tmp_path: Path) -> None:
    rows = {(row["policy"], row["x"]): row for row in drawn("hu_fidelity", results, tmp_path) if row["panel"] == "top1"}
    told = rows["rule_list", "stage, all decisions, as distilled"]
    assert [float(told[name]) for name in ("value", "low", "high")] == pytest.approx([0.9, 0.8, 0.95])
    assert rows["rule_list", "stage, real choices, refined"]["high"] == "", "too few held-out episodes"


def test_the_setting_tells_how_jobs_arrive(results: Path) -> None:
    table, told = read_table(results / jobs_file("batch", "smoke"), JOBS)
    assert Runs(table, told, Bootstrap()).setting.endswith(
        "6 executors, a job every 10 s on average, jobs of tpch-spark"
    )
    at_once = table.set_column(4, "arrival_s", pa.array(np.zeros(len(table))))
    assert Runs(at_once, told, Bootstrap()).setting.endswith("6 executors, all at once, jobs of tpch-spark")
    assert Runs(table, {}, Bootstrap()).setting == "", "a file that says nothing"


def test_the_patched_rules_tell_the_patch_too(results: Path, tmp_path: Path) -> None:
    rows = values(drawn("hu_patch", results, tmp_path))
    for moves in ("patched_normal", "patched_slow"):
        before, after = (rows["mean_jct_s", name, moves] for name in ("rule_list", "rule_list_patched"))
        assert rows["patch_percent", "rule_list_patched", moves] == pytest.approx(100 * (after / before - 1))
        network = rows["mean_jct_s", "teacher", moves]
        assert rows["to_network_percent", "rule_list_patched", moves] == pytest.approx(100 * (after / network - 1))
    subject = figures.subject(find_problem("dag_jobs"))
    material = Material(results, PAPER_FIGURES["hu_patch"], "smoke", subject, Bootstrap(1, 0.95, 200), {})
    rules, patch = hu_patch.rules_of(results / "smoke-stream/students/rule_list.json", material)
    assert rules[0].startswith("Which stage gets executors?")
    assert patch[0].startswith("Patches, written by a person")
    assert any("job_move_s > 5 s and job_fair_load > 0.5" in line for line in patch)
    assert not any("What the features are" in line for line in (*rules, *patch))


def test_a_patch_changes_a_policy_and_leaves_the_other_as_it_was() -> None:
    before = a_student()
    after = with_patches(before, (PATCH,))
    assert (after.name, before.patches, len(after.patches)) == ("rule_list_patched", (), 1)


# What the figures compute


def test_jobs_in_the_system_by_hand() -> None:
    there = in_system(np.array([0.0, 1.0, 5.0]), np.array([2.0, 10.0, 1.0]), np.array([0.0, 1.5, 2.0, 5.5, 6.0, 11.0]))
    assert there.tolist() == [1, 2, 1, 2, 1, 0]


def test_a_moving_mean_has_fewer_neighbours_at_the_ends() -> None:
    assert moving_mean(np.array([1.0, 2.0, 6.0, 3.0]), 3).tolist() == [1.5, 3.0, pytest.approx(11 / 3), 4.5]
    assert moving_mean(np.array([4.0, 2.0]), 7).tolist() == [3.0, 3.0]


def test_differences_between_bases_need_the_same_episodes(results: Path) -> None:
    bootstrap = Bootstrap(1, 0.95, 200)
    table, told = read_table(results / jobs_file("rate_same", "smoke"), JOBS)
    other = read_table(results / jobs_file("rate_other", "smoke"), JOBS)[0]
    same, apart = Runs(table, told, bootstrap), Runs(other, told, bootstrap)
    by_hand = 100 * (apart.by_episode("teacher").mean() / same.by_episode("fair").mean() - 1)
    assert apart.difference_to("teacher", same, "fair").mean == pytest.approx(by_hand)
    last = same.column("fair", "arrival_s") + same.column("fair", "jct_s")
    assert same.makespans("fair").tolist() == last.reshape(4, 9).max(axis=1).tolist()
    later = table.set_column(4, "arrival_s", pa.compute.add(table["arrival_s"], 1.0))
    with pytest.raises(ClearschedError, match="other episodes"):
        apart.difference_to("teacher", Runs(later, told, bootstrap), "fair")


def test_jobs_are_parted_by_size() -> None:
    assert bins_of(np.arange(12.0)).tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5] or np.all(
        np.diff(bins_of(np.arange(12.0))) >= 0
    )
    assert bins_of(np.full(5, 3.0)).tolist() == [0] * 5


def test_the_time_that_tasks_took_is_summed_by_job() -> None:
    tasks = np.array([[0, 1000, 1, 0, 0], [5, 500, 0, 0, 0], [9, 250, 1, 1, 0]])
    assert busy_s(tasks, 3).tolist() == [0.5, 1.25, 0.0]


def test_a_learning_curve_is_told_relative_to_what_was_cloned() -> None:
    rows = [
        dict.fromkeys(LEARNING_CURVE.names)
        | {"phase": "clone", "iteration": 0, "episodes": n, "loss": 0.0, "reference_objective": 20.0,
           "validation_objective": value}
        for n, value in ((4, 22.0), (8, None), (12, 19.0))
    ]  # fmt: skip
    curve = pa.Table.from_pylist(rows, schema=LEARNING_CURVE)
    learned = curve_of(curve, pa.table({"cpu_s": [1.5, 2.0, 7.5]}))
    assert learned.episodes.tolist() == [4, 12] and learned.cpu_s.tolist() == [1.5, 7.5]
    assert learned.percent == pytest.approx([10.0, -5.0])
    assert not len(curve_of(curve, pa.table({"cpu_s": pa.array([], pa.float64())})).cpu_s), "taken, not trained here"


def test_learning_is_told_over_cpu_time_where_it_was_measured(results: Path, tmp_path: Path) -> None:
    rows = values(drawn("decima_learning", results, tmp_path))
    told = {x: value for (panel, _, x), value in rows.items() if panel == "stream_percent_by_cpu_s_seed_0"}
    assert told == pytest.approx({"10.0": 5.0, "30.0": -5.0, "40.0": -10.0})
    assert not any(panel.startswith("batch_percent_by_cpu_s") for panel, _, _ in rows)


def test_decisions_of_one_moment_are_one_event() -> None:
    rows = [
        {"policy": "teacher", "kind": "teacher", "decision": n, "time_s": at, "candidates": 1, "latency_ms": 1.0}
        for n, at in enumerate((0.0, 0.0, 2.0, 5.0))
    ]
    assert between_events(pa.Table.from_pylist(rows, schema=LATENCY)).tolist() == [2.0, 3.0]


# Claims


def claim(**changes: object) -> Claim:
    fixed = {"name": "c", "label": "c", "paper": "p", "source": "s", "setting": "t", "published": -21.0, "unit": "%"}
    return Claim(**{**fixed, "better": "lower", **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "ours", "scale", "verdict"),
    [
        ({}, (-20.0, -22.0, -18.0), "paper", "reproduced"),
        ({}, (-25.0, -27.0, -23.0), "paper", "exceeded"),
        ({}, (-15.0, -17.0, -13.0), "paper", "not reached"),
        ({"better": "higher", "published": 2.5}, (3.0, 2.8, 3.2), "paper", "exceeded"),
        ({"better": "higher", "published": 2.5}, (2.2, 2.1, 2.4), "paper", "not reached"),
        ({"better": "higher", "published": 2.5}, (2.4, 2.2, 2.5), "paper", "reproduced"),
        ({"form": "at_most", "published": 15.0}, (3.0, 1.0, 14.0), "paper", "reproduced"),
        ({"form": "at_most", "published": 15.0}, (3.0, 1.0, 16.0), "paper", "not reached"),
        ({"form": "at_least", "published": 15.0}, (20.0, 15.0, 26.0), "paper", "reproduced"),
        ({"form": "at_least", "published": 15.0}, (20.0, 14.0, 26.0), "paper", "not reached"),
        ({}, (-20.0, -22.0, -18.0), "smoke", "no verdict"),
        ({}, (-20.0, None, None), "paper", "not comparable"),
        ({}, None, "paper", "not comparable"),
        ({"why_not": "another trace"}, (-20.0, -22.0, -18.0), "paper", "not comparable"),
        ({"published": float("nan")}, (-20.0, -22.0, -18.0), "paper", "not comparable"),
    ],
)
def test_verdicts_by_hand(changes: dict[str, object], ours: tuple | None, scale: str, verdict: str) -> None:
    told = None if ours is None else judging.Ours(*ours, "teacher")
    assert judging.judge(claim(**changes), told, scale) == verdict


def test_the_verdict_goes_by_the_interval_over_both_levels() -> None:
    ours = judging.Ours(-25.0, -27.0, -23.0, "teacher")
    assert judging.judge(claim(), ours, "paper") == "exceeded"
    seeded = ours._replace(seeds=3, seeds_value=-22.0, seeds_low=-28.0, seeds_high=-17.0)
    assert judging.judge(claim(), seeded, "paper") == "reproduced"
    narrow = ours._replace(low=-27.0, high=-20.0, seeds=3, seeds_value=-25.0, seeds_low=-26.0, seeds_high=-24.0)
    assert judging.judge(claim(), narrow, "paper") == "reproduced", "episodes alone do not exclude it"


def test_every_claim_names_a_figure_or_says_why_not() -> None:
    for each in CLAIMS.values():
        assert each.figure in PAPER_FIGURES if each.figure else each.why_not, each.name
        runs = runs_of(PAPER_FIGURES[each.figure], "paper")
        assert each.run in runs if len(runs) > 1 else not each.run, f"{each.name}: whose setting?"


def test_the_baseline_is_judged_at_all_loads_that_are_claimed() -> None:
    judged = {each.x for each in CLAIMS.values() if each.policy == "baseline"}
    assert judged == {"85", "95"} == {str(load) for load in ABLATION_LOADS if load > 75}


def test_claims_are_read_from_the_figures(results: Path, tmp_path: Path) -> None:
    params = parse({"problem": "dag_jobs", "evaluation": {"bootstrap": 200}}, "test", whole=False)
    with pytest.raises(ClearschedError, match=r"was not made yet: snakemake --cores 2 results/paper/.*svg makes it"):
        judging.judge_all(params, tmp_path, tmp_path)
    for name in figures_claimed():
        drawing.draw_figure(params, name, results, tmp_path)
    text = judging.judge_all(params, tmp_path, tmp_path)
    rows = {row["claim"]: row for row in read_csv(tmp_path / "claims.csv")}
    assert len(rows) == len(CLAIMS)
    assert "Scale smoke, seed 1" in text and "no verdict: smoke" in text
    fifo = rows["FIFO's mean JCT next to fair's, batches"]
    ratio = next(
        row for row in read_csv(tmp_path / "decima_batch.csv") if (row["panel"], row["policy"]) == ("ratio", "fifo")
    )
    assert (fifo["ours"], fifo["low"], fifo["verdict"]) == (ratio["value"], ratio["low"], "no verdict")
    assert (
        fifo["our_setting"]
        == "4 test episodes of 9 jobs on 6 executors, a job every 10 s on average, jobs of tpch-spark"
    )
    assert f"| {fifo['our_setting']} |" in text
    asked = "students answer nearly always as the network"
    assert rows[asked]["our_setting"] == "logged decisions of 2 validation episodes, jobs of tpch-spark"
    assert (rows[asked]["low"], rows[asked]["verdict"]) == (str(0.9 - 0.1), "not comparable")
    fair = rows["tuned weighted fair"]
    assert float(fair["ours"]) > 0 and (fair["policy"], fair["verdict"]) == ("weighted_fair", "not comparable")
    assert rows["without the input-dependent baseline, mean JCT at 95 % load"]["why"] == "not measured in this run"
    stage = tmp_path / "paper.json"
    write_stage(stage_values(params, "paper"), "paper", stage)
    done = CliRunner().invoke(app, ["paper", "claims", "--params", str(stage), "--out", str(tmp_path)])
    assert done.exit_code == 0 and done.stdout == f"{text}\n", "as the rule has them: beside the figures"
    large = params.model_copy(update={"paper": own("paper").paper})
    judging.judge_all(large, tmp_path, tmp_path)
    judged = {row["claim"]: row["verdict"] for row in read_csv(tmp_path / "claims.csv")}
    assert judged["time to a decision of the network"] == "reproduced"
    line = next(each for each in text.splitlines() if each.startswith("| time to a decision of the network |"))
    assert "| at most 15 ms |" in line
    assert set(judged.values()) <= set(judging.VERDICTS) - {"no verdict"}
    kept = [row["claim"] for row in judging.read_claims(tmp_path / "claims.csv")]
    assert kept == [each.label for each in CLAIMS.values()]
    own_table = (tmp_path / "claims.md").read_text("utf-8").splitlines()[6:]
    assert judging.docs_table(tmp_path / "claims.csv").splitlines()[4:] == own_table, "the docs have the same lines"
    (tmp_path / "decima_batch.txt").unlink()
    with pytest.raises(ClearschedError, match=r"decima_batch.txt: was not made: draw the figure again"):
        judging.judge_all(params, tmp_path, tmp_path)


def test_a_table_of_claims_of_another_version_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClearschedError, match=r"claims.csv: no such file: snakemake"):
        judging.docs_table(tmp_path / "claims.csv")
    (tmp_path / "claims.csv").write_text("claim,paper\na,b\n", "utf-8")
    with pytest.raises(ClearschedError, match="no table of claims of this version"):
        judging.docs_table(tmp_path / "claims.csv")
    (tmp_path / "figure.txt").write_text("What it answers.\n", "utf-8")
    with pytest.raises(ClearschedError, match="no caption of a figure"):
        captions.read_settings(tmp_path / "figure.txt")


def test_a_line_shows_both_levels_where_there_are_several_seeds() -> None:
    """Episodes as a band, training seeds and episodes as a bar at each point that has them."""
    figure = style.new_figure(height_in=2.0)
    axes = figure.subplots()
    alone = Interval(1.0, 0.9, 1.1, 0.05, 8)
    told = [levels(alone, Interval(1.0, low, 1.3, 0.1, 3), 3) for low in (0.8, 0.7)]
    banded(
        axes, [50, 80, 120], [*told, levels(alone, None, 1)], figures.subject(find_problem("dag_jobs")).shown("teacher")
    )
    assert len(axes.collections) == 1
    assert [line.get_ydata()[0] for line in axes.lines[1:]] == [0.8, 0.7]
    assert [line.get_xdata()[0] for line in axes.lines[1:]] == [50, 80]
