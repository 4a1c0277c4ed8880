"""What policies win by a flaw of the published simulator: the same streams under its rules, and with one corrected.

    python benchmarks/corrected.py RESULTS POLICY... [--correction right_interpolation] [--episodes 60] [--seed 31]

RESULTS is a scenario's folder (results/decima-b): its trace and the jobs of its training episodes are taken, drawn by
another seed; no test episode is touched. POLICY is the file of a student, a searched policy or a network, or the name
of a heuristic with its default settings. Told are, by policy, mean JCT in s under both rules, and the paired difference
to the first policy in % of its mean, with its 95 % interval; `--json` prints the rows.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from next_to_fair import FAIR, corrected, parser_of, policies_of

from clearsched.evaluation.statistics import generator, paired_difference
from clearsched.problems.dag_jobs.instance import DagJobsInstance, open_instance
from clearsched.problems.dag_jobs.workloads.stress import Stress


def measure(
    instance: DagJobsInstance, names: list[str], correction: str, episodes: int, seed: int
) -> list[dict[str, Any]]:
    """A row a policy: `jct_s` and `percent` with `low` and `high`, two of each: as published, corrected."""
    train = instance.split("train")
    kind = Stress("fresh", len(train[0].profile), 1.0, 0, episodes)
    published = instance.stressed_by(kind, train, seed)
    rows: list[dict[str, Any]] = []
    first: list[np.ndarray] = []
    for name, policy in policies_of(names).items():
        if name == FAIR and FAIR not in names:
            continue
        row: dict[str, Any] = {"policy": name, "jct_s": [], "percent": [], "low": [], "high": []}
        for place, streams in enumerate((published, corrected(published, correction))):
            jct_s = np.array([outcome.measures["jct_s"] for outcome in policy.run(instance, streams)])
            if len(first) == place:
                first.append(jct_s)
            told = paired_difference(jct_s, first[place], generator(seed)).scaled(100 / first[place].mean())
            row["jct_s"].append(float(jct_s.mean()))
            for key, value in (("percent", told.mean), ("low", told.low), ("high", told.high)):
                row[key].append(float(value))
        rows.append(row)
    return rows


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = parser_of(__doc__, seed=31)
    parser.add_argument("--correction", default="right_interpolation")
    parser.add_argument("--episodes", type=int, default=60)
    options = parser.parse_args()
    instance = open_instance(options.results / "traces/trace.parquet", options.results / "traces/workloads.parquet")
    rows = measure(instance, options.policies, options.correction, options.episodes, options.seed)
    if options.json:
        print(json.dumps(rows))
        return
    print("| policy | as published, s | to the first, % | corrected, s | to the first, % |")
    print("|---" * 5 + "|")
    for row in rows:
        cells = [
            text
            for place in (0, 1)
            for text in (
                f"{row['jct_s'][place]:.2f}",
                f"{row['percent'][place]:+.2f} ({row['low'][place]:+.2f} to {row['high'][place]:+.2f})",
            )
        ]
        print(f"| {' | '.join([row['policy'], *cells])} |")


if __name__ == "__main__":
    main()
