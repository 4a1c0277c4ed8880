"""Time and peak memory of workloads over a trace of the size of Alibaba's cluster-trace-v2018 (4.2 million jobs).

    python benchmarks/large_trace.py [--jobs 4200000] [--folder FOLDER]

Writes a made-up trace of that many jobs of one to many stages (3.4 on average) as Parquet and as an uncompressed
Arrow file, unless they are there. Then each step runs in a process of its own and tells its seconds, its CPU
seconds and its peak of memory (resident set).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

CHUNK = 50_000
"""Jobs that are made at once."""

EPISODES = {"train": 64, "validation": 32, "test": 64}


def chunk(generator: np.random.Generator, first: int, jobs: int, first_arrival_ms: int) -> pa.Table:
    """Jobs of a geometric number of stages, each stage child of the one before or of the first, three durations."""
    from clearsched.problems.dag_jobs.schemas import TRACE

    sizes = np.minimum(generator.geometric(1 / 3.4, jobs), 60)
    starts = np.cumsum(sizes) - sizes
    count = int(sizes.sum())
    job = np.repeat(np.arange(jobs), sizes)
    stage = np.arange(count) - starts[job]
    parent = np.where(generator.random(count) < 0.7, stage - 1, 0)[stage > 0]
    parent_offsets = np.concatenate([[0], np.cumsum(stage > 0)])
    template = generator.integers(0, 200_000, jobs)
    arrival = first_arrival_ms + np.cumsum(generator.integers(0, 330, jobs))
    durations = np.maximum(generator.lognormal(9.5, 1.2, 3 * count), 1).astype(np.int32)
    entries = pa.StructArray.from_arrays(
        [
            pa.DictionaryArray.from_arrays(np.zeros(count, np.int8), ["rest_wave"]).cast(pa.string()),
            pa.array(np.ones(count, np.int32)),
            pa.ListArray.from_arrays(np.arange(0, 3 * count + 1, 3, dtype=np.int32), durations),
        ],
        fields=list(TRACE.field("durations").type.value_type),
    )
    columns = {
        "profile": pa.array(first + job, pa.int32()),
        "query": pa.array([f"template-{t}" for t in template]).take(pa.array(job)),
        "size": pa.array([""]).take(pa.array(np.zeros(count, np.int64))),
        "stage": pa.array(stage, pa.int32()),
        "num_tasks": pa.array(np.minimum(generator.zipf(1.8, count), 10_000), pa.int32()),
        "parents": pa.ListArray.from_arrays(pa.array(parent_offsets, pa.int32()), pa.array(parent, pa.int32())),
        "durations": pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32), entries),
        "arrival_ms": pa.array(arrival[job], pa.int64()),
        "cpu": pa.array(np.full(count, 0.5, np.float32)),
        "memory": pa.array(np.full(count, 0.2, np.float32)),
    }
    return pa.table({name: columns[name].cast(TRACE.field(name).type) for name in TRACE.names})


def generate(jobs: int, out: Path) -> None:
    from clearsched.problems.dag_jobs.traces.storage import TraceWriter

    generator = np.random.default_rng(0)
    arrival = 0
    with TraceWriter(out, {"source": "benchmark", "levels": [1]}) as writer:
        for first in range(0, jobs, CHUNK):
            table = chunk(generator, first, min(CHUNK, jobs - first), arrival)
            arrival = table["arrival_ms"][-1].as_py()
            writer.write(table)


def convert(trace: Path, out: Path) -> None:
    from clearsched.problems.dag_jobs.traces.storage import convert

    convert(trace, out)


def validate(trace: Path) -> None:
    from clearsched.problems.dag_jobs.traces.storage import check_file

    print(f"    {check_file(trace):,} profiles are sound")


def workloads(trace: Path, out: Path, **options: object) -> None:
    from clearsched.params import parse
    from clearsched.problems.dag_jobs.workloads import build

    sizes = {"executors": 50, "jobs": 40, "episodes": EPISODES}
    params = parse({"workload": sizes | options}, "benchmark")
    build(params, trace, out)


def load(trace: Path, drawn: Path) -> None:
    from clearsched.problems.dag_jobs.workloads import load_inputs

    profiles, _ = load_inputs(trace, drawn)
    print(f"    {profiles.trace.num_profiles:,} profiles compiled")


def steps(jobs: int, folder: Path) -> dict[str, str]:
    """Name of each step and the Python call that it is."""
    files = {kind: folder / f"large-{jobs}.{kind}" for kind in ("parquet", "arrow")}
    found = {}
    if not files["parquet"].is_file():
        found["generate the Parquet file"] = f"generate({jobs}, Path({str(files['parquet'])!r}))"
    if not files["arrow"].is_file():
        found["convert it to Arrow"] = f"convert(Path({str(files['parquet'])!r}), Path({str(files['arrow'])!r}))"
    for kind, file in files.items():
        trace, out = f"Path({str(file)!r})", f"Path({str(folder / f'workloads-{kind}.parquet')!r})"
        found[f"{kind}: validate"] = f"validate({trace})"
        found[f"{kind}: workloads, replay, split by template"] = (
            f"workloads({trace}, {out}, arrivals='replay', split='template')"
        )
        found[f"{kind}: workloads, batch"] = f"workloads({trace}, {out}, arrivals='batch')"
        found[f"{kind}: workloads, poisson"] = f"workloads({trace}, {out})"
        found[f"{kind}: load_inputs"] = f"load({trace}, {out})"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4_200_000)
    parser.add_argument("--folder", type=Path, default=Path("data/downloads/large-trace"))
    parser.add_argument("--step", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step is not None:
        began = time.perf_counter()
        exec(steps(arguments.jobs, arguments.folder)[arguments.step])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        wall, used = time.perf_counter() - began, time.process_time()
        print(f"{arguments.step:48} {wall:8.1f} s {used:8.1f} CPU s {peak:8.0f} MB", flush=True)
        return
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for step in steps(arguments.jobs, arguments.folder):
        command = [sys.executable, __file__, "--jobs", str(arguments.jobs), "--folder", str(arguments.folder)]
        subprocess.run([*command, "--step", step], check=True)
    for file in sorted(arguments.folder.glob(f"large-{arguments.jobs}.*")):
        print(f"{file.name:48} {file.stat().st_size / 2**20:8.0f} MB on disk")


if __name__ == "__main__":
    main()
