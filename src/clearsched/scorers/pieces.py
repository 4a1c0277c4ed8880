"""What a scorer is put together of: rules, ties, steps, trees, terms, weights; which one speaks for a row; it without
one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.points import PointSum
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import StepList
from clearsched.scorers.switch import Switch
from clearsched.scorers.ties import MOST
from clearsched.scorers.trees import TreeSum


class Piece(NamedTuple):
    """A part of a scorer that a person reads as one.

    Attributes:
        name: "rule 2", "tie 1".
        without: the scorer without it; None where it cannot be left out, as the last rule.
    """

    name: str
    without: Scorer | None


def pieces(scorer: Scorer) -> list[Piece]:
    """The pieces in the order in which they are printed; those that `firing` counts come first. May be empty."""
    if isinstance(scorer, RuleList):
        return _each(scorer, "rules", "rule", otherwise=True, shares=()) + _ties(scorer)
    if isinstance(scorer, StepList):
        return _each(scorer, "steps", "step", otherwise=True)
    if isinstance(scorer, Switch):
        return _each(scorer, "cases", "case", otherwise=True)
    if isinstance(scorer, PointSum):
        return _each(scorer, "points", "entry") + _ties(scorer)
    if isinstance(scorer, LeastTerm):
        return _each(scorer, "terms", "term")
    if isinstance(scorer, TreeSum):
        return _each(scorer, "trees", "tree")
    return _weights(scorer) if isinstance(scorer, WeightedSum) else []


def _each(scorer: Any, field: str, word: str, *, otherwise: bool = False, **changed: Any) -> list[Piece]:
    """A piece for each entry of a field; the last stays where it is `otherwise`, any other where it is the only one."""
    items = getattr(scorer, field)
    stays = len(items) - 1 if otherwise or len(items) == 1 else None
    return [
        Piece(f"{word} {i + 1}", None if i == stays else replace(scorer, **{field: _less(items, i)}, **changed))
        for i in range(len(items))
    ]


def _ties(scorer: Any) -> list[Piece]:
    return [
        Piece(f"tie {i + 1}: {_tie(tie)}", replace(scorer, ties=_less(scorer.ties, i)))
        for i, tie in enumerate(scorer.ties)
    ]


def firing(scorer: Scorer, features: np.ndarray, names: Sequence[str]) -> np.ndarray | None:
    """int64[n]: the piece that speaks for each row of float32[n, F], by its place; None where all pieces do at once."""
    if isinstance(scorer, RuleList):
        numbered = tuple(rule._replace(value=float(i)) for i, rule in enumerate(scorer.rules))
        return replace(scorer, rules=numbered, shares=(), ties=()).scores(features, names).astype(np.int64)
    if isinstance(scorer, StepList):
        steps = tuple(replace(step, value=float(i), plus={}) for i, step in enumerate(scorer.steps))
        return replace(scorer, steps=steps).scores(features, names).astype(np.int64)
    if isinstance(scorer, LeastTerm):
        found = np.stack([replace(scorer, terms=(term,)).scores(features, names) for term in scorer.terms])
        return found.argmin(axis=0)
    return None


def speakers(scorer: Scorer) -> int:
    """How many of the first pieces `firing` tells apart: ties speak for no row of their own."""
    return sum(not piece.name.startswith("tie") for piece in pieces(scorer))


def _less(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*items[:place], *items[place + 1 :])


def _tie(tie: str) -> str:
    return ("most " if tie.startswith(MOST) else "least ") + tie.removeprefix(MOST)


def _weights(scorer: WeightedSum) -> list[Piece]:
    def less(values: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {key: value for key, value in values.items() if key != name}

    plain = [Piece(f"weight of {name}", replace(scorer, weights=less(scorer.weights, name))) for name in scorer.weights]
    logs = [
        Piece(f"log weight of {name}", replace(scorer, log_weights=less(scorer.log_weights, name)))
        for name in scorer.log_weights
    ]
    return plain + logs
