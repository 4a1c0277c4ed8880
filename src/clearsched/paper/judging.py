"""The table of claims: what the papers say beside what the figures' CSVs say, judged by one rule.

The rule (`judge`), with the interval of our number over test episodes; where its policy has several training seeds,
with the span of this one and the one over training seeds and episodes, so that a verdict stands on both levels:

* `not comparable`: nothing here measures the same quantity, or our number or its interval is not there;
* `no verdict`: the scale is smoke, whose episodes say nothing;
* of a bound that is claimed: `reproduced` if the whole interval keeps it, `not reached` if some of it does not;
* of a number: `reproduced` if the interval holds it, `exceeded` if the whole interval is on its better side, `not
  reached` if it is on the worse side.

Our setting is what the run of the figure says of itself (`captions`). The table of the docs is made from a kept
claims.csv by the same functions (`docs_table`).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clearsched.errors import ClearschedError
from clearsched.figures.style import format_csv
from clearsched.files import write_text
from clearsched.paper.captions import read_settings
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
    "our_setting",
    "form",
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
    "scale",
    "seed",
)
"""Of claims.csv: a row a claim; numbers in its unit, `seeds` and what follows of training seeds, `seed` of the run."""

BOUNDS = {"at_most": "at most ", "at_least": "at least "}
"""Before a published number that is a bound."""

NUMBERS = ("low", "high", "seeds_value", "seeds_low", "seeds_high")

Row = Mapping[str, Any]


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


def our_setting(claim: Claim, figures_dir: Path) -> str:
    """What the run of the claim's figure says of itself, from its caption; empty where no run of it was made.

    Raises:
        ClearschedError: the figure has no caption.
    """
    if not claim.figure:
        return ""
    settings = read_settings(figures_dir / f"{claim.figure}.txt")
    return settings.get(claim.run or next(iter(settings), ""), "")


def judge_all(params: Params, figures_dir: Path, out_dir: Path) -> str:
    """Write `claims.md` and `claims.csv` to `out_dir`; the table."""
    rows = [judged(claim, params, Path(figures_dir)) for claim in CLAIMS.values()]
    text = _markdown(params, rows)
    write_text(out_dir / "claims.csv", format_csv(COLUMNS, [[row[name] for name in COLUMNS] for row in rows]))
    write_text(out_dir / "claims.md", text)
    return text


def judged(claim: Claim, params: Params, figures_dir: Path) -> Row:
    """The row of a claim, by column; None where there is no number."""
    ours, scale = find(claim, figures_dir), params.paper.scale
    verdict = judge(claim, ours, scale)
    why = claim.why_not or ("smoke: episodes too small to judge by" if verdict == NO_VERDICT else "")
    if verdict == NOT_COMPARABLE and not why:
        why = "not measured in this run" if ours is None else "measured without an interval"
    told = dict.fromkeys(COLUMNS) | {"policy": ""}
    told |= {name: getattr(claim, name) for name in ("paper", "source", "setting", "form", "unit")}
    told |= {"claim": claim.label, "published": None if math.isnan(claim.published) else claim.published}
    if ours is not None:
        numbers = ours._asdict()
        told |= {"ours": numbers.pop("value"), **numbers, "our_setting": our_setting(claim, figures_dir)}
    return told | {"verdict": verdict, "why": why, "scale": scale, "seed": params.seed}


def read_claims(path: Path) -> list[Row]:
    """The rows of a claims.csv as `judged` has them.

    Raises:
        ClearschedError: it is not there, is empty, or has other columns.
    """
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file: snakemake --cores 2 results/paper/claims.md makes one")
    reader = csv.DictReader(io.StringIO(path.read_text("utf-8")))
    rows = list(reader)
    if tuple(reader.fieldnames or ()) != COLUMNS or not rows:
        raise ClearschedError(f"{path}: no table of claims of this version: judge them again, clearsched paper claims")
    numbers = ("published", "ours", *NUMBERS)
    return [row | {name: float(row[name]) if row[name] else None for name in numbers} for row in rows]


def docs_table(path: Path | str) -> str:
    """The claims of a claims.csv with their verdicts, as docs/paper.md has them."""
    rows = read_claims(Path(path))
    head = f"Scale {rows[0]['scale']}, seed {rows[0]['seed']}, as `clearsched paper claims` judged them:"
    return "\n".join([head, "", *table_lines(rows)])


def table_lines(rows: Sequence[Row], interval: str = "interval") -> list[str]:
    """Claims as a Markdown table; `interval`: what to call that over episodes."""
    head = (
        "claim",
        "paper",
        "published",
        "our setting",
        f"ours ({interval} over episodes)",
        "mean over training seeds (interval over seeds and episodes); - : one seed, or nothing to train",
        "policy",
        "verdict",
    )
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *map(_line, rows)]


def _markdown(params: Params, rows: Sequence[Row]) -> str:
    lines = [
        "# What the papers claim, and what came of it here",
        "",
        f"Scale {params.paper.scale}, seed {params.seed}. A verdict holds by both intervals, where there are two. "
        "Written by `snakemake paper`; the rule stands in docs/paper.md.",
        "",
        *table_lines(rows, f"{100 * params.evaluation.confidence:g} % interval"),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    """A claim as a line of the table."""
    unit = row["unit"]
    published = BOUNDS.get(row["form"], "") + _told(row["published"], unit)
    ours = _told(row["ours"], unit) + _interval(row["low"], row["high"])
    again = ours and "-"
    if row["seeds"]:
        both = _told(row["seeds_value"], unit) + _interval(row["seeds_low"], row["seeds_high"])
        again = f"{both}, {row['seeds']} seeds"
    cells = (
        row["claim"],
        f"{row['paper']}, {row['source']}: {row['setting']}",
        published if row["published"] is not None else "no number",
        row["our_setting"] or "",
        ours,
        again,
        row["policy"],
        f"{row['verdict']}: {row['why']}" if row["why"] else row["verdict"],
    )
    return f"| {' | '.join(cells)} |"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({low:.4g} to {high:.4g})"


def _told(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.4g} {unit}".strip() if unit != "numbers" else f"{value:,.0f}"
