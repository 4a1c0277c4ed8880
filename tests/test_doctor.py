"""`clearsched doctor` on machines that are broken, each in one way, and its costs against recorded runs."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections import Counter, namedtuple
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clearsched import doctor
from clearsched.cli import app
from clearsched.doctor import caches, costs, machine, packages, paper_costs, paper_jobs, place
from clearsched.doctor.findings import Finding
from clearsched.params import Params, defaults, parse, read_scenarios, read_yaml

ROOT = Path(__file__).parents[1]
Usage = namedtuple("Usage", "total used free")
PINS = "numpy==2.0.0\n# a comment\ntorch==2.5.1  # CPU\nscipy==1.15.0\n"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No timed loop, and four cores."""
    monkeypatch.setattr(costs, "loop_s", lambda: costs.table()["loop_s"])
    monkeypatch.setattr(machine, "usable_cores", lambda *_: 4.0)


def one(found: list[Finding]) -> Finding:
    (finding,) = found
    return finding


def test_a_line_each_and_an_object_each() -> None:
    found = [Finding("disk", "ok", "lots"), Finding("results", "problem", "locked\nby x", "unlock")]
    assert doctor.as_text(found) == "ok       disk     lots\nproblem  results  locked by x: unlock"
    assert doctor.as_json(found)[1] == {"what": "results", "state": "problem", "said": "locked\nby x", "todo": "unlock"}
    assert doctor.has_problem(found) and not doctor.has_problem(found[:1])


def test_versions_that_differ_from_the_pins_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        packages.metadata, "requires", lambda name: ["numpy>=2", "torch>=2.2", "dvc>=3; extra == 'dvc'"]
    )
    pins = tmp_path / "constraints.txt"
    pins.write_text(PINS)
    same = packages.versions(pins, {"numpy": "2.0.0", "torch": "2.5.1+cpu"})
    assert [(finding.what, finding.state) for finding in same] == [("Python", "ok"), ("pins", "ok")]
    other = packages.versions(pins, {"numpy": "2.1.0", "torch": "2.5.1"})[-1]
    assert other.state == "note" and "1 of 3 differ: numpy 2.1.0 (pinned 2.0.0)" in other.said
    wrong = packages.versions(pins, {"numpy": "1.26.0"})[1]
    assert wrong.state == "problem" and wrong.said == "numpy 1.26.0, required >=2; torch is not installed"
    monkeypatch.chdir(tmp_path)
    pins.unlink()
    monkeypatch.setattr(packages, "PACKAGE", tmp_path / "a/b/c")
    assert packages.versions(None, {"numpy": "2.0.0", "torch": "3"})[-1].said == "no constraints.txt here"


def test_what_is_optional_is_never_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages.shutil, "which", lambda name: "/usr/bin/java" if name == "java" else None)
    found = {finding.what: finding for finding in packages.optional()}
    assert found["Java"] == Finding("Java", "ok", "/usr/bin/java")
    assert found["Chromium"].state == "note" and "only browser tests" in found["Chromium"].said
    assert {finding.state for finding in found.values()} <= {"ok", "note"}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "50000 100000"}, 0.5),
        ({"cpu.max": "max 100000"}, 64.0),
        ({"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 64.0),
        ({}, 64.0),
        ({"cpu.max": "rubbish"}, 64.0),
    ],
)
def test_cores_of_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: float
) -> None:
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(machine.os, "getloadavg", lambda: (1.0, 1.0, 1.0))
    written(tmp_path, files)
    assert machine.usable_cores(tmp_path) == cores
    told = one(machine.cores(tmp_path))
    assert told.state == ("ok" if cores == 64 else "note") and told.said.startswith(f"{cores:g} usable of 64")
    monkeypatch.setattr(machine.os, "getloadavg", lambda: (200.0, 1.0, 1.0))
    assert "load 200.0" in one(machine.cores(tmp_path)).said


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("files", "state", "free"),
    [
        ({"meminfo": "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n"}, "ok", "8.2 GB"),
        ({"meminfo": "MemTotal: 9000000 kB\nMemAvailable: 800000 kB\n"}, "problem", "0.8 GB"),
        ({"meminfo": "MemAvailable: 8000000 kB\n", "memory.max": "max", "memory.current": "1"}, "ok", "8.2 GB"),
        (
            {"meminfo": "MemAvailable: 8000000 kB\n", "memory.max": "1500000000", "memory.current": "500000000"},
            "problem",
            "1.0 GB",
        ),
        ({}, "note", "cannot be read"),
    ],
)
def test_memory(tmp_path: Path, files: dict[str, str], state: str, free: str) -> None:
    written(tmp_path, files)
    found = one(machine.memory(tmp_path, tmp_path))
    assert found.state == state and free in found.said


