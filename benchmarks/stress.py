"""Whether policies lock, starve or fall behind: long streams, overload, and a backlog to clear.

    python benchmarks/stress.py RESULTS POLICY... [--seed 99] [--json]

RESULTS is a scenario's folder (results/default); POLICY a policy's file, or the name of a heuristic with its default
settings. Jobs are drawn with replacement from the training episodes, by another seed than when policies were made
(`workloads/stress.py`); no test episode is touched. Told are, by kind of stress, mean JCT in s, and JCT and makespan
relative to fair's, mean and worst episode, and the longest stall: executors that wait beside a ready stage.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.evaluation.policies import load_policy
from clearsched.problems.dag_jobs.instance import open_instance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.workloads.stress import kinds_of


def measure(folder: Path, names: list[str], seed: int) -> list[dict[str, Any]]:
    """One row a kind of stress and policy."""
    instance = open_instance(folder / "traces" / "trace.parquet", folder / "traces" / "workloads.parquet")
    training = instance.split("train")
    policies = {"fair": heuristic("fair")}
    for name in names:
        known = name in PROBLEM.heuristics
        policies[name if known else Path(name).stem] = heuristic(name) if known else load_policy(PROBLEM, Path(name))
    rows = []
    for kind in kinds_of(training):
        given = instance.stressed_by(kind, training, seed)
        fair = np.empty((2, 0))
        for name, policy in policies.items():
            outcomes = policy.run(instance, given)
            found = np.array([[o.measures["jct_s"] for o in outcomes], [o.measures["makespan_s"] for o in outcomes]])
            fair = found if name == "fair" else fair
            jct, makespan = found / fair
            rows.append(
                {
                    "stress": kind.name,
                    "episodes": len(given),
                    "policy": name,
                    "jct_s": float(found[0].mean()),
                    "to_fair": float(jct.mean()),
                    "worst_to_fair": float(jct.max()),
                    "worst_makespan_to_fair": float(makespan.max()),
                    "stall_s": max(outcome.measures["stall_s"] for outcome in outcomes),
                }
            )
    return rows


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--seed", type=int, default=99)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.results, options.policies, options.seed)
    if options.json:
        print(json.dumps(rows))
        return
    print("| stress | episodes | policy | mean JCT (s) | next to fair | worst episode | worst makespan | stall (s) |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        ratios = (f"{row[name]:.3f}" for name in ("to_fair", "worst_to_fair", "worst_makespan_to_fair"))
        told = [row["stress"], f"{row['episodes']}", row["policy"], f"{row['jct_s']:.1f}", *ratios]
        print(f"| {' | '.join(told)} | {row['stall_s']:.1f} |")


if __name__ == "__main__":
    main()
