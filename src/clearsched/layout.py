"""Tables of fixed width, for the terminal and for text files: columns, decimals, units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def with_unit(text: str, unit: str) -> str:
    """The text with the unit behind it, if there is one: "JCT (s)"."""
    return f"{text} ({unit})" if unit else text


def decimals(largest: float) -> int:
    """Three or four digits that matter, the same number of decimals in the whole column."""
    if largest >= 100:
        return 1
    if largest >= 1 or largest == 0:
        return 2
    return min(2 - int(np.floor(np.log10(largest))), 9)


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