def test_gpus_are_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    assert one(machine.gpu()).state == "ok"
    monkeypatch.setattr(machine.shutil, "which", lambda name: f"/usr/bin/{name}")

    def answers(*texts: str) -> Finding:
        said = iter(texts)
        monkeypatch.setattr(machine, "_said", lambda *command: next(said))
        return one(machine.gpu())

    assert answers("Card, 80000 MiB", "True") == Finding("GPU", "ok", "Card, 80000 MiB")
    assert answers("Card", "False").state == "note" and "driver" in answers("").todo


def test_a_full_disk_and_one_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results/deep"
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda place: Usage(10**12, 0, 2 * 10**9))
    assert one(machine.disk(results, 100.0)).state == "ok"
    assert one(machine.disk(results, 1500.0)).todo.startswith("a run wants 3.0 GB")
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda place: Usage(10**12, 0, 10**6))
    assert one(machine.disk(results, 1.0)).state == "problem"
    assert not results.exists(), "looking makes nothing"

    def full(**_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(machine.tempfile, "TemporaryFile", full)
    assert "No space left" in one(machine.disk(results, 1.0)).said
    (tmp_path / "file").write_text("")
    assert one(machine.disk(tmp_path / "file", 1.0)).state == "problem"


def test_no_place_for_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "choose_numba_cache", lambda: False)
    found = one(caches.compiled_code())
    assert found.state == "problem" and "NUMBA_CACHE_DIR" in found.todo


def test_compiled_code_is_there_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "choose_numba_cache", lambda: True)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba-new"))
    assert one(caches.compiled_code()).state == "note"
    written(tmp_path, {"numba-new/loop_1/f.1.nbc": "code", "numba-old/loop_1/f.1.nbc": "c" * 1000})
    assert one(caches.compiled_code()).said.startswith("1 functions")
    monkeypatch.setattr(caches, "STALE_MB", 0.0005)
    assert [finding.what for finding in caches.compiled_code()] == ["compiled code", "old caches"]


