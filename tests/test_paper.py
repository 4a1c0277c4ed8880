"""The papers' figures and claims: what is made from what, an experiment for real, all of it through Snakemake."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import snakemake_runs
from clearsched.cli import app
from clearsched.errors import ClearschedError
from clearsched.paper import drawing, judging, targets
from clearsched.paper.bases import BASES, SCALES, network_seeds, params_of
from clearsched.paper.experiments import EXPERIMENTS, groups_run, names_run
from clearsched.paper.kinds import (
    PAPER_FIGURES,
    docs_table,
    experiments_of,
    figures_drawn,
    inputs_of,
)
from clearsched.paper.material import HEADER
from clearsched.paper.running import run_experiment
from clearsched.paper.tables import BY_SEED, JOBS
from clearsched.params import parse
from clearsched.params.scenarios import merge
from clearsched.problems import find_problem
from clearsched.problems.dag_jobs.optimum import available
from clearsched.registry import load
from clearsched.schemas import read_table
from paper_toys import own, read_csv
from planned import in_turn

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs" / "paper.md"


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
    return snakemake_runs.snakemake(folder, *arguments)


def test_an_unknown_figure_is_one_line_from_snakemake(tmp_path: Path) -> None:
    answer = snakemake(tmp_path, "--cores", "1", "results/paper/decima_bach.svg")
    assert answer.returncode == 2
    lines = [line for line in answer.stderr.splitlines() if line.startswith("clearsched:")]
    assert len(lines) == 1 and lines[0].endswith("did you mean decima_batch?")
    assert "Traceback" not in answer.stderr


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


def test_the_papers_bases_have_no_model_cards(tmp_path: Path) -> None:
    answer = snakemake(tmp_path, "--list-rules", "paper")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    rules = answer.stdout.split()
    assert any(rule.startswith("students_fit_") for rule in rules)
    assert not any("students_card" in rule for rule in rules)


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
