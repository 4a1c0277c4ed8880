"""The params file, and the folder that results go to: locked, at work, with files that are not finished?"""

from __future__ import annotations

import os
from pathlib import Path

from clearsched.doctor.findings import Finding
from clearsched.errors import ClearschedError
from clearsched.params import Params, load
from clearsched.temporary import PREFIX

PROC = Path("/proc")


def params(path: Path) -> tuple[Params | None, Finding]:
    """The checked params, None if there are none, and what is to be said of the file."""
    if not path.exists():
        todo = f"clearsched params default --out {path}"
        return None, Finding("params", "problem", f"{path}: no such file", todo)
    try:
        checked = load(path)
    except ClearschedError as error:
        return None, Finding("params", "problem", str(error), "then: clearsched params check")
    return checked, Finding("params", "ok", f"{path}: problem {checked.problem}, scenario {checked.scenario}")


def results(folder: Path, proc: Path = PROC) -> list[Finding]:
    """Whether Snakemake's lock lies there, whether somebody is at work, and what is not finished."""
    own = folder.absolute().parent / ".snakemake"
    locks, incomplete = _names(own / "locks"), _names(own / "incomplete")
    at_work = _at_work(folder.absolute().parent, proc)
    if at_work:
        return [
            Finding("results", "note", f"process {at_work} runs Snakemake here", "wait for it: the folder is locked")
        ]
    if locks:
        told = f"{own.parent} is locked, and no Snakemake of this machine works in it"
        return [Finding("results", "problem", told, "if none of another machine does either: snakemake --unlock")]
    found = []
    if incomplete:
        told = f"{len(incomplete)} files of rules that were interrupted"
        found.append(Finding("results", "note", told, "the next run makes them again"))
    left = sum(1 for _ in folder.rglob(f"{PREFIX}*")) if folder.is_dir() else 0
    if left:
        found.append(
            Finding("results", "note", f"{left} unfinished files of killed commands", "the next run sweeps them")
        )
    return found or [Finding("results", "ok", f"{folder} is free" if folder.is_dir() else f"{folder} is not there yet")]


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def _at_work(folder: Path, proc: Path) -> int | None:
    """A process whose command is Snakemake and that works in `folder`; None if there is none, or it cannot be told."""
    for process in sorted(proc.glob("[0-9]*")):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            works = any(word.endswith(b"snakemake") for word in words[:3])
            if works and int(process.name) != os.getpid() and (process / "cwd").resolve() == folder.resolve():
                return int(process.name)
        except OSError:  # it has ended, or is another user's
            continue
    return None