def test_params_are_told_as_the_check_tells_them(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    checked, said = place.params(path)
    assert checked is None and said.todo == f"clearsched params default --out {path}"
    path.write_text("workload: {jbos: 3}")
    checked, said = place.params(path)
    assert checked is None and said.state == "problem" and "jbos" in said.said
    path.write_text("scenario: mine")
    checked, said = place.params(path)
    assert checked is not None and said.state == "ok" and said.said.endswith("scenario mine")


def test_a_locked_folder(tmp_path: Path) -> None:
    results, proc = tmp_path / "results", tmp_path / "proc"
    assert one(place.results(results, proc)).state == "ok"
    written(tmp_path, {".snakemake/locks/0.input.lock": "", "proc/7/cmdline": "python\0/usr/bin/snakemake\0--cores"})
    found = one(place.results(results, proc))
    assert found.state == "problem" and found.todo.endswith("snakemake --unlock")
    (proc / "7/cwd").symlink_to(tmp_path)
    working = one(place.results(results, proc))
    assert working.state == "note" and working.said == "process 7 runs Snakemake here"


def test_what_is_not_finished(tmp_path: Path) -> None:
    results = tmp_path / "results"
    written(tmp_path, {".snakemake/incomplete/YQ==": "", "results/default/.clearsched-x.json": ""})
    found = place.results(results, tmp_path / "proc")
    assert [finding.state for finding in found] == ["note", "note"]
    assert "1 files of rules" in found[0].said and "sweeps" in found[1].todo


def test_recorded_runs_are_foretold_as_closely_as_is_said() -> None:
    """Each recorded time lies within the factor that the line tells; the machine is the recorded one."""
    table = costs.table()
    for record in table["recorded"]:
        layers = [read_yaml(ROOT / "params.yaml"), read_yaml(ROOT / record["run"])]
        if "names" in record:
            layers.append({"students": {"names": record["names"]}})
        (params,) = read_scenarios(layers, {}, "test").values()
        foretold = costs.of_run(params, table["loop_s"]).cpu_s[record["stage"]]
        assert 1 / table["within"] < foretold / record["cpu_s"] < table["within"], record


def with_seeds(number: int) -> Params:
    """The defaults, with so many training seeds in the papers' figures."""
    params = defaults()
    return params.model_copy(update={"paper": params.paper.model_copy(update={"training_seeds": number})})


def test_the_papers_jobs_took_about_as_long_as_is_foretold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stage as closely as is said of one that was measured; of its jobs all but a few as closely as of a run.

    With the optional solver, as where they were measured.
    """
    monkeypatch.setattr(paper_jobs, "find_spec", lambda name: name)
    table = costs.table()
    recorded, within = table["recorded_paper"], table["within"]
    jobs = {f"{job.folder}/{job.name}": job for job in paper_jobs.jobs_of(with_seeds(recorded["training_seeds"]))}
    ratios, measured, foretold = [], Counter[str](), Counter[str]()
    for name, cpu_s in recorded["cpu_s"].items():
        job = jobs[name]
        (seconds,) = costs.cost_of({job.stage: job.work}, table["loop_s"]).cpu_s.values()
        ratios.append(seconds / cpu_s)
        measured[job.stage] += round(cpu_s)
        foretold[job.stage] += round(seconds)
    assert sum(not 1 / within < ratio < within for ratio in ratios) <= len(ratios) / 20
    for stage in measured:
        assert within**-0.5 < foretold[stage] / measured[stage] < within**0.5, stage
    assert {"students", "sizes", "teacher", "search", "episodes", "optimum"} <= set(measured)


def test_the_papers_cost_more_with_more_training_seeds() -> None:
    loop = costs.table()["loop_s"]
    costs_of = [paper_costs.of_paper(with_seeds(number), loop) for number in (1, 3)]
    one, three = (cost.cpu_s for cost in costs_of)
    own = "paper-industrial"  # which trains as many as its scenario does, however many the others train
    jobs_of = [[job for job in paper_jobs.jobs_of(with_seeds(number)) if job.folder != own] for number in (1, 3)]
    few, many = (costs.cost_of(paper_costs.by_stage(jobs), loop).cpu_s["teacher"] for jobs in jobs_of)
    assert three["students"] > 2 * one["students"] and many > 3 * few, "taken, with one seed"
    assert three["teacher"] - many == pytest.approx(one["teacher"] - few)
    assert three["heuristics"] == one["heuristics"] and three["sizes"] == one["sizes"]
    assert costs_of[1].wall_s(2) < 8 * 3600, "a night on two cores"
    assert costs_of[0].disk_mb < costs_of[1].disk_mb


def test_the_papers_cost_is_of_all_that_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes, optima, times to a decision, and the students as distilled, which are cheaper than refined ones."""
    monkeypatch.setattr(paper_jobs, "find_spec", lambda name: name)
    jobs = {job.name: job for job in paper_jobs.jobs_of(with_seeds(1))}
    assert sum(job.stage == "sizes" for job in jobs.values()) == 2 * 5 + 1
    small, large = (jobs[f"students_pareto_fit_pruned_tree_{size}"].work for size in (2, 32))
    assert large.jobs > 5 * small.jobs
    assert jobs["paper_optimum"].work.rules == jobs["paper_latency"].work.rules == 1
    fits = {job.folder: job.work for job in paper_jobs.jobs_of(with_seeds(1)) if job.name == "students_fit_rule_list"}
    assert fits["paper-imitated"].jobs == 0 < fits["paper-stream"].jobs
    monkeypatch.setattr(paper_jobs, "find_spec", lambda name: None)
    assert {job.name: job for job in paper_jobs.jobs_of(with_seeds(1))}["paper_optimum"].work.rules == 0


def test_a_job_that_holds_two_cores_does_not_keep_both_at_work() -> None:
    cost = costs.Cost({"students": 100.0, "teacher": 100.0}, {"students": 64, "teacher": 64}, 0.0, 3.0)
    assert cost.wall_s(1) == 200
    on_two = costs.table()["on_two"]["students"]
    assert cost.wall_s(2) == pytest.approx(100 * on_two + 50) and cost.wall_s(4) == pytest.approx(cost.wall_s(2) / 2)


def test_costs_follow_the_work_the_machine_and_the_cores() -> None:
    table, params = costs.table(), defaults()
    here = costs.of_run(params, table["loop_s"])
    slow = costs.of_run(params, 2 * table["loop_s"])
    assert sum(slow.cpu_s.values()) == pytest.approx(2 * sum(here.cpu_s.values()))
    assert here.wall_s(1) == pytest.approx(sum(here.cpu_s.values())) and here.wall_s(4) < here.wall_s(2) < here.wall_s(
        1
    )
    cold = costs.of_run(params, table["loop_s"], compiled=False)
    assert cold.cpu_s["compiling"] == table["compile_s"]
    shipped = parse({"search": {"source": "shipped"}, "teacher": {"source": "shipped"}}, "test")
    assert costs.of_run(shipped, 1.0).cpu_s["teacher"] == costs.of_run(shipped, 1.0).cpu_s["search"] == 0
    more = parse({"workload": {"jobs": 80}}, "test")
    assert costs.of_run(more, 1.0).disk_mb > costs.of_run(params, 1.0).disk_mb
    assert costs.of_run(defaults("deferrable_jobs"), 1.0).wall_s(2) > 0
    lines = costs.told(here, 2)
    assert "on 2 free cores" in lines[0].said and "MB of results" in lines[1].said


def test_the_loop_is_timed_by_its_fastest_turn() -> None:
    times = iter([0.0, 3.0, 3.0, 4.0, 4.0, 9.0, 9.0, 11.0, 11.0, 14.0])
    assert costs.loop_s(lambda: next(times)) == 1.0


@pytest.mark.usefixtures("quick")
def test_the_command_ends_with_1_where_there_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "memory", lambda: [])
    shutil.copy(ROOT / "params.yaml", tmp_path)
    good = CliRunner().invoke(app, ["doctor"])
    assert good.exit_code == 0, good.output
    assert "a run's time" in good.output and "problem" not in good.output.replace("problem dag_jobs", "")
    written(tmp_path, {".snakemake/locks/0.input.lock": ""})
    bad = CliRunner().invoke(app, ["doctor", "--json"])
    assert bad.exit_code == 1
    assert [f["what"] for f in json.loads(bad.output) if f["state"] == "problem"] == ["results"]
    paper = CliRunner().invoke(app, ["doctor", "--paper"])
    assert "a run's room" in paper.output and "make paper's room" in paper.output and "GB a job" in paper.output
    missing = CliRunner().invoke(app, ["doctor", "--params", "none.yaml"])
    assert missing.exit_code == 1 and "a run's time" not in missing.output


def test_the_doctor_loads_nothing_heavy() -> None:
    code = (
        "import sys, pathlib\nfrom clearsched import doctor\nfrom clearsched.doctor import paper_left\n"
        f"doctor.examine(pathlib.Path({str(ROOT / 'params.yaml')!r}), pathlib.Path('results'), True)\n"
        "print(sorted({'numba', 'torch', 'pandas', 'pyarrow', 'scipy'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
