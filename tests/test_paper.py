"""The papers' figures and claims, at toy scale."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
import yaml
from typer.testing import CliRunner

from clearsched import figures
from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.evaluation.statistics import Bootstrap, Interval
from clearsched.figures import style
from clearsched.files import keep_text
from clearsched.imports import PACKAGE
from clearsched.paper import decima_optimality, drawing, hu_patch, judging, optima, targets
from clearsched.paper.bases import BASES, SCALES, network_seeds, params_of, scenario_name, scenarios_of
from clearsched.paper.decima_job_sizes import bins_of
from clearsched.paper.decima_learning import curve_of
from clearsched.paper.decima_stream import in_system, moving_mean
from clearsched.paper.decision_times import between_events
from clearsched.paper.experiments import ABLATED, EXPERIMENTS, OBJECTIVES, PATCH, groups_run, names_run
from clearsched.paper.experiments import params_of as params_of_experiment
from clearsched.paper.kinds import (
    PAPER_FIGURES,
    docs_table,
    experiments_of,
    figures_drawn,
    inputs_of,
    jobs_file,
    seeds_file,
)
from clearsched.paper.marks import banded
from clearsched.paper.material import HEADER, Material, Runs, levels
from clearsched.paper.published import CLAIMS, Claim, figures_claimed
from clearsched.paper.running import busy_s, run_experiment, with_patches
from clearsched.paper.sharing import SHARED, takes
from clearsched.paper.tables import BY_SEED, JOBS, LATENCY
from clearsched.params import Params, parse, stage_text, stage_values, write_stage
from clearsched.params.scenarios import merge
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.optimum import available
from clearsched.problems.dag_jobs.schemas import OPTIMALITY
from clearsched.registry import load
from clearsched.schemas import FIDELITY, LEARNING_CURVE, STUDENTS_PARETO, read_table, write_table
from clearsched.scorers.policy import ScoredPolicy, load_policy
from clearsched.teacher.times import write_times
from planned import in_turn

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs" / "paper.md"
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


SAME_LOAD = ("ablated_whole_85", "ablated_graph_85", "ablated_limits_85", "ablated_baseline_85")
"""What the scale smoke trains at."""


def own(scale: str = "smoke", **paper: object) -> Params:
    return parse({"problem": "dag_jobs", "seed": 3, "paper": {"scale": scale, **paper}}, "test")


# The scenarios and experiments


@pytest.mark.parametrize(("base", "scenario"), [("batch", "decima-a"), ("stream", "decima-b")])
def test_the_bases_are_the_published_settings_of_the_scenarios(base: str, scenario: str) -> None:
    told = yaml.safe_load((REPOSITORY / "scenarios" / f"{scenario}.yaml").read_text("utf-8"))
    params = params_of(own("paper"), base)
    assert params.traces.source == told["traces"]["source"]
    workload = params.model_dump(mode="json")["workload"]
    assert {key: workload[key] for key in told["workload"]} == told["workload"]
    assert params.teacher.shipped == params.search.shipped == scenario
    improve = told["teacher"]["improve"]
    trained = params.teacher.model_dump(mode="json")
    assert {key: trained["improve"][key] for key in improve} == improve and trained["source"] == "train"


@pytest.mark.parametrize(
    ("base", "scenario"),
    [
        ("objective_jct", "objective-jct"),
        ("objective_makespan", "objective-makespan"),
        ("objective_moving", "objective-free-moving"),
    ],
)
def test_the_bases_of_objectives_are_those_of_the_scenarios(base: str, scenario: str) -> None:
    told = yaml.safe_load((REPOSITORY / "scenarios" / f"{scenario}.yaml").read_text("utf-8"))
    params = params_of(own("paper"), base).model_dump(mode="json")
    assert params["traces"]["tpch_spark"]["sizes"] == told["traces"]["tpch_spark"]["sizes"]
    test = told["workload"].pop("episodes")["test"]
    assert {key: params["workload"][key] for key in told["workload"]} == told["workload"]
    assert params["workload"]["episodes"]["test"] == test


def test_the_industrial_base_is_the_scenario() -> None:
    told = yaml.safe_load((REPOSITORY / "scenarios" / "alibaba-like.yaml").read_text("utf-8"))
    params = params_of(own("paper"), "industrial").model_dump(mode="json")
    assert (params["traces"]["source"], params["workload"]["executors"]) == ("alibaba-like", 50)
    assert params["traces"]["alibaba_like"]["jobs"] == told["traces"]["alibaba_like"]["jobs"]
    assert told["workload"] == {"executors": 50}


@pytest.mark.parametrize("name", ["rate_other", "rate_mixed", "rate_told"])
@pytest.mark.parametrize("scale", SCALES)
def test_networks_of_all_rates_meet_the_same_streams(name: str, scale: str) -> None:
    same, other = (params_of(own(scale), base) for base in ("rate_same", name))
    assert same.workload != other.workload
    assert params_of_experiment(other, name).workload == params_of_experiment(same, "rate_same").workload


@pytest.mark.parametrize("scale", SCALES)
def test_rates_are_mixed_from_the_one_to_the_other_and_one_network_is_told(scale: str) -> None:
    same, mixed, told = (params_of(own(scale), base) for base in ("rate_same", "rate_mixed", "rate_told"))
    assert (mixed.workload.mixed_rates.least, mixed.workload.mixed_rates.most) == (1.0, 75 / 45)
    assert mixed.workload == told.workload
    assert [each.teacher.network.rate for each in (same, mixed, told)] == [False, False, True]


@pytest.mark.parametrize("scale", SCALES)
def test_an_ablation_leaves_out_one_thing(scale: str) -> None:
    whole = params_of(own(scale), ABLATED["whole"]).model_dump(mode="json")
    changed = {
        "graph": ("teacher", {"network": {"rounds": 0}}),
        "limits": ("teacher", {"network": {"levels": "most"}}),
        "baseline": ("teacher", {"improve": {"baseline": "iteration"}}),
        "stream": ("workload", {"arrivals": "batch", "mean_interarrival_s": None}),
    }
    assert set(changed) == set(ABLATED) - {"whole"}
    for what, (section, values) in changed.items():
        found = params_of(own(scale), ABLATED[what]).model_dump(mode="json")
        expected = merge(whole, {section: values, "scenario": found["scenario"]})
        if what == "stream":
            expected["workload"]["jobs"] = found["workload"]["jobs"]
        assert found == expected, what


@pytest.mark.parametrize("scale", SCALES)
def test_ablated_networks_meet_the_same_streams(scale: str) -> None:
    workloads = [
        params_of_experiment(params_of(own(scale), base), f"ablated_{what}_85").workload
        for what, base in ABLATED.items()
    ]
    assert all(each == workloads[0] for each in workloads)
    assert workloads[0].load == 0.85 and workloads[0].arrivals == "poisson"


def test_networks_that_saw_the_queries_meet_those_of_the_test_alone() -> None:
    unseen, seen = (params_of(own(), base) for base in ("unseen_queries", "rate_same"))
    assert unseen.workload.split == "template" and seen.workload.split == "seed"
    assert params_of_experiment(seen, "seen").workload == params_of_experiment(unseen, "unseen").workload


def test_the_patch_is_the_worked_example_of_the_docs() -> None:
    told = yaml.safe_load((REPOSITORY / "examples" / "patches" / "patches.yaml").read_text("utf-8"))
    assert told == [PATCH]
    slow = params_of_experiment(params_of(own("paper"), "stream"), "patched_slow")
    assert slow.workload.moving_delay_s == 10.0, "as examples/patches/slow_moves.yaml"


# What bases share


@pytest.mark.parametrize("scale", SCALES)
def test_bases_take_what_others_make_alike(scale: str) -> None:
    scenarios = scenarios_of(own(scale))
    found = takes(scenarios)
    for (name, stage), other in found.items():
        mine, theirs = (dict(stage_values(scenarios[each], stage), scenario="") for each in (name, other))
        assert mine == theirs
        assert (other, stage) not in found, "it is made there, not taken in turn"
        before = SHARED[: SHARED.index(stage)]
        assert all((name, earlier) in found for earlier in before), "all before it is the same too"
    alike = {(name.removeprefix(f"{scale}-"), stage) for name, stage in found}
    trained = {(f"ablated_{what}", stage) for what in ("graph", "limits", "baseline") for stage in SHARED}
    assert trained | {("rate_told", stage) for stage in SHARED} <= alike
    assert ("rate_other", "workloads") not in alike and ("unseen_queries", "workloads") not in alike
    assert ("batch", "traces") not in alike


def test_the_text_of_a_stage_is_what_its_command_writes(tmp_path: Path) -> None:
    values = stage_values(params_of(own(), "rate_told"), "teacher")
    write_stage(values, "teacher", tmp_path / "teacher.json")
    assert (tmp_path / "teacher.json").read_text("utf-8") == stage_text(values)
    assert not keep_text(tmp_path / "teacher.json", stage_text(values)), "as it is: what was made of it stays"
    assert keep_text(tmp_path / "teacher.json", "{}")


@pytest.mark.parametrize("scale", SCALES)
def test_a_base_takes_seed_and_scale_from_the_user(scale: str) -> None:
    found = scenarios_of(own(scale, episodes=5, profiles="somewhere"))
    assert list(found) == [scenario_name(scale, base) for base in BASES]
    for params in found.values():
        assert params.seed == 3 and params.paper.scale == scale
        assert params.workload.episodes.test == 5
        published = params.traces.source == "tpch-decima"
        industrial = params.scenario.endswith("-industrial")
        assert (params.traces.source == "alibaba-like") == industrial
        assert params.traces.path == ("somewhere" if published else None)
        assert published == (scale == "paper" and "objective" not in params.scenario and not industrial)
        taken = params.scenario.endswith(("-batch", "-stream", "-changing")) or (industrial and scale == "smoke")
        assert params.search.source == ("shipped" if taken else "search")
        alone = params.scenario.endswith("-changing") or scale == "smoke"
        assert params.teacher.source == ("shipped" if taken and alone else "train")
        if params.teacher.source == "train":
            assert params.teacher.seeds == (1 if scale == "smoke" else 3)
        assert params.students.seeds == (1 if alone else 3)
    one = scenarios_of(own(scale, training_seeds=1))[f"{scale}-stream"]
    assert one.teacher.source == "shipped", "nothing is trained that comes with the package"


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_had(name: str, scale: str) -> None:
    experiment = EXPERIMENTS[name]
    base = params_of(own(scale), experiment.base)
    params = params_of_experiment(base, name)
    assert params.workload.episodes.test <= base.workload.episodes.test
    before, after = (each.model_dump(mode="json") for each in (base, params))
    before["workload"].pop("episodes"), after["workload"].pop("episodes")
    policies = (before["evaluation"].pop("policies"), after["evaluation"].pop("policies"))
    as_it_is = ("batch", "stream", "industrial", "rate_same", "unseen", "changing", "patched_normal", *OBJECTIVES)
    same_load = name in SAME_LOAD and scale == "smoke"
    assert (before == after) == (name in as_it_is or same_load)
    assert tuple(policies[1]) == (experiment.policies or tuple(policies[0]))


def test_a_cluster_of_another_size_keeps_its_load() -> None:
    base = params_of(own("paper"), "stream")
    small, large = (params_of_experiment(base, f"executors_{count}").workload for count in (10, 100))
    assert (small.executors, small.mean_interarrival_s) == (10, 125.0)
    assert (large.executors, large.mean_interarrival_s) == (100, 12.5)


def test_an_experiment_of_another_base_is_refused() -> None:
    with pytest.raises(ClearschedError, match="of the base stream"):
        params_of_experiment(params_of(own(), "batch"), "load_50")


# The registry


def test_every_figure_can_be_drawn_by_something_and_reads_what_is_made() -> None:
    for figure in PAPER_FIGURES.values():
        assert callable(load(figure.draws))
        assert all(name in EXPERIMENTS for name in figure.experiments)
        assert all(base in BASES for base, _ in figure.files)
        for scale in SCALES:
            assert inputs_of(figure, scale, network_seeds(own(scale))), figure.name
    shared = [name for figure in PAPER_FIGURES.values() for name in figure.experiments]
    assert set(shared) == set(EXPERIMENTS), "an experiment that no figure reads"
    assert len(set(shared)) < len(shared)


def test_the_smoke_scale_runs_fewer_experiments() -> None:
    loads = PAPER_FIGURES["decima_load"].experiments
    assert len(names_run(loads, "smoke")) < len(names_run(loads, "paper")) == 8


@pytest.mark.parametrize("scale", SCALES)
def test_experiments_of_a_group_can_run_in_one_process(scale: str) -> None:
    groups = groups_run(scale)
    assert sorted(name for names in groups.values() for name in names) == sorted(names_run(tuple(EXPERIMENTS), scale))
    for names in groups.values():
        assert len({(EXPERIMENTS[name].base, EXPERIMENTS[name].students) for name in names}) == 1
    assert len(groups) == len(BASES) or scale == "paper"


def test_figures_that_are_drawn_together_need_no_runs_beyond_their_own() -> None:
    drawn_with = figures_drawn("smoke")
    assert sorted(name for names in drawn_with.values() for name in names) == sorted(PAPER_FIGURES)
    assert "decima_load" in drawn_with["decima_stream"] and drawn_with["hu_fidelity"] == ["hu_fidelity"]
    for names in drawn_with.values():
        made_from = [experiments_of(PAPER_FIGURES[name], "smoke") for name in names]
        runs = {frozenset(EXPERIMENTS[each].base for each in experiments) for experiments in made_from}
        assert len(runs) == len({PAPER_FIGURES[name].files for name in names}) == 1
    assert all(names == [name] for name, names in figures_drawn("paper").items()), "each by itself"


def test_the_docs_tell_of_every_figure_claim_and_experiment() -> None:
    """After a change: `python -c "from clearsched.paper.kinds import docs_table; print(docs_table())"`."""
    text = DOCS.read_text("utf-8")
    assert docs_table() in text
    for verdict in judging.VERDICTS:
        assert f"*{verdict}*" in text


# What is asked for


@pytest.mark.parametrize(
    "word",
    ["paper", "paper_claims", "results/paper/decima_batch.svg", "paper_episodes:scenario=smoke-batch,experiment=batch",
     "results/paper-stream/students/rule_list.json"],
)  # fmt: skip
def test_targets_of_the_papers_are_known(word: str) -> None:
    assert targets.asked(["--cores", "2", word])


@pytest.mark.parametrize("word", ["all", "paper={scale: paper}", "results/default/figures/gantt.svg", "newspaper"])
def test_other_targets_are_left_alone(word: str) -> None:
    assert not targets.asked(["--config", word])


def test_an_unknown_figure_gets_one_line_with_the_nearest() -> None:
    with pytest.raises(ClearschedError, match=r"unknown figure of the papers 'decima_bach'.*mean decima_batch\?"):
        targets.check(["results/paper/decima_bach.svg"])
    targets.check(["paper", "results/paper/claims.md", "results/paper/decima_batch.svg"])
    with pytest.raises(ClearschedError, match=r"did you mean metis_latency\?"):
        drawing.draw_figure(own(), "metis_latencies", Path("nowhere"), Path("nowhere"))


def test_missing_data_tell_their_target(tmp_path: Path) -> None:
    with pytest.raises(
        ClearschedError, match=r"batch/jobs.parquet: was not made yet: snakemake --cores 2 results/paper"
    ):
        drawing.draw_figure(own(), "decima_batch", tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_scale_gets_one_line() -> None:
    with pytest.raises(ClearschedError, match="unknown scale 'large': known are smoke, paper"):
        drawing.params_for(None, "large")


# The figures, from made-up runs


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
                 "top1": share}
        for policy in ("rule_list", "boosted_trees")
        for choice, of, part, share in (
            ("stage", "all", "whole", 0.9), ("stage", "real", "whole", 0.7), ("stage", "all", "group", 0.8),
            ("limit", "all", "whole", 0.6),
        )
    ]  # fmt: skip
    fidelity = pa.Table.from_pylist(faithful, schema=FIDELITY)
    write_table(folder / "smoke-stream/paper/fidelity.parquet", fidelity, FIDELITY, {})
    sized = [
        dict.fromkeys(STUDENTS_PARETO.names)
        | {"kind": kind, "by": "", "size": size, "safe": True, "picked": False, "complexity": size, "mean": 20.0,
           "difference_percent": 8.0 / size, "difference_low": 4.0 / size, "difference_high": 12.0 / size,
           "worst": 40.0, "top1": 0.9 - 1 / size}
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


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


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
        assert f"{experiment}: 4 test episodes" in text


def test_the_batch_figure_tells_the_paired_difference(results: Path, tmp_path: Path) -> None:
    params = parse({"problem": "dag_jobs", "evaluation": {"bootstrap": 500}}, "test", whole=False)
    drawing.draw_figure(params, "decima_batch", results, tmp_path)
    rows = {(row["panel"], row["policy"]): row for row in read_csv(tmp_path / "decima_batch.csv")}
    told = rows["difference_percent", "teacher"]
    means = {policy: float(rows["mean_jct_s", policy]["value"]) for policy in POLICIES}
    by_hand = 100 * (means["teacher"] / means["weighted_fair"] - 1)
    assert float(told["value"]) == pytest.approx(by_hand)
    assert float(told["low"]) < by_hand < float(told["high"]) < 0
    assert float(rows["ratio", "fifo"]["value"]) == pytest.approx(means["fifo"] / means["fair"])
    assert ("difference_percent", "weighted_fair") not in rows
    shift = 100 * np.mean(list(SHIFTS_S.values())) / means["weighted_fair"]
    assert told["seeds"] == "3"
    assert float(told["seeds_value"]) == pytest.approx(by_hand + shift), "of the mean over the training seeds"
    wide, narrow = (float(told[f"{of}high"]) - float(told[f"{of}low"]) for of in ("seeds_", ""))
    assert wide > narrow, "other networks are no nearer to each other than episodes"
    ratio = rows["ratio", "teacher"]
    assert float(ratio["seeds_value"]) == pytest.approx((means["teacher"] + 5.0) / means["fair"])
    assert float(ratio["seeds_low"]) < float(ratio["seeds_value"]) < float(ratio["seeds_high"])
    assert rows["difference_percent", "stay_and_move"]["seeds"] == "", "one seed"


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


def test_the_patched_rules_tell_the_patch_too(results: Path, tmp_path: Path) -> None:
    rows = values(drawn("hu_patch", results, tmp_path))
    for moves in ("patched_normal", "patched_slow"):
        before, after = (rows["mean_jct_s", name, moves] for name in ("rule_list", "rule_list_patched"))
        assert rows["patch_percent", "rule_list_patched", moves] == pytest.approx(100 * (after / before - 1))
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
    stage = tmp_path / "paper.json"
    write_stage(stage_values(params, "paper"), "paper", stage)
    done = CliRunner().invoke(app, ["paper", "claims", "--params", str(stage), "--out", str(tmp_path)])
    assert done.exit_code == 0 and done.stdout == f"{text}\n", "as the rule has them: beside the figures"
    large = params.model_copy(update={"paper": own("paper").paper})
    judging.judge_all(large, tmp_path, tmp_path)
    judged = {row["claim"]: row["verdict"] for row in read_csv(tmp_path / "claims.csv")}
    assert judged["time to a decision of the network"] == "reproduced"
    assert set(judged.values()) <= set(judging.VERDICTS) - {"no verdict"}


# One experiment, for real


def test_an_experiment_runs_all_policies_on_the_same_jobs(tmp_path: Path) -> None:
    params = params_of(own(episodes=2), "stream")
    tiny = {"jobs": 3, "episodes": {"train": 1, "validation": 1, "test": 2}}
    params = parse(
        merge(params.model_dump(mode="json"), {"workload": tiny, "evaluation": {"policies": ["fair", "fifo"]}}),
        "test",
        whole=False,
    )
    problem = find_problem("dag_jobs")
    trace, tuned = tmp_path / "trace.parquet", tmp_path / "tuned.json"
    problem.build(params, trace)
    tuned.write_text('{"best": "fair"}', "utf-8")
    teacher = tmp_path / "teacher.safetensors"
    teacher.write_bytes(b"not read: no policy of it is asked for")
    run_experiment(params, "stream", trace, tuned, teacher, (), tmp_path / "out")
    assert not len(read_table(tmp_path / "out" / "seeds.parquet", BY_SEED)[0]), "nothing that was learned"
    table, told = read_table(tmp_path / "out" / "jobs.parquet", JOBS)
    assert told["experiment"] == "stream" and told["executors"] == 6
    rows = table.to_pylist()
    assert len(rows) == 2 * 2 * 3
    by_policy = {name: [row for row in rows if row["policy"] == name] for name in ("fair", "fifo")}
    for fair, fifo in zip(*by_policy.values(), strict=True):
        assert (fair["episode"], fair["job"], fair["arrival_s"], fair["work_s"]) == (
            fifo["episode"], fifo["job"], fifo["arrival_s"], fifo["work_s"],
        )  # fmt: skip
        # A job cannot be done sooner than its tasks take on all executors.
        assert fair["busy_s"] > 0 and fair["jct_s"] >= fair["busy_s"] / 6
    assert re.fullmatch(r"2 test episodes of 3 jobs on 6 executors", told["setting"])


# Through Snakemake


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the repository's workflow in `folder`, with the repository's params.yaml."""
    (folder / "params.yaml").write_bytes((REPOSITORY / "params.yaml").read_bytes())
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile")]
    paths = [str(REPOSITORY / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [*command, "--directory", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def test_an_unknown_figure_is_one_line_from_snakemake(tmp_path: Path) -> None:
    answer = snakemake(tmp_path, "--cores", "1", "results/paper/decima_bach.svg")
    assert answer.returncode == 2
    lines = [line for line in answer.stderr.splitlines() if line.startswith("clearsched:")]
    assert len(lines) == 1 and lines[0].endswith("did you mean decima_batch?")
    assert "Traceback" not in answer.stderr


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


def test_one_figure_needs_its_own_runs_alone_and_each_once(tmp_path: Path) -> None:
    answer = snakemake(tmp_path, "--dry-run", "--cores", "1", "results/paper/decima_load.svg")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    table = (answer.stdout + answer.stderr).split("Job stats:")[1].split("total")[0]
    planned = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}
    assert planned["paper_episodes_stream"] == 1, "three loads, and all else of the base, in one process"
    assert planned["teacher_train"] == planned["traces_build"] == planned["paper_figure_decima_stream"] == 1, (
        "drawn with others of its runs"
    )
    assert not any("fidelity" in rule or "pareto" in rule for rule in planned)


def commands_of(answer: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """The commands of a dry run with --printshellcmds; jobs of a group come in any order."""
    lines = (answer.stdout + answer.stderr).splitlines()
    told = [line.split("Shell command: ", 1)[1].split(" > ")[0] for line in lines if "Shell command: " in line]
    return [shlex.split(line) for line in told if line != "None"]  # a target has none


def check_all_made(made: Path) -> None:
    """All figures and claims are there, and none is a page with a reason, but for the one whose solver is optional."""
    for name in PAPER_FIGURES:
        first = tuple(read_csv(made / f"{name}.csv")[0])
        assert first == HEADER or (name == "decima_optimality" and not available()), f"{name}: a page in its place"
    judged = {row["verdict"] for row in read_csv(made / "claims.csv")}
    assert judged == {"no verdict", "not comparable"}


@pytest.mark.workflow
def test_the_rules_make_all_figures_and_claims_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rules run at the scale smoke, without a process for each: starting one takes longer than its work."""
    answer = snakemake(tmp_path, "--dry-run", "--printshellcmds", "--cores", "1", "paper")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    listed = sorted(commands_of(answer), key=lambda words: words[1:3] == ["paper", "claims"])  # of a whole folder
    assert {words[0] for words in listed} == {"clearsched", "cp"}
    monkeypatch.chdir(tmp_path)
    for program, *words in in_turn(listed):
        if program == "clearsched":
            assert not app(words, prog_name="clearsched", standalone_mode=False), words
            continue
        *sources, folder = words
        Path(folder).mkdir(parents=True, exist_ok=True)
        for source in sources:
            shutil.copy(source, folder)
    check_all_made(tmp_path / "results" / "paper")


@pytest.mark.workflow
@pytest.mark.skipif("CLEARSCHED_TEST_PAPER" not in os.environ, reason=".ci/run runs it: set CLEARSCHED_TEST_PAPER=1")
def test_all_figures_and_claims_at_the_scale_smoke(tmp_path: Path) -> None:
    answer = snakemake(tmp_path, "--cores", "2", "paper")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    check_all_made(tmp_path / "results" / "paper")
    again = snakemake(tmp_path, "--dry-run", "--cores", "2", "paper")
    assert "Nothing to be done" in again.stdout + again.stderr
