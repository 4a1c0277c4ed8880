"""How far `make paper` has come: before anything ran, in the middle, when all is done, and of files that are broken."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import snakemake_runs
from clearsched.cli import app
from clearsched.doctor import costs, machine, paper_costs, paper_left
from clearsched.doctor.paper_jobs import Job, jobs_of
from clearsched.files import write_text
from clearsched.paper.bases import params_of
from clearsched.params import stage_text, stage_values
from paper_toys import own

ROOT = Path(__file__).parents[1]
LOOP = costs.table()["loop_s"]
ONE_SEED = own("paper", training_seeds=1)
JOBS = jobs_of(ONE_SEED)


def foretold_s(job: Job) -> float:
    """CPU seconds, on the machine of the records."""
    return sum(costs.cost_of({job.stage: job.work}, LOOP).cpu_s.values())


def ended(results: Path, job: Job, cpu_s: float | None) -> None:
    """Write a benchmark as Snakemake does, of so short a job that all of it is measured; None: nothing is."""
    told = "NA" if cpu_s is None else f"{cpu_s:.2f}"
    row = f"10.00\t0:00:10\t1.0\t1.0\t1.0\t1.0\t0.0\t0.0\t99.0\t{told}\n"
    header = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
    write_text(results / job.benchmark, header + row)


def left(results: Path, asked: set[str] | None = None) -> paper_left.Left:
    return paper_left.of_paper(ONE_SEED, results, asked, LOOP)


def of_stage(*stages: str) -> list[Job]:
    return [job for job in JOBS if job.stage in stages]


# What is told


def test_before_anything_ran_all_is_left(tmp_path: Path) -> None:
    found = left(tmp_path / "nowhere")
    assert (found.jobs, found.done, found.spent_s, found.speed) == (len(JOBS), 0, 0.0, 1.0)
    total = sum(map(foretold_s, JOBS))
    assert sum(found.cpu_s.values()) == pytest.approx(total)
    assert found.wall_s(1) == pytest.approx((total, total / 3, total * 3)), "the span of the records"
    assert found.wall_s(2)[0] == pytest.approx(paper_costs.of_paper(ONE_SEED, LOOP).wall_s(2)), "as the doctor has it"
    first, second = paper_left.told(found, 2)
    assert re.fullmatch(
        rf"paper: none of {len(JOBS)} jobs done; about \S+ \w+ left on 2 free cores \(.+ to .+\), projected", first
    )
    by_stage: Counter[str] = Counter()
    for job in JOBS:
        by_stage[job.stage] += foretold_s(job)
    (most, _), (next_most, _) = by_stage.most_common(2)
    assert re.match(rf"paper: most of it {most} .+, {next_most} ", second) and "so far" not in second


def test_in_the_middle_what_was_measured_corrects_what_is_left(tmp_path: Path) -> None:
    """A machine that is half as fast: what is left takes longer, and how much longer is known better."""
    before = left(tmp_path)
    trained = of_stage("teacher")
    for job in trained[: len(trained) // 2]:
        ended(tmp_path, job, 2 * foretold_s(job))
    found = left(tmp_path)
    assert found.done == len(trained) // 2 and found.speed == pytest.approx(2.0, rel=0.01)
    rest = sum(map(foretold_s, trained[len(trained) // 2 :]))
    assert 1.6 * rest < found.cpu_s["teacher"] < 2 * rest, "nearly the measured speed"
    assert 1.5 < found.cpu_s["students"] / before.cpu_s["students"] < 2, "of another stage, of which nothing is known"
    spans = [each.high_s / each.low_s for each in (before, found)]
    assert spans[1] < spans[0]
    first, second = paper_left.told(found, 2)
    assert re.match(rf"paper: {found.done} of {len(JOBS)} jobs done, \S+ CPU \w+ spent; about ", first)
    assert second.endswith("; so far 2 times the CPU time projected")


def test_little_that_was_measured_corrects_little(tmp_path: Path) -> None:
    for job in of_stage("small")[:3]:
        ended(tmp_path, job, 10.0)
    found = left(tmp_path)
    assert found.speed > 5 and sum(found.cpu_s.values()) < 1.1 * sum(left(tmp_path / "nowhere").cpu_s.values())
    assert "so far" not in paper_left.told(found, 2)[1]


def test_after_all_is_done_nothing_is_left(tmp_path: Path) -> None:
    for job in JOBS:
        ended(tmp_path, job, foretold_s(job))
    found = left(tmp_path)
    assert found.done == found.jobs and not found.cpu_s
    assert paper_left.told(found, 2) == [
        f"paper: all {len(JOBS)} jobs done, {paper_left.in_cpu(found.spent_s)} spent; nothing is left"
    ]


def test_the_last_job_takes_its_time_on_any_number_of_cores(tmp_path: Path) -> None:
    last = max(JOBS, key=foretold_s)
    for job in JOBS:
        if job != last:
            ended(tmp_path, job, foretold_s(job))
    found = left(tmp_path)
    assert found.wall_s(64)[0] == found.wall_s(1)[0] == pytest.approx(foretold_s(last))


# What is done


def test_what_snakemake_runs_again_is_not_done_before_it_ran_again(tmp_path: Path) -> None:
    first, second, third = JOBS[:3]
    for job in (first, second):
        ended(tmp_path, job, 1.0)
        os.utime(tmp_path / job.benchmark, (0, time.time() - 60))
    paper_left.keep_plan(tmp_path, [each.benchmark for each in (first, second, third)], [first.benchmark])
    assert set(paper_left.finished(JOBS, tmp_path)) == {second.benchmark, third.benchmark}, "up to date, it said"
    ended(tmp_path, first, 1.0)
    assert set(paper_left.finished(JOBS, tmp_path)) == {each.benchmark for each in (first, second, third)}


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"at_s": "x", "asked": [], "run": []}', '{"at_s": 1, "asked": 2}'])
def test_a_broken_plan_is_none(tmp_path: Path, text: str) -> None:
    write_text(tmp_path / paper_left.PLAN, text)
    assert paper_left.read_plan(tmp_path) == paper_left.Plan(0.0, frozenset(), frozenset())


@pytest.mark.parametrize(
    ("row", "cpu_s"),
    [
        ("10.0\t5.0", 5.0),
        ("30.0\t10.0", 20.0),  # it was looked at for the first fifteen seconds only
        ("48.0\t15.0", 16.0),
        ("0.01\t0.0", 0.0),
        ("10.0\tNA", None),
        ("10.0\tnan", None),
        ("10.0", None),
        ("", None),
    ],
)
def test_what_a_benchmark_tells(tmp_path: Path, row: str, cpu_s: float | None) -> None:
    write_text(tmp_path / "x.tsv", f"s\tcpu_time\n{row}\n")
    assert paper_left.measured_s(tmp_path / "x.tsv") == (None if cpu_s is None else pytest.approx(cpu_s))
    assert paper_left.measured_s(tmp_path / "none.tsv") is None


def test_a_job_without_a_time_is_done_all_the_same(tmp_path: Path) -> None:
    ended(tmp_path, JOBS[0], None)
    found = left(tmp_path)
    assert (found.done, found.spent_s, found.speed) == (1, 0.0, 1.0)


def test_at_the_start_the_targets_count_that_were_asked_for(tmp_path: Path) -> None:
    first, second = JOBS[:2]
    ended(tmp_path, first, 1.0)
    planned = {str(tmp_path / first.benchmark): False, str(tmp_path / second.benchmark): True}
    told = paper_left.at_start(ONE_SEED, tmp_path, planned, 2)
    assert told[0].startswith("paper: 1 of 2 jobs done, 1 CPU s spent; about ")
    assert paper_left.read_plan(tmp_path).run == {second.benchmark}
    assert paper_left.at_start(ONE_SEED, tmp_path, {}, 2) == [], "none of the listed jobs"


# The command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, on two cores of a machine like that of the records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(costs, "loop_s", lambda: LOOP)
    monkeypatch.setattr(machine, "usable_cores", lambda *_: 2.0)
    return tmp_path


def test_the_command_takes_the_params_of_the_run(here: Path) -> None:
    said = CliRunner().invoke(app, ["paper", "left"])
    assert said.exit_code == 0, said.output
    assert f"none of {len(jobs_of(own('paper')))} jobs done" in said.output, "the defaults: three training seeds"
    (here / "params.yaml").write_text("paper: {training_seeds: 2}")
    assert (
        f"none of {len(jobs_of(own('paper', training_seeds=2)))} jobs"
        in CliRunner().invoke(app, ["paper", "left"]).output
    )
    stage = stage_text(stage_values(params_of(ONE_SEED, "batch"), "paper"))
    write_text(Path("results/paper-batch/params/paper.json"), stage)
    assert f"none of {len(JOBS)} jobs done" in CliRunner().invoke(app, ["paper", "left"]).output
    write_text(Path("results/paper-batch/params/paper.json"), "{}")
    assert "none of" in CliRunner().invoke(app, ["paper", "left", "--cores", "8"]).output
    wrong = CliRunner().invoke(app, ["paper", "left", "--params", "none.yaml"])
    assert wrong.exit_code and "none.yaml: no such file" in str(wrong.exception)


def test_it_is_told_again_until_the_run_has_ended(tmp_path: Path) -> None:
    """Whoever started it ends after some lines; then it ends by itself."""
    words = [sys.executable, "-m", "clearsched", "paper", "left", "--every", "0.01", "--cores", "2"]
    script = (
        "import subprocess, sys, time\n"
        f"process = subprocess.Popen({words!r}, stdout=subprocess.PIPE, text=True)\n"
        "lines = [process.stdout.readline() for _ in range(4)]\n"
        "print(process.pid, *lines, flush=True)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=snakemake_runs.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    number, _, lines = told.stdout.partition(" ")
    assert len(re.findall(r"paper: none of \d+ jobs done; about", lines)) == 2, told.stderr
    until = time.monotonic() + 60
    while Path(f"/proc/{number}").exists() and time.monotonic() < until:
        time.sleep(0.2)
    assert not Path(f"/proc/{number}").exists()


# Through Snakemake


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the repository's workflow in `folder`, at the scale paper with one training seed."""
    (folder / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    told = "paper={scale: paper, training_seeds: 1}"
    return snakemake_runs.snakemake(folder, "--cores", "1", *arguments, "--config", told)


def rule_of(job: Job) -> str:
    """The rule that writes a benchmark."""
    if job.folder == "paper":
        return "paper_claims" if job.name == "claims" else f"paper_figure_{job.name}"
    if job.name.startswith("paper_take_"):
        return f"{job.name}_{job.folder}"
    return "teacher_train" if job.name.startswith("teacher_train_") else job.name


@pytest.mark.slow
def test_the_listed_jobs_are_those_that_snakemake_plans(tmp_path: Path) -> None:
    answer = snakemake(tmp_path, "--dry-run", "paper")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    table = (answer.stdout + answer.stderr).split("Job stats:")[1].split("\ntotal")[0]
    planned = {rule: int(count) for rule, count in re.findall(r"^([\w-]+) +(\d+)$", table, re.MULTILINE)}
    assert planned.pop("paper") == 1, "the target itself"
    assert dict(Counter(map(rule_of, JOBS))) == planned


@pytest.mark.workflow
def test_the_workflow_tells_it_at_the_start_and_goes_on_whatever_comes_of_it(tmp_path: Path) -> None:
    target = "results/paper-objective_jct/traces/trace.parquet"
    first = snakemake(tmp_path, target)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "paper: none of 1 jobs done; about" in first.stderr
    assert set(paper_left.finished(JOBS, tmp_path / "results")) == {"paper-objective_jct/benchmarks/traces_build.tsv"}
    plan = tmp_path / "results" / paper_left.PLAN
    plan.unlink()
    (plan / "in the way").mkdir(parents=True)
    again = snakemake(tmp_path, target, "--forcerun", "traces_build")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "paper: how far it has come cannot be told: " in again.stderr
