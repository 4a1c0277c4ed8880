"""What is in a decision log: counts, share of trivial decisions, ranges of the features."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.decisions.reader import iterate_choices, read_metadata
from clearsched.decisions.schema import log_features
from clearsched.problems import find_problem

COUNTS = ("decisions", "candidates", "levels", "trivial", "kept", "none", "one_level")


def summarise(path: str | Path) -> dict[str, Any]:
    """Counts by split, and the range of every feature over the candidates; memory for one batch.

    Returns:
        {"problem", "expert", "objective", "facts", "splits": {split: {episodes, decisions, candidates, levels, trivial,
        kept, none, one_level}}, "features": {name: {unit, meaning, min, mean, max}}}; trivial (one candidate, and none
        is no answer), kept (the candidate that changes nothing was chosen), none (none of these was) and one_level (no
        choice of level) are shares of the decisions.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    metadata = read_metadata(path)
    problem = find_problem(metadata["problem"])
    features = log_features(problem)
    rank, *level = problem.choices
    low, high = np.full(len(features), np.inf), np.full(len(features), -np.inf)
    total, rows = np.zeros(len(features)), 0
    splits = {}
    for split in metadata["episodes"]:
        count = dict.fromkeys(COUNTS, 0)
        for part in iterate_choices(path, problem, rank.name, split):
            real = part.features[~part.is_none]
            count["decisions"] += len(part.chosen)
            count["candidates"] += len(real)
            count["trivial"] += int(part.trivial.sum())
            count["kept"] += int(part.kept(rank).sum())
            count["none"] += int(part.is_none[part.chosen].sum())
            low = np.minimum(low, real.min(0, initial=np.inf))  # a part may hold no candidate but none
            high = np.maximum(high, real.max(0, initial=-np.inf))
            total += real.sum(0, dtype=np.float64)
            rows += len(real)
        for choice in level:
            for part in iterate_choices(path, problem, choice.name, split):
                count["levels"] += len(part.features)
                count["one_level"] += int(part.trivial.sum())
        decisions = max(count["decisions"], 1)
        shares = {name: count.pop(name) / decisions for name in ("trivial", "kept", "none", "one_level")}
        splits[split] = {"episodes": metadata["episodes"][split], **count, **shares}
    ranges = {
        feature.name: {
            "unit": feature.unit,
            "meaning": feature.meaning,
            "min": float(low[i]),
            "mean": float(total[i] / max(rows, 1)),
            "max": float(high[i]),
        }
        for i, feature in enumerate(features)
    }
    return {
        "problem": problem.name,
        "expert": metadata["expert"],
        "objective": metadata.get("objective"),
        "facts": metadata["facts"],
        "splits": splits,
        "features": ranges,
    }


def describe(path: str | Path) -> str:
    """`summarise` as two tables of text."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    found = summarise(path)
    rank, *level = find_problem(found["problem"]).choices
    columns = {"episodes": "episodes", "decisions": "decisions", "candidates": f"{rank.name} candidates"}
    shares = {"trivial": "one answer"}
    shares |= {"kept": "kept local"} if rank.keeps else {}
    shares |= {"none": "none"} if rank.none else {}
    if level:
        columns["levels"] = f"{level[0].name} candidates"
        shares["one_level"] = f"one {level[0].name}"
    numbers = {name: value for name, value in found["facts"].items() if isinstance(value, int | float)}
    facts = ", ".join(f"{name.removeprefix('num_')} {value:.6g}" for name, value in numbers.items())
    title = f"Decisions of {found['expert']} on {found['problem']}" + (f" ({facts})" if facts else "")
    title += f" for {found['objective']}" if found["objective"] else ""
    counts = Table("split", box=SIMPLE, title=title, title_justify="left")
    for name in (*columns.values(), *shares.values()):
        counts.add_column(name, justify="right")
    for split, row in found["splits"].items():
        told = [f"{row[name]:,}" for name in columns] + [f"{100 * row[name]:.1f} %" for name in shares]
        counts.add_row(split, *told)
    ranges = Table("feature", "unit", box=SIMPLE, title="Features of the candidates", title_justify="left")
    for name in ("smallest", "mean", "largest"):
        ranges.add_column(name, justify="right")
    for name, row in found["features"].items():
        ranges.add_row(name, row["unit"] or "-", *(f"{row[key]:,.4g}" for key in ("min", "mean", "max")))
    stream = io.StringIO()
    console = Console(file=stream, width=120, no_color=True, markup=False, emoji=False)
    console.print(counts)
    meanings = ["one answer: a single candidate, and none is no answer"]
    meanings += [f"kept local: {rank.keeps} is 1 for what was chosen"] if rank.keeps else []
    meanings += [f"none: {rank.none}"] if rank.none else []
    meanings += [f"one {choice.name}: nothing to choose" for choice in level]
    console.print("; ".join(meanings) + "\n")
    console.print(ranges)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
