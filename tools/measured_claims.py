"""Put what came of the papers' claims into docs/paper.md: `python tools/measured_claims.py [CLAIMS_CSV]`.

With a file, `results/paper/claims.csv` of a run of `make paper`, that is kept as docs/measured/paper_claims.csv first.
The table between two marks of the page is then made from the kept file; tests/test_docs.py holds the one against the
other.
"""

from __future__ import annotations

import sys
from pathlib import Path

from clearsched.errors import ClearschedError
from clearsched.files import write_text
from clearsched.paper.judging import docs_table, read_claims

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


if __name__ == "__main__":
    renew(DOCS, Path(sys.argv[1]) if sys.argv[1:] else None)
