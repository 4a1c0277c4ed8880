"""HTML in small pieces: all text is escaped here, so that no name of a user is ever read as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from clearsched.report.packing import compact

NOTHING = '<span class="none">–</span>'
"""In a cell: there is no such number."""


class Cell(NamedTuple):
    """A cell of a table: what is shown, and the number or text that rows are sorted by."""

    html: str
    sort: float | str | None = None  # None: it comes last, whichever way
    number: bool = False


def tag(name: str, *children: str, **attributes: str | int | None) -> str:
    """An element; children are HTML, values of attributes text. Underscores begin names that Python has: `_class`."""
    told = [
        f' {key.strip("_").replace("_", "-")}="{escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    ]
    return f"<{name}{''.join(told)}>{''.join(children)}</{name}>"


def void(name: str, **attributes: str | int | None) -> str:
    """An element that has no content and no end: an image, a field."""
    return tag(name, **attributes).removesuffix(f"</{name}>")


def dot(kind: str, colour: str) -> str:
    """The mark of a policy: its colour, filled by its kind."""
    return tag("span", "", _class=f"dot {kind}", style=f"--policy:{colour}", aria_hidden="true")


def wide(whole: str, label: str) -> str:
    """A table that may be wider than the page: it scrolls by itself, from the keyboard too."""
    return tag("div", whole, _class="wide", tabindex=0, role="region", aria_label=label)


def table(
    caption: str,
    header: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[Cell]],
    attributes: Sequence[Mapping[str, str]],
) -> str:
    """A table whose columns can be sorted.

    Args:
        caption: text, for those who do not see the table.
        header: of each column its name and, in a sentence, what it tells; empty: the name says it.
        rows: the first cell of each is its heading.
        attributes: of each row.
    """
    head = [
        tag("th", tag("button", escape(name), type="button", title=about or None), scope="col")
        for name, about in header
    ]
    body = [tag("tr", *map(_cell, row, range(len(row))), **own) for row, own in zip(rows, attributes, strict=True)]
    parts = [
        tag("caption", escape(caption)),
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
    ]
    whole = tag("table", *parts, _class="sortable")
    return wide(whole, caption)


def _cell(cell: Cell, place: int) -> str:
    kind = {"_class": "number"} if cell.number else {}
    sort = {} if cell.sort is None else {"data_sort": str(cell.sort)}
    return tag("td", cell.html, **kind, **sort) if place else tag("th", cell.html, scope="row", **sort)


def data_block(identifier: str, value: Any) -> str:
    """A JSON value for scripts; nothing in it ends the element."""
    text = compact(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{escape(identifier, quote=True)}">{text}</script>'


def from_rst(text: str) -> str:
    """Paragraphs of a caption as HTML: literals, bold and italic words; all else is text."""
    paragraphs = []
    for part in re.split(r"\n\s*\n", text.strip()):
        told = escape(" ".join(part.split()), quote=False)
        told = re.sub(r"``(.+?)``", r"<code>\1</code>", told)
        told = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", told)
        paragraphs.append(tag("p", re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"<em>\1</em>", told)))
    return "".join(paragraphs)
