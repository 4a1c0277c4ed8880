"""Logs that were written in parts: Spark's rolling logs, and those that Databricks splits by time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

COMPACT = ".compact"
IN_PROGRESS = ".inprogress"
ROLLING = "eventlog_v2_"

CODEC = r"(?:\.(?:zstd|zst|lz4|snappy|lzf|gz))?"
ROLLED = re.compile(rf"events_(?P<number>\d+)_(?P<application>.*?){CODEC}(?:\.compact)?", re.DOTALL)
SPLIT = re.compile(rf"eventlog(?:-(?P<date>\d{{4}}-\d\d-\d\d--\d\d-\d\d(?:-\d\d)?))?{CODEC}(?:\.inprogress)?")


@dataclass(frozen=True)
class Log:
    """The event log of one application.

    Attributes:
        path: its file, or its folder if it is a rolling log.
        files: the files to read, in order.
        in_progress: whether its application was still running.
        compacted: whether Spark has thrown away events of jobs that had ended.
        members: all its files, also those that are not to be read.
    """

    path: Path
    files: tuple[Path, ...]
    in_progress: bool
    compacted: bool
    members: frozenset[Path] = frozenset()


def is_part(path: Path) -> bool:
    """Whether a file is part of a log by its name."""
    return bool(ROLLED.fullmatch(path.name) or SPLIT.fullmatch(path.name))


def logs_in_parts(folder: Path, entries: Sequence[Path]) -> list[Log]:
    """The logs of several files in a folder, of whose `entries` others may be no parts."""
    return [*_rolling(folder, entries), *_split(entries)]


def _rolling(folder: Path, entries: Iterable[Path]) -> list[Log]:
    """Spark's rolling logs: files `events_<number>_<application>`, read by number.

    A file that ends in `.compact` stands for itself and all files with smaller numbers. If a number is there twice,
    packed and unpacked, the first is read.
    """
    found: defaultdict[str, list[tuple[int, bool, Path]]] = defaultdict(list)
    running = [entry.name for entry in entries if entry.name.startswith("appstatus_") and entry.suffix == IN_PROGRESS]
    for entry in entries:
        if match := ROLLED.fullmatch(entry.name):
            found[match["application"]].append((_number(match["number"]), entry.name.endswith(COMPACT), entry))
    logs = []
    for application, numbered in found.items():
        numbered.sort()
        compacted = [index for index, (_, compact, _) in enumerate(numbered) if compact]
        files: dict[int, Path] = {}
        for number, _, entry in numbered[compacted[-1] if compacted else 0 :]:
            files.setdefault(number, entry)
        parts = tuple(files.values())
        path = folder if folder.name.startswith(ROLLING) and len(found) == 1 else parts[0]
        in_progress = any(application in name for name in running)
        logs.append(Log(path, parts, in_progress, bool(compacted), frozenset(entry for *_, entry in numbered)))
    return logs


def _number(text: str) -> int:
    """The number of a part; those of more digits than any are the last."""
    return int(text[:18]) if len(text) < 18 else 10**18


def _split(entries: Iterable[Path]) -> list[Log]:
    """Databricks' logs: files `eventlog-<date>` in the order of their dates, then the newest, `eventlog`."""
    dated: dict[str, Path] = {}
    members = set()
    for entry in entries:
        if match := SPLIT.fullmatch(entry.name):
            members.add(entry)
            dated.setdefault(match["date"] or "last", entry)
    if set(dated) <= {"last"}:
        return []
    files = tuple(dated[date] for date in sorted(dated))
    return [Log(files[0], files, files[-1].name.endswith(IN_PROGRESS), False, frozenset(members))]
