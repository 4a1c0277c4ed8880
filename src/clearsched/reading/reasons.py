"""Why a scorer gives a row what it gives, in a clause, with the row's values and their units."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from clearsched.problems.declarations import Choice
from clearsched.problems.programs import rounded
from clearsched.scorers import words
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.conditions import Condition, number
from clearsched.scorers.pairs import PairForest
from clearsched.scorers.policy import names_of
from clearsched.scorers.rules import MOST, RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.steps import StepList

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


# What speaks for a row ---------------------------------------------------------------------------------------------


@singledispatch
def for_it(scorer: Scorer, choice: Choice, row: np.ndarray) -> str:
    """What of a scorer speaks for a row float32[F]: its score, unless the kind is registered below."""
    if scorer.relative:
        return "what it wins against the others counts"
    return f"it has the score {_score(scorer, choice, row):.4g}"


@for_it.register(RuleList)
def _by_rule(scorer: RuleList, choice: Choice, row: np.ndarray) -> str:
    place = _place(scorer, choice, row)
    rule = scorer.rules[place]
    return f"it meets rule {place + 1}{_met(rule.conditions, scorer.names, choice, row)}, score {rule.value:g}"


@for_it.register(StepList)
def _by_step(scorer: StepList, choice: Choice, row: np.ndarray) -> str:
    place = _place(scorer, choice, row)
    conditions, cap = scorer.steps[place].conditions, _cap(scorer, place, choice, row)
    met = _met(conditions, scorer.names, choice, row, cap)
    return f"it falls under step {place + 1}{met}, score {_score(scorer, choice, row):.6g}"


# Why a row comes before another -------------------------------------------------------------------------------------


@singledispatch
def against(scorer: Scorer, choice: Choice, row: np.ndarray, other: np.ndarray) -> str:
    """Why a row float32[F] comes before another one: by its features, unless the kind is registered below."""
    return _effects(scorer, choice, row, other)


@against.register(PairForest)
def _by_votes(scorer: PairForest, choice: Choice, row: np.ndarray, other: np.ndarray) -> str:
    share = scorer.share(row, other, names_of(choice))
    return f"the first of the two is the better one with {100 * share:.0f} % of the votes"


@against.register(RuleList)
def _by_rules(scorer: RuleList, choice: Choice, row: np.ndarray, other: np.ndarray) -> str:
    mine, theirs = (_place(scorer, choice, each) for each in (row, other))
    if scorer.rules[mine].value == scorer.rules[theirs].value:
        return _ties(scorer, choice, row, other)
    return _missed(scorer.rules[mine].conditions, f"rule {mine + 1}", scorer.names, choice, other)


@against.register(StepList)
def _by_steps(scorer: StepList, choice: Choice, row: np.ndarray, other: np.ndarray) -> str:
    mine, theirs = (_place(scorer, choice, each) for each in (row, other))
    if mine == theirs:
        return _effects(scorer, choice, row, other)
    told = _missed(scorer.steps[mine].conditions, f"step {mine + 1}", scorer.names, choice, other)
    return told or f"of step {mine + 1} it misses the cap: {_cap(scorer, mine, choice, other)}"


# Levels, and the parts of sentences ---------------------------------------------------------------------------------


def level_reason(scorer: Scorer, choice: Choice, row: np.ndarray) -> str:
    """What of the scorer of a level speaks for a row float32[F]."""
    names = names_of(choice)
    place, share = scorer.firing(row[None], names), _score(scorer, choice, row)
    told = words.amount(rounded(min(share, 1.0), 3), choice, {})
    if place is None:
        return told
    piece, clauses = scorer.pieces()[place[0]].name, scorer.clauses()
    conditions = clauses[place[0]].conditions if clauses else ()
    return f"{piece}{_met(conditions, names, choice, row)}: {told}"


def _score(scorer: Scorer, choice: Choice, row: np.ndarray) -> float:
    return float(scorer.scores(row[None], names_of(choice))[0])


def _place(scorer: RuleList | StepList, choice: Choice, row: np.ndarray) -> int:
    """The rule or step that a row fits."""
    return int(scorer.numbered().scores(row[None], names_of(choice))[0])


def _unit(choice: Choice, name: str) -> str:
    return words.units(choice)[name]


def _told(condition: Condition, names: Sequence[str], choice: Choice, row: np.ndarray) -> str:
    """A condition with the row's value: "job_age_s 3.2 s < 4.8 s"."""
    name = names[condition.feature]
    value, unit = float(row[list(names_of(choice)).index(name)]), _unit(choice, name)
    sign = "<" if condition.below else ">="
    threshold = f"{number(condition.threshold)} {unit}".rstrip()
    return f"{name} {valued(value, unit, condition.threshold)} {sign} {threshold}"


