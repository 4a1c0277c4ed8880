"""Why a scorer gives a row what it gives, in a clause, with the row's values and their units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, singledispatch
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from clearsched.compiled.cap_terms import TIMES
from clearsched.problems.declarations import Choice
from clearsched.problems.programs import rounded
from clearsched.scorers import words
from clearsched.scorers.conditions import Condition, number
from clearsched.scorers.pairs import PairForest
from clearsched.scorers.policy import names_of
from clearsched.scorers.rules import MOST, RuleList
from clearsched.scorers.scorer import Clause, Piece, Scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.scorers.ties import tie_weights, weighted

SHOWN = 3
"""Features that are told where all count at once."""


def valued(value: float, unit: str, beside: float | None = None) -> str:
    """A value with its unit, in four digits, or as many as tell it from another value."""
    told = f"{value:.4g}"
    if beside is not None and told == f"{beside:.4g}" and value != beside:
        told = number(value)
    return f"{told} {unit}".rstrip()


def reached(value: float, unit: str) -> str:
    """A value that a feature becomes: where it lies beside one of four digits, on which side of that."""
    near = rounded(value, 4)
    side = "" if np.float32(near) == np.float32(value) else "just below " if value < near else "just above "
    return f"{side}{valued(near, unit)}"


def threshold_text(value: float) -> str:
    """A threshold as rules are written."""
    return _written(value) if value else number(value)  # 0 and -0 would be one key


_written = lru_cache(maxsize=4096)(number)  # a scorer has few thresholds, and they are told often


class Ready(NamedTuple):
    """A scorer made ready to be asked about single rows, for who asks often."""

    scores: Callable[[np.ndarray], np.ndarray]  # float64[n] of float32[n, F]
    places: Callable[[np.ndarray], np.ndarray] | None  # the piece that speaks for each row; None: all count at once


class Spoken(NamedTuple):
    """A row float32[F] and what came of it."""

    row: np.ndarray
    score: float
    place: int  # the piece that speaks for it; 0 where all count at once


class Reasons:
    """Why one scorer answers a choice as it does."""

    def __init__(self, scorer: Scorer, choice: Choice, ready: Ready | None = None) -> None:
        self.scorer, self.choice = scorer, choice
        self.names = names_of(choice)
        self.column = {name: place for place, name in enumerate(self.names)}
        self.unit = words.units(choice)
        self._ready = ready or self._as_it_is()

    def spoken(self, row: np.ndarray) -> Spoken:
        """What comes of a row float32[F]."""
        scores, places = self._ready
        place = 0 if places is None else int(places(row[None])[0])
        return Spoken(row, float(scores(row[None])[0]), place)

    def for_it(self, mine: Spoken) -> str:
        """What speaks for a row."""
        return _for_it(self.scorer, self, mine)

    def against(self, mine: Spoken, other: Spoken) -> str:
        """Why a row comes before another one."""
        return _against(self.scorer, self, mine, other)

    def level(self, mine: Spoken) -> str:
        """What speaks for the level of a row."""
        told = words.amount(rounded(min(mine.score, 1.0), 3), self.choice, {})
        if self._ready.places is None:
            return told
        conditions = self._clauses[mine.place].conditions if self._clauses else ()
        return f"{self._pieces[mine.place].name}{self.met(conditions, self.names, mine.row)}: {told}"

    def value(self, row: np.ndarray, name: str) -> float:
        """The value of a feature."""
        return float(row[self.column[name]])

    def met(self, conditions: Sequence[Condition], names: Sequence[str], row: np.ndarray, more: str = "") -> str:
        """The conditions that a row meets, by the columns of `names`: " (job_age_s 3.2 s < 4.8 s)"."""
        told = [self._condition(condition, names[condition.feature], row) for condition in conditions]
        told += [more] if more else []
        return f" ({'; '.join(told)})" if told else " (all others)"

    def missed(self, conditions: Sequence[Condition], what: str, names: Sequence[str], row: np.ndarray) -> str:
        """The first condition that a row does not meet."""
        for condition in conditions:
            name = names[condition.feature]
            value = row[self.column[name]]
            if (value < np.float32(condition.threshold)) != condition.below:
                sign, unit = "below" if condition.below else "at least", self.unit[name]
                threshold = f"{threshold_text(condition.threshold)} {unit}".rstrip()
                told = valued(float(value), unit, condition.threshold)
                return f"{what} asks for {name} {sign} {threshold}, and it has {told}"
        return ""

    def effects(self, row: np.ndarray, other: np.ndarray) -> str:
        """The features of which the other one's value would cost a row most, where all count at once."""
        asked = self._used[(row != other)[self._used]]
        if not len(asked):
            return "among equals the first wins"
        swapped = row[None].repeat(len(asked) + 1, axis=0)
        swapped[self._places[: len(asked)], asked] = other[asked]
        *scores, own = self._ready.scores(swapped).tolist()
        lost = [(own - score, column) for score, column in zip(scores, asked.tolist(), strict=True) if own > score]
        lost.sort(key=itemgetter(0), reverse=True)
        told = []
        for worth, column in lost[:SHOWN]:
            name = self.names[column]
            mine, theirs, unit = float(row[column]), float(other[column]), self.unit[name]
            told.append(f"{name} {valued(mine, unit, theirs)}, not {valued(theirs, unit, mine)} (worth {worth:.3g})")
        return f"what speaks for the first is {'; '.join(told)}" if told else ""

    def _condition(self, condition: Condition, name: str, row: np.ndarray) -> str:
        """A condition with the row's value."""
        value, unit = self.value(row, name), self.unit[name]
        sign = "<" if condition.below else ">="
        threshold = f"{threshold_text(condition.threshold)} {unit}".rstrip()
        return f"{name} {valued(value, unit, condition.threshold)} {sign} {threshold}"

    @cached_property
    def _used(self) -> np.ndarray:
        return np.array(sorted(self.column[name] for name in self.scorer.used), np.int64)

    @cached_property
    def _places(self) -> np.ndarray:
        return np.arange(len(self._used))

    @cached_property
    def _clauses(self) -> list[Clause]:
        return self.scorer.clauses()

    @cached_property
    def _pieces(self) -> list[Piece]:
        return self.scorer.pieces()

    def _as_it_is(self) -> Ready:
        """The scorer, packed at each call."""
        scorer, names = self.scorer, self.names
        numbered = scorer.numbered()
        if numbered is None:
            return Ready(lambda rows: scorer.scores(rows, names), None)
        return Ready(lambda rows: scorer.scores(rows, names), lambda rows: numbered.scores(rows, names))


