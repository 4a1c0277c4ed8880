"""How much the chosen candidate gets, as people say it: so many times its share, one worker for each so much work.

Caps follow the size of a job without a step at each leaf of a tree, so that a few of them say what needs many rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from clearsched.compiled.cap_terms import TIMES
from clearsched.problems.declarations import Choice
from clearsched.problems.programs import rounded
from clearsched.scorers.conditions import Condition
from clearsched.scorers.policy import names_of
from clearsched.scorers.steps import Step, StepList
from clearsched.students.dataset import Dataset, best_rows, subset

COEFFICIENTS = 24
"""Tried for each feature: evenly spread quantiles of what single decisions would ask for."""

PASSES = 3
"""Over the coefficients of all terms, after each further term."""

GAIN = 0.03
"""Share of the squared error that a further term or case must save."""

MIN_SAMPLES = 20
"""Decisions of a case, at least."""

Term = dict[str, float]


class Cap(NamedTuple):
    """Terms, the least of which counts, and how far they are from the expert's levels."""

    terms: tuple[Term, ...]
    error: float  # sum of squares, shares of the most


def variants(dataset: Dataset, choice: Choice, most_terms: int) -> Iterator[StepList]:
    """One cap, then a cap for each of two cases, with at most `most_terms` terms in all.

    Fitted by least squares to the expert's best level, not cut to what was free at that moment, on the decisions that
    had more than one level to choose from.
    """
    assert dataset.level is not None
    level = subset(dataset.level, ~dataset.level.trivial)
    if not len(level.chosen):
        return
    rows = level.features[level.starts[:-1]].astype(np.float64)
    share = level.candidate[best_rows(level)] / dataset.most
    names = names_of(choice)
    whole = _cap(rows, share, names, most_terms)
    if whole is None:
        return
    yield StepList((Step((), below=whole.terms),), names)
    found = _two_cases(rows, share, names, most_terms)
    if found is not None and found[1].error + found[2].error < (1 - GAIN) * whole.error:
        flag, own, other = found
        condition = Condition(flag, False, 1.0)
        yield StepList((Step((condition,), below=own.terms), Step((), below=other.terms)), names)


def _two_cases(
    rows: np.ndarray, share: np.ndarray, names: Sequence[str], most_terms: int
) -> tuple[int, Cap, Cap] | None:
    """The flag (a feature that is 0 or 1) that divides the decisions best, and the caps where it is 1 and where 0."""
    best: tuple[int, Cap, Cap] | None = None
    for column in range(rows.shape[1]):
        held = rows[:, column] >= 1
        if not np.isin(rows[:, column], (0.0, 1.0)).all() or min(held.sum(), (~held).sum()) < MIN_SAMPLES:
            continue
        own = _cap(rows[held], share[held], names, most_terms // 2)
        other = _cap(rows[~held], share[~held], names, most_terms - most_terms // 2)
        if own and other and (best is None or own.error + other.error < best[1].error + best[2].error):
            best = column, own, other
    return best


def _cap(rows: np.ndarray, share: np.ndarray, names: Sequence[str], most_terms: int) -> Cap | None:
    """Terms, each the best after those before, as long as they pay; after each the coefficients are found anew."""
    cap = Cap((), float(np.square(share - 1.0).sum()))
    factors: list[np.ndarray] = []  # of each term: its feature to its power
    while len(cap.terms) < most_terms:
        found = min(
            _terms(rows, share, _least(cap.terms, factors, len(share)), names), key=lambda each: each[0], default=None
        )
        if found is None or found[0] > (1 - GAIN) * cap.error:
            break
        _, _, term, factor = found
        factors.append(factor)
        cap = _tuned((*cap.terms, term), factors, share)
    return cap if cap.terms else None


def _least(terms: Sequence[Term], factors: Sequence[np.ndarray], count: int) -> np.ndarray:
    """float64[count]: the least of the terms, all where there is none."""
    reached = np.ones(count)
    for term, factor in zip(terms, factors, strict=True):
        reached = np.minimum(reached, term[TIMES] * factor)
    return reached


def _tuned(terms: Sequence[Term], factors: Sequence[np.ndarray], share: np.ndarray) -> Cap:
    """The terms with the coefficients that serve best together, one after another."""
    found = list(terms)
    for place in [*range(len(found))] * PASSES:
        others = [i for i in range(len(found)) if i != place]
        rest = _least([found[i] for i in others], [factors[i] for i in others], len(share))
        _, times = min(_coefficients(factors[place], share, rest))
        found[place] = {**found[place], TIMES: times}
    return Cap(tuple(found), float(np.square(share - _least(found, factors, len(share))).sum()))


def _coefficients(factor: np.ndarray, share: np.ndarray, rest: np.ndarray) -> Iterator[tuple[float, float]]:
    """(error with it, coefficient) of each that is tried for a term; `rest`: the least of the others."""
    tried = np.quantile(share / factor, np.linspace(0.02, 0.98, COEFFICIENTS))
    for times in sorted({rounded(float(value)) for value in tried}):
        yield float(np.square(share - np.minimum(rest, times * factor)).sum()), times


def _terms(
    rows: np.ndarray, share: np.ndarray, reached: np.ndarray, names: Sequence[str]
) -> Iterator[tuple[float, int, Term, np.ndarray]]:
    """(error with it, column, term, its factor) of each feature that is always above 0, or one over it."""
    for column, name in enumerate(names):
        values = rows[:, column]
        if not np.isfinite(values).all() or values.min() <= 0 or values.min() == values.max():
            continue
        for power in (1.0, -1.0):
            factor = values**power
            for error, times in _coefficients(factor, share, reached):
                yield error, column, {TIMES: times, name: power}, factor
