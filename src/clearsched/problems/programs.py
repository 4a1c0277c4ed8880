"""Parametrised programs: policies of a given form whose numbers are searched for.

A `Family` of a registry names a function that makes a program of a `Ground`: what a problem is and what its candidates
look like. The stage `search` knows no more of a program than the protocol below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from clearsched.problems.declarations import Choice, level_choice, rank_choice
from clearsched.problems.problem import Problem


class Number(NamedTuple):
    """One number that is searched for."""

    name: str
    start: float
    step: float  # standard deviation of the first candidates
    low: float = -np.inf
    high: float = np.inf
    grid: float = 0.0  # only multiples of it from `low` on; 0: any number


@dataclass(frozen=True)
class Ground:
    """What a program may know before its numbers are searched for.

    Attributes:
        problem: whose choices it answers.
        most: the largest level; 0 without a level choice.
        none: whether "none of these" is an answer.
        rows: float32[n, F]: the candidates of a sample of decisions under a heuristic.
        starts: int64[d + 1]: decision i has the rows starts[i] to starts[i + 1].
        chosen: int64[d]: the candidate that the heuristic chose, or NONE.
        granted: int64[d]: what it answered to the level choice; 0 without one.
    """

    problem: Problem
    most: int
    none: bool
    rows: np.ndarray
    starts: np.ndarray
    chosen: np.ndarray
    granted: np.ndarray

    @cached_property
    def rank(self) -> Choice:
        """The choice among candidates."""
        return rank_choice(self.problem.choices)

    @cached_property
    def level(self) -> Choice | None:
        """The choice of a level, where the problem has one."""
        return level_choice(self.problem.choices)

    @cached_property
    def varies(self) -> np.ndarray:
        """bool[F]: the features in which some decision's candidates differ."""
        first = self.starts[:-1]
        spread = np.maximum.reduceat(self.rows, first) - np.minimum.reduceat(self.rows, first)
        return np.asarray((spread > 0).any(axis=0))


class Program(Protocol):
    """A policy but for its numbers."""

    @property
    def numbers(self) -> Sequence[Number]: ...
    @property
    def first(self) -> Program | None:
        """A smaller program that is searched before, on a third of the evaluations; its best is where this begins."""

    def start(self, generator: np.random.Generator, found: np.ndarray | None) -> np.ndarray:
        """float64[numbers]: where a restart begins; `found`: the best numbers of `first`."""

    def scorers(self, values: np.ndarray) -> Mapping[str, Any]:
        """The scorer of each choice by its name, as in a policy's file, for float64[numbers].

        Numbers are rounded here to what is worth reading: rounding is part of what is searched.
        """


def rounded(value: float, digits: int = 2) -> float:
    """The number with so many digits that count."""
    return float(f"{value:.{digits}g}")
