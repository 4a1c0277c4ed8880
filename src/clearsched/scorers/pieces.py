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
        last = len(scorer.rules) - 1
        rules = [
            Piece(f"rule {i + 1}", replace(scorer, rules=_less(scorer.rules, i), shares=()) if i < last else None)
            for i in range(len(scorer.rules))
        ]
        ties = enumerate(scorer.ties)
        return rules + [
            Piece(f"tie {i + 1}: {_tie(tie)}", replace(scorer, ties=_less(scorer.ties, i))) for i, tie in ties
        ]
    if isinstance(scorer, StepList):
        last = len(scorer.steps) - 1
        return [
            Piece(f"step {i + 1}", replace(scorer, steps=_less(scorer.steps, i)) if i < last else None)
            for i in range(len(scorer.steps))
        ]
    if isinstance(scorer, PointSum):
        several = len(scorer.points) > 1
        return [
            Piece(f"entry {i + 1}", replace(scorer, points=_less(scorer.points, i)) if several else None)
            for i in range(len(scorer.points))
        ]
    if isinstance(scorer, Switch):
        return [
            Piece(f"case {i + 1}", replace(scorer, cases=_less(scorer.cases, i)) if case.condition else None)
            for i, case in enumerate(scorer.cases)
        ]
    if isinstance(scorer, LeastTerm):
        several = len(scorer.terms) > 1
        return [
            Piece(f"term {i + 1}", replace(scorer, terms=_less(scorer.terms, i)) if several else None)
            for i in range(len(scorer.terms))
        ]
    if isinstance(scorer, TreeSum):
        several = len(scorer.trees) > 1
        return [
            Piece(f"tree {i + 1}", replace(scorer, trees=_less(scorer.trees, i)) if several else None)
            for i in range(len(scorer.trees))
        ]
    return _weights(scorer) if isinstance(scorer, WeightedSum) else []


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
