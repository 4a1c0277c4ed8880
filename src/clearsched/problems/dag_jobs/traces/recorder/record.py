"""Record the 22 TPC-H queries on a local Apache Spark and write them as a trace.

A recording is made of units (scale factor, parallelism level, query). A finished unit leaves a small JSON
file beside the event logs in the work folder, so an interrupted recording goes on where it stopped.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from clearsched.errors import ClearschedError
from clearsched.files import digest_json, make_folder, read_json, write_json
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.traces.recorder.application import Application
from clearsched.problems.dag_jobs.traces.recorder.eventlog import Run, read_events, read_runs
from clearsched.problems.dag_jobs.traces.recorder.extending import (
    SOURCE,
    Recorded,
    check_extendable,
    extended,
    read_recording,
)
from clearsched.problems.dag_jobs.traces.recorder.profiles import Clock, Recording, profile_rows
from clearsched.problems.dag_jobs.traces.recorder.settings import (
    NOTICE,
    PACKAGES,
    WARMUP_FRACTION,
    WARMUP_LIMIT,
    check_software,
    generator_command,
    machine,
    repetitions_for,
    row_group_bytes,
    size_name,
    software,
    spark_conf,
    splits_for,
    warmup_factor_for,
    warmup_splits_for,
)
from clearsched.problems.dag_jobs.traces.recorder.worker import COLD_RUN, job_group
from clearsched.schemas import write_table

ALL_QUERIES = tuple(range(1, 23))

WAVES_MEANING = {
    "first_wave": "first task of a core in a stage, timed runs",
    "rest_wave": "later tasks of that core in the same stage, timed runs",
    "fresh": "first task of a core in a stage, in the first run of the query in its application: with code "
    "generation, class loading and compilation of the query's code. That run reads "
    f"{WARMUP_FRACTION:g} times the data (at most scale factor {WARMUP_LIMIT:g}) in correspondingly fewer tasks, so "
    "that each task has as much data. "
    "The start of the virtual machine is not in it: the simulator's moving delay stands for that",
}

DURATION_MEANING: dict[Clock, str] = {
    "processor": "processor time of a successful task (its deserialisation and its run), in ms, at least 1",
    "wall": "finish minus launch time of a successful task, in ms, at least 1",
}


@dataclass(frozen=True)
class Plan:
    """What to record and where to work.

    Attributes:
        repetitions: timed runs of each query, None for `DEFAULT_REPETITIONS` by scale factor.
        work: folder of the generated data and the event logs; several GB at the larger scale factors.
        driver_memory: heap of each Spark application, in Java's notation.
        clock: what a task's duration is measured by.
    """

    scale_factors: tuple[float, ...]
    levels: tuple[int, ...]
    queries: tuple[int, ...]
    repetitions: int | None
    work: Path
    driver_memory: str
    clock: Clock = "processor"

    def folder(self, scale_factor: float, level: int) -> Path:
        """Where the event logs and unit files of one scale factor and level lie.

        The name holds a digest of the settings and of the versions of Spark and the data generator: runs made with
        others are never mixed.
        """
        conf = spark_conf(level, Path("/logs"), Path("/scratch"), self.driver_memory)
        splits = (splits_for(scale_factor).conf(), warmup_splits_for(scale_factor).conf())
        versions = [importlib.metadata.version(package) for package in PACKAGES]
        digest = digest_json([conf, *splits, WARMUP_FRACTION, row_group_bytes(scale_factor), versions])[:8]
        return self.work / "logs" / f"{size_name(scale_factor)}-local{level}-{digest}"

    def unit(self, scale_factor: float, level: int, query: int) -> Path:
        """The file that says that a unit is finished, and in which event log it is."""
        return self.folder(scale_factor, level) / f"query-{query}.json"

    def is_recorded(self, scale_factor: float, level: int, query: int) -> bool:
        """Whether a unit is finished with at least as many timed runs as wanted."""
        path = self.unit(scale_factor, level, query)
        return path.is_file() and read_json(path)["repetitions"] >= repetitions_for(scale_factor, self.repetitions)


def record_tpch(
    out: Path,
    scale_factors: Sequence[float] = (0.5, 1.0, 2.0, 5.0, 10.0),
    levels: Sequence[int] = (1, 2),
    repetitions: int | None = None,
    work: Path = Path("spark-work"),
    queries: Sequence[int] | None = None,
    driver_memory: str = "5g",
    clock: Clock = "processor",
    note: str = "",
    extend: Path | None = None,
    console: Console | None = None,
) -> Path:
    """Record TPC-H queries on a local Spark and write the trace to `out` (Parquet, schema TRACE).

    The file is written anew after every scale factor and level, so that a long recording is usable before its
    end. Finished units in `work` are not recorded again.

    Args:
        out: the trace to write.
        scale_factors: sizes of the data, in units of about 1 GB of text.
        levels: numbers of executor cores to record at; as many applications run at once as fill the machine.
        repetitions: timed runs of each query; by default 2 below a scale factor of 2, 1 from there.
        work: folder for generated data and event logs; keep it to resume.
        queries: numbers from 1 to 22, all by default.
        driver_memory: heap of each Spark application.
        clock: "processor", the processor time that a task used, hardly depends on what else runs on the machine; "wall"
            is its finish minus its launch. The event logs hold both: another clock needs no new recording.
        note: a sentence for the metadata, for example on what else ran on the machine.
        extend: a recording whose profiles `out` holds as well; it is only read.
        console: where progress is shown.

    Returns:
        `out`.

    Raises:
        ClearschedError: pyspark, tpchgen-cli or Java is missing; an argument is out of range; Spark failed; two
            timed runs of a query differ in their stages; `extend` is no recording, was recorded otherwise, or holds
            one of the sizes.
    """
    plan = Plan(
        tuple(sorted(set(scale_factors))),
        tuple(sorted(set(levels))),
        tuple(sorted(set(queries or ALL_QUERIES))),
        repetitions,
        Path(work),
        driver_memory,
        clock,
    )
    check_plan(plan)
    base = None if extend is None else base_of(extend, Path(out), plan)
    check_software()
    console = console or Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    strange: dict[str, list[str]] = {}
    with Progress(*columns, console=console) as progress:
        for scale_factor in plan.scale_factors:
            for level in plan.levels:
                task = progress.add_task(f"size {size_name(scale_factor)}, {level} cores", total=len(plan.queries))
                missing = [q for q in plan.queries if not plan.is_recorded(scale_factor, level, q)]
                progress.update(task, completed=len(plan.queries) - len(missing))
                if missing:
                    record_level(plan, scale_factor, level, missing, partial(progress.advance, task))
                strange = write_trace(out, plan, note, base)
    for size, numbers in strange.items():
        console.print(
            f"size {size}: no fresh durations of queries {', '.join(numbers)}, which Spark plans otherwise on "
            "the little data of the cold run",
            soft_wrap=True,
        )
    return Path(out)


def check_plan(plan: Plan) -> None:
    """Refuse arguments out of range.

    Raises:
        ClearschedError: names the argument, its value and what is allowed.
    """
    cores = os.cpu_count() or 1
    for name, values, low, high in (
        ("scale factor", plan.scale_factors, 0.01, 1000),
        ("level", plan.levels, 1, cores),
        ("query", plan.queries, 1, 22),
        ("repetitions", () if plan.repetitions is None else (plan.repetitions,), 1, 1000),
    ):
        for value in values:
            if not low <= value <= high:
                raise ClearschedError(f"{name} {value:g}: must be from {low:g} to {high:g}")
    if plan.clock not in DURATION_MEANING:
        raise ClearschedError(f"clock {plan.clock}: must be one of {', '.join(DURATION_MEANING)}")
    if not plan.scale_factors or not plan.levels:
        raise ClearschedError("nothing to record: give at least one scale factor and one level")


def base_of(path: Path, out: Path, plan: Plan) -> Recorded:
    """The recording that is extended.

    Raises:
        ClearschedError: it is no recording, does not go together with what is planned, or would be overwritten.
    """
    if path.resolve() == out.resolve():
        raise ClearschedError(
            f"{out}: --extend and --out name the same file: a recording that stops half way needs both"
        )
    base = read_recording(path)
    splits = {size: splits_for(float(size.removesuffix("g"))).conf() for size in base.sizes}
    check_extendable(base, [size_name(factor) for factor in plan.scale_factors], common_metadata(plan), splits)
    return base


def generate_tables(plan: Plan, scale_factor: float, row_group: int) -> Path:
    """Generate the eight tables as Parquet unless they are there, and return their folder.

    Raises:
        ClearschedError: tpchgen-cli failed.
    """
    folder = plan.work / "data" / f"{size_name(scale_factor)}-{row_group}"
    finished = folder / "finished"
    if not finished.exists():
        make_folder(folder)
        command = [generator_command(), "parquet", "--overwrite", "--quiet"]
        command += ["-s", f"{scale_factor:g}", "--row-group-bytes", str(row_group), "-o", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClearschedError(f"tpchgen-cli failed: {(done.stderr or done.stdout).strip()[-300:]}")
        finished.touch()
    return folder


def record_level(
    plan: Plan, scale_factor: float, level: int, queries: Sequence[int], advance: Callable[[], None]
) -> None:
    """Record some queries at one scale factor and level, in as many applications at once as fill the cores.

    `advance` is called after each query.
    """
    row_group = row_group_bytes(scale_factor)
    warmup_factor = warmup_factor_for(scale_factor)
    folder, scratch = plan.folder(scale_factor, level), plan.work / "scratch"
    for path in (folder, scratch):
        make_folder(path)
    settings = {
        "conf": spark_conf(level, folder, scratch, plan.driver_memory),
        "tables": {
            "folder": str(generate_tables(plan, scale_factor, row_group)),
            "scale_factor": scale_factor,
            "conf": splits_for(scale_factor).conf(),
        },
        "warmup_tables": {
            "folder": str(generate_tables(plan, warmup_factor, row_group)),
            "scale_factor": warmup_factor,
            "conf": warmup_splits_for(scale_factor).conf(),
        },
    }
    orders: queue.SimpleQueue[int] = queue.SimpleQueue()
    for query in queries:
        orders.put(query)
    stopped = threading.Event()

    def serve(number: int) -> None:
        """Let one application take queries off the queue until it is empty or another application failed."""
        try:
            with Application(settings, folder / f"worker-{number}.txt") as application:
                while not stopped.is_set():
                    try:
                        query = orders.get_nowait()
                    except queue.Empty:
                        return
                    answer = application.run(query, repetitions_for(scale_factor, plan.repetitions))
                    write_json(plan.unit(scale_factor, level, query), answer)
                    advance()
        except BaseException:
            stopped.set()
            raise

    count = min(max(1, (os.cpu_count() or 1) // level), len(queries))
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(serve, number) for number in range(count)]:
            future.result()


def write_trace(out: Path, plan: Plan, note: str, base: Recorded | None = None) -> dict[str, list[str]]:
    """Write all that is recorded so far: profiles by size and query, each with the levels that are there.

    `base`: the recording that is extended.

    Returns:
        By size the queries none of whose stages has fresh durations.
    """
    rows, repetitions, profile = [], {}, 0
    strange: dict[str, list[str]] = {}
    dates: set[str] = set()
    logs: dict[Path, dict[str, Run]] = {}
    for scale_factor in plan.scale_factors:
        size = size_name(scale_factor)
        complete = [
            level for level in plan.levels if all(plan.is_recorded(scale_factor, level, q) for q in plan.queries)
        ]
        if not complete:
            continue
        fewest: dict[int, int] = {}
        for query in plan.queries:
            units = {level: plan.unit(scale_factor, level, query) for level in complete}
            recordings = {level: read_unit(unit, query, logs) for level, unit in units.items()}
            for level, recording in recordings.items():
                fewest[level] = min(len(recording.timed), fewest.get(level, len(recording.timed)))
            dates |= {day_of(unit) for unit in units.values()}
            stages = profile_rows(profile, str(query), size, recordings, plan.clock)
            if not has_fresh(stages):
                strange.setdefault(size, []).append(str(query))
            rows += stages
            profile += 1
        repetitions[size] = fewest
    if rows:
        metadata = trace_metadata(plan, repetitions, sorted(dates), note)
        made = Recorded(pa.Table.from_pylist(rows, TRACE), metadata, str(out))
        if base is not None:
            made = extended(base, made)
        write_table(out, made.stages, TRACE, made.metadata)
    return strange


def has_fresh(stages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a stage of a profile has a duration of the cold run."""
    return any(entry["duration_ms"] for stage in stages for entry in stage["durations"] if entry["wave"] == "fresh")


