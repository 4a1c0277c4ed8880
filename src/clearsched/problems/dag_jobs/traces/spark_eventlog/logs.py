"""Find the event logs under a path: files, folders that are searched to the bottom, logs in parts, patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.sources import exists, matches
from clearsched.problems.dag_jobs.traces.spark_eventlog.parts import COMPACT, IN_PROGRESS, Log, is_part, logs_in_parts

PATTERN = re.compile(r"[*?\[]")

Identity = tuple[int, int]


def find_logs(path: Path) -> list[Log]:
    """The logs of a file, a folder or a pattern (`*`, `?`, `[...]`; `**` for any depth), by path.

    Files that cannot be logs by their name are left out: hidden ones and the marks `appstatus_*` and `_SUCCESS`. A file
    or folder that links lead to several times is read once.

    Raises:
        ClearschedError: nothing is there.
    """
    if exists(path) and path.is_file():
        return [_single(path)]
    if exists(path) and path.is_dir():
        logs = list(_below(path, set()))
        if not logs:
            raise ClearschedError(f"{path}: no file in this folder; give the folder that spark.eventLog.dir names")
        return logs
    if not PATTERN.search(str(path)):
        raise ClearschedError(f"{path}: no such file or folder; give an event log, a folder of them or a pattern")
    seen: set[Identity] = set()
    logs = [log for place in matches(path) for log in _matched(place, seen)]
    if not logs:
        raise ClearschedError(f"{path}: no file fits this pattern")
    return logs


def _may_be_log(path: Path) -> bool:
    return not path.name.startswith((".", "appstatus_", "_SUCCESS"))


def _single(path: Path) -> Log:
    return Log(path, (path,), path.name.endswith(IN_PROGRESS), path.name.endswith(COMPACT))


def _matched(place: Path, seen: set[Identity]) -> Iterator[Log]:
    """The logs of what a pattern named: a part of a log stands for the whole."""
    if place.is_dir():
        yield from _below(place, seen)
    elif place.is_file() and _may_be_log(place):
        beside = _entries(place.parent) if is_part(place) else []
        whole = [log for log in logs_in_parts(place.parent, beside) if place in log.members]
        for log in whole or [_single(place)]:
            if _is_first(log.files[0], seen):
                yield log


def _below(top: Path, seen: set[Identity]) -> Iterator[Log]:
    """The logs in a folder and in those below it, in the order of their names."""
    waiting: list[Path | Log] = [top]
    while waiting:
        place = waiting.pop()
        if isinstance(place, Log):
            if _is_first(place.files[0], seen):
                yield place
        elif place.is_dir():
            if _is_first(place, seen):
                waiting += reversed(_inside(place, must=place == top))
        elif place.is_file() and _is_first(place, seen):
            yield _single(place)


def _inside(folder: Path, must: bool) -> list[Path | Log]:
    """What is to be looked at in a folder: folders, files that may be logs, and logs in parts in place of the parts."""
    entries = [entry for entry in _entries(folder, must) if not entry.name.startswith(".")]
    logs = logs_in_parts(folder, entries)
    if any(log.path == folder for log in logs):  # the folder is a log
        return list(logs)
    parts = {entry for log in logs for entry in log.members}
    found: list[tuple[Path, Path | Log]] = [(log.files[0], log) for log in logs]
    found += [(entry, entry) for entry in entries if entry not in parts and (_may_be_log(entry) or entry.is_dir())]
    return [place for _, place in sorted(found, key=lambda pair: pair[0])]


def _entries(folder: Path, must: bool = False) -> list[Path]:
    """What is in a folder, by name; nothing if it cannot be read, unless it must."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        if must:
            raise ClearschedError(f"{folder}: cannot be read: {error.strerror}") from None
        return []


def _is_first(place: Path, seen: set[Identity]) -> bool:
    """Whether a file or folder has not been met under another name; then it is remembered."""
    try:
        status = place.stat()
    except OSError:
        return True  # reading it will tell
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return False
    seen.add(identity)
    return True
