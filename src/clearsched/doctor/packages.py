"""Python and the packages: what is there, next to what is required and to what the tests passed with."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from clearsched import __version__
from clearsched.doctor.findings import Finding
from clearsched.imports import PACKAGE

PINS = "constraints.txt"
OPTIONAL_PACKAGES = {
    "ortools": ("OR-Tools", "clearsched evaluation optimum", "pip install 'clearsched[optimum]'"),
    "fastapi": ("FastAPI", "clearsched serve", "pip install 'clearsched[serve]'"),
    "pyspark": ("pyspark", "recording Spark yourself", "pip install pyspark, and a Java runtime"),
}
OPTIONAL_PROGRAMS = {
    ("java",): ("Java", "recording Spark yourself", "install a Java runtime"),
    ("chromium", "chromium-browser", "google-chrome"): ("Chromium", "browser tests", "apt install chromium"),
}


def versions(pins: Path | None = None, installed: Mapping[str, str] | None = None) -> list[Finding]:
    """Python, clearsched, what it requires, and what differs from the pins.

    Args:
        pins: the file of pinned versions; None: that of the folder, or of the checkout that the package lies in.
        installed: versions by normalised name, for tests; None: those of this environment.
    """
    there = dict(_installed()) if installed is None else dict(installed)
    told = ".".join(map(str, sys.version_info[:3]))
    found = [Finding("Python", "ok", f"{told}, clearsched {__version__}")]
    wrong = list(_unmet(there))
    if wrong:
        found.append(Finding("packages", "problem", "; ".join(wrong), "install again: make install"))
    file = pins or next((path for path in (Path(PINS), PACKAGE.parents[1] / PINS) if path.is_file()), None)
    if file is None:
        return [*found, Finding("pins", "note", f"no {PINS} here", "versions are not compared with the tested ones")]
    pinned = dict(_pinned(file))
    differing = [
        f"{name} {there[name]} (pinned {version})"
        for name, version in pinned.items()
        if name in there and _public(there[name]) != _public(version)
    ]
    if differing:
        told = f"{len(differing)} of {len(pinned)} differ: {', '.join(differing[:5])}{', ...' * (len(differing) > 5)}"
        return [*found, Finding("pins", "note", told, f"for the tested versions: pip install -c {file.name} -e .")]
    return [*found, Finding("pins", "ok", f"as in {file.name}, as far as installed")]


def optional() -> list[Finding]:
    """What some commands want and a run does not."""
    found = []
    for package, (name, purpose, todo) in OPTIONAL_PACKAGES.items():
        try:
            found.append(Finding(name, "ok", metadata.version(package)))
        except metadata.PackageNotFoundError:
            found.append(Finding(name, "note", f"not there; only {purpose} wants it", todo))
    for programs, (name, purpose, todo) in OPTIONAL_PROGRAMS.items():
        place = next(filter(None, map(shutil.which, programs)), None)
        missing = Finding(name, "note", f"not there; only {purpose} wants it", todo)
        found.append(Finding(name, "ok", place) if place else missing)
    return found


def _installed() -> Iterator[tuple[str, str]]:
    for distribution in metadata.distributions():
        if distribution.name:
            yield _normalised(distribution.name), distribution.version


def _unmet(there: Mapping[str, str]) -> Iterator[str]:
    """The requirements of the package, extras left out, that are not met."""
    from packaging.requirements import Requirement

    try:
        required = metadata.requires("clearsched") or []
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return
    for requirement in map(Requirement, required):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = there.get(_normalised(requirement.name))
        if version is None:
            yield f"{requirement.name} is not installed"
        elif not requirement.specifier.contains(version, prereleases=True):
            yield f"{requirement.name} {version}, required {requirement.specifier}"


def _pinned(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        name, equals, version = line.partition("#")[0].partition("==")
        if equals:
            yield _normalised(name.strip()), version.partition(";")[0].strip()


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _public(version: str) -> str:
    """Without the local part: a CPU build of the same version is the same version."""
    return version.partition("+")[0]
