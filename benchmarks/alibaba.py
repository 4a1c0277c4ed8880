"""The source alibaba-2018 at full size: writes a file of the published shape, reads it in a fresh process, measures it.

    python benchmarks/alibaba.py [--jobs N] [--folder DIR] [--keep] [--json]

The file has as many jobs, tasks and rows of each status as cluster-trace-v2018, jobs drawn as by the source
alibaba-like, in no order of time, and the known defects: in the published number where there is one (cyclic jobs,
missing parents, status), else about 1,000 of each. It takes 0.8 GB on disk, reading it 1.3 GB more; both are deleted
in the end.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from clearsched.problems.dag_jobs.settings.sources import Alibaba2018Params, AlibabaLikeParams
from clearsched.problems.dag_jobs.traces import alibaba_2018
from clearsched.problems.dag_jobs.traces.alibaba_2018.rows import Batch
from clearsched.problems.dag_jobs.traces.alibaba_like.jobs import draw_jobs

JOBS, TASKS = 4_201_014, 14_295_731
STATUS = {"Running": 129_354, "Failed": 83_276, "Waiting": 23_958}
CYCLIC, MISSING, OTHER_DEFECTS = 13, 479, 1000
SECONDS = 691_200
MEAN_TASKS = 3.667  # of a drawn job; some jobs are made single, so that the sum is right and 59 % have several tasks
MARGIN = 10_000  # tasks left for the end, where they fill the file up to the wanted number
NAMELESS = 0.168  # share of the jobs whose tasks have no numbers, so that 48 % have an edge
CHUNK = 50_000
SEED = 3


def write_csv(path: Path, jobs: int) -> int:
    """Write a file of `jobs` jobs, the other counts in proportion; return its number of rows."""
    generator = np.random.default_rng(SEED)
    share = jobs / JOBS
    target, written = round(TASKS * share), 0
    marked = generator.permutation(target)[: round(sum(STATUS.values()) * share) + round(5 * OTHER_DEFECTS * share) + 1]
    schema = pa.schema(list(zip(COLUMNS, KINDS, strict=True)))
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with csv.CSVWriter(str(path), schema, write_options=options) as writer:
        for first in range(0, jobs, CHUNK):
            count = min(CHUNK, jobs - first)
            last = first + count == jobs
            each = (target - MARGIN - written) / (jobs - first)
            single = max(0, round(count * (MEAN_TASKS - each) / (MEAN_TASKS - 1)))
            rows = target - written if last else None
            table = chunk(generator, first, count, single, rows, round(MISSING * share) if last else 0)
            here = marked[(marked >= written) & (marked < written + len(table))] - written
            writer.write_table(pa.table(defects(table, here, generator), schema=schema))
            written += len(table)
    return written


COLUMNS = (
    "task_name",
    "instance_num",
    "job_name",
    "task_type",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
)
KINDS = (
    pa.string(),
    pa.int64(),
    pa.string(),
    pa.string(),
    pa.string(),
    pa.int64(),
    pa.int64(),
    pa.int64(),
    pa.float64(),
)


def chunk(
    generator: np.random.Generator, first: int, jobs: int, single: int, rows: int | None, missing: int
) -> pa.Table:
    """Sound rows of some jobs; the last chunk is filled up to `rows` rows and gets the cyclic and orphaned names."""
    parts = [
        draw_jobs(generator, single, AlibabaLikeParams(max_stages=1)),
        draw_jobs(generator, jobs - single, AlibabaLikeParams()),
    ]
    names, job, start, end = [], [], [], []
    offset = 0
    for part in parts:
        stages = np.diff(part.job_start)
        own = np.repeat(np.arange(part.num_jobs), stages)
        child = np.repeat(np.arange(len(own)), np.diff(part.parent_start))
        begin = starts(part, generator, own, child)
        job.append(own + offset)
        start.append(begin)
        end.append(begin + part.mean_s.astype(np.int64))
        names.append(task_names(part, generator, own, missing if part is parts[1] else 0))
        offset += part.num_jobs
    columns = {
        "task_name": pa.concat_arrays(names),
        "instance_num": np.concatenate([part.num_tasks for part in parts]).astype(np.int64),
        "job": np.concatenate(job),
        "start_time": np.concatenate(start),
        "end_time": np.concatenate(end),
        "plan_cpu": np.rint(np.concatenate([part.cpu for part in parts]) * 100).astype(np.int64),
        "plan_mem": np.round(np.concatenate([part.memory for part in parts]).astype(float), 2),
    }
    size = len(columns["job"])
    order = np.lexsort((generator.random(size), columns["job"]))
    if rows is not None:  # the largest job of the trace has 1,002 tasks; the other rows go to random jobs
        assert rows > size + 1001, "too many tasks were drawn: make MARGIN larger"
        more = generator.integers(0, size, rows - size)
        more[:1001] = more[0]
        order = np.concatenate([order, more])
    table = pa.table(columns).take(pa.array(order))
    if rows is not None:
        twice = pa.array(np.arange(rows - size) >= rows - size - round(OTHER_DEFECTS * (first + jobs) / JOBS))
        filled = pc.if_else(twice, "M1", nameless(generator, rows - size))
        fresh = pa.concat_arrays([table["task_name"].combine_chunks().slice(0, size), filled])
        table = table.set_column(0, "task_name", fresh)
    number = pc.cast(pc.add(table["job"], first + 1), pa.string())
    return table.append_column("job_name", pc.binary_join_element_wise("j_", number, ""))


def starts(part: Batch, generator: np.random.Generator, job: np.ndarray, child: np.ndarray) -> np.ndarray:
    """int64[G]: a task starts when its parents have ended; one in twenty carries the start of its job."""
    begin = generator.integers(1, SECONDS, part.num_jobs)[job]
    registered = generator.random(len(job)) < 0.05
    parent = part.parents + part.job_start[job[child]]
    start = begin.copy()
    while True:
        later = start.copy()
        np.maximum.at(later, child, (start + part.mean_s.astype(np.int64))[parent])
        if np.array_equal(later, start):
            return np.where(registered, begin, start)
        start = later


def task_names(part: Batch, generator: np.random.Generator, job: np.ndarray, missing: int) -> pa.Array:
    """The names of the tasks, with their parents; `missing` of them name one that is not there, 13 jobs are cyclic."""
    rows = len(job)
    rank = np.arange(rows) - part.job_start[job]
    letters = pa.array(["M", "R", "J"]).take(pa.array(np.minimum(np.diff(part.parent_start), 2)))
    parents = part.parents + 1
    lists = pa.ListArray.from_arrays(pa.array(part.parent_start, pa.int32()), pa.array(parents).cast(pa.string()))
    joined = pc.binary_join(lists, "_")
    own = pc.binary_join_element_wise(letters, pa.array(rank + 1).cast(pa.string()), "")
    names = pc.if_else(pc.equal(joined, ""), own, pc.binary_join_element_wise(own, joined, "_"))
    none = (generator.random(part.num_jobs) < NAMELESS)[job]
    if missing:
        kept = np.flatnonzero(~none)
        orphans = np.zeros(rows, bool)
        orphans[generator.choice(kept, missing, replace=False)] = True
        names = pc.if_else(pa.array(orphans), pc.binary_join_element_wise(names, "1999", "_"), names)
        cyclic = np.zeros(rows, bool)  # R2_1 is there: in each of these jobs the second task waits for the first
        second = np.flatnonzero((rank[1:] == 1) & (np.diff(part.parent_start)[1:] == 1) & ~none[1:])
        cyclic[generator.choice(second, CYCLIC, replace=False)] = True
        names = pc.if_else(pa.array(cyclic), pc.binary_join_element_wise(names, "2", "_"), names)
    return pc.if_else(pa.array(none), nameless(generator, rows), names)


def nameless(generator: np.random.Generator, count: int) -> pa.Array:
    """Names of independent tasks, as long as those of the trace."""
    numbers = pa.array(generator.integers(10**18, 9 * 10**18, count)).cast(pa.string())
    return pc.binary_join_element_wise("task_Nzg3", numbers, "==", "")


def defects(table: pa.Table, rows: np.ndarray, generator: np.random.Generator) -> dict[str, pa.Array]:
    """The columns of the file, with the status of unfinished rows and the other defects at `rows`."""
    size = len(table)
    kinds = (*STATUS, "early end", "no cpu", "no memory", "no instances", "end 0")
    weights = np.array([*STATUS.values(), *[OTHER_DEFECTS] * 5], float)
    kind = np.full(size, -1)
    kind[rows] = generator.choice(len(kinds), len(rows), p=weights / weights.sum())
    at = {name: kind == index for index, name in enumerate(kinds)}
    start, end = table["start_time"].to_numpy().copy(), table["end_time"].to_numpy().copy()
    end[at["Running"] | at["Waiting"] | at["end 0"]] = 0
    start[at["Waiting"]] = 0
    end[at["early end"]] = start[at["early end"]] - 5
    status = np.where(kind < len(STATUS), kind, -1)
    words = pa.array([*STATUS, "Terminated"])
    return {
        "task_name": table["task_name"].combine_chunks(),
        "instance_num": pa.array(table["instance_num"].to_numpy(), mask=at["no instances"]),
        "job_name": table["job_name"].combine_chunks(),
        "task_type": pa.array(generator.integers(1, 13, size)).cast(pa.string()),
        "status": words.take(pa.array(np.where(status < 0, len(STATUS), status))),
        "start_time": pa.array(start),
        "end_time": pa.array(end),
        "plan_cpu": pa.array(table["plan_cpu"].to_numpy(), mask=at["no cpu"]),
        "plan_mem": pa.array(table["plan_mem"].to_numpy(), mask=at["no memory"]),
    }


def read(path: Path, out: Path) -> dict[str, object]:
    """Run the source in this process and measure it."""
    begin = time.perf_counter()
    summary = alibaba_2018.write(path, out, Alibaba2018Params(keep="all"), SEED)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "wall_s": round(time.perf_counter() - begin, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_gb": round(usage.ru_maxrss * 1024 / 1e9, 2),
        "trace_mb": round(out.stat().st_size / 1e6),
        "jobs": summary.jobs,
        "stages": summary.stages,
        "skipped": summary.skipped,
        "survived": summary.survived,
    }


def main() -> None:
    """Generate, read in a fresh process, print, clean up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=JOBS, help="jobs of the file (default: as many as the real one)")
    parser.add_argument("--folder", type=Path, help="where the temporary folder goes (default: the system's)")
    parser.add_argument("--keep", action="store_true", help="leave the file and the trace there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--read", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        print(json.dumps(read(*arguments.read)))
        return
    folder = Path(tempfile.mkdtemp(prefix="alibaba-", dir=arguments.folder))
    try:
        if shutil.disk_usage(folder).free < 5e9:
            parser.error(f"{folder}: 5 GB of free disk space are needed; name another place with --folder")
        begin = time.perf_counter()
        rows = write_csv(folder / "batch_task.csv", arguments.jobs)
        made = {"rows": rows, "csv_mb": round((folder / "batch_task.csv").stat().st_size / 1e6)}
        made["made_in_s"] = round(time.perf_counter() - begin, 1)
        command = [sys.executable, __file__, "--read", str(folder / "batch_task.csv"), str(folder / "trace.parquet")]
        found = made | json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)
    print(json.dumps(found) if arguments.json else "\n".join(f"{name}: {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