def day_of(unit: Path) -> str:
    """The day that a unit was finished on (UTC), year-month-day."""
    return datetime.datetime.fromtimestamp(unit.stat().st_mtime, datetime.UTC).date().isoformat()


def read_unit(unit: Path, query: int, logs: dict[Path, dict[str, Run]]) -> Recording:
    """The runs of a finished unit. `logs` keeps the event logs that have been read.

    Raises:
        ClearschedError: the event log is missing or does not hold all runs of the unit.
    """
    answer = read_json(unit)
    path = unit.parent / answer["log"]
    if path not in logs:
        logs[path] = read_runs(read_events(path if path.exists() else path.with_name(path.name + ".inprogress")))
    numbers = range(COLD_RUN, answer["repetitions"] + 1)
    runs = [logs[path].get(job_group(query, number)) for number in numbers]
    if None in runs:
        raise ClearschedError(
            f"{path}: run {runs.index(None)} of query {query} is incomplete; delete {unit}, record again"
        )
    complete = [run for run in runs if run is not None]
    return Recording(complete[0], tuple(complete[1:]))


def trace_metadata(plan: Plan, repetitions: dict[str, dict[int, int]], dates: list[str], note: str) -> dict[str, Any]:
    """What the file says of its origin. `repetitions` are the timed runs of each query, by size and level."""
    sizes = [factor for factor in plan.scale_factors if size_name(factor) in repetitions]
    return common_metadata(plan) | {
        "note": note,
        "recorded": dates,
        "software": software(),
        "machine": machine(),
        "levels": sorted({level for levels in repetitions.values() for level in levels}),
        "timed_runs_by_size_and_level": {
            size: {str(level): runs for level, runs in levels.items()} for size, levels in repetitions.items()
        },
        "splits": {size_name(factor): splits_for(factor).conf() for factor in sizes},
    }


def common_metadata(plan: Plan) -> dict[str, Any]:
    """What a recording says of how it was made, whatever its sizes and wherever it was made."""
    conf = spark_conf(1, Path("/logs"), Path("/scratch"), plan.driver_memory)
    local = (
        "spark.master",
        "spark.local.dir",
        "spark.eventLog.dir",
        "spark.driver.host",
        "spark.driver.bindAddress",
    )
    return {
        "source": SOURCE,
        "notice": NOTICE,
        "level_meaning": "executor cores of the application (spark.master local[n]); as many applications "
        "ran at once as fill the cores, so the machine was as busy at every level",
        "spark_conf": {key: value for key, value in conf.items() if key not in local},
        "waves": WAVES_MEANING,
        "duration": DURATION_MEANING[plan.clock],
        "tables": "Parquet (snappy), decimal money columns, by tpchgen-cli",
    }
