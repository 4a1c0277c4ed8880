"""Who comes first among candidates of the same value: the least, or the most, of a feature or two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.scorers.scorer import Question, known_column

MOST = "-"
"""Before the name of a feature in `ties`: the most of it wins."""

APART = 1e9
"""What lies between two values with ties that differ by 1: no feature makes up for it."""

FINER = 1e-3
"""The weight of each tie next to the one before it."""


def read_ties(value: Any, names: Sequence[str], where: str) -> tuple[str, ...]:
    """The ties of a file's object; it may have none.

    Raises:
        ClearschedError: no list of texts, or an unknown feature.
    """
    ties = value.get("ties", [])
    if not isinstance(ties, list) or not all(isinstance(tie, str) for tie in ties):
        raise ClearschedError(f"{where}: ties: a list of features expected, those of which most wins with a minus")
    for tie in ties:
        known_column(tie.removeprefix(MOST), names, f"{where}: ties")
    return tuple(ties)


def check_ties(choice: Question, where: str) -> None:
    """Ties tell which candidate comes first, so a choice of a level has none.

    Raises:
        ClearschedError: it is one.
    """
    if choice.form == "level":
        raise ClearschedError(
            f"{where}: ties: they tell which candidate comes first, and this choice has none; leave them out"
        )


def tie_weights(ties: Sequence[str]) -> list[tuple[str, float]]:
    """Each tie's feature and its weight in the score: far less than what lies between two values."""
    return [
        (tie.removeprefix(MOST), (1.0 if tie.startswith(MOST) else -1.0) * FINER**place)
        for place, tie in enumerate(ties)
    ]


def among_equals(ties: Sequence[str]) -> str:
    """Who wins among equals, in words."""
    if not ties:
        return "the first among equals"
    told = [("most " if tie.startswith(MOST) else "least ") + tie.removeprefix(MOST) for tie in ties]
    return f"among equals the one with the {', then the '.join(told)}"
