"""What recording costs, on and off: task events per CPU second under the fair heuristic.

    python benchmarks/recording.py [--profiles DIR_OR_TRACE] [--rounds N]

*off* is the simulator as it is; *cut out* the same package with every branch that asks for a record taken out of its
source, in a temporary folder: what is left between the two is what recording costs who does not use it. Each round
times each of them in an own process, in turn; the best of the rounds counts, so that a busy machine matters little.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from settings import SETTINGS, TIMED, command
from simulator import rates

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.simulator.profiles import Profiles

PACKAGE = Path(sys.modules["clearsched"].__file__ or "").parent
BRANCH = re.compile(r"^( *)(if|elif) .*\b(record_tasks|RECORD_TASKS|RECORD_DECISIONS)\b.*:$", re.MULTILINE)


def cut_out(folder: Path) -> int:
    """Copy the package to a folder without the branches that record; return how many there were.

    Raises:
        ClearschedError: none was found: the expression above does not fit the source any more.
    """
    shutil.copytree(PACKAGE, folder / "clearsched", ignore=shutil.ignore_patterns("__pycache__"))
    cut = 0
    for name in ("engine", "executors", "logs"):
        path = folder / "clearsched" / "problems" / "dag_jobs" / "simulator" / f"{name}.py"
        text, count = BRANCH.subn(r"\1\2 False:", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        cut += count
    if cut < 2:
        raise ClearschedError(f"{PACKAGE}: {cut} branches found that record: the pattern in {__file__} needs a change")
    return cut


def measured(source: Path, arguments: argparse.Namespace, record: bool = False) -> dict[str, float]:
    """Task events per CPU second by setting, in a process that imports the package from `source`."""
    child = [sys.executable, __file__, "--child", "--cpu-seconds", str(arguments.cpu_seconds)]
    child += ["--profiles", str(arguments.profiles)] * (arguments.profiles is not None) + ["--record"] * record
    environment = os.environ | {"PYTHONPATH": str(source)}
    answer = subprocess.run(child, capture_output=True, text=True, check=True, env=environment)
    values: dict[str, float] = json.loads(answer.stdout)
    return values


def compare(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The best rate of each variant, by variant and setting."""
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        cut_out(Path(folder))
        variants = {"cut out": (Path(folder), False), "off": (PACKAGE.parent, False), "on": (PACKAGE.parent, True)}
        for name, (source, record) in variants.items():
            measured(source, arguments, record)  # compiles, into the cache
            best[name] = dict.fromkeys(TIMED, 0.0)
        for _ in range(arguments.rounds):
            for name, (source, record) in variants.items():
                found = measured(source, arguments, record)
                best[name] = {setting: max(rate, found[setting]) for setting, rate in best[name].items()}
    return best


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    if arguments.child:
        values = {
            name: rates(profiles, SETTINGS[name], arguments.cpu_seconds, record=arguments.record).task_events
            for name in TIMED
        }
        print(json.dumps(values))
        return
    best = compare(arguments)
    print(f"{'recording':<12}{'(a)':>14}{'(b)':>14}   task events per CPU s, and relative to cut out")
    for name, by_setting in best.items():
        ratios = "  ".join(f"{by_setting[key] / best['cut out'][key]:.3f}" for key in TIMED)
        print(f"{name:<12}{by_setting['a']:>14,.0f}{by_setting['b']:>14,.0f}   {ratios}")


if __name__ == "__main__":
    command(
        __doc__,
        main,
        cpu_seconds=1.0,
        rounds={"type": int, "default": 5, "help": "rounds of measurements (%(default)s)"},
        child={"action": "store_true", "help": argparse.SUPPRESS},
        record={"action": "store_true", "help": argparse.SUPPRESS},
    )
