"""What is in a decision log: counts, share of trivial decisions, ranges of the features."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.decisions.reader import iterate_choices, read_metadata
from clearsched.problems.dag_jobs.features import FEATURES, NUM_FEATURES


def summarise(path: str | Path) -> dict[str, Any]:
    """Counts by split, and the range of every feature over the stage candidates; memory for one batch.

    Returns:
        {"expert", "num_executors", "splits": {split: {episodes, decisions, candidates, limits, trivial, kept_local,
        one_limit}}, "features": {name: {unit, meaning, min, mean, max}}}; trivial (one candidate), kept_local (the
        executors stay in their job) and one_limit (no choice of limit) are shares of the decisions.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    metadata = read_metadata(path)
    low, high = np.full(NUM_FEATURES, np.inf), np.full(NUM_FEATURES, -np.inf)
    total, rows = np.zeros(NUM_FEATURES), 0
    splits = {}
    for split in metadata["episodes"]:
        count = dict.fromkeys(("decisions", "candidates", "limits", "trivial", "kept_local", "one_limit"), 0)
        for part in iterate_choices(path, "stage", split):
            count["decisions"] += len(part.chosen)
            count["candidates"] += len(part.features)
            count["trivial"] += int(part.trivial.sum())
            count["kept_local"] += int(part.kept_local.sum())
            low, high = np.minimum(low, part.features.min(0)), np.maximum(high, part.features.max(0))
            total += part.features.sum(0, dtype=np.float64)
            rows += len(part.features)
        for part in iterate_choices(path, "limit", split):
            count["limits"] += len(part.features)
            count["one_limit"] += int(part.trivial.sum())
        decisions = max(count["decisions"], 1)
        shares = {name: count.pop(name) / decisions for name in ("trivial", "kept_local", "one_limit")}
        splits[split] = {"episodes": metadata["episodes"][split], **count, **shares}
    ranges = {
        feature.name: {
            "unit": feature.unit,
            "meaning": feature.meaning,
            "min": float(low[i]),
            "mean": float(total[i] / max(rows, 1)),
            "max": float(high[i]),
        }
        for i, feature in enumerate(FEATURES)
    }
    return {
        "expert": metadata["expert"],
        "num_executors": metadata["num_executors"],
        "splits": splits,
        "features": ranges,
    }


def describe(path: str | Path) -> str:
    """`summarise` as two tables of text."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    found = summarise(path)
    counts = Table(
        "split",
        box=SIMPLE,
        title=f"Decisions of {found['expert']} on {found['num_executors']} executors",
        title_justify="left",
    )
    for name in (
        "episodes",
        "decisions",
        "stage candidates",
        "limit candidates",
        "one candidate",
        "kept local",
        "one limit",
    ):
        counts.add_column(name, justify="right")
    for split, row in found["splits"].items():
        numbers = [f"{row[name]:,}" for name in ("episodes", "decisions", "candidates", "limits")]
        shares = [f"{100 * row[name]:.1f} %" for name in ("trivial", "kept_local", "one_limit")]
        counts.add_row(split, *numbers, *shares)
    ranges = Table("feature", "unit", box=SIMPLE, title="Features of the stage candidates", title_justify="left")
    for name in ("smallest", "mean", "largest"):
        ranges.add_column(name, justify="right")
    for name, row in found["features"].items():
        ranges.add_row(name, row["unit"] or "-", *(f"{row[key]:,.4g}" for key in ("min", "mean", "max")))
    stream = io.StringIO()
    console = Console(file=stream, width=120, no_color=True)
    console.print(counts)
    console.print("kept local: the executors stay in the job they sit in; one limit: nothing to choose\n")
    console.print(ranges)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
