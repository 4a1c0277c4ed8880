"""Files that are either whole or absent, and that say where they come from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clearsched import __version__
from clearsched.documents import read_json as read_json  # what is written here is read with it
from clearsched.errors import ClearschedError
from clearsched.temporary import temporary_file

DOWNLOADS = Path("data/downloads")
"""Where fetched data sets are kept, from the folder that a command runs in."""

PROVENANCE_KEY = b"clearsched"


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` when the block succeeds, delete it when it fails.

    The temporary file keeps the suffix of `path`, since writers such as matplotlib choose the format by it.

    Raises:
        ClearschedError: nothing can be written there (`check_file`), or the disk refuses it; `path` is as it was.
    """
    path = Path(path)
    check_file(path)
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(path.parent, path.suffix) as temporary:
            yield temporary
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(path)


@contextmanager
def told(path: str | Path) -> Iterator[None]:
    """What the system refuses in the block, which writes `path`, is an error of one line.

    Raises:
        ClearschedError: the disk is full, the folder unwritable, the name too long, ...
    """
    try:
        yield
    except OSError as error:
        # Arrow puts words of its own around those of the system.
        reason = os.strerror(error.errno) if error.errno else (str(error).splitlines() or [type(error).__name__])[0]
        raise ClearschedError(f"{_named(path)}: cannot be written: {reason}") from None


def make_folder(path: str | Path) -> Path:
    """A folder, made with those above it if it is not there.

    Raises:
        ClearschedError: it cannot be made.
    """
    check_folder(path)
    with told(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    return Path(path)


def check_file(path: str | Path) -> None:
    """Tell before the work what would keep a file from being written after it.

    Raises:
        ClearschedError: `path` is a folder, a device, write-protected or too long, or lies where nothing can be made.
    """
    path = Path(path)
    with told(path):
        found = _found(path)
    if found is not None:
        if stat.S_ISDIR(found.st_mode):
            raise ClearschedError(f"{_named(path)}: is a folder: the name of a file expected")
        if not stat.S_ISREG(found.st_mode):
            raise ClearschedError(f"{_named(path)}: is a device or a pipe: the name of a file expected")
        if not os.access(path, os.W_OK):
            raise ClearschedError(f"{_named(path)}: is write-protected")
    check_folder(path.parent)


def check_folder(path: str | Path) -> None:
    """Tell before the work what would keep a folder from being made, or from being written to.

    Raises:
        ClearschedError: `path`, or what lies above it, is no folder or unwritable.
    """
    path = Path(path)
    for place in (path, *path.parents):
        with told(path):
            found = _found(place)
        if found is None:
            continue
        if not stat.S_ISDIR(found.st_mode):
            below = "" if place == path else f"{_named(place)} "
            raise ClearschedError(f"{_named(path)}: {below}is a file: a folder expected")
        if not os.access(place, os.W_OK | os.X_OK):
            raise ClearschedError(f"{_named(path)}: no permission to write to {_named(place)}")
        return


def check_inputs(out: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse to write over what is read.

    Raises:
        ClearschedError: `out` is one of the `inputs`, by whatever name.
    """
    for path in inputs:
        with contextlib.suppress(OSError, ValueError):
            if Path(out).samefile(path):
                raise ClearschedError(f"{_named(out)}: is what is read: write to another place")


def _found(path: Path) -> os.stat_result | None:
    """What is there, links followed; None if nothing, or if a link leads nowhere."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):  # below a file: the file itself is told of when it is come to
        return None


def _named(path: str | Path) -> str:
    """A path for a line: one that is far too long is cut."""
    text = str(path)
    return text if len(text) <= 300 else f"{text[:150]}...{text[-100:]}"


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text atomically; what no text can hold, such as bytes of a file name, as its escape."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def keep_text(path: str | Path, text: str) -> bool:
    """Write UTF-8 text atomically unless the file holds it, which then keeps its time; whether it was written."""
    path = Path(path)
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    write_text(path, text)
    return True


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write bytes atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically, as `json_text` has it."""
    write_text(path, json_text(value))


def json_text(value: Any) -> str:
    """JSON as all files of this project have it: indented, keys in the order given, with a final newline."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def digest_bytes(data: bytes) -> str:
    """The first 16 hex digits of the SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()[:16]


def digest_file(path: str | Path) -> str:
    """The first 16 hex digits of the SHA-256 of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def digest_json(value: Any) -> str:
    """The digest of a JSON value, independent of the order of its keys."""
    return digest_bytes(json.dumps(value, sort_keys=True).encode())


def provenance(params: Any, inputs: Mapping[str, str | Path]) -> dict[str, Any]:
    """What a result file says of its origin: package version, the settings it was made with, digests of its inputs.

    No time, no host, no git commit: the same work gives the same bytes anywhere.
    """
    return {
        "version": __version__,
        "params": params,
        "inputs": {name: digest_file(path) for name, path in sorted(inputs.items())},
    }
