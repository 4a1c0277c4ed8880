"""The source files that a rule runs as one small file: Snakemake looks at all inputs of what waits, time and again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from clearsched.files import atomic_path, digest_file
from clearsched.imports import PACKAGE

DIGEST = cache(digest_file)


def keep_code(path: Path, files: Iterable[Path]) -> None:
    """List source files with their digests, a line each, unless they are listed so: an input that changes as they do.

    A list that is new is as old as the newest file, so that results that are there already stay; one that changes is
    new, whatever the files' times: those of a checkout say nothing.

    Args:
        path: of the list.
        files: of the package.

    Raises:
        ClearschedError: the list can't be written.
    """
    order = sorted(files)
    text = "".join(f"{DIGEST(file)}  {file.relative_to(PACKAGE).as_posix()}\n" for file in order)
    known = path.read_text("utf-8") if path.is_file() else None
    if known == text:
        return
    with atomic_path(path) as temporary:
        temporary.write_text(text, "utf-8")
        if known is None:
            newest = max(file.stat().st_mtime_ns for file in order)
            os.utime(temporary, ns=(newest, newest))
