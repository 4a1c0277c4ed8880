"""Markdown of text that was not written as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

SPECIAL = re.compile(r"([*\[\]])")


def escaped(text: str) -> str:
    """A line of plain text: what stands between backticks is code, and nothing else has a meaning."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd backtick is one
        return _plain(text).replace("`", "\\`")
    return "`".join(part if place % 2 else _plain(part) for place, part in enumerate(parts))


def _plain(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def code(text: str) -> str:
    """Text as code; none where it is empty."""
    return f"`{text}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table; cells are Markdown on one line. A bar inside a cell would end it, so it is escaped."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def sentence(text: str) -> str:
    """A text that begins with a capital letter and ends with a full stop."""
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")
