"""Whether policies lock, starve or fall behind: long streams, overload, and a backlog to clear.

    python benchmarks/stress.py RESULTS POLICY... [--only WORDS] [--correction NAME] [--seed 99] [--json]

RESULTS is a scenario's folder (results/default); POLICY a policy's file, or the name of a heuristic with its default
settings. Jobs are drawn with replacement from the training episodes, by another seed than when policies were made
(`workloads/stress.py`); no test episode is touched. Told are, by kind of stress, mean JCT in s, and JCT and makespan
relative to fair's, mean and worst episode, how many are above 1.2 times fair, the time until a backlog is cleared next
to fair's (worst; 0: there is none), and the longest stall: executors that wait beside a ready stage. `--only giant`:
the kinds with that in their name; `--correction back_up_parked`: with a rule of the game corrected. Seed 0 gives the
streams that the safety check asks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from next_to_fair import corrected, parser_of, policies_of, rows_of, tell

from clearsched.problems.dag_jobs.instance import open_instance
from clearsched.problems.dag_jobs.workloads.stress import kinds_of


def measure(folder: Path, names: list[str], seed: int, only: str = "", correction: str = "") -> list[dict[str, Any]]:
    """A row a kind of stress and policy."""
    instance = open_instance(folder / "traces" / "trace.parquet", folder / "traces" / "workloads.parquet")
    training, policies = instance.split("train"), policies_of(names)
    rows: list[dict[str, Any]] = []
    for kind in kinds_of(training):
        if only in kind.name:
            episodes = instance.stressed_by(kind, training, seed)
            episodes = corrected(episodes, correction) if correction else episodes
            rows += [{"stress": kind.name} | row for row in rows_of(policies, instance, episodes)]
    return rows


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = parser_of(__doc__, seed=99)
    parser.add_argument("--only", default="")
    parser.add_argument("--correction", default="")
    options = parser.parse_args()
    rows = measure(options.results, options.policies, options.seed, options.only, options.correction)
    tell(rows, "stress", options.json)


if __name__ == "__main__":
    main()
