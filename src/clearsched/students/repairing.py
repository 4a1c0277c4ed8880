"""An unsafe student made safe: another structure near its own, before its refinement begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.search.known import key_of
from clearsched.search.probing import Probes
from clearsched.students.assembly import numbered
from clearsched.students.numbers import Refinement
from clearsched.students.restructuring import Around, Safe, Tell, cheapest, options_of, screened
from clearsched.students.rounding import Columns

REPAIRS = 200
"""Repairs that are tried for safety, the cheapest first; one that is not safe is given up at its first such episode."""

SAFE = 8
"""Of the safe ones so many, the first that are found, are compared on more episodes."""

REPAIR_SHARE = 1 / 6
"""Of the training episodes: they tell which of these is the cheapest."""

SHIFTS = (-2.0, -1.0, 1.0, 2.0)
"""By so many deviations, those with which a search for it begins (`Number.step`), a number is changed."""

SHIFTED = 384
"""Of these so many, the cheapest, are run on every episode that told: sums of trees have hundreds of numbers."""

RARE = 0.2
"""Share of the candidates, at most, that have what a first rule is tried for in a repair."""


def repaired(student: ScoredPolicy, around: Around, is_safe: Safe) -> ScoredPolicy | None:
    """The cheapest safe policy next to an unsafe student: it never idles, or has another structure; None: none is.

    What matters is that it is safe, refinement goes on from there. There are some thousands, so a few short episodes
    tell which are asked whether they are safe, and more episodes which of the safe ones is the cheapest. What cures
    most is tried in any case, other structures as long as they are among the cheapest.
    """
    safe = list(islice(filter(is_safe, repairs(student, around)), SAFE))
    return by_cost(safe, around)[0] if safe else None


def descended(
    student: ScoredPolicy,
    around: Around,
    probes: Probes,
    columns: Mapping[str, Columns],
    changes: int,
    tell: Tell = lambda line: None,
) -> ScoredPolicy | None:
    """A safe policy a few `changes` at most from an unsafe student, where no single one is enough; None: there is none.

    Two episodes that it strays on may need a change each. So of all changes the one is made that leaves the least
    beyond the bounds on all episodes that told so far, the cheapest of equals; what strays then tells of another one.
    Equals are asked until one is safe: where each strays on an episode of its own, the cheapest alone leads nowhere. A
    change may be of a number alone: what no other structure cures may take a threshold a little higher. Where every
    change is for the worse the way on is another one than back, so nothing is gone through twice (as in F. Glover, Tabu
    search, 1989).
    """
    been = {key_of(student)}
    for number in range(changes):
        options = [*repairs(student, around), *shifted(student, columns, around)]
        options = [option for option in options if key_of(option) not in been]
        if not options:
            return None
        tell(f"repair by several changes: number {number + 1} of {changes} at most, one of {len(options):,}")
        options = [options[place] for place in cheapest(options, around.costs, around.short)]
        equals = by_cost([options[place] for place in probes.nearest(options, SAFE)], around)
        safe = next((each for each in equals if not probes.verdict(each).strays), None)
        if safe is not None:
            return safe
        student = equals[0]
        been.add(key_of(student))
    return None


def repairs(student: ScoredPolicy, around: Around) -> list[ScoredPolicy]:
    """What may make a student safe, the cheapest first: all cures, and of the other structures `REPAIRS` with them."""
    found = cures(student, around)
    options = [*found, *(option for each in options_of(student, around).values() for option in each)]
    order = cheapest(options, around.costs, around.short) if options else []
    return [options[place] for rank, place in enumerate(order) if rank < REPAIRS or place < len(found)]


def shifted(student: ScoredPolicy, columns: Mapping[str, Columns], around: Around) -> list[ScoredPolicy]:
    """The student with one of its numbers higher or lower, by one of `SHIFTS`; of very many, the `SHIFTED` cheapest."""
    program = Refinement(student, columns)
    start = np.array([number.start for number in program.numbers])
    found = []
    for place, number in enumerate(program.numbers):
        for deviations in SHIFTS:
            values = start.copy()
            values[place] = np.clip(number.start + deviations * number.step, number.low, number.high)
            if values[place] != number.start:
                found.append(program.filled(values))
    return list(screened(found, around.costs, around.short, SHIFTED))


def by_cost(policies: Sequence[ScoredPolicy], around: Around) -> list[ScoredPolicy]:
    """A few policies, the cheapest first, on more episodes."""
    more = around.train[: max(1, round(REPAIR_SHARE * len(around.train)))]
    return [policies[place] for place in np.argsort(around.costs(policies, more).mean(axis=1), kind="stable")]


def cures(student: ScoredPolicy, around: Around) -> list[ScoredPolicy]:
    """The student that never idles, and with a first rule for what the expert's log hardly shows."""
    never = [replace(student, none=False)] if student.none else []
    rules = student.scorers[around.choice]
    if not isinstance(rules, RuleList):
        return never
    lists = filter(around.budget.keeps, headed(rules, around.features, around.max_rules, student.none))
    return never + [replace(student, scorers={**student.scorers, around.choice: rules}) for rules in lists]


def headed(rules: RuleList, features: np.ndarray, max_rules: int, none: bool) -> list[RuleList]:
    """The lists with one more rule, the first, for what few candidates have, alone or where a flag is set.

    Executors that are parked in a job, say: an expert's log has few of them, so no rule is distilled for them, and a
    job that holds them may look well served. A list that has all its rules gives up one of them.
    """
    columns = Columns(features)
    flags, rare = [], []
    for column, values in enumerate(features.T):
        least = values.min()
        more = values[values > least]
        if len(more) and np.isin(values, (0.0, 1.0)).all():
            flags.append(Condition(column, False, 1.0))
        if 0 < len(more) <= RARE * len(values):
            rare.append(Condition(column, False, columns.round(column, float(more.min()))))
    heads = [(one,) for one in rare] + [(flag, one) for one in rare for flag in flags if flag.feature != one.feature]
    rests = [rules.rules]
    if len(rules.rules) >= max_rules:
        rests = [(*rules.rules[:place], *rules.rules[place + 1 :]) for place in range(len(rules.rules) - 1)]
    return [
        replace(rules, rules=tuple(numbered([Rule(head, max(rest[0].value, 0.0) + 1), *rest], none)), shares=())
        for rest in rests
        for head in heads
    ]
