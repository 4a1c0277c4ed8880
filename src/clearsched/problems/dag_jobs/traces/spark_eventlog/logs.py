"""Find the event logs under a path: files, folders that are searched to the bottom, rolling logs, patterns."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clearsched.errors import ClearschedError

ROLLING = "eventlog_v2_"
ROLLED = re.compile(r"events_(\d+)_(.*)")
COMPACT = ".compact"
IN_PROGRESS = ".inprogress"
PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Log:
    """The event log of one application.

    Attributes:
        path: its file, or its folder if it is a rolling log.
        files: the files to read, in order.
        in_progress: whether its application was still running.
        compacted: whether Spark has thrown away events of jobs that had ended.
    """

    path: Path
    files: tuple[Path, ...]
    in_progress: bool
    compacted: bool


def find_logs(path: Path) -> list[Log]:
    """The logs of a file, a folder or a pattern (`*`, `?`, `[...]`; `**` for any depth), by path.

    Files that cannot be logs by their name are left out: hidden ones and the marks `appstatus_*` and `_SUCCESS`.

    Raises:
        ClearschedError: nothing is there.
    """
    if path.is_file():
        return [_single(path)]
    if path.is_dir():
        logs = list(_in_folder(path))
        if not logs:
            raise ClearschedError(f"{path}: no file in this folder; give the folder that spark.eventLog.dir names")
        return logs
    if not PATTERN.search(str(path)):
        raise ClearschedError(f"{path}: no such file or folder; give an event log, a folder of them or a pattern")
    found: dict[Path, Log] = {}
    for match in sorted(glob.glob(str(path), recursive=True)):  # noqa: PTH207 (the pattern may be absolute)
        place = Path(match)
        # A pattern may name the parts of a rolling log: they are read as the log that they belong to.
        place = place.parent if ROLLED.fullmatch(place.name) and place.parent.name.startswith(ROLLING) else place
        for log in _in_folder(place) if place.is_dir() else [_single(place)] if _may_be_log(place) else []:
            found[log.path] = log
    if not found:
        raise ClearschedError(f"{path}: no file fits this pattern")
    return list(found.values())


def _may_be_log(path: Path) -> bool:
    return not path.name.startswith((".", "appstatus_", "_SUCCESS"))


def _single(path: Path) -> Log:
    return Log(path, (path,), path.name.endswith(IN_PROGRESS), path.name.endswith(COMPACT))


def _in_folder(folder: Path) -> Iterator[Log]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise ClearschedError(f"{folder}: cannot be read: {error.strerror}") from None
    if folder.name.startswith(ROLLING):
        log = _rolling(folder, entries)
        if log is not None:
            yield log
            return
    for entry in entries:
        if entry.is_dir() and not entry.name.startswith("."):
            yield from _in_folder(entry)
        elif entry.is_file() and _may_be_log(entry):
            yield _single(entry)


def _rolling(folder: Path, entries: list[Path]) -> Log | None:
    """A rolling log: files `events_<number>_<application>`, read by number.

    A file that ends in `.compact` stands for itself and all files with smaller numbers.
    """
    parts = []
    for entry in entries:
        if match := ROLLED.fullmatch(entry.name):
            parts.append((int(match[1]), entry.name.endswith(COMPACT), entry))
    if not parts:
        return None
    parts.sort()
    compacted = [index for index, (_, compact, _) in enumerate(parts) if compact]
    files = tuple(entry for _, _, entry in parts[compacted[-1] if compacted else 0 :])
    status = [entry.name for entry in entries if entry.name.startswith("appstatus_")]
    return Log(folder, files, any(name.endswith(IN_PROGRESS) for name in status), bool(compacted))
