"""Other structures for what answers the choice of a level: a cap or case more, less, or of another feature.

The rules that rank candidates are restructured in `restructuring`; this is the same for how much the chosen one gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from clearsched.compiled.cap_terms import TIMES
from clearsched.problems.programs import rounded
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import Step, StepList
from clearsched.students.neighbours import further, with_condition
from clearsched.students.rounding import Columns

Term = Mapping[str, float]

BINDING = (0.2, 0.5, 0.8)
"""Shares of the rows on which a further term is to be the least: they give the coefficients that are tried."""

SIDES = (0.7, 1.4)
"""What one side of a new case is multiplied by: two equal cases would be the old one."""


@dataclass(frozen=True)
class LevelSpace:
    """Within what the scorer of a level may change.

    Attributes:
        features: float32[n, F], a row a decision.
        names: of the columns.
        conditions: that may make a case.
        columns: tell whole numbers.
        terms: of all caps together, at most.
        leaves: rules of a list, at most.
    """

    features: np.ndarray
    names: tuple[str, ...]
    conditions: tuple[Condition, ...]
    columns: Columns
    terms: int
    leaves: int

    def factors(self) -> Iterator[tuple[str, float, np.ndarray]]:
        """(feature, power, float64[n]) of each that is always above 0 and not always the same."""
        for column, name in enumerate(self.names):
            values = self.features[:, column].astype(np.float64)
            if np.isfinite(values).all() and values.min() > 0 and values.min() < values.max():
                for power in (1.0, -1.0):
                    yield name, power, values**power


@singledispatch
def level_structures(scorer: Scorer, space: LevelSpace) -> list[Scorer]:
    """The scorers of a level next to one: none, unless its kind is registered below."""
    return []


@level_structures.register(StepList)
def _beside_caps(scorer: StepList, space: LevelSpace) -> list[Scorer]:
    """Other caps, where every step is one."""
    if not all(step.below and not step.of for step in scorer.steps):
        return []
    return [replace(scorer, steps=tuple(steps)) for steps in _caps(scorer, space)]


@level_structures.register(RuleList)
def _beside_rules(scorer: RuleList, space: LevelSpace) -> list[Scorer]:
    """Other rules, and a single cap in their place."""
    found: list[Scorer] = [RuleList(tuple(rules), scorer.names) for rules in _rules(scorer, space)]
    if space.terms:
        level = scorer.scores(space.features, space.names)
        whole = np.full(len(level), np.inf)
        found += [StepList((Step((), below=(term,)),), scorer.names) for term in _terms(space, whole, level)]
    return found


def _caps(scorer: StepList, space: LevelSpace) -> Iterator[list[Step]]:
    """Steps with a term more, less, or another one; a case more or less."""
    room = space.terms - sum(len(step.below) for step in scorer.steps)
    for place, step in enumerate(scorer.steps):
        head, tail = list(scorer.steps[:place]), list(scorer.steps[place + 1 :])
        if tail:
            yield head + tail
        for terms in _other_terms(step.below, space, room):
            yield [*head, replace(step, below=terms), *tail]
        if room < len(step.below):
            continue
        for condition in further(step.conditions, space.conditions):
            for factor in SIDES:
                narrower = replace(step, conditions=(*step.conditions, condition), below=_times(step.below, factor))
                yield [*head, narrower, step, *tail]


def _other_terms(terms: Sequence[Term], space: LevelSpace, room: int) -> Iterator[tuple[Term, ...]]:
    """The caps with a term more, less, or another one."""
    values = [_value(term, space) for term in terms]
    for place in range(len(terms)):
        rest = [*terms[:place], *terms[place + 1 :]]
        others = [*values[:place], *values[place + 1 :]]
        if rest:
            yield tuple(rest)
        least = np.min(others, axis=0) if others else np.full(len(space.features), np.inf)
        for term in _terms(space, least, values[place]):
            if set(term) != set(terms[place]):
                yield (*terms[:place], term, *terms[place + 1 :])
    if room > 0:
        least = np.min(values, axis=0)
        for term in _terms(space, least, least):
            yield (*terms, term)


def _terms(space: LevelSpace, least: np.ndarray, like: np.ndarray) -> Iterator[Term]:
    """Terms of one feature: as large as `like` in the middle, or the least of all on some shares of the rows."""
    for name, power, factor in space.factors():
        if np.isinf(least).all():
            tried = np.quantile(like / factor, BINDING)
        else:
            tried = np.append(np.quantile(least / factor, [1 - share for share in BINDING]), np.median(like / factor))
        for times in sorted({rounded(float(value)) for value in tried}):
            if times > 0:
                yield {TIMES: times, name: power}


def _times(terms: Sequence[Term], factor: float) -> tuple[Term, ...]:
    return tuple({**term, TIMES: rounded(term.get(TIMES, 1.0) * factor)} for term in terms)


def _value(term: Term, space: LevelSpace) -> np.ndarray:
    """float64[n]: a term on each row."""
    value = np.full(len(space.features), term.get(TIMES, 1.0))
    for name, power in term.items():
        if name != TIMES:
            value = value * space.features[:, space.names.index(name)].astype(np.float64) ** power
    return value


def _rules(scorer: RuleList, space: LevelSpace) -> Iterator[list[Rule]]:
    """Levels with a rule less, with one of them in two, or with a condition more, less, or another one."""
    for place, rule in enumerate(scorer.rules):
        head, tail = list(scorer.rules[:place]), list(scorer.rules[place + 1 :])
        if tail:
            yield head + tail
            yield from ([*head, other, *tail] for other in _other_conditions(rule, space))
        if len(scorer.rules) >= space.leaves:
            continue
        for condition in further(rule.conditions, space.conditions):
            for factor in SIDES:
                level = min(1.0, rounded(rule.value * factor))
                if level != rule.value:
                    yield [*head, Rule((*rule.conditions, condition), level), rule, *tail]


def _other_conditions(rule: Rule, space: LevelSpace) -> Iterator[Rule]:
    """A rule that is not the last with a condition more, one less, or another in its place.

    A list that has all its rules gets elsewhere by these alone: none of them can be parted in two.
    """
    new = tuple(further(rule.conditions, space.conditions))
    yield from (rule._replace(conditions=(*rule.conditions, condition)) for condition in new)
    for place in range(len(rule.conditions)):
        if len(rule.conditions) > 1:
            yield with_condition(rule, place)
        yield from (with_condition(rule, place, condition) for condition in new)
