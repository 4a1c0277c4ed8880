"""The model cards of the shipped policies, from the card.json beside each."""

from __future__ import annotations

from collections.abc import Callable

from clearsched.documents import read_json
from clearsched.shipped.cards import markdown
from clearsched.shipped.store import CARD, FOLDER


def names() -> list[str]:
    """The scenarios that have shipped policies, in order of their names."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{CARD}"))


def page_of(name: str) -> Callable[[], str]:
    """What writes the page of a scenario."""
    return lambda: markdown(read_json(FOLDER / name / CARD))
