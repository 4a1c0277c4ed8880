"""Students next to the other learned policies, each over its own training seeds: what would be so, trained again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from clearsched.evaluation.crossed import crossed_difference
from clearsched.evaluation.policies import label
from clearsched.evaluation.seeds import SeedRuns
from clearsched.evaluation.statistics import Bootstrap, generator
from clearsched.layout import layout
from clearsched.problems.declarations import Measure
from clearsched.problems.problem import Problem
from clearsched.schemas import SEED_PAIRS


def pair_table(runs: Sequence[SeedRuns], bootstrap: Bootstrap) -> pa.Table:
    """A row a student of several training seeds and policy that it was learned from or competes with: SEED_PAIRS."""
    rows = []
    for run in runs:
        if run.kind != "student" or len(run.seeds) < 2:
            continue
        for other in runs:
            if other.kind == "student":
                continue
            rng = generator(bootstrap.seed, "evaluation", "seed pairs")
            found = crossed_difference(
                run.objective, other.objective, rng, bootstrap.confidence, bootstrap.resamples
            ).scaled(100.0 / (abs(float(other.objective.mean())) or 1.0))
            rows.append(
                {"policy": run.name, "reference": other.name}
                | {"policy_seeds": len(run.seeds), "reference_seeds": len(other.seeds)}
                | {"difference_percent": found.mean, "difference_low": found.low, "difference_high": found.high}
            )
    return pa.Table.from_pylist(rows, schema=SEED_PAIRS)


def pair_lines(problem: Problem, pairs: pa.Table, objective: Measure) -> Iterator[str]:
    """The table as text; nothing where no student has several training seeds."""
    if not len(pairs):
        return
    body = [
        [
            label(problem, row["policy"]),
            f"{row['policy_seeds']}",
            label(problem, row["reference"]),
            f"{row['reference_seeds']}",
            f"{row['difference_percent']:+.2f}",
            _ends(row["difference_low"], row["difference_high"]),
        ]
        for row in pairs.to_pylist()
    ]
    better = "lower" if objective.lower_is_better else "higher"
    yield ""
    yield f"Students next to what they learned from and compete with: means over the seeds of both; {better} is better."
    yield "CI: over the seeds of both and episodes. A policy of one seed is taken as it is."
    yield ""
    yield from layout(["student", "seeds", "next to", "seeds", "difference (%)", "CI (%)"], body, left=1)


def _ends(low: float, high: float) -> str:
    return f"{low:+.2f} to {high:+.2f}" if np.isfinite(low + high) else "-"
