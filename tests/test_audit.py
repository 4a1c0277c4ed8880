"""make audit: licences from metadata, vulnerabilities from a database of OSV files, nothing downloaded."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import audit


def advisory(name: str, *events: dict[str, str], versions: tuple[str, ...] = (), **other: Any) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    package = {"ecosystem": "PyPI", "name": name}
    return {"id": "X-1", "affected": [{"package": package, "ranges": ranges, "versions": list(versions)}]} | other


@pytest.mark.parametrize(
    ("version", "hit"), [("0.9", False), ("1.0", True), ("1.9.9", True), ("2.0", False), ("2.5", True), ("3", False)]
)
def test_a_range_ends_before_what_is_fixed(version: str, hit: bool) -> None:
    events = [{"introduced": "1.0"}, {"fixed": "2.0"}, {"introduced": "2.5"}, {"last_affected": "2.5"}]
    found = list(audit.vulnerable({"a-b": version}, [advisory("A_b", *events)]))
    assert bool(found) == hit


def test_listed_versions_count_and_withdrawn_advisories_do_not() -> None:
    listed = advisory("a", versions=("1.0",))
    assert list(audit.vulnerable({"a": "1.0"}, [listed])) == [("a", "1.0", "X-1", "")]
    assert not list(audit.vulnerable({"a": "1.0"}, [listed | {"withdrawn": "2020"}]))
    assert not list(audit.vulnerable({"b": "1.0"}, [listed]))


def test_the_database_is_a_folder_or_a_zip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, version = next(iter(audit.pins().items()))
    text = json.dumps(advisory(name, {"introduced": "0"}))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "X-1.json").write_text(text)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("X-1.json", text)
    for place in ("folder", "all.zip"):
        assert audit.main(["--advisories", str(tmp_path / place)]) == 1
        assert f"{version}" in capsys.readouterr().out.splitlines()[-1]
    (tmp_path / "empty").mkdir()
    assert audit.main(["--advisories", str(tmp_path / "empty")]) == 0
    assert audit.main(["--advisories", str(tmp_path / "gone.zip")]) == 2


def test_without_a_database_it_says_so_and_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("vulnerabilities: not looked for")
    packages = {line.split()[0] for line in lines[2:-3]}
    assert {"numpy", "pydantic", "clearsched", "annotated-types"} <= packages


@pytest.mark.parametrize(
    ("told", "licence"),
    [
        ({"license_expression": "MIT", "license": "x"}, "MIT"),
        ({"license": "BSD-3-Clause"}, "BSD-3-Clause"),
        ({"license": "long\ntext", "classifier": ["License :: OSI Approved :: MIT License"]}, "MIT License"),
        ({"license": "UNKNOWN", "classifier": ["License :: OSI Approved"]}, audit.UNKNOWN),
        ({}, audit.UNKNOWN),
    ],
)
def test_a_licence_is_an_expression_a_short_text_or_a_classifier(told: dict[str, Any], licence: str) -> None:
    assert audit.licence(told) == licence