def _met(conditions: Sequence[Condition], names: Sequence[str], choice: Choice, row: np.ndarray, more: str = "") -> str:
    told = [_told(condition, names, choice, row) for condition in conditions] + ([more] if more else [])
    return f" ({'; '.join(told)})" if told else " (all others)"


def _missed(conditions: Sequence[Condition], what: str, names: Sequence[str], choice: Choice, row: np.ndarray) -> str:
    """The first condition that a row does not meet."""
    own = list(names_of(choice))
    for condition in conditions:
        name = names[condition.feature]
        value = row[own.index(name)]
        if (value < np.float32(condition.threshold)) != condition.below:
            sign, unit = "below" if condition.below else "at least", _unit(choice, name)
            threshold = f"{number(condition.threshold)} {unit}".rstrip()
            told = valued(float(value), unit, condition.threshold)
            return f"{what} asks for {name} {sign} {threshold}, and it has {told}"
    return ""


def _ties(scorer: RuleList, choice: Choice, row: np.ndarray, other: np.ndarray) -> str:
    """By which tie a row of the same score comes first."""
    own = list(names_of(choice))
    for tie in scorer.ties:
        name = tie.removeprefix(MOST)
        mine, theirs = float(row[own.index(name)]), float(other[own.index(name)])
        if mine != theirs:
            word, unit = "most" if tie.startswith(MOST) else "least", _unit(choice, name)
            return (
                f"among equals the {word} {name} wins: {valued(mine, unit, theirs)}, not {valued(theirs, unit, mine)}"
            )
    return "among equals the first wins"


def _cap(scorer: StepList, place: int, choice: Choice, row: np.ndarray) -> str:
    """The cap of a step with the row's numbers; empty where it has none."""
    step, names = scorer.steps[place], names_of(choice)
    if not step.of:
        return ""
    cap = float(LeastTerm(step.below).scores(row[None], names)[0])
    value, unit = float(row[names.index(step.of)]), _unit(choice, step.of)
    sign = "<" if value < cap else ">="
    return f"{step.of} {valued(value, unit, cap)} {sign} its cap {valued(cap, unit, value)}"


def _effects(scorer: Scorer, choice: Choice, row: np.ndarray, other: np.ndarray) -> str:
    """The features of which the other one's value would cost a row most, where all count at once."""
    names = names_of(choice)
    asked = [i for i, name in enumerate(names) if name in scorer.used and row[i] != other[i]]
    if not asked:
        return "among equals the first wins"
    swapped = np.tile(row, (len(asked), 1))
    swapped[np.arange(len(asked)), asked] = other[asked]
    lost = scorer.scores(row[None], names)[0] - scorer.scores(swapped, names)
    order = [i for i in np.argsort(-lost, kind="stable").tolist() if lost[i] > 0][:SHOWN]
    told = []
    for i in order:
        name, unit = names[asked[i]], _unit(choice, names[asked[i]])
        mine, theirs = float(row[asked[i]]), float(other[asked[i]])
        told.append(f"{name} {valued(mine, unit, theirs)}, not {valued(theirs, unit, mine)} (worth {lost[i]:.3g})")
    return f"what speaks for the first is {'; '.join(told)}" if told else ""
