"""What the papers claim, from the registry of claims; beside it what our runs say, where they were made."""

from __future__ import annotations

import math
from pathlib import Path

from clearsched.paper.published import CLAIMS, Claim
from site_pages.markdown import code, escaped, table

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "results" / "paper" / "claims.md"
"""What `snakemake --cores 2 paper` or `make paper` writes."""

HEAD = """\
# The papers' claims

The numbers that the papers publish, each with its source. How a verdict is found, and at which settings, tells
[the page of the papers](../paper.md#claims).
"""

NOT_RUN = """\
The site was built without `results/paper/claims.md`: `make paper` makes it (a night), and its verdicts then stand here.
Those of the last run that was kept stand on [the page of the papers](../paper.md#measured-so-far).
"""


def page() -> str:
    """The whole page."""
    head = ["claim", "in words", "paper", "source", "setting", "published", "held against"]
    lines = [HEAD, *table(head, map(_row, CLAIMS.values())), "", "## Measured", ""]
    if not MEASURED.is_file():
        return "\n".join([*lines, NOT_RUN])
    told = MEASURED.read_text("utf-8").splitlines()
    return "\n".join([*lines, *(f"##{line}" if line.startswith("#") else line for line in told), ""])


def _row(claim: Claim) -> list[str]:
    bound = {"at_most": "at most ", "at_least": "at least "}.get(claim.form, "")
    against = f"{code(claim.figure)}" if claim.figure else "nothing here"
    number = "no number" if math.isnan(claim.published) else f"{bound}{claim.published:g} {claim.unit}".strip()
    cells = [claim.label, claim.paper, claim.source, claim.setting, number]
    return [code(claim.name), *map(escaped, cells), against]
