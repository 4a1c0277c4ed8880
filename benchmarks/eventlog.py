"""How fast event logs are read: MB of plain log a second of processor time, and the memory that it takes.

    python benchmarks/eventlog.py                        # a generated log of 300 MB, plain and in every codec
    python benchmarks/eventlog.py --path FOLDER          # logs of your own

The generated log has the kinds of events of a Spark 4 application: task ends, which make up most of a log, task starts,
stage events, one SQL execution with its plan for each job.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lz4.block
import pyarrow as pa
import zstandard

from clearsched.problems.dag_jobs.settings.sources import SparkEventlogParams
from clearsched.problems.dag_jobs.traces.spark_eventlog import write

BLOCK_BYTES = 32 * 1024
TASKS, STAGES = 60, 4
COUNTERS = [
    *("Executor Deserialize Time", "Executor Run Time", "Peak Execution Memory", "Result Size", "JVM GC Time"),
    *("Result Serialization Time", "Memory Bytes Spilled", "Disk Bytes Spilled"),
]


def one_job(number: int) -> Iterator[dict[str, object]]:
    """The events of one SQL execution: a chain of stages of equal size."""
    at = 1_700_000_000_000 + 10_000 * number
    sql = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
    yield {"Event": sql + "Start", "executionId": number, "description": "q", "physicalPlanDescription": "x" * 6000}
    first = number * STAGES
    infos = [
        {
            "Stage ID": first + i,
            "Stage Name": "collect at Benchmark.scala:1",
            "Number of Tasks": TASKS,
            "RDD Info": [{"RDD ID": 10 * (first + i) + j, "Name": "MapPartitionsRDD"} for j in range(6)],
            "Parent IDs": [first + i - 1] if i else [],
            "Details": "x" * 1000,
        }
        for i in range(STAGES)
    ]
    properties = {"spark.sql.execution.id": str(number), "spark.app.name": "benchmark", "rest": "x" * 1500}
    yield {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Submission Time": at,
        "Stage Infos": infos,
        "Properties": properties,
    }
    for i in range(STAGES):
        yield {"Event": "SparkListenerStageSubmitted", "Stage Info": infos[i], "Properties": properties}
        for index in range(TASKS):
            launch = at + 2000 * i + 100 * (index // 4)
            info = {"Task ID": index, "Index": index, "Attempt": 0, "Partition ID": index, "Launch Time": launch}
            info |= {"Executor ID": str(index % 4), "Host": "node", "Speculative": False, "Getting Result Time": 0}
            info |= {"Finish Time": 0, "Failed": False, "Killed": False}
            yield {"Event": "SparkListenerTaskStart", "Stage ID": first + i, "Task Info": {**info, "Accumulables": []}}
            updates = [
                {
                    "ID": 40 + k,
                    "Name": f"internal.metrics.counter{k}",
                    "Update": k * index,
                    "Value": k,
                    "Internal": True,
                }
                for k in range(12)
            ]
            yield {
                "Event": "SparkListenerTaskEnd",
                "Stage ID": first + i,
                "Stage Attempt ID": 0,
                "Task Type": "ResultTask" if i == STAGES - 1 else "ShuffleMapTask",
                "Task End Reason": {"Reason": "Success"},
                "Task Info": info | {"Finish Time": launch + 90 + index % 10, "Accumulables": updates},
                "Task Executor Metrics": {f"Metric{k}Memory": 0 for k in range(24)},
                "Task Metrics": dict.fromkeys(COUNTERS, index)
                | {"Executor Deserialize CPU Time": 1_000_000, "Executor CPU Time": 80_000_000}
                | {"Shuffle Read Metrics": {f"Remote Blocks {k}": 0 for k in range(10)}}
                | {"Input Metrics": {"Bytes Read": 1000, "Records Read": 10}, "Updated Blocks": []},
            }
        yield {"Event": "SparkListenerStageCompleted", "Stage Info": infos[i]}
    yield {"Event": "SparkListenerJobEnd", "Job ID": number, "Job Result": {"Result": "JobSucceeded"}}
    yield {"Event": sql + "End", "executionId": number, "time": at + 9000}


def generate(path: Path, megabytes: float) -> int:
    """Write a log of about that size; return the number of jobs in it."""
    number = written = 0
    with open(path, "wb") as stream:
        executors = ({"Executor ID": str(i), "Executor Info": {"Total Cores": 4}} for i in range(4))
        for event in executors:
            stream.write(json.dumps({"Event": "SparkListenerExecutorAdded", **event}).encode() + b"\n")
        while written < megabytes * 1e6:
            for event in one_job(number):
                written += stream.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")
            number += 1
    return number


def lz4_java(data: bytes) -> bytes:
    """A block of lz4-java's stream."""
    packed = lz4.block.compress(data, store_size=False)
    return b"LZ4Block" + struct.pack("<BiiI", 0x20, len(packed), len(data), 0) + packed


def snappy_java(data: bytes) -> bytes:
    """A block of snappy-java's stream, with a header of its own, as streams that are appended have."""
    packed = pa.Codec("snappy").compress(data, asbytes=True)
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(packed)) + packed


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstandard.ZstdCompressor(level=1).compress,
    "lz4": lz4_java,
    "snappy": snappy_java,
    "gz": lambda data: gzip.compress(data, 6),
}


def compress(plain: Path, codec: str) -> Path:
    """The log in another codec, block by block."""
    size = BLOCK_BYTES if codec in ("lz4", "snappy") else 1 << 22
    packed = plain.with_name(f"{plain.name}.{codec}")
    with open(plain, "rb") as source, open(packed, "wb") as target:
        while block := source.read(size):
            target.write(CODECS[codec](block))
    return packed


def measure(path: Path, plain_bytes: int, out: Path) -> None:
    """Print one row: sizes, jobs, times, speed, and the largest memory of this process so far."""
    wall, processor = time.perf_counter(), time.process_time()
    summary = write(path, out, SparkEventlogParams(), 0)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{path.name:20} {plain_bytes / 1e6:8.0f} {summary.jobs:8} {summary.tasks:9} {wall:8.2f} {processor:8.2f} "
        f"{plain_bytes / 1e6 / processor:10.0f} {peak_mb:8.0f}",
        flush=True,
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=300, help="size of the generated log")
    parser.add_argument("--path", type=Path, help="plain logs of your own")
    arguments = parser.parse_args()
    head = ("log", "plain MB", "jobs", "tasks", "wall s", "CPU s", "MB/CPU s", "peak MB")
    print("{:20} {:>8} {:>8} {:>9} {:>8} {:>8} {:>10} {:>8}".format(*head))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "trace.parquet"
        if arguments.path is not None:
            files = [arguments.path] if arguments.path.is_file() else arguments.path.rglob("*")
            measure(arguments.path, sum(file.stat().st_size for file in files if file.is_file()), out)
            return
        log = Path(folder) / "app-1"
        generate(log, arguments.megabytes)
        measure(log, log.stat().st_size, out)
        for codec in CODECS:
            packed = compress(log, codec)
            measure(packed, log.stat().st_size, out)
            packed.unlink()


if __name__ == "__main__":
    main()
