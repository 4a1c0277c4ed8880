"""Policies next to fair on the same episodes, for the scripts that look for a single bad one: rows, table, command."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.evaluation.policies import load_policy
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.search.safety import worst_ratio

FAIR = "fair"

ABOVE = 1.2
"""Times fair: the episodes that take more are counted."""

COLUMNS = {
    "episodes": ("episodes", "d"),
    "policy": ("policy", ""),
    "jct_s": ("mean JCT (s)", ".1f"),
    "to_fair": ("next to fair", ".3f"),
    "worst_to_fair": ("worst episode", ".3f"),
    "above": ("above 1.2", "d"),
    "worst_makespan_to_fair": ("worst makespan", ".3f"),
    "worst_cleared_to_fair": ("backlog cleared", ".3f"),
    "stall_s": ("stall (s)", ".1f"),
}
"""Of a row: what the table calls it, and how it is written."""


def policies_of(names: Sequence[str]) -> dict[str, Any]:
    """Fair, and those of files, or heuristics with their default settings, by name."""
    found = {FAIR: heuristic(FAIR)}
    for name in names:
        known = name in PROBLEM.heuristics
        found[name if known else Path(name).stem] = heuristic(name) if known else load_policy(PROBLEM, Path(name))
    return found


def corrected(episodes: Sequence[Workload], correction: str) -> list[Workload]:
    """The episodes with a correction of the simulator switched on (docs/simulator.md §10)."""
    return [replace(each, semantics=replace(each.semantics, **{correction: True})) for each in episodes]


def rows_of(policies: Mapping[str, Any], instance: Any, episodes: Sequence[Any]) -> list[dict[str, Any]]:
    """A row a policy, fair first: `COLUMNS`; means and largest values over the episodes."""
    rows, fair = [], np.empty((3, 0))
    for name, policy in policies.items():
        outcomes = policy.run(instance, episodes)
        found = np.array([(each.avg_jct_s, each.makespan_s, each.cleared_s) for each in outcomes]).T
        fair = found if name == FAIR else fair
        jct, makespan = found[:2] / fair[:2]
        rows.append(
            {
                "episodes": len(episodes),
                "policy": name,
                "jct_s": float(found[0].mean()),
                "to_fair": float(jct.mean()),
                "worst_to_fair": float(jct.max()),
                "above": int((jct > ABOVE).sum()),
                "worst_makespan_to_fair": float(makespan.max()),
                "worst_cleared_to_fair": worst_ratio(found[2], fair[2]),
                "stall_s": max(outcome.measures["stall_s"] for outcome in outcomes),
            }
        )
    return rows


def parser_of(doc: str | None, seed: int) -> argparse.ArgumentParser:
    """RESULTS POLICY... [--seed] [--json]."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--json", action="store_true")
    return parser


def tell(rows: Sequence[Mapping[str, Any]], kind: str, as_json: bool) -> None:
    """Print rows, each with its `kind` of episodes, as a Markdown table or as JSON."""
    tell_columns(rows, {kind: (kind, ""), **COLUMNS}, as_json)


def tell_columns(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]], as_json: bool) -> None:
    """Print rows as a Markdown table of `columns` (as `COLUMNS`), or as JSON."""
    if as_json:
        print(json.dumps(rows))
        return
    print(f"| {' | '.join(title for title, _ in columns.values())} |")
    print("|---" * len(columns) + "|")
    for row in rows:
        print(f"| {' | '.join(format(row[key], how) for key, (_, how) in columns.items())} |")
