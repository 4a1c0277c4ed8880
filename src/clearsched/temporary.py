"""Files and folders that are not finished yet.

They have a name of their own, so that the next start knows them, and are locked while somebody writes them, so that it
leaves those in use: two runs may share a folder. A process that is killed leaves its files and loses its locks.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # no such locks there: nothing is known to be left over, and nothing swept
    fcntl = None  # type: ignore[assignment]

PREFIX = ".clearsched-"

LONGEST_SUFFIX = 16
"""Characters; a longer one is no format's, and may leave no room for a name."""

STARTED_S = time.time()
"""When this process began; what is younger belongs to somebody who is at work."""

_SWEPT: set[Path] = set()


@contextmanager
def temporary_file(folder: Path, suffix: str = "") -> Iterator[Path]:
    """An empty file of its own in `folder`; it is deleted in the end, unless it was renamed.

    `suffix` is kept, since writers such as matplotlib choose the format by it.
    """
    _sweep_once(folder)
    handle, name = tempfile.mkstemp(dir=folder, prefix=PREFIX, suffix=suffix if len(suffix) <= LONGEST_SUFFIX else "")
    try:
        _lock(handle)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def temporary_folder(beside: Path) -> Iterator[Path]:
    """An empty folder of its own in the folder of `beside`, which is made if it is not there; it is deleted in the end.

    Raises:
        OSError: it cannot be made.
    """
    beside.parent.mkdir(parents=True, exist_ok=True)
    _sweep_once(beside.parent)
    with tempfile.TemporaryDirectory(dir=beside.parent, prefix=PREFIX, ignore_cleanup_errors=True) as name:
        handle = os.open(name, os.O_RDONLY)
        try:
            _lock(handle)
            yield Path(name)
        finally:
            os.close(handle)


def sweep(folder: Path, deep: bool = False) -> list[Path]:
    """Delete what a killed process left in `folder`, `deep`: and below it; return what was deleted.

    Left over is what has the name of an unfinished file, is older than this process and not locked by another one.
    """
    swept = []
    for path in sorted(folder.rglob(f"{PREFIX}*") if deep else folder.glob(f"{PREFIX}*")):
        if _is_left_over(path):
            with contextlib.suppress(OSError):  # somebody else sweeps too
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                swept.append(path)
    return swept


def _sweep_once(folder: Path) -> None:
    """A folder is swept when this process first writes to it."""
    if folder not in _SWEPT:
        _SWEPT.add(folder)
        with contextlib.suppress(OSError):
            sweep(folder)


def _is_left_over(path: Path) -> bool:
    if fcntl is None or path.is_symlink():
        return False
    try:
        if path.stat().st_mtime >= STARTED_S:
            return False
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _lock(handle: int) -> None:
    """Until the handle is closed, by the end of the process at the latest."""
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks: what is left there is never swept
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
