"""The table of claims: what the papers say beside what the figures' CSVs say, judged by one rule.

The rule (`judge`), with the interval of our number over test episodes; where its policy has several training seeds,
with the span of this one and the one over training seeds and episodes, so that a verdict stands on both levels:

* `not comparable`: nothing here measures the same quantity, or our number or its interval is not there;
* `no verdict`: the scale is smoke, whose episodes say nothing;
* of a bound that is claimed: `reproduced` if the whole interval keeps it, `not reached` if some of it does not;
* of a number: `reproduced` if the interval holds it, `exceeded` if the whole interval is on its better side, `not
  reached` if it is on the worse side.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clearsched.errors import ClearschedError
from clearsched.figures.style import format_csv
from clearsched.files import write_text
from clearsched.paper.material import HEADER
from clearsched.paper.published import CLAIMS, Claim

if TYPE_CHECKING:
    from clearsched.params import Params

REPRODUCED, EXCEEDED, NOT_REACHED = "reproduced", "exceeded", "not reached"
NOT_COMPARABLE, NO_VERDICT = "not comparable", "no verdict"
VERDICTS = (REPRODUCED, EXCEEDED, NOT_REACHED, NOT_COMPARABLE, NO_VERDICT)

COLUMNS = (
    "claim",
    "paper",
    "source",
    "setting",
    "published",
    "unit",
    "ours",
    "low",
    "high",
    "seeds",
    "seeds_value",
    "seeds_low",
    "seeds_high",
    "policy",
    "verdict",
    "why",
)


BOUNDS = {"at_most": "at most ", "at_least": "at least "}
"""Before a published number that is a bound."""

NUMBERS = ("low", "high", "seeds_value", "seeds_low", "seeds_high")


class Ours(NamedTuple):
    """Our number and its interval over episodes; None where there is none.

    And the mean over training seeds, with its interval over both, where there are several.
    """

    value: float
    low: float | None
    high: float | None
    policy: str
    seeds: int | None = None
    seeds_value: float | None = None
    seeds_low: float | None = None
    seeds_high: float | None = None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """What it is judged by: the span of the interval over episodes and of that over both levels, if any."""
        if self.low is None or self.high is None or self.seeds_low is None or self.seeds_high is None:
            return self.low, self.high
        return min(self.low, self.seeds_low), max(self.high, self.seeds_high)


def judge(claim: Claim, ours: Ours | None, scale: str) -> str:
    """The verdict on a claim: one of VERDICTS, by the rule above."""
    low, high = (None, None) if ours is None else ours.ends
    if claim.why_not or low is None or high is None or math.isnan(claim.published):
        return NOT_COMPARABLE
    if scale == "smoke":
        return NO_VERDICT
    if claim.form == "at_most":
        return REPRODUCED if high <= claim.published else NOT_REACHED
    if claim.form == "at_least":
        return REPRODUCED if low >= claim.published else NOT_REACHED
    if low <= claim.published <= high:
        return REPRODUCED
    return EXCEEDED if (high < claim.published) == (claim.better == "lower") else NOT_REACHED


def find(claim: Claim, figures_dir: Path) -> Ours | None:
    """Our number, from the CSV of its figure; None where the claim names none or the CSV has no such mark.

    Raises:
        ClearschedError: the figure was not made, or its CSV is not one.
    """
    if not claim.figure:
        return None
    path = figures_dir / f"{claim.figure}.csv"
    if not path.is_file():
        raise ClearschedError(
            f"{path}: was not made yet: snakemake --cores 2 results/paper/{claim.figure}.svg makes it"
        )
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) not in (HEADER, ("figure", "note")):
            raise ClearschedError(f"{path}: no data of a figure of the papers: draw it again")
        for row in reader:
            if (row.get("panel"), row.get("x")) != (claim.panel, claim.x):
                continue
            if claim.policy in ("", row["policy"]):
                low, high, mean, least, most = (float(row[name]) if row[name] else None for name in NUMBERS)
                seeds = int(row["seeds"]) if row["seeds"] else None
                return Ours(float(row["value"]), low, high, row["policy"], seeds, mean, least, most)
    return None


def judge_all(params: Params, figures_dir: Path, out_dir: Path) -> str:
    """Write `claims.md` and `claims.csv` to `out_dir`; the table."""
    scale = params.paper.scale
    rows: list[list[object]] = []
    for claim in CLAIMS.values():
        ours = find(claim, Path(figures_dir))
        verdict = judge(claim, ours, scale)
        why = claim.why_not or ("smoke: episodes too small to judge by" if verdict == NO_VERDICT else "")
        if verdict == NOT_COMPARABLE and not why:
            why = "not measured in this run" if ours is None else "measured without an interval"
        told = Ours(math.nan, None, None, "") if ours is None else ours
        numbers: list[object] = [None if ours is None else told.value, told.low, told.high, *told[4:], told.policy]
        published = None if math.isnan(claim.published) else claim.published
        rows.append(
            [claim.label, claim.paper, claim.source, claim.setting, published, claim.unit, *numbers, verdict, why]
        )
    text = _markdown(params, rows)
    write_text(out_dir / "claims.csv", format_csv(COLUMNS, rows))
    write_text(out_dir / "claims.md", text)
    return text


def _markdown(params: Params, rows: list[list[object]]) -> str:
    head = (
        "claim",
        "paper",
        "published",
        f"ours ({100 * params.evaluation.confidence:g} % interval over episodes)",
        "mean over training seeds (interval over seeds and episodes); - : one seed, or nothing to train",
        "policy",
        "verdict",
    )
    lines = [
        "# What the papers claim, and what came of it here",
        "",
        f"Scale {params.paper.scale}, seed {params.seed}. A verdict holds by both intervals, where there are two. "
        "Written by `snakemake paper`; the rule stands in docs/paper.md.",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
    ]
    for claim, row in zip(CLAIMS.values(), rows, strict=True):
        label, paper, source, setting, published, unit, value, low, high, seeds, *both, policy, verdict, why = row
        said = "no number" if published is None else f"{BOUNDS.get(claim.form, '')}{_told(published, unit)}"
        ours = "" if value is None else _told(value, unit)
        if low is not None and high is not None:
            ours += f" ({low:.4g} to {high:.4g})"
        again = f"{_told(both[0], unit)} ({both[1]:.4g} to {both[2]:.4g}), {seeds} seeds" if seeds else "-"
        again = again if ours else ""
        judged = f"{verdict}: {why}" if why else verdict
        lines.append(f"| {label} | {paper}, {source}: {setting} | {said} | {ours} | {again} | {policy} | {judged} |")
    return "\n".join(lines) + "\n"


def _told(value: object, unit: object) -> str:
    return f"{value:.4g} {unit}".strip() if unit != "numbers" else f"{value:,.0f}"
