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

FINER = 1_000
"""So many times as much each tie weighs as the one after it."""

SEVERAL = 3
"""Ties, at most: a fourth would be lost in the digits of a score."""


def read_ties(value: Any, names: Sequence[str], where: str) -> tuple[str, ...]:
    """The ties of a file's object; it may have none.

    Raises:
        ClearschedError: no list of texts, too many, or an unknown feature.
    """
    ties = value.get("ties", [])
    if not isinstance(ties, list) or not all(isinstance(tie, str) for tie in ties):
        raise ClearschedError(f"{where}: ties: a list of features expected, those of which most wins with a minus")
    if len(ties) > SEVERAL:
        raise ClearschedError(f"{where}: ties: {SEVERAL} features at most, here are {len(ties)}: leave the last out")
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
        (tie.removeprefix(MOST), (1.0 if tie.startswith(MOST) else -1.0) / FINER**place)
        for place, tie in enumerate(ties)
    ]


def among_equals(ties: Sequence[str]) -> str:
    """Who wins among equals, in words; with several ties also the number that tells, for a person to compute."""
    if not ties:
        return "the first among equals"
    told = ", then the ".join(f"{_extreme(tie)} {tie.removeprefix(MOST)}" for tie in ties)
    number = f" (the {weighted(ties)})" if len(ties) > 1 else ""
    return f"among equals the one with the {told}{number}"


def weighted(ties: Sequence[str]) -> str:
    """What decides among equals as one number: `least job_load_20 + stage_rank / 1000`."""
    first = ties[0]
    parts = [first.removeprefix(MOST)]
    for place, tie in enumerate(ties[1:], 1):
        sign = "+" if tie.startswith(MOST) == first.startswith(MOST) else "-"
        parts.append(f"{sign} {tie.removeprefix(MOST)} / {FINER**place}")
    return f"{_extreme(first)} {' '.join(parts)}"


def _extreme(tie: str) -> str:
    return "most" if tie.startswith(MOST) else "least"
