"""What the project depends on: the licence of each package, and which pinned ones have known vulnerabilities.

    python tools/audit.py                               licences; vulnerabilities if a database is at hand
    python tools/audit.py --advisories PyPI-all.zip     the database: a zip, or a folder, of files in OSV's JSON format

Nothing is downloaded. OSV publishes all advisories of Python packages as one zip. Exit code 1 if a pin is vulnerable.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

PINS = Path(__file__).parents[1] / "constraints.txt"
ROOT = "clearsched"
EXTRAS = ("contract", "dask", "dev", "docs", "live", "onnx", "optimum", "rl", "serve", "slurm", "spark")
UNKNOWN = "not told"
LONGEST = 60
"""Characters of a licence; a longer entry is the text of one."""


class Package(NamedTuple):
    """A package that is installed because of this project."""

    name: str
    version: str
    licence: str


def dependencies(root: str = ROOT, extras: Iterable[str] = EXTRAS) -> Iterator[Package]:
    """All that is installed of what a package needs, in any number of steps, by name."""
    found: dict[str, Distribution] = {}
    waiting = [(root, frozenset(extras))]
    seen = set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            package = distribution(name)
        except PackageNotFoundError:  # of an extra that is not installed, or of another system
            continue
        found[canonicalize_name(name)] = package
        for text in package.requires or ():
            need = Requirement(text)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *wanted)):
                waiting.append((need.name, frozenset(need.extras)))
    for name, package in sorted(found.items()):
        told = licence(package.metadata.json)
        yield Package(name, package.version, title(package) if told == UNKNOWN else told)


def licence(told: Mapping[str, Any]) -> str:
    """The licence that a package's metadata tell: its expression, a short text, or the classifiers."""
    expression = told.get("license_expression")
    if expression:
        return str(expression)
    classified = [
        entry.rpartition(" :: ")[2] for entry in told.get("classifier", ()) if entry.startswith("License :: ")
    ]
    text = str(told.get("license") or "").strip()
    if text and len(text) <= LONGEST and "\n" not in text and text.lower() not in ("unknown", "none"):
        return text
    return " or ".join(sorted({*classified} - {"OSI Approved"})) or UNKNOWN


def title(package: Distribution) -> str:
    """The first line of the licence that lies in a package, where it is short enough to be its name."""
    for file in package.files or ():
        if re.match(r"(LICEN[CS]E|COPYING)", file.name, re.IGNORECASE):
            lines = file.read_text("utf-8").strip().splitlines()
            if lines and len(lines[0].strip()) <= LONGEST:
                return lines[0].strip()
    return UNKNOWN


def pins(path: Path = PINS) -> dict[str, str]:
    """Version by name of the packages that are pinned."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", path.read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


def advisories(place: Path) -> Iterator[Mapping[str, Any]]:
    """The advisories of a database: a folder or a zip of JSON files."""
    if place.is_dir():
        texts: Iterable[bytes] = (path.read_bytes() for path in sorted(place.rglob("*.json")))
        yield from map(json.loads, texts)
        return
    with zipfile.ZipFile(place) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def vulnerable(pinned: Mapping[str, str], known: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Name, version, advisory and summary of each pin that an advisory is about; withdrawn ones do not count."""
    for advisory in known:
        if advisory.get("withdrawn"):
            continue
        for affected in advisory.get("affected", ()):
            package = affected.get("package", {})
            name = canonicalize_name(str(package.get("name", "")))
            if package.get("ecosystem") == "PyPI" and name in pinned and _affects(affected, pinned[name]):
                yield name, pinned[name], str(advisory.get("id")), str(advisory.get("summary") or "")
                break


def _affects(affected: Mapping[str, Any], version: str) -> bool:
    """Whether a version is listed, or lies in a range: from `introduced` to before `fixed`, or to `last_affected`."""
    if version in affected.get("versions", ()):
        return True
    try:
        return any(
            _inside(span.get("events", ()), Version(version))
            for span in affected.get("ranges", ())
            if span.get("type") == "ECOSYSTEM"
        )
    except InvalidVersion:
        return False


def _inside(events: Iterable[Mapping[str, str]], version: Version) -> bool:
    inside = False
    for event in events:
        kind, text = next(iter(event.items()))
        at = Version("0" if text == "0" else text)
        if kind == "introduced" and version >= at:
            inside = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            inside = False
    return inside


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows as a table of text."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Print both tables; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--advisories", type=Path, help="zip or folder of advisories in OSV's format")
    place = parser.parse_args(arguments).advisories
    packages = list(dependencies())
    print(table(("package", "version", "licence"), packages))
    print(f"\n{len(packages)} packages; licence {UNKNOWN}: {sum(package.licence == UNKNOWN for package in packages)}")
    if place is None:
        print("vulnerabilities: not looked for: no database at hand; give one of OSV with --advisories")
        return 0
    try:
        found = sorted(vulnerable(pins(), advisories(place)))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        print(f"audit: {place}: no database of advisories: {error}", file=sys.stderr)
        return 2
    if not found:
        print(f"vulnerabilities: none known of {len(pins())} pinned packages")
        return 0
    print(table(("package", "version", "advisory", "summary"), found))
    return 1


if __name__ == "__main__":
    sys.exit(main())
