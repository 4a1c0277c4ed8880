"""Read logs: from bytes to the applications in them. What cannot be read is counted and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import AbsurdError
from clearsched.problems.dag_jobs.traces.spark_eventlog.application import Application
from clearsched.problems.dag_jobs.traces.spark_eventlog.codecs import CHUNK_BYTES, CodecError, CutOffError, open_log
from clearsched.problems.dag_jobs.traces.spark_eventlog.events import ApplicationStart, Event, LogStart
from clearsched.problems.dag_jobs.traces.spark_eventlog.lines import NotAnEventError, kind_of, parse_line
from clearsched.problems.dag_jobs.traces.spark_eventlog.parts import Log

PROGRESS_LINES = 2000
MAX_LINE_BYTES = 1 << 26
MAX_PASSED_BYTES = 1 << 29
"""That are passed over to find the end of a longer line; then the file is given up."""


NO_LOG = "files that are no event log"
EMPTY_LOG = "empty files"
DAMAGED_LOG = "files whose compressed data is damaged or cut off before their first event"
NO_JOB_LOG = "logs without a Spark job"
CUT_LINE = "logs that end in mid-line"
CUT_OFF = "logs whose compressed data is cut off (read up to there)"
DAMAGED = "logs whose compressed data is damaged (read up to there)"
BAD_LINE = "lines that are no event"
LONG_LINE = "lines of more than 64 MB"
IN_PROGRESS = "logs of applications that were still running"
COMPACTED = "logs from which Spark has removed older jobs"

INCOMPLETE = (DAMAGED, CUT_OFF, CUT_LINE, BAD_LINE, LONG_LINE)
"""Defects that may be why a log has no job that can be used."""

Advance = Callable[[int], None]


@dataclass
class Account:
    """What was left out, and what was met and mended: reason -> how often."""

    skipped: Counter[str] = field(default_factory=Counter)
    survived: Counter[str] = field(default_factory=Counter)


def read_applications(log: Log, account: Account, advance: Advance = lambda _: None) -> Iterator[Application]:
    """The application of a log, or several if their logs were written into one file.

    One with an event that cannot be has `absurd` set, and is not complete.

    Raises:
        ClearschedError: a file cannot be opened or read.
    """
    application = Application()
    before = sum(account.skipped.values())
    found = False
    for path in log.files:
        inside = started = False  # whether the file has had an event, and the start of an application
        for event in _read_events(path, account, advance, log.in_progress):
            found = True
            if _begins_another(application, event, inside, started):
                if application.jobs or application.absurd:
                    yield application
                application = Application()
            inside, started = True, started or isinstance(event, ApplicationStart)
            _take(application, event)
    last = application.jobs or application.absurd
    survived = application.survived if last else account.survived
    survived[IN_PROGRESS] += found and log.in_progress
    survived[COMPACTED] += found and log.compacted
    if last:
        yield application
    elif found and sum(account.skipped.values()) == before:
        account.skipped[NO_JOB_LOG] += 1


def _begins_another(application: Application, event: Event | AbsurdError, inside: bool, started: bool) -> bool:
    """Whether an event is the first of another application, or of another copy of the log, in the same file."""
    if isinstance(event, LogStart):
        return inside and (application.id is not None or bool(application.jobs))
    if not isinstance(event, ApplicationStart) or application.id is None:
        return False
    return started or application.identity != (event.id, event.attempt, event.started_ms)


def _take(application: Application, event: Event | AbsurdError) -> None:
    try:
        if isinstance(event, AbsurdError):
            raise event
        if application.absurd is None or isinstance(event, ApplicationStart):
            application.add(event)
    except AbsurdError as error:
        application.absurd = application.absurd or str(error)


def _read_events(path: Path, account: Account, advance: Advance, in_progress: bool) -> Iterator[Event | AbsurdError]:
    """The needed events of one file; in place of one that has an absurd number, what is absurd."""
    stream, file = open_log(path)
    line: bytes | None = b""
    done = 0
    read = False
    with file, stream:
        try:
            for number, line in enumerate(_lines(stream)):
                if not number % PROGRESS_LINES:
                    advance(file.tell() - done)
                    done = file.tell()
                if not number:
                    kind_of(line or b"")
                if line is None:
                    account.survived[LONG_LINE] += 1
                    continue
                read = True
                event = _event_of(line, account)
                if event is not None:
                    yield event
        except NotAnEventError:
            account.skipped[NO_LOG] += 1
            line = b""
        except CodecError as error:
            line = b""
            if not read:
                account.skipped[DAMAGED_LOG] += 1
            elif not (in_progress and isinstance(error, CutOffError)):
                account.survived[CUT_OFF if isinstance(error, CutOffError) else DAMAGED] += 1
        except OSError as error:
            raise ClearschedError(f"{path}: cannot be read: {error.strerror}") from None
        else:
            account.skipped[EMPTY_LOG] += line == b""
    advance(size_of(path) - done)
    account.survived[CUT_LINE] += line is not None and line != b"" and not line.endswith((b"}", b"\n"))


def _event_of(line: bytes, account: Account) -> Event | AbsurdError | None:
    try:
        return parse_line(line)
    except NotAnEventError:
        account.survived[BAD_LINE] += line.endswith(b"\n")
        return None
    except AbsurdError as error:
        return error


def _lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a stream; None for one of more than `MAX_LINE_BYTES`, which is not held in memory."""
    for piece in iter(partial(stream.readline, MAX_LINE_BYTES), b""):
        if len(piece) < MAX_LINE_BYTES or piece.endswith(b"\n"):
            yield piece
            continue
        yield None
        for _ in range(MAX_PASSED_BYTES // CHUNK_BYTES):
            if (piece := stream.readline(CHUNK_BYTES)).endswith(b"\n") or not piece:
                break
        else:
            return


def size_of(path: Path) -> int:
    """Bytes of a file; 0 if it has gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
