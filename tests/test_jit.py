"""Where compiled code is kept, and that the simulator runs where nothing can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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

EPISODE = """
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload, simulate
from toys import stage, toy_trace

profiles = compile_profiles(toy_trace([[stage(3)]]))
print(simulate(profiles, Workload([0], [0], 1, 100, mean_durations=True), heuristic("fair").compiled).completion_ms)
"""


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


@pytest.mark.slow
def test_the_simulator_runs_where_no_folder_can_be_written() -> None:
    """A move of 100 ms, then tasks of 50 (fresh), 10 and 10 ms."""
    printed = run_python(NOTHING_CAN_BE_MADE + WHERE + EPISODE)
    assert printed.split("\n") == ["False None", "[170]"]
