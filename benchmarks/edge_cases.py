"""The most that policies take next to fair on every edge case, on episodes of another seed than the test's.

    python benchmarks/edge_cases.py RESULTS POLICY... [--seed 77] [--episodes 32] [--json]

RESULTS is a scenario's folder (results/default): its trace and params are taken. POLICY is the file of a student, a
searched policy or a network. `snakemake edge_cases` compares all policies of a run on test episodes; this one finds
faults before any test episode is seen. Told are, by case, mean JCT next to fair's, the worst episode's, and the
longest stall: executors that wait beside a ready stage.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.edge_cases.cases import cases_of, params_of
from clearsched.evaluation.policies import load_policy
from clearsched.files import read_json
from clearsched.params import Params, parse
from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic

FAIR = "fair"


def params_of_results(folder: Path, seed: int, episodes: int) -> Params:
    """What the traces and workloads of a run were made by, with another seed."""
    values: dict[str, Any] = {}
    for stage in ("traces", "workloads"):
        values |= read_json(folder / "params" / f"{stage}.json")
    return parse(values | {"seed": seed, "edge_cases": {"episodes": episodes}}, str(folder / "params"), whole=False)


def measure(folder: Path, files: list[str], seed: int, episodes: int) -> list[dict[str, Any]]:
    """A row a case and policy."""
    params = params_of_results(folder, seed, episodes)
    problem = find_problem(params.problem)
    policies = [load_policy(problem, Path(file)) for file in files]
    rows = []
    for case in cases_of(problem):
        changed = params_of(params, case)
        if changed is None:
            continue
        with tempfile.TemporaryDirectory() as name:
            trace, workloads = folder / "traces" / "trace.parquet", Path(name) / "workloads.parquet"
            if changed.traces != params.traces:
                trace = Path(name) / "trace.parquet"
                problem.build(changed, trace)
            problem.draw(changed, trace, workloads)
            instance = problem.open(trace, workloads)
        given = instance.split("test")
        fair = np.array([o.measures["jct_s"] for o in heuristic(problem, FAIR).run(instance, given)])
        for policy in policies:
            outcomes = policy.run(instance, given)
            to_fair = np.array([outcome.measures["jct_s"] for outcome in outcomes]) / fair
            rows.append(
                {
                    "case": case,
                    "episodes": len(given),
                    "policy": policy.name,
                    "to_fair": float(to_fair.mean()),
                    "worst_to_fair": float(to_fair.max()),
                    "stall_s": max(outcome.measures["stall_s"] for outcome in outcomes),
                }
            )
    return rows


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.results, options.policies, options.seed, options.episodes)
    if options.json:
        print(json.dumps(rows))
        return
    print("| case | episodes | policy | next to fair | worst episode | stall (s) |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        told = f"{row['to_fair']:.3f} | {row['worst_to_fair']:.3f} | {row['stall_s']:.1f}"
        print(f"| {row['case']} | {row['episodes']} | {row['policy']} | {told} |")


if __name__ == "__main__":
    main()
