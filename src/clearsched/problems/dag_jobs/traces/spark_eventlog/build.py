"""Read event logs and write the jobs in them as a trace."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.schemas import TRACE
from clearsched.problems.dag_jobs.settings.sources import SparkEventlogParams
from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import AbsurdError
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.logs import find_logs
from clearsched.problems.dag_jobs.traces.spark_eventlog.metadata import SOURCE, metadata_of
from clearsched.problems.dag_jobs.traces.spark_eventlog.parts import Log
from clearsched.problems.dag_jobs.traces.spark_eventlog.reading import (
    INCOMPLETE,
    NO_LOG,
    Account,
    Advance,
    read_applications,
    size_of,
)
from clearsched.problems.dag_jobs.traces.spark_eventlog.units import Job, jobs_of
from clearsched.problems.dag_jobs.traces.storage import write_trace
from clearsched.problems.dag_jobs.traces.summary import Summary
from clearsched.problems.dag_jobs.traces.trace import Trace

COPY = "copies of logs (same application, attempt and start)"
ABSURD = "applications whose log says what cannot be"
UNREADABLE = "logs that cannot be read"

NAMED_FAULTS = 20
"""Applications and logs that were left out and are named in the account; of the others the number is told."""

NAMED_REASONS = 8


@dataclass(frozen=True)
class Built:
    """The jobs of one application.

    Attributes:
        stages: rows of schema TRACE, profiles numbered from 0.
        arrivals_ms: int64[profiles], since the epoch.
        ended: Spark jobs that had ended: of two copies of a log the one with more is the better.
        account: what was left out or mended.
    """

    stages: pa.Table
    arrivals_ms: np.ndarray
    ended: int
    account: Account


def write(path: Path | None, out: Path, options: SparkEventlogParams, seed: int = 0) -> Summary:
    """Write the jobs in the event logs under `path` to `out` (schema TRACE), in the order of their arrival.

    An application whose log says what cannot be, or cannot be read, is left out and named in the account.

    Args:
        path: an event log, a folder that is searched to the bottom, or a pattern.
        out: the trace to write, Parquet, or Arrow if its name ends in `.arrow`.
        options: what becomes a job, which clock, which edges.
        seed: not used, nothing is drawn.

    Raises:
        ClearschedError: nothing is there, or no job in it can be used.
    """
    if path is None:
        raise ClearschedError(f"traces.path: source {SOURCE} needs an event log, a folder of them or a pattern")
    path = Path(path)
    logs = find_logs(path)
    account = Account()
    built = _build(path, logs, options, account)
    summary = Summary(SOURCE)
    for one in built:
        account.skipped.update(one.account.skipped)
        account.survived.update(one.account.survived)
    summary.skipped = {reason: count for reason, count in account.skipped.items() if count}
    summary.survived = {defect: count for defect, count in account.survived.items() if count}
    built = [one for one in built if len(one.stages)]
    if not built:
        if len(logs) == 1 and account.skipped[NO_LOG]:
            raise ClearschedError(f"{path}: no Spark event log: its first line is no event")
        raise ClearschedError(f"{path}: no job in it that can be used: {_reasons(summary)}")
    for reason in summary.skipped:
        if reason.startswith((f"{ABSURD}: ", f"{UNREADABLE}: ")):
            print(f"clearsched: warning: {path}: left out: {reason}", file=sys.stderr)
    table = _in_order(built)
    summary.count(table)
    metadata = metadata_of(path, logs, options, summary, table)
    write_trace(out, Trace(table, tuple(metadata["levels"]), metadata))
    return summary


def _build(path: Path, logs: list[Log], options: SparkEventlogParams, account: Account) -> list[Built]:
    """The jobs of every application, each once, in the order of their logs."""
    found: dict[object, Built] = {}
    with _progress(sum(size_of(file) for log in logs for file in log.files)) as advance:
        for log in logs:
            name = _name(log.path, path)
            try:
                for application in read_applications(log, account, advance):
                    one = _jobs_of(application, options, name, account)
                    if one is None:
                        continue
                    other = found.get(key := _identity(application))
                    account.skipped[COPY] += other is not None
                    if other is None or one.ended > other.ended:
                        found[key] = one
            except AbsurdError:
                raise
            except ClearschedError as error:
                if len(logs) == 1:
                    raise
                _leave_out(account, UNREADABLE, name, str(error).rpartition(": ")[2])
    return list(found.values())


def _jobs_of(application: Application, options: SparkEventlogParams, name: str, account: Account) -> Built | None:
    """The jobs of one application; None if its log says what cannot be, which is told in the account."""
    own = Account()
    try:
        if application.absurd:
            raise AbsurdError(application.absurd)
        jobs = list(jobs_of(application, options.job, options.clock, options.sequence, own.skipped, own.survived))
    except AbsurdError as error:
        _leave_out(account, ABSURD, name, str(error))
        return None
    own.survived.update(application.survived)
    arrivals = np.asarray([job.arrived_ms for job in jobs], np.int64)
    ended = sum(job.ended is not None for job in application.jobs.values())
    return Built(_table(jobs), arrivals, ended, own)


def _identity(application: Application) -> object:
    """What copies of a log have in common: the run of the application, or all that ran if the log lacks its start."""
    if application.id is not None:
        return application.identity
    digest = hashlib.sha256()
    for stage in application.stages.values():
        digest.update(stage.attempts.tobytes())
    return digest.digest()


def _leave_out(account: Account, kind: str, name: str, reason: str) -> None:
    """Count an application or log that was left out, by name if there are not too many."""
    named = sum(other.startswith(kind + ": ") for other in account.skipped)
    account.skipped[f"{kind}: {name}: {reason}" if named < NAMED_FAULTS else f"further {kind}"] += 1


def _reasons(summary: Summary) -> str:
    """Why nothing is left, in one line."""
    reasons = summary.skipped | {defect: n for defect, n in summary.survived.items() if defect in INCOMPLETE}
    told = [f"{count} {reason}" for reason, count in list(reasons.items())[:NAMED_REASONS]]
    more = [f"{len(reasons) - NAMED_REASONS} more reasons"] if len(reasons) > NAMED_REASONS else []
    return ", ".join([*told, *more]) or "no Spark job at all"


def _name(file: Path, path: Path) -> str:
    """A file of a log as it is told: from the folder that was given, and in one line."""
    base = path if path.is_dir() else path.parent
    name = str(file.relative_to(base) if file.is_relative_to(base) and file != base else file.name)
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _table(jobs: list[Job]) -> pa.Table:
    """The rows of the jobs of one application, profiles numbered from 0."""
    rows = [
        {"profile": profile, "arrival_ms": job.arrived_ms, **row}
        for profile, job in enumerate(jobs)
        for row in job.rows
    ]
    return pa.Table.from_pylist(rows, schema=TRACE)


def _in_order(built: Sequence[Built]) -> pa.Table:
    """The profiles of all applications by arrival (those of one time as they were read), the first arrival at 0."""
    first = np.cumsum([0] + [len(one.arrivals_ms) for one in built])
    profile = np.concatenate(
        [one.stages["profile"].to_numpy() + start for one, start in zip(built, first, strict=False)]
    )
    arrivals = np.concatenate([one.arrivals_ms for one in built])
    rank = np.empty(len(arrivals), np.int64)
    rank[np.argsort(arrivals, kind="stable")] = np.arange(len(arrivals))
    order = np.argsort(rank[profile], kind="stable")
    table = pa.concat_tables([one.stages for one in built]).take(pa.array(order))
    columns = {
        "profile": pa.array(rank[profile][order], pa.int32()),
        "arrival_ms": pa.array(arrivals[profile[order]] - arrivals.min(), pa.int64()),
    }
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), TRACE.field(name), values)
    return table


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
