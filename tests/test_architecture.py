"""docs/architecture.md: the counts are those that the script finds, and the rooms it names are there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import seam  # noqa: E402

PACKAGE = ROOT / "src" / "clearsched"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def table() -> dict[str, int]:
    """The column `now` of the page's table of counts, by example."""
    rows = re.findall(r"^\| [^|]*`([^`|]+)`[^|]*\| [^|]* \| (\d+) \|", PAGE, re.MULTILINE)
    return {name: int(count) for name, count in rows}


@pytest.mark.parametrize("example", seam.EXAMPLES, ids=lambda example: example.name)
def test_the_page_tells_what_the_script_counts(example: seam.Example) -> None:
    assert table()[example.name] == len(seam.places(ROOT, example)), seam.places(ROOT, example)


def test_a_place_more_is_seen(tmp_path: Path) -> None:
    """The script counts files that name a thing, its own folder once, and no generated ones."""
    package = tmp_path / "src" / "clearsched"
    (package / "problems" / "deferrable_jobs").mkdir(parents=True)
    for name in ("a", "b"):
        (package / "problems" / "deferrable_jobs" / f"{name}.py").write_text("NAME = 'deferrable_jobs'\n")
    (package / "problems" / "__init__.py").write_text("PROBLEMS = {'deferrable_jobs': ''}\n")
    (tmp_path / "workflow").mkdir()
    (tmp_path / "dvc.yaml").write_text("# Written by a command.\ndeferrable_jobs: 1\n")
    example = next(example for example in seam.EXAMPLES if example.name == "deferrable_jobs")
    assert len(seam.places(tmp_path, example)) == 2
    (tmp_path / "workflow" / "x.smk").write_text("deferrable_jobs\n")
    assert len(seam.places(tmp_path, example)) == 3


def test_the_rooms_that_the_page_names_are_there() -> None:
    for path in re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", PAGE):
        if "<" not in path and not path.startswith(("tests", "benchmarks")):
            found = [base / path for base in (ROOT, ROOT / "src", PACKAGE, PACKAGE / "problems/dag_jobs")]
            assert any(place.exists() for place in found), path
