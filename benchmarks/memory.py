"""What memory each reader takes for its input: peak of a fresh process, on generated inputs of two sizes.

    python benchmarks/memory.py [--scale 1] [--reader NAME]...

The larger input is four times the smaller one. What a reader takes besides its input (Python, libraries) is in both, so
the growth is the difference of the peaks over that of the inputs: MB of memory for each further MB of input. A reader
that works in pieces grows by less than its input. `--scale 4` makes all inputs four times as large.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import alibaba
import eventlog
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLEARSCHED = [sys.executable, "-m", "clearsched"]
READ_WORKLOADS = (
    "import sys; from clearsched.problems.dag_jobs.workloads import files; files.read_workloads(sys.argv[1])"
)
INPUT, OUT, FOLDER = "{input}", "{out}", "{folder}"
ROW_GROUP = 65_536


class Reader(NamedTuple):
    """A reader and its inputs.

    Attributes:
        name: what the table calls it.
        make: writes an input of a size, in units of its own, below a folder; returns its path.
        size: of the smaller input.
        command: the process that reads it, a key of `COMMANDS`.
    """

    name: str
    make: Callable[[Path, int], Path]
    size: int
    command: str


def log(folder: Path, megabytes: int) -> Path:
    """One application."""
    eventlog.generate(folder / "application", megabytes)
    return folder / "application"


def packed_log(folder: Path, megabytes: int) -> Path:
    """One application, gzip."""
    return eventlog.compress(log(folder, megabytes), "gz")


def many_logs(folder: Path, count: int) -> Path:
    """Applications of 5 MB each, with ids of their own."""
    (folder / "logs").mkdir()
    for number in range(count):
        path = folder / "logs" / f"application-{number}"
        eventlog.generate(path, 5)
        start = {"Event": "SparkListenerApplicationStart", "App Name": "memory", "App ID": path.name, "Timestamp": 1}
        path.write_text(f"{json.dumps(start)}\n{path.read_text()}")
    return folder / "logs"


def batch_tasks(folder: Path, jobs: int) -> Path:
    """Alibaba's table."""
    alibaba.write_csv(folder / "batch_task.csv", jobs)
    return folder / "batch_task.csv"


def trace(folder: Path, jobs: int) -> Path:
    """A trace of generated jobs."""
    build(folder / "trace.parquet", "alibaba-like", jobs)
    return folder / "trace.parquet"


