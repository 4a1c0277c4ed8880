"""What a scorer is put together of: rules, ties, steps, trees, terms, weights; and it without one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from clearsched.scorers.scorer import Piece, Scorer
from clearsched.scorers.ties import MOST

Item = TypeVar("Item")


def each_of(scorer: Any, field: str, word: str, *, otherwise: bool = False, **changed: Any) -> list[Piece]:
    """A piece for each entry of a field; the last stays where it is `otherwise`, any other where it is the only one."""
    items = getattr(scorer, field)
    stays = len(items) - 1 if otherwise or len(items) == 1 else None
    return [
        Piece(f"{word} {i + 1}", None if i == stays else replace(scorer, **{field: less(items, i)}, **changed))
        for i in range(len(items))
    ]


def ties_of(scorer: Any) -> list[Piece]:
    """A piece for each tie."""
    return [
        Piece(f"tie {i + 1}: {_tie(tie)}", replace(scorer, ties=less(scorer.ties, i)), speaks=False)
        for i, tie in enumerate(scorer.ties)
    ]


def speakers(scorer: Scorer) -> int:
    """How many pieces `Scorer.firing` tells apart: the first ones."""
    return sum(piece.speaks for piece in scorer.pieces())


def less(items: Sequence[Item], place: int) -> tuple[Item, ...]:
    """All items but one."""
    return (*items[:place], *items[place + 1 :])


def each_less(items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    """The items without one of them, the last first."""
    return (less(items, place) for place in reversed(range(len(items))))


def with_item(items: Sequence[Item], place: int, item: Item) -> tuple[Item, ...]:
    """The items with another one at a place."""
    return (*items[:place], item, *items[place + 1 :])


def _tie(tie: str) -> str:
    return ("most " if tie.startswith(MOST) else "least ") + tie.removeprefix(MOST)
