"""The comparison as a table of fixed width, for the terminal and for `comparison.txt`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from clearsched.evaluation.comparison import Bootstrap, Verdict, teacher_bar
from clearsched.evaluation.names import label


@dataclass(frozen=True)
class Setting:
    """What the episodes are: number of episodes, jobs of each (smallest and largest number), executors."""

    episodes: int
    jobs: tuple[int, int]
    executors: int

    def __str__(self) -> str:
        low, high = self.jobs
        jobs = f"{low}" if low == high else f"{low} to {high}"
        return f"{self.episodes} test episodes of {jobs} jobs on {self.executors} executors"


def render(
    comparison: pa.Table,
    found: Sequence[Verdict],
    fidelity: pa.Table,
    setting: Setting,
    bootstrap: Bootstrap,
) -> str:
    """The whole text: what was run, the table, what it says in sentences, fidelity of the students."""
    rows = comparison.to_pylist()
    reference = rows[0]["reference"]
    level = f"{100 * bootstrap.confidence:g} %"
    lines = [
        f"Mean job completion time (JCT) over {setting}; lower is better.",
        f"CI: {level} bootstrap interval over episodes. Difference: same episodes, paired, to {label(reference)},",
        "the strongest heuristic on the validation episodes.",
        "",
        *_comparison_lines(rows),
        "",
        *(f"* {item}" for item in found if item.policy != item.reference),
    ]
    teachers = [row["policy"] for row in rows if row["kind"] == "teacher"]
    bars = [bar for name in teachers if (bar := teacher_bar(found, name)) is not None]
    lines += [f"* {bar}" for bar in bars]
    if len(fidelity):
        lines += ["", *_fidelity_lines(fidelity.to_pylist())]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _comparison_lines(rows: list[dict]) -> list[str]:
    header = ["policy", "kind", "settings", "choice", "JCT (s)", "CI (s)", "difference (s)", "CI (s)", "(%)"]
    body = []
    largest = max(row["mean_jct_s"] for row in rows)
    for row in rows:
        is_reference = row["policy"] == row["reference"]
        difference = ["reference", "", ""] if is_reference else _difference_cells(row)
        body.append(
            [
                label(row["policy"]),
                row["kind"],
                row["settings"],
                row["mode"],
                _seconds(largest).format(row["mean_jct_s"]),
                _ends(row["ci_low_s"], row["ci_high_s"], _seconds(largest)),
                *difference,
            ]
        )
    return layout(header, body, left=4)


def _seconds(largest: float) -> str:
    """Three or four digits that matter, the same number of decimals in the whole column."""
    return "{:.1f}" if largest >= 100 else "{:.2f}"


def _difference_cells(row: dict) -> list[str]:
    ends = _ends(row["difference_low_s"], row["difference_high_s"], "{:+.2f}")
    return [f"{row['difference_s']:+.2f}", ends, f"{row['difference_percent']:+.1f}"]


def _fidelity_lines(rows: list[dict]) -> list[str]:
    header = ["student", "choice", "decisions of", "decisions", "first choice", "same job", "limit error (executors)"]
    body = []
    for row in rows:
        shares = ["-" if row[name] is None else f"{100 * row[name]:.1f} %" for name in ("top1", "same_job")]
        error = "-" if row["limit_error"] is None else f"{row['limit_error']:.2f}"
        body.append(
            [
                label(row["policy"]),
                row["choice"],
                row["decisions_of"].replace("_", " "),
                f"{row['decisions']:,}",
                *shares,
                error,
            ]
        )
    return [
        "Fidelity to the teacher on its logged held-out decisions with two candidates or more "
        "(kept local: the freed executor stays on its job):",
        "",
        *layout(header, body, left=3),
    ]


def _ends(low: float, high: float, form: str) -> str:
    return f"{form.format(low)} to {form.format(high)}" if np.isfinite(low + high) else "-"


def layout(header: Sequence[str], body: Sequence[Sequence[str]], left: int) -> list[str]:
    """Columns padded to their widest cell, the first `left` of them left-aligned, with a rule below the header.

    A column without any entry is left out.
    """
    keep = [column for column in range(len(header)) if any(row[column] for row in body)]
    widths = {column: max(len(row[column]) for row in [header, *body]) for column in keep}

    def line(row: Sequence[str]) -> str:
        cells = [f"{row[c]:<{widths[c]}}" if c < left else f"{row[c]:>{widths[c]}}" for c in keep]
        return "  ".join(cells).rstrip()

    return [line(header), "  ".join("-" * widths[c] for c in keep), *(line(row) for row in body)]
