"""Tables of fixed width, for the terminal and for text files."""

from __future__ import annotations

from collections.abc import Sequence


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
