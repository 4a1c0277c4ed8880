"""Whom runs made, next to the baseline: on test episodes, with every training seed, on edge cases and by their check.

    python benchmarks/scenarios.py RESULTS... [--json]

RESULTS are folders of scenarios (results/default results/synthetic) with their `evaluation/`, and `edge_cases/` where
they were run (`snakemake edge_cases`). Told are, for each learned policy that was kept, its mean objective and its
paired difference to the strongest tuned heuristic, in % with its interval (over training seeds where there are
several), the most next to the problem's baseline (fair) on a test episode, with any training seed, and on an edge case,
and what the safety check said: the most, beside a giant, and the last job's end. Nothing is run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from next_to_fair import tell_columns

from clearsched.evaluation.seeds import LEARNED
from clearsched.files import read_json
from clearsched.schemas import COMPARISON, EDGE_CASES, SEEDS, read_table
from clearsched.search.safety import verdict_in

FOLDERS = {"teacher": "teacher", "searched": "search", "student": "students"}
"""Where the file of a policy of each kind is."""

COLUMNS = {
    "scenario": ("scenario", ""),
    "policy": ("policy", ""),
    "mean": ("mean", ".4g"),
    "difference": ("to the best heuristic, %", ""),
    "test": ("most x baseline: test", ".2f"),
    "seeds": ("any training seed", ".2f"),
    "edge": ("edge cases", ".2f"),
    "case": ("which", ""),
    "check": ("its check", ".2f"),
    "hard": ("beside a giant", ".2f"),
    "end": ("last job", ".2f"),
    "verdict": ("", ""),
}
"""Of a row: what the table calls it, and how it is written."""


def rows_of(folder: Path) -> Iterator[dict[str, Any]]:
    """A row a learned policy that was kept, best first."""
    table, metadata = read_table(folder / "evaluation" / "comparison.parquet", COMPARISON)
    seeds = read_table(folder / "evaluation" / "seeds.parquet", SEEDS)[0].to_pylist()
    edges = edge_rows(folder, metadata["objective"])
    for row in table.to_pylist():
        if row["measure"] != metadata["objective"] or row["kind"] not in LEARNED:
            continue
        name = row["policy"]
        edge = max((each for each in edges if each["policy"] == name), key=to_baseline, default={})
        verdict = verdict_in(read_json(folder / FOLDERS[row["kind"]] / f"{name}.json"))
        yield {
            "scenario": folder.name,
            "policy": name,
            "mean": row["mean"],
            "difference": difference(row),
            "test": to_baseline(row),
            "seeds": max(to_baseline(each) for each in seeds if each["policy"] == name),
            "edge": to_baseline(edge),
            "case": edge.get("edge_case", "not run"),
            "check": verdict.worst,
            "hard": verdict.hard,
            "end": max(verdict.end, verdict.batch_end),
            "verdict": f"not safe: {verdict}" if verdict.strays else "safe",
        }


def edge_rows(folder: Path, objective: str) -> list[dict[str, Any]]:
    """Rows of schema EDGE_CASES, of the objective; none where they were not run."""
    path = folder / "edge_cases" / "edge_cases.parquet"
    if not path.exists():
        return []
    return [row for row in read_table(path, EDGE_CASES)[0].to_pylist() if row["measure"] == objective]


def to_baseline(row: dict[str, Any]) -> float:
    """The most next to the baseline; 0 where nobody can tell."""
    return float(row.get("worst_to_baseline") or 0.0)


def difference(row: dict[str, Any]) -> str:
    """For example "-1.2 (-2.0 to -0.4)"."""
    base = row["mean"] - row["difference"]
    over = "seeds_" if row["seeds"] else "difference_"
    mean = row["seeds_difference"] if row["seeds"] else row["difference"]
    told = [100 * value / abs(base) for value in (mean, row[f"{over}low"], row[f"{over}high"])]
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*told)


def main() -> None:
    """Print the rows as a Markdown table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for folder in options.results for row in rows_of(folder)]
    tell_columns(rows, COLUMNS, options.json)


if __name__ == "__main__":
    main()
