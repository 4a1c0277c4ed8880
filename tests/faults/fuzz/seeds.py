"""Sound files to begin with, small: each format as clearsched writes it, and as Spark and Alibaba do."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import yaml
import zstandard

from . import service

TESTS = Path(__file__).parents[2]
PACKAGE = TESTS.parent / "src/clearsched"
EVENT_LOGS = ("plain", "java.lz4", "java.snappy", "java.zstd")

SMALL = {
    "traces": {"source": "synthetic", "synthetic": {"jobs": 4, "samples": 5, "stages_max": 4}},
    "students": {"dagger_rounds": 0, "refine": {"rounds": 1, "evaluations": 4, "episodes": 2, "population": 4}},
}
"""Laid over the tiny configuration of the tests."""

ALIBABA = """\
R2_1,1,j_2,1,Terminated,87076,87086,50,0.2
M1,1,j_2,1,Terminated,87076,87083,50,0.2
J3_1_2,4,j_2,1,Terminated,87090,87100,100,0.39
task_Nzg3ODcyNzQxNjY0NDY4NDc0,2,j_3,1,Terminated,90000,90030,100,0.59
M1,1,j_4,1,Failed,86400,86500,50,0.2
M2_1,10,j_5,1,Terminated,172800,172830,,
"""

PATCHES = """\
- when: jobs_in_system > 40 and job_age_s > 600 s
  do: prefer
  because: long waiters go first in a crowd
  priority: 1
- when: job_work_total_s > 100000
  cap: 0.9
"""

WORKLOAD = {
    "num_executors": 4,
    "moving_delay_ms": 2000,
    "warmup_delay_ms": 1000,
    "jobs": [{"query": "0", "size": "1", "arrival_ms": 0}, {"query": "1", "size": "1", "arrival_ms": 5000}],
}


NEEDS = ("files", "stages", "students")
"""What a reader needs: files that lie here, what the first stages write (seconds), decisions and students (more)."""


def make(folder: Path, need: str) -> None:
    """Write what is needed, one of `NEEDS`; what the stages say is thrown away."""
    folder.mkdir(parents=True, exist_ok=True)
    _event_logs(folder)
    _alibaba(folder)
    _params(folder)
    for name in ("teacher.safetensors", "teacher.json", "stay_and_move.json"):
        shutil.copy(PACKAGE / "shipped/micro" / name, folder / name)
    (folder / "patches.yaml").write_text(PATCHES)
    if need != "files":
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            _run_stages(folder, need == "students")
        (folder / "decide.http").write_bytes(service.request(folder / "stay_and_move.json"))
        (folder / "workload.json").write_text(json.dumps(_workload(folder / "trace.parquet"), indent=2))


def _event_logs(folder: Path) -> None:
    for name in EVENT_LOGS:
        shutil.copy(TESTS / "eventlogs" / name, folder / name)
    plain = (folder / "plain").read_bytes()
    (folder / "log.gz").write_bytes(gzip.compress(plain))
    (folder / "log.zst").write_bytes(zstandard.ZstdCompressor().compress(plain))


def _alibaba(folder: Path) -> None:
    (folder / "batch_task.csv").write_text(ALIBABA)
    with tarfile.open(folder / "batch_task.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("batch_task.csv")
        entry.size = len(ALIBABA.encode())
        archive.addfile(entry, io.BytesIO(ALIBABA.encode()))


def _params(folder: Path) -> None:
    values = yaml.safe_load((TESTS / "config/tiny.yaml").read_text("utf-8"))
    for section, changes in SMALL.items():
        values[section] = values.get(section, {}) | changes
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    (folder / "overlay.yaml").write_text("scenario: few\nworkload:\n  executors: 3\nseed: 5\n")


def _run_stages(folder: Path, learned: bool) -> None:
    """The first stages of the pipeline, through the command line."""
    from clearsched.cli import app

    def run(*arguments: object) -> None:
        app([str(argument) for argument in arguments], standalone_mode=False)

    at = {name: folder / f"{name}.parquet" for name in ("trace", "workloads", "tuning", "decisions")}
    for stage in ("traces", "workloads", "heuristics", "decisions", "students"):
        run("params", "stage", stage, "--params", folder / "params.yaml", "--out", folder / f"stage_{stage}.json")
    run("traces", "build", "--params", folder / "stage_traces.json", "--out", at["trace"])
    run("traces", "convert", at["trace"], "--out", folder / "trace.arrow")
    inputs = ["--trace", at["trace"]]
    run("traces", "workloads", "--params", folder / "stage_workloads.json", *inputs, "--out", at["workloads"])
    inputs += ["--workloads", at["workloads"]]
    tuned = ["--out", at["tuning"], "--out-tuned", folder / "tuned.json"]
    run("heuristics", "tune", "--params", folder / "stage_heuristics.json", *inputs, *tuned)
    if not learned:
        return
    inputs += ["--tuned", folder / "tuned.json", "--teacher", "fair"]
    run("decisions", "log", "--params", folder / "stage_decisions.json", *inputs, "--out", at["decisions"])
    inputs += ["--decisions", at["decisions"], "--out", folder]
    for kind in ("rule_list", "boosted_trees"):
        run("students", "fit", kind, "--params", folder / "stage_students.json", *inputs)


def _workload(trace: Path) -> dict[str, object]:
    """An episode of two jobs of the trace, by the names that it has."""
    from clearsched.problems.dag_jobs.traces import read_trace

    rows = read_trace(trace).stages.to_pylist()
    names = list(dict.fromkeys((row["query"], row["size"]) for row in rows))[:2]
    jobs = [{"query": query, "size": size, "arrival_ms": 5000 * at} for at, (query, size) in enumerate(names)]
    return WORKLOAD | {"jobs": jobs}
