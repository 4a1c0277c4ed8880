"""Where compiled code is kept, by what key, and that it runs where nothing can be written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clearsched
from clearsched.compiled.cache import COMPILES, cache_key, compiled_sources
from clearsched.imports import read_texts

NOTHING_CAN_BE_MADE = """
import pathlib

def refuse(self, *arguments, **keywords):
    raise PermissionError(f"read-only: {self}")

pathlib.Path.mkdir = refuse
"""

WHERE = """
import os
from clearsched.compiled.jit import CACHES_CODE
print(CACHES_CODE, os.environ.get("NUMBA_CACHE_DIR"))
"""

QUEUE = """
import numpy as np
from clearsched.compiled import wheel

node = np.zeros((4, 2), np.int32)
wheel.clear_queue(np.ones(wheel.BITMAP_WORDS, np.uint64), node)
print(node[:, wheel.NODE_NEXT], wheel.clear_queue.stats.cache_path)
"""
"""Compiles in a second, where a simulator's loop takes a minute; how it is compiled is the same for both (`jit.py`)."""


def run_python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    known = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    }
    known.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", code], env={**known, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_code_is_kept_in_a_folder_named_by_the_sources() -> None:
    kept, folder = run_python(WHERE).split()
    assert kept == "True"
    assert Path(folder).name.startswith("numba-")
    assert Path(folder).is_dir()


def test_the_folder_that_a_user_names_comes_first(tmp_path: Path) -> None:
    assert run_python(WHERE, NUMBA_CACHE_DIR=str(tmp_path)) == f"True {tmp_path}"


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    named = tmp_path / "file" / "cache"
    kept, folder = run_python(WHERE, NUMBA_CACHE_DIR=str(named)).split()
    assert kept == "True"
    assert folder != str(named)


# The key: what is compiled, and nothing else ------------------------------------------------------------------------

PACKAGE = Path(clearsched.__file__).parent
ROOM = Path("problems", "dag_jobs", "simulator")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, to change."""
    copy = tmp_path / "clearsched"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def append(path: Path) -> None:
    path.write_text(path.read_text() + "\n# changed\n")


def test_a_copy_has_the_same_key_wherever_it_lies(package: Path) -> None:
    assert cache_key(package) == cache_key() != ""


@pytest.mark.parametrize(
    "changed",
    [
        ROOM / "engine.py",  # compiled
        ROOM / "semantics.py",  # imported by a compiled file
        Path("problems", "dag_jobs", "features.py"),  # whose text becomes code
        Path("problems", "dag_jobs", "policies.py"),  # the registry that dispatch.py makes code of
        Path("compiled", "wheel.py"),
        Path("compiled", "cache.py"),
        Path("errors.py"),  # imported by those
    ],
    ids=str,
)
def test_a_change_of_what_is_compiled_changes_the_key(package: Path, changed: Path) -> None:
    before = cache_key(package)
    assert package / changed in compiled_sources(package)
    append(package / changed)
    assert cache_key(package) != before


@pytest.mark.parametrize(
    "changed", ["cli/__init__.py", "cli/simulate.py", "__main__.py", "params/models.py", "students/settings.py"]
)
def test_a_change_of_what_is_not_compiled_leaves_the_key(package: Path, changed: str) -> None:
    before = cache_key(package)
    assert package / changed not in compiled_sources(package)
    append(package / changed)
    assert cache_key(package) == before


def test_no_file_that_compiles_reads_models_of_params() -> None:
    """Their texts are not part of the key, so no number of theirs may be compiled in."""
    texts = read_texts()
    compile_ = [path for path, text in texts.items() if any(word in text for word in COMPILES)]
    found = {
        path for path in compile_ if re.search(rb"^\s*(from|import) clearsched\.params", texts[path], re.MULTILINE)
    }
    assert len(compile_) > 30 and not found


def test_a_file_that_moves_to_a_sub_room_changes_the_key(package: Path) -> None:
    """Its text and that of all others stay the same: stale code would look for it in its old place."""
    before = cache_key(package)
    room = package / ROOM / "parts"
    room.mkdir()
    (package / ROOM / "engine.py").rename(room / "engine.py")
    assert room / "engine.py" in compiled_sources(package)
    assert cache_key(package) != before


def test_a_new_problem_is_part_of_the_key(package: Path) -> None:
    before = cache_key(package)
    (package / "problems" / "tiny").mkdir()
    source = "from clearsched.compiled.jit import compiled\nfrom clearsched.problems.tiny import rules as r\n"
    (package / "problems" / "tiny" / "loop.py").write_text(source)
    (package / "problems" / "tiny" / "rules.py").write_text("LIMIT = 3\n")
    after = cache_key(package)
    assert after != before
    append(package / "problems" / "tiny" / "rules.py")  # a constant that is frozen into the loop's code
    assert cache_key(package) != after


def test_every_compiled_function_lies_in_a_file_of_the_key() -> None:
    """Found by what they look like, not by what they import."""
    decorated = re.compile(r"^@(compiled|inlined|allocating|concurrent|njit|intrinsic)\b", re.MULTILINE)
    with_code = [path for path in PACKAGE.rglob("*.py") if decorated.search(path.read_text())]
    assert len(with_code) > 20
    assert set(with_code) <= set(compiled_sources())


# No problem is named in compiled/ -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((PACKAGE / "compiled").glob("*.py")), ids=lambda path: path.name)
def test_compiled_names_no_problem(path: Path) -> None:
    """Neither in prose nor in an identifier: it is what any simulator's loop is made of."""
    text = path.read_text()
    found = re.findall(r"(?i)(?<![a-z])(?:jobs?|stages?|executors?|dags?|spark)(?![a-z])", text)
    assert found == []
    assert "clearsched.problems" not in text


def test_code_runs_where_no_folder_can_be_written() -> None:
    """Compiled for this process alone: the four nodes are unused, the last one is the head of their list."""
    where, queue = run_python(NOTHING_CAN_BE_MADE + WHERE + QUEUE).split("\n")
    assert where == "False None"
    assert queue == "[ 1  2 -1  0] None"
