"""Put what came of the papers' claims into docs/paper.md: `python tools/measured_claims.py [CLAIMS_CSV | FIGURE...]`.

With a file, `results/paper/claims.csv` of a run of `make paper`, that is kept as docs/measured/paper_claims.csv first.
With names of figures, of a run that made these alone, the kept rows that are read from them are judged anew by
results/paper, and all others stay.
The table between two marks of the page is then made from the kept file; tests/test_docs.py holds the one against the
other.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.figures.style import format_csv
from clearsched.files import write_text
from clearsched.paper.judging import COLUMNS, docs_table, judged, read_claims
from clearsched.paper.kinds import PAPER_FIGURES
from clearsched.paper.published import CLAIMS
from clearsched.params import parse
from clearsched.problems import DEFAULT

DOCS = Path(__file__).parents[1] / "docs"
KEPT = Path("measured") / "paper_claims.csv"
PAGE = "paper.md"
BEGIN, END = "<!-- made by tools/measured_claims.py: begin -->", "<!-- end -->"


def with_table(page: str, table: str) -> str:
    """The page with the table between its marks.

    Raises:
        ClearschedError: it has not both marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ClearschedError(f"docs/{PAGE}: lacks a mark of the table: {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def renew(docs: Path, judged: Path | None) -> None:
    """Keep the claims of a run, if one is given, and write the table of those that are kept into the page.

    Raises:
        ClearschedError: the file is no table of claims, or the page lacks its marks.
    """
    if judged is not None:
        read_claims(judged)
        write_text(docs / KEPT, judged.read_text("utf-8"))
    page = docs / PAGE
    write_text(page, with_table(page.read_text("utf-8"), docs_table(docs / KEPT)))


def judge_again(kept: Path, figures: Sequence[str], figures_dir: Path) -> None:
    """Judge the claims that are read from these figures by what was drawn in `figures_dir`; the others stay.

    Raises:
        ClearschedError: a figure is unknown or was not made, or the kept file is no table of claims.
    """
    named = {PAPER_FIGURES[name].name for name in figures}
    rows = {row["claim"]: row for row in read_claims(kept)}
    for claim in CLAIMS.values():
        if claim.figure in named:
            run = rows[claim.label]
            values = {"problem": DEFAULT, "seed": int(run["seed"]), "paper": {"scale": run["scale"]}}
            rows[claim.label] = judged(claim, parse(values, f"{kept}", whole=False), figures_dir)
    write_text(kept, format_csv(COLUMNS, [[row[name] for name in COLUMNS] for row in rows.values()]))


if __name__ == "__main__":
    told = sys.argv[1:]
    if told and not told[0].endswith(".csv"):
        judge_again(DOCS / KEPT, told, Path("results") / "paper")
        told = []
    renew(DOCS, Path(told[0]) if told else None)
