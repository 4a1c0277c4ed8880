"""Read event logs and write the jobs in them as a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from clearsched import __version__
from clearsched.errors import ClearschedError
from clearsched.files import digest_json
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.settings.sources import SparkEventlogParams
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.codecs import CodecError, open_log
from clearsched.problems.dag_jobs.traces.spark_eventlog.events import (
    ApplicationStart,
    Event,
    NotAnEventError,
    kind_of,
    parse_line,
)
from clearsched.problems.dag_jobs.traces.spark_eventlog.logs import Log, find_logs
from clearsched.problems.dag_jobs.traces.spark_eventlog.units import Job, jobs_of
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.schemas import write_table

SOURCE = "spark-eventlog"
PROGRESS_LINES = 2000

NO_LOG = "files that are no event log"
EMPTY_LOG = "empty files"
NO_JOB_LOG = "logs without a Spark job"
CUT_LINE = "logs that end in mid-line"
DAMAGED = "logs whose compressed data is damaged (read up to there)"
BAD_LINE = "lines that are no event"
IN_PROGRESS = "logs of applications that were still running"
COMPACTED = "logs from which Spark has removed older jobs"

NAMED_INPUTS = 100

WAVES_MEANING = {
    "fresh": "first task of an executor core in the job",
    "first_wave": "first task of an executor core in a stage of the job, if it had run another stage of it",
    "rest_wave": "later tasks of that core in the same stage",
}
LEVEL_MEANING = (
    "executor cores that the job used, rounded down to a power of two; a job ran once, so its stages have one level"
)
DURATION_MEANING = {
    "processor": "processor time of a successful task (its deserialisation and its run), in ms, at least 1",
    "wall": "finish minus launch time of a successful task, in ms, at least 1",
}

Advance = Callable[[int], None]


def write(path: Path | None, out: Path, options: SparkEventlogParams, seed: int = 0) -> Summary:
    """Write the jobs in the event logs under `path` to `out` (Parquet, schema TRACE), in the order of their arrival.

    Args:
        path: an event log, a folder that is searched to the bottom, or a pattern.
        out: the trace to write.
        options: what becomes a job, which clock, which edges.
        seed: not used, nothing is drawn.

    Raises:
        ClearschedError: nothing is there, or no job in it can be used.
    """
    if path is None:
        raise ClearschedError(f"traces.path: source {SOURCE} needs an event log, a folder of them or a pattern")
    logs = find_logs(Path(path))
    skipped: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    tables: list[pa.Table] = []
    arrivals: list[np.ndarray] = []
    summary = Summary(SOURCE)
    with _progress(sum(file.stat().st_size for log in logs for file in log.files)) as advance:
        for log in logs:
            for application in read_applications(log, skipped, survived, advance):
                jobs = list(jobs_of(application, options.job, options.clock, options.sequence, skipped, survived))
                survived.update(application.survived)
                if jobs:
                    tables.append(_table(jobs, summary.jobs))
                    summary.count(tables[-1])
                    arrivals.append(np.asarray([job.arrived_ms for job in jobs], np.int64))
    summary.skipped = {reason: count for reason, count in skipped.items() if count}
    summary.survived = {defect: count for defect, count in survived.items() if count}
    if not tables:
        if len(logs) == 1 and skipped[NO_LOG]:
            raise ClearschedError(f"{path}: no Spark event log: its first line is no event")
        reasons = ", ".join(f"{count} {reason}" for reason, count in summary.skipped.items())
        raise ClearschedError(f"{path}: no job in it that can be used: {reasons or 'no Spark job at all'}")
    table = _in_order(pa.concat_tables(tables), np.concatenate(arrivals))
    write_table(out, table, TRACE, _metadata(Path(path), logs, options, summary, table))
    return summary


def read_applications(
    log: Log, skipped: Counter[str], survived: Counter[str], advance: Advance = lambda _: None
) -> Iterator[Application]:
    """The application of a log, or several if their logs were written into one file."""
    application = Application()
    found = False
    for path in log.files:
        for event in _read_events(path, skipped, survived, advance):
            found = True
            if isinstance(event, ApplicationStart) and application.id not in (None, event.id):
                if application.jobs:
                    yield application
                application = Application()
            application.add(event)
    if application.jobs:
        yield application
    elif found:
        skipped[NO_JOB_LOG] += 1
    survived[IN_PROGRESS] += found and log.in_progress
    survived[COMPACTED] += found and log.compacted


def _read_events(path: Path, skipped: Counter[str], survived: Counter[str], advance: Advance) -> Iterator[Event]:
    """The needed events of one file. What cannot be read is counted and left out."""
    stream, file = open_log(path)
    line, done = b"", 0
    with file, stream:
        try:
            for number, line in enumerate(stream):
                if not number % PROGRESS_LINES:
                    advance(file.tell() - done)
                    done = file.tell()
                    if not number:
                        kind_of(line)
                try:
                    event = parse_line(line)
                except NotAnEventError:
                    survived[BAD_LINE] += line.endswith(b"\n")
                else:
                    if event is not None:
                        yield event
        except NotAnEventError:
            skipped[NO_LOG] += 1
            line = b""
        except CodecError:
            survived[DAMAGED] += 1
        except OSError as error:
            raise ClearschedError(f"{path}: cannot be read: {error.strerror}") from None
        else:
            skipped[EMPTY_LOG] += not line
    advance(path.stat().st_size - done)
    survived[CUT_LINE] += bool(line) and not line.endswith((b"}", b"\n"))


def _table(jobs: list[Job], first: int) -> pa.Table:
    """The rows of the jobs of one application; profiles are numbered from `first`."""
    rows = [
        {"profile": profile, "arrival_ms": job.arrived_ms, **row}
        for profile, job in enumerate(jobs, first)
        for row in job.rows
    ]
    return pa.Table.from_pylist(rows, schema=TRACE)


def _in_order(table: pa.Table, arrivals: np.ndarray) -> pa.Table:
    """The profiles by arrival (those of one time as they were read), numbered anew, the first arrival at 0."""
    profile = table["profile"].to_numpy()
    rank = np.empty(len(arrivals), np.int64)
    rank[np.argsort(arrivals, kind="stable")] = np.arange(len(arrivals))
    order = np.argsort(rank[profile], kind="stable")
    table = table.take(pa.array(order))
    columns = {
        "profile": pa.array(rank[profile][order], pa.int32()),
        "arrival_ms": pa.array(arrivals[profile[order]] - arrivals.min(), pa.int64()),
    }
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), TRACE.field(name), values)
    return table


def _metadata(
    path: Path, logs: list[Log], options: SparkEventlogParams, summary: Summary, table: pa.Table
) -> dict[str, Any]:
    """What the file says of its origin: the logs by name and size (a hash of large ones would take long)."""
    base = path if path.is_dir() else path.parent
    inputs = {
        str(file.relative_to(base) if file.is_relative_to(base) else file): file.stat().st_size
        for log in logs
        for file in log.files
    }
    levels = pc.unique(pc.struct_field(pc.list_flatten(table["durations"]), "level")).to_pylist()
    return {
        "source": SOURCE,
        "version": __version__,
        "options": options.model_dump(mode="json"),
        "inputs_bytes": dict(list(inputs.items())[:NAMED_INPUTS]),
        "inputs": {"logs": len(logs), "files": len(inputs), "digest": digest_json(inputs)},
        "levels": sorted(levels),
        "level_meaning": LEVEL_MEANING,
        "waves": WAVES_MEANING,
        "duration": DURATION_MEANING[options.clock],
        "summary": asdict(summary),
    }


@contextmanager
def _progress(total_bytes: int) -> Iterator[Advance]:
    """A progress bar over the bytes of the files, if a person is watching."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("event logs"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total_bytes)
        yield lambda count: progress.advance(task, count)
