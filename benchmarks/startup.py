"""How long the first episode takes in a new process, with numba's cache on disk.

    python benchmarks/startup.py [--profiles DIR_OR_TRACE]

A first process fills the cache; the second one is timed: importing and compiling the profiles apart, which takes what
it takes, the first call simulates setting (c).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from settings import Row, command

from clearsched.problems.dag_jobs.simulator.profiles import Profiles

CHILD = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, {folder!r})
from settings import SETTINGS, WARMUP_DELAY_MS, compile_profiles, episodes, load
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.simulate import simulate
profiles = compile_profiles(load({path}), WARMUP_DELAY_MS)
workload, policy = next(episodes(profiles, SETTINGS["c"])), heuristic("fair").compiled
begin, begin_cpu = time.perf_counter(), time.process_time()
simulate(profiles, workload, policy)
print(json.dumps({{"wall_s": time.perf_counter() - begin, "cpu_s": time.process_time() - begin_cpu}}))
"""


def first_call(path: Path | None) -> dict[str, float]:
    """Wall and CPU seconds of the first call of `simulate` in a new process whose cache is filled."""
    code = CHILD.format(folder=str(Path(__file__).parent), path=None if path is None else f"Path({str(path)!r})")
    for _ in range(2):
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    times: dict[str, float] = json.loads(answer.stdout)
    return times


def rows(path: Path | None) -> list[Row]:
    """Lines of the table (table.py)."""
    cpu_s = first_call(path)["cpu_s"]
    return [Row("first call in a new process, cache filled", "CPU s", cpu_s, cpu_s)]


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    times = first_call(arguments.profiles)
    print(f"first call, cache filled: {times['cpu_s']:.2f} CPU s, {times['wall_s']:.2f} s")


if __name__ == "__main__":
    command(__doc__, main)
