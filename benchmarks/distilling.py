"""From a decision log to a printed, unrefined student: wall-clock and CPU seconds, peak memory of a fresh process.

    python benchmarks/distilling.py RESULTS [--kind rule_list] [--learns-from 100000 0] [--json]

RESULTS is a scenario's folder (results/default) with `params/students.json` and what a fit reads. The fit is
`clearsched students fit` without DAgger, refinement and further training seeds; `--learns-from` is
`students.sampling.decisions`, the decisions that are drawn from the log, 0: all of them. A log of a million decisions:

    snakemake --cores 2 --config scenario=million workload='{episodes: {train: 2400}}' decisions='{episodes: 2400}' \\
        teacher='{source: shipped, shipped: default}' search='{source: shipped, shipped: default}' -- \\
        results/million/decisions/decisions.parquet results/million/params/students.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from clearsched.decisions.reader import count_decisions, read_metadata
from clearsched.problems import find_problem

UNREFINED = {"dagger_rounds": 0, "seeds": 1, "refine": {"rounds": 0}}


def measure(folder: Path, kind: str, learns_from: int) -> dict[str, Any]:
    """One fit, and what it took; the rules that were printed are in `text`."""
    params = json.loads((folder / "params" / "students.json").read_text())
    told = {**UNREFINED, "sampling": {"decisions": learns_from, "by": "equal"}}
    for name, value in told.items():
        own = params["students"][name]
        params["students"][name] = {**own, **value} if isinstance(value, dict) else value
    with tempfile.TemporaryDirectory() as out:
        (Path(out) / "params.json").write_text(json.dumps(params))
        start = time.perf_counter()
        usage = usage_of(command(folder, kind, Path(out)))
        seconds = time.perf_counter() - start
        text = (Path(out) / f"{kind}.txt").read_text()
    return {
        "kind": kind,
        "logged": logged(folder / "decisions" / "decisions.parquet"),
        "learns_from": learns_from,
        "wall_s": seconds,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss * 1024 / 1e6,
        "text": text,
    }


def command(folder: Path, kind: str, out: Path) -> list[str]:
    """What the workflow runs, with other params."""
    inputs = {
        "params": out / "params.json",
        "trace": folder / "traces" / "trace.parquet",
        "workloads": folder / "traces" / "workloads.parquet",
        "tuned": folder / "heuristics" / "tuned.json",
        "teacher": folder / "teacher" / "teacher.safetensors",
        "decisions": folder / "decisions" / "decisions.parquet",
        "out": out,
    }
    told = [part for name, path in inputs.items() for part in (f"--{name}", str(path))]
    return [sys.executable, "-m", "clearsched", "students", "fit", kind, *told]


def usage_of(command: list[str]) -> Any:
    """What the process used, its peak of memory among it; its own lines go to standard error."""
    process = subprocess.Popen(command, stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit("the fit failed")
    return usage


def logged(path: Path) -> int:
    """Decisions in the log, of all splits and of the first choice."""
    problem = find_problem(read_metadata(path)["problem"])
    return sum(count_decisions(path, problem, problem.choices[0].name, split) for split in ("train", "validation"))


def main() -> None:
    """Print a line a fit, and the rules of the last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--kind", default="rule_list")
    parser.add_argument("--learns-from", type=int, nargs="+", default=[100_000, 0])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [measure(arguments.results, arguments.kind, count) for count in arguments.learns_from]
    if arguments.json:
        print(json.dumps(rows))
        return
    for row in rows:
        drawn = f"{row['learns_from']:,}" if row["learns_from"] else "all"
        print(
            f"{row['kind']}: {row['logged']:,} decisions logged, learned from {drawn}:"
            f" {row['wall_s']:.0f} s, CPU {row['cpu_s']:.0f} s, peak {row['peak_mb']:,.0f} MB"
        )
    print(rows[-1]["text"])


if __name__ == "__main__":
    main()