def arrow(folder: Path, jobs: int) -> Path:
    """The same, uncompressed."""
    command = [*CLEARSCHED, "traces", "convert", str(trace(folder, jobs)), "--out", str(folder / "trace.arrow")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "trace.arrow"


def build(path: Path, source: str, jobs: int) -> None:
    """A trace of a source that generates."""
    command = [*CLEARSCHED, "traces", "build", "--source", source, "--set", f"jobs={jobs}", "--out", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def workloads(folder: Path, jobs: int) -> Path:
    """Episodes of so many jobs."""
    build(folder / "profiles.parquet", "synthetic", 100)
    workload = {"jobs": jobs, "episodes": {"train": 64, "validation": 8, "test": 8}}
    values = {"problem": "dag_jobs", "scenario": "memory", "seed": 1, "workload": workload}
    draw = (
        "import sys, json; from pathlib import Path; from clearsched.params import parse;"
        "from clearsched.problems import find_problem; folder = Path(sys.argv[1]);"
        "params = parse(json.loads(sys.argv[2]), 'memory', whole=False);"
        "find_problem('dag_jobs').draw(params, folder / 'profiles.parquet', folder / 'workloads.parquet')"
    )
    subprocess.run([sys.executable, "-c", draw, str(folder), json.dumps(values)], check=True)
    return folder / "workloads.parquet"


def decisions(folder: Path, rows: int) -> Path:
    """A log of that many rows: decisions of four candidates with random features, in row groups as logs have."""
    from clearsched.decisions.schema import log_schema
    from clearsched.files import PROVENANCE_KEY
    from clearsched.problems import find_problem

    told = {"problem": "dag_jobs", "expert": "fair", "facts": {}, "episodes": {"train": rows}}
    schema = log_schema(find_problem("dag_jobs")).with_metadata({PROVENANCE_KEY: json.dumps(told).encode()})
    generator = np.random.default_rng(1)
    with pq.ParquetWriter(folder / "decisions.parquet", schema, compression="zstd") as writer:
        for first in range(0, rows, ROW_GROUP):
            at = np.arange(first, min(first + ROW_GROUP, rows))
            columns = [column(schema.field(name), at, generator) for name in schema.names]
            writer.write_table(pa.table(columns, schema=schema))
    return folder / "decisions.parquet"


def column(field: pa.Field, at: np.ndarray, generator: np.random.Generator) -> pa.Array:
    """A column of a decision log in the rows `at`: four candidates a decision, of which the first is chosen."""
    told = {
        "episode": at // 40_000,
        "decision": at // 4 % 10_000,
        "candidate": at % 4,
        "group": at % 4,
        "chosen": at % 4 == 0,
        "split": np.full(len(at), "train"),
        "choice": np.full(len(at), "stage"),
    }
    values = told[field.name] if field.name in told else generator.random(len(at))
    return pa.array(values).cast(field.type)


def episode(folder: Path, jobs: int) -> Path:
    """An episode as JSON, on a trace beside it."""
    build(folder / "profiles.parquet", "synthetic", 100)
    names = pq.read_table(folder / "profiles.parquet", columns=["query", "size"]).slice(0, 1).to_pylist()[0]
    told = {"num_executors": 10, "moving_delay_ms": 0, "warmup_delay_ms": 0}
    told["jobs"] = [{**names, "arrival_ms": 1000 * number} for number in range(jobs)]
    (folder / "episode.json").write_text(json.dumps(told))
    return folder / "episode.json"


READERS = (
    Reader("event log, one application", log, 10, "eventlog"),
    Reader("the same, gzip", packed_log, 10, "eventlog"),
    Reader("event logs, applications of 5 MB", many_logs, 2, "eventlog"),
    Reader("Alibaba's table", batch_tasks, 50_000, "alibaba"),
    Reader("trace, Parquet: validate", trace, 20_000, "validate"),
    Reader("trace, Parquet: describe", trace, 20_000, "describe"),
    Reader("trace, Arrow: validate", arrow, 20_000, "validate"),
    Reader("workloads", workloads, 500, "workloads"),
    Reader("decisions: describe", decisions, 200_000, "decisions"),
    Reader("episode, JSON", episode, 5_000, "episode"),
)
COMMANDS = {
    "eventlog": [*CLEARSCHED, "traces", "build", "--source", "spark-eventlog", "--path", INPUT, "--out", OUT],
    "alibaba": [*CLEARSCHED, "traces", "build", "--source", "alibaba-2018", "--path", INPUT, "--out", OUT],
    "validate": [*CLEARSCHED, "traces", "validate", INPUT],
    "describe": [*CLEARSCHED, "traces", "describe", INPUT, "--json"],
    "workloads": [sys.executable, "-c", READ_WORKLOADS, INPUT],
    "decisions": [*CLEARSCHED, "decisions", "describe", INPUT],
    "episode": [*CLEARSCHED, "simulate", INPUT, "--profiles", f"{FOLDER}/profiles.parquet", "--policy", "fifo"],
}


class Measured(NamedTuple):
    """An input's size and what the process that read it held at most, both in MB (1e6 bytes)."""

    input_mb: float
    peak_mb: float


def measure(reader: Reader, size: int, folder: Path) -> Measured:
    """Make an input, read it in a process of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = reader.make(folder, size)
    files = [path] if path.is_file() else list(path.iterdir())
    holes = {INPUT: str(path), OUT: str(folder / "out.parquet"), FOLDER: str(folder)}
    command = COMMANDS[reader.command]
    for hole, value in holes.items():
        command = [word.replace(hole, value) for word in command]
    return Measured(sum(file.stat().st_size for file in files) / 1e6, peak(command))


def peak(command: list[str]) -> float:
    """MB that a process held at most; its children count each for themselves."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
    return usage.ru_maxrss * 1024 / 1e6


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1, help="of all inputs")
    parser.add_argument("--reader", action="append", help="a part of a reader's name; repeat for more; default: all")
    arguments = parser.parse_args()
    print("| reader | input MB | peak MB | input MB | peak MB | MB more for each MB |\n|---|---|---|---|---|---|")
    for reader in READERS:
        if arguments.reader and not any(part in reader.name for part in arguments.reader):
            continue
        size = max(1, round(reader.size * arguments.scale))
        with tempfile.TemporaryDirectory(prefix="clearsched-memory-") as folder:
            small, large = (measure(reader, each, Path(folder, "input")) for each in (size, 4 * size))
        growth = (large.peak_mb - small.peak_mb) / (large.input_mb - small.input_mb)
        cells = (small.input_mb, small.peak_mb, large.input_mb, large.peak_mb)
        print(f"| {reader.name} | " + " | ".join(f"{cell:.3g}" for cell in cells) + f" | {growth:.2g} |", flush=True)


if __name__ == "__main__":
    main()
