"""How fast boosted trees should learn: fidelity of the unrefined trees by learning rate and number of logged episodes.

    python benchmarks/learning_rates.py RESULTS [--rates 0.3 0.6] [--episodes 16 32] [--json]

RESULTS is a scenario's folder (results/default) with `traces/` and `decisions/`. Of the logged held-out decisions that
are not trivial the share with the teacher's job is told, and that of the real choices. Nothing is run in the simulator
and no test episode is read. Without `--episodes` all that are logged are learned from.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.decisions.parts import WHOLE
from clearsched.decisions.reader import read_choices, read_metadata
from clearsched.evaluation.fidelity import rank_rows
from clearsched.params import defaults
from clearsched.problems import find_problem
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.trees import TreeSum
from clearsched.students import ranking
from clearsched.students.dataset import subset

RATES = (0.3, 0.45, 0.6, 0.8, 1.0)


def measure(folder: Path, rates: Sequence[float], counts: Sequence[int]) -> list[dict[str, Any]]:
    """One row a number of episodes and rate."""
    log = folder / "decisions" / "decisions.parquet"
    problem = find_problem(read_metadata(log)["problem"])
    params, rank = defaults(problem.name), problem.choices[0]
    logged, held = (read_choices(log, problem, rank.name, split) for split in ("train", "validation"))
    episodes = np.unique(logged.episode)
    rows = []
    for count in counts or [len(episodes)]:
        few = subset(logged, np.isin(logged.episode, episodes[:count]))
        for rate in rates:
            settings = params.students.boosted_trees.model_copy(update={"learning_rate": rate})
            trees = TreeSum(tuple(ranking.learn(few, rank.features, settings, params.seed)), names_of(rank))
            student = ScoredPolicy("boosted_trees", problem, {rank.name: trees}, bool(logged.is_none.any()))
            told = {row["decisions_of"]: row for row in rank_rows(student, rank, held) if row["part"] == WHOLE}
            same = {of: told[of]["same_group" if rank.group else "top1"] for of in ("all", "real") if of in told}
            rows.append({"episodes": min(count, len(episodes)), "rate": rate, **same})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--rates", type=float, nargs="+", default=list(RATES))
    parser.add_argument("--episodes", type=int, nargs="+", default=[])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = measure(arguments.results, arguments.rates, arguments.episodes)
    if arguments.json:
        print(json.dumps(rows))
        return
    print(f"{'episodes':>8}  {'rate':>5}  {'all':>7}  {'real':>7}")
    for row in rows:
        shares = "  ".join(f"{100 * row[of]:6.1f}%" if of in row else f"{'-':>7}" for of in ("all", "real"))
        print(f"{row['episodes']:8d}  {row['rate']:5g}  {shares}")


if __name__ == "__main__":
    main()
