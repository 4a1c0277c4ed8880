"""Compiled code that is kept for the next process: whether it can be, whether it is there, what lies about of old."""

from __future__ import annotations

import os
from pathlib import Path

from clearsched.compiled.cache import choose_numba_cache
from clearsched.doctor.findings import Finding

STALE_MB = 100.0
"""Code of older sources of which it is worth telling, in MB."""


def compiled_code() -> list[Finding]:
    """The cache of numba: nowhere, empty, or there; it is valid by its name, which has the digest of the sources."""
    if not choose_numba_cache():
        told = "no folder for compiled code can be written: every command compiles for a minute"
        return [Finding("compiled code", "problem", told, "set NUMBA_CACHE_DIR to a folder that can")]
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    files, size = _files(folder, "*.nbc")
    found = []
    if files:
        found.append(Finding("compiled code", "ok", f"{files} functions, {size:.0f} MB, of these sources, in {folder}"))
    else:
        told = f"none of these sources in {folder}"
        found.append(Finding("compiled code", "note", told, "the first run compiles (minutes); or: clearsched prepare"))
    others = [other for other in folder.parent.glob("numba-*") if other != folder]
    old = sum(_files(other, "*")[1] for other in others)
    if old > STALE_MB:
        told = f"{old:.0f} MB of older sources beside it"
        found.append(
            Finding("old caches", "note", told, f"delete the other numba-* in {folder.parent} if none is used")
        )
    return found


def _files(folder: Path, pattern: str) -> tuple[int, float]:
    """How many files there are below a folder, and their MB."""
    sizes = [path.stat().st_size for path in folder.rglob(pattern) if path.is_file()]
    return len(sizes), sum(sizes) / 1e6
