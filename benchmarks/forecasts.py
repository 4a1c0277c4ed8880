"""Deferrable jobs: what a forecast costs that is more wrong than in training, and what a guard makes of it.

    python benchmarks/forecasts.py RESULTS POLICY... [--times 1 2 4 8] [--safety -1.5 -2] [--margin 1 1.25 1.5] [--json]

RESULTS is a scenario's folder (results/deferrable_jobs); POLICY a policy's file, which is taken without the guard that
it has, or a heuristic, its parameters after a colon (edf, threshold:-1.5,0.25). The training episodes, with forecasts
so many times as wrong, by the same random numbers and told so; no test episode is touched. Told are mean cost, the most
next to first in, first out on any episode, and how many episodes are above 1.2 times that. `--safety`: each policy of a
file once more, with a guard that lets the threshold rule schedule by so many standard deviations of safety where the
forecast was off by more than `--margin` times the most of training (docs/deferrable-jobs.md).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from next_to_fair import ABOVE, tell_columns

from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance
from clearsched.scorers.policy import load_policy
from clearsched.scorers.settings import GuardParams
from clearsched.search.guard_bounds import measured

PROBLEM = find_problem("deferrable_jobs")

COLUMNS = {
    "times": ("forecast error", "g"),
    "policy": ("policy", ""),
    "cost": ("mean cost", ".3f"),
    "worst_to_fifo": ("worst to FIFO", ".2f"),
    "above": ("above 1.2", "d"),
}
"""Of a row: what the table calls it, and how it is written."""


def policies_of(
    names: Sequence[str], safeties: Sequence[float], margins: Sequence[float], instance: Instance
) -> dict[str, Any]:
    """The policies by name; those of files alone, and with each guard."""
    found: dict[str, Any] = {}
    for name in names:
        if not name.endswith(".json"):
            known, _, numbers = name.partition(":")
            given = [float(number) for number in numbers.split(",") if number]
            named = zip(PROBLEM.heuristics[known].parameters, given, strict=bool(given))  # none: all at their defaults
            found[name] = heuristic(PROBLEM, known, dict(named))
            continue
        alone = replace(load_policy(Path(name), PROBLEM), guard=None)
        found[alone.name] = alone
        for safety, margin in product(safeties, margins):
            settings = GuardParams(
                heuristic="threshold", settings={"safety": safety}, margin=margin, gauges=("forecast_error_cores",)
            )
            title = f"{alone.name}, threshold ({safety:g}) from {margin:g} times on"
            found[title] = replace(alone, guard=measured(settings, alone, instance))
    return found


def measure(policies: Mapping[str, Any], instance: Any, times: Sequence[float]) -> Iterator[dict[str, Any]]:
    """A row a forecast error and policy."""
    train = instance.split("train")
    for wrong in times:
        episodes = [instance.with_worse_forecast(episode, wrong) for episode in train]
        fifo = np.array([each.measures["cost"] for each in heuristic(PROBLEM, "fifo").run(instance, episodes)])
        for name, policy in policies.items():
            cost = np.array([each.measures["cost"] for each in policy.run(instance, episodes)])
            ratio = cost / fifo
            yield {
                "times": wrong,
                "policy": name,
                "cost": float(cost.mean()),
                "worst_to_fifo": float(ratio.max()),
                "above": int((ratio > ABOVE).sum()),
            }


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--times", nargs="*", type=float, default=(1.0, 2.0, 4.0))
    parser.add_argument("--safety", nargs="*", type=float, default=())
    parser.add_argument("--margin", nargs="*", type=float, default=(1.25,))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    traces = options.results / "traces"
    instance = PROBLEM.open(traces / "trace.parquet", traces / "workloads.parquet")
    policies = policies_of(options.policies, options.safety, options.margin, instance)
    tell_columns(list(measure(policies, instance, options.times)), COLUMNS, options.json)


if __name__ == "__main__":
    main()
