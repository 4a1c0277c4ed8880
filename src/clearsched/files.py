"""Files that are either whole or absent, and that say where they come from."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clearsched import __version__
from clearsched.errors import ClearschedError

DOWNLOADS = Path("data/downloads")
"""Where fetched data sets are kept, from the folder that a command runs in."""

PROVENANCE_KEY = b"clearsched"


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` when the block succeeds, delete it when it fails.

    The temporary file keeps the suffix of `path`, since writers such as matplotlib choose the format by it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically, indented, keys in the order given, with a final newline."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read JSON.

    Raises:
        ClearschedError: the file is missing or is not JSON.
    """
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ClearschedError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ClearschedError(f"{path}: cannot be read: {error}") from None
    except json.JSONDecodeError as error:
        raise ClearschedError(f"{path}: line {error.lineno}: not valid JSON: {error.msg}") from None


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