# What speaks for a row, by the kind of scorer ------------------------------------------------------------------------


@singledispatch
def _for_it(scorer: Scorer, told: Reasons, mine: Spoken) -> str:
    """Its score, unless the kind is registered below."""
    if scorer.relative:
        return "what it wins against the others counts"
    return f"it has the score {mine.score:.4g}"


@_for_it.register(RuleList)
def _by_rule(scorer: RuleList, told: Reasons, mine: Spoken) -> str:
    rule = scorer.rules[mine.place]
    return f"it meets rule {mine.place + 1}{told.met(rule.conditions, scorer.names, mine.row)}, score {rule.value:g}"


@_for_it.register(StepList)
def _by_step(scorer: StepList, told: Reasons, mine: Spoken) -> str:
    step = scorer.steps[mine.place]
    met = told.met(step.conditions, scorer.names, mine.row, _cap(step, told, mine.row))
    return f"it falls under step {mine.place + 1}{met}, score {mine.score:.6g}"


# Why a row comes before another -------------------------------------------------------------------------------------


@singledispatch
def _against(scorer: Scorer, told: Reasons, mine: Spoken, other: Spoken) -> str:
    """By its features, unless the kind is registered below."""
    return told.effects(mine.row, other.row)


@_against.register(PairForest)
def _by_votes(scorer: PairForest, told: Reasons, mine: Spoken, other: Spoken) -> str:
    share = scorer.share(mine.row, other.row, told.names)
    return f"the first of the two is the better one with {100 * share:.0f} % of the votes"


@_against.register(RuleList)
def _by_rules(scorer: RuleList, told: Reasons, mine: Spoken, other: Spoken) -> str:
    rule = scorer.rules[mine.place]
    if rule.value == scorer.rules[other.place].value:
        return _ties(scorer, told, mine.row, other.row)
    return told.missed(rule.conditions, f"rule {mine.place + 1}", scorer.names, other.row)


@_against.register(StepList)
def _by_steps(scorer: StepList, told: Reasons, mine: Spoken, other: Spoken) -> str:
    if mine.place == other.place:
        return told.effects(mine.row, other.row)
    step, what = scorer.steps[mine.place], f"step {mine.place + 1}"
    missed = told.missed(step.conditions, what, scorer.names, other.row)
    return missed or f"of {what} it misses the cap: {_cap(step, told, other.row)}"


def _ties(scorer: RuleList, told: Reasons, row: np.ndarray, other: np.ndarray) -> str:
    """By which tie a row of the same score comes first; by all where a later one outweighs it."""
    for tie, (name, weight) in zip(scorer.ties, tie_weights(scorer.ties), strict=True):
        mine, theirs, unit = told.value(row, name), told.value(other, name), told.unit[name]
        if weight * (mine - theirs) < 0:
            side = 1.0 if scorer.ties[0].startswith(MOST) else -1.0
            own, others = (
                sum(side * w * told.value(each, n) for n, w in tie_weights(scorer.ties)) for each in (row, other)
            )
            return f"among equals the {weighted(scorer.ties)} wins: {own:.6g}, not {others:.6g}"
        if mine != theirs:
            word = "most" if tie.startswith(MOST) else "least"
            return (
                f"among equals the {word} {name} wins: {valued(mine, unit, theirs)}, not {valued(theirs, unit, mine)}"
            )
    return "among equals the first wins"


def _cap(step: Step, told: Reasons, row: np.ndarray) -> str:
    """The cap of a step with the row's numbers; empty where it has none."""
    if not step.of:
        return ""
    cap = min(_product(term, told, row) for term in step.below)
    value, unit = told.value(row, step.of), told.unit[step.of]
    sign = "<" if value < cap else ">="
    return f"{step.of} {valued(value, unit, cap)} {sign} its cap {valued(cap, unit, value)}"


def _product(term: Mapping[str, float], told: Reasons, row: np.ndarray) -> float:
    """A term of a cap, as `compiled.cap_terms.least_term` has it."""
    product = float(term.get(TIMES, 1.0))
    for name, power in term.items():
        if name != TIMES:
            product *= _power(told.value(row, name), power)
    return product


def _power(value: float, power: float) -> float:
    """`np.float_power` of two numbers, in a tenth of its time where Python knows the result."""
    try:
        return math.pow(value, power)
    except (OverflowError, ValueError):  # an infinity, or no number
        return float(np.float_power(value, power))
