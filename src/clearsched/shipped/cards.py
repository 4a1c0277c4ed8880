"""The model card for a reader: Markdown made of what stands in card.json, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MOST_ROWS = 16
"""Of a curve."""

STRESS = {
    "worst": ("objective", ""),
    "end": ("time to the last job", ""),
    "cleared": ("time until a backlog is cleared", ""),
    "hard": ("any of these on an episode of the hardest kind", ""),
    "batch_end": ("time to the last job of a batch", ""),
    "of_limit": ("largest measure that has a limit", "its limit"),
}
"""What each number of a verdict (`search.safety.Verdict`) is the most of, and in times of what; empty: the baseline."""


def thinned(rows: Sequence[dict[str, Any]], columns: Sequence[str], most: int = MOST_ROWS) -> list[list[Any]]:
    """At most `most` rows of a curve as lists: those with a validation result if there are enough, spread evenly."""
    checked = [row for row in rows if row.get("validation_objective") is not None]
    kept = checked if len(checked) > 2 else list(rows)
    if len(kept) > most:
        kept = [kept[round(index * (len(kept) - 1) / (most - 1))] for index in range(most)]
    return [[row[column] for column in columns] for row in kept]


def markdown(card: dict[str, Any]) -> str:
    """The card as a page: what it is, results, how it was made, each policy's validation and curve."""
    data = card["data"]
    lines = [
        f"# Shipped policies: {card['name']}",
        "",
        f"Policies of the problem `{card['problem']}`, made by clearsched {card['version']} from jobs of "
        f"`{data['source']}` with seed {card['seed']}. They are made anew by",
        "",
        "```",
        *card["command"],
        "```",
        "",
        "They know only jobs like these: on other data compare them with the heuristics before you use them.",
        "",
        "## Test episodes",
        "",
        *_results(card["results"]),
        "",
        "Intervals are those of the evaluation. The difference is to the reference on the same episodes; below 0 is "
        "better where less is.",
        "",
        *_seeds(card["seeds"]),
        "## Made from",
        "",
        *table(["what", "digest"], [[name, data[name]] for name in ("trace", "workloads")]),
        *(f"| params of {stage} | {digest} |" for stage, digest in card["params"].items()),
    ]
    for name, policy in card["policies"].items():
        lines += ["", f"## {name}", "", *_policy(policy, card["files"])]
    return "\n".join(lines) + "\n"


def _results(rows: Sequence[dict[str, Any]]) -> list[str]:
    measure, unit, episodes = rows[0]["measure"], rows[0]["unit"], rows[0]["episodes"]
    shown = [
        [
            row["policy"],
            row["mode"],
            f"{number(row['mean'])} [{number(row['ci_low'])}, {number(row['ci_high'])}]",
            f"{number(row['difference'])} [{number(row['difference_low'])}, {number(row['difference_high'])}]",
        ]
        for row in rows
    ]
    what = f"mean {measure}, {unit}" if unit else f"mean {measure}"
    return table(["policy", "mode", f"{what}, {episodes} episodes", f"less that of {rows[0]['reference']}"], shown)


def _seeds(rows: Sequence[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    head = ["policy", "training seed", "shipped", "mean", "difference to the reference, %"]
    shown = [
        [
            row["policy"],
            row["seed"],
            "yes" if row["chosen"] else "",
            *map(number, (row["mean"], row["difference_percent"])),
        ]
        for row in rows
    ]
    return ["Every training seed on the same episodes:", "", *table(head, shown), ""]


def _policy(policy: dict[str, Any], digests: dict[str, str]) -> list[str]:
    lines = table(["file", "digest"], [[file, digests[file]] for file in policy["files"]])
    if "seed" in policy:
        lines += ["", f"Training seed {policy['seed']}."]
    if "cloned" in policy:
        settings = ", ".join(f"{key}={number(value)}" for key, value in policy["cloned"].get("settings", {}).items())
        lines += ["", f"Began as a clone of {policy['cloned']['policy']}{f' ({settings})' if settings else ''}."]
    if "guard" in policy:
        lines += ["", f"It has a guard: {policy['guard']}"]
    if "idles" in policy:
        lines += ["", f"By none of these it means: {policy['idles']} (`help_first`)."]
    if isinstance(policy.get("validation"), dict):
        told = [
            [key, number(value)] for key, value in policy["validation"].items() if isinstance(value, int | float | str)
        ]
        lines += ["", *table(["validation", ""], told)]
    told = safety_rows(policy.get("stress"))
    lines += ["", *(table(["safety check", ""], told) if told else ["Never judged by the safety check."])]
    if policy.get("training"):
        keys = list(policy["training"][0])
        lines += [
            "",
            "Training seeds:",
            "",
            *table(keys, [[number(row[key]) for key in keys] for row in policy["training"]]),
        ]
    curve = policy["curve"]
    rows = [[number(value) for value in row] for row in curve["rows"]]
    return [*lines, "", "Training curve (thinned):", "", *table(curve["columns"], rows)]


def safety_rows(stress: Any) -> list[list[str]]:
    """What the safety check came to, as far as anything came of each number; `stress`: of a policy's file."""
    if not isinstance(stress, dict):
        return []
    told = [["training and stressed episodes", number(stress["episodes"])]]
    told += [
        [what, f"{number(stress[name])} times {of or stress['heuristic']}"]
        for name, (what, of) in STRESS.items()
        if stress.get(name)
    ]
    if stress.get("cases"):
        told.append(["edge cases among them", ", ".join(stress["cases"])])
    told += [
        [what, f"{number(stress[name])} times {stress['heuristic']}"]
        for name, what in (("safety_bound", "allowed"), ("hard_bound", "allowed on episodes of the hardest kind"))
        if stress.get(name)
    ]
    if stress.get("rules"):
        told.append(["by rules that are not the published ones", ", ".join(stress["rules"])])
    return told


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A table of Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]


def number(value: Any) -> str:
    """Four digits of a fraction, whole numbers and text as they are, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
