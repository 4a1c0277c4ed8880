"""Other structures for a student, in closed loop: a rule, tie or cap more, less, or other; successive halving.

Distillation asks which rules choose as the expert does. This asks which schedule better: an expert's rare choice may
be worth more than a frequent one. Source of the halving: Z. Karnin, T. Koren, O. Somekh, Almost optimal exploration in
multi-armed bandits, ICML 2013.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearsched.problems.episodes import Episode
from clearsched.scorers.conditions import Condition, Rule
from clearsched.scorers.policy import ScoredPolicy
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.ties import MOST
from clearsched.students.assembly import divided, none_place, numbered
from clearsched.students.level_structures import LevelSpace, level_structures
from clearsched.students.neighbours import further, neighbours
from clearsched.students.rounding import Columns

QUANTILES = (0.2, 0.5, 0.8)
"""Of a feature's values among the candidates: the thresholds that are tried for a further condition."""

SCREEN, SCREENED = 1 / 384, 192
"""After such a share of the training episodes, short ones, so many options go on to the heats on long ones."""

Heats = Sequence[tuple[float, int]]
"""After such a share of the episodes so many options go on; the last of them run all."""

HEATS: Heats = ((1 / 96, 48), (1 / 24, 12), (1 / 6, 3))
"""Of the options for one of the two choices."""

SHAPES = 2
"""Options of every heat for each structure that is wanted of several, at least: some have the same shape."""

ROUGHLY = 1 / 3
"""Share of the training episodes that tell which structures are the nearest, where several are wanted: these are judged
once they have their numbers."""

GAIN = 0.0005
"""Share of the mean cost that a further rule or condition must save."""

SLACK = 0.002
"""Share of the mean cost by which a structure may be worse whose numbers are searched before it is judged."""

NUMBER = re.compile(r"(?<!\w)-?\d[\d.]*(e[-+]?\d+)?")
"""In the JSON of a scorer: not the digits of a feature's name."""

ANY = 1_000_000
"""No budget."""

Safe = Callable[[ScoredPolicy], bool]
Costs = Callable[[Sequence[ScoredPolicy], Sequence[Episode]], np.ndarray]
"""float64[policies, episodes]: `search.trials.Trials.cost`."""

Tell = Callable[[str], None]
"""A line for who waits for a fit."""


class Budget(NamedTuple):
    """What rules that rank candidates may ask for, beside their number."""

    features: int = ANY
    conditions: int = ANY  # of a rule

    def keeps(self, rules: RuleList) -> bool:
        """Whether the rules ask for no more; ties have a budget of their own."""
        features = {condition.feature for rule in rules.rules for condition in rule.conditions}
        return len(features) <= self.features and all(len(rule.conditions) <= self.conditions for rule in rules.rules)


class Around(NamedTuple):
    """What structures next to a student are compared by."""

    choice: str  # the choice among candidates
    costs: Costs  # runs policies
    train: Sequence[Episode]  # episodes to compare on
    short: Sequence[Episode]  # of the same jobs: the first of them leave out what is worse at once
    features: np.ndarray  # float32[n, F] of candidates, to tell thresholds by
    max_rules: int  # of a list
    max_ties: int = 0  # of a list: they change where it may have some
    level_choice: str = ""
    level: LevelSpace | None = None  # of the choice of a level, where the problem has one
    budget: Budget = Budget()  # of a list, beside its length


def restructured(
    student: ScoredPolicy,
    around: Around,
    is_safe: Safe = lambda policy: True,
    count: int = 1,
    tried: Collection[str] = (),
) -> list[ScoredPolicy]:
    """The best safe structures next to that of a student, the best first, each of another shape.

    Args:
        student: whose rules, ties and caps may change.
        around: what they are compared by.
        is_safe: what may be taken.
        count: structures, at most. One alone must be better than the student as it is; of several each may be a little
            worse, since their numbers are searched before they are judged.
        tried: shapes that are left out.
    """
    judged = around.train[: max(1, round(ROUGHLY * len(around.train)))] if count > 1 else around.train
    own = around.costs([student], judged)[0].mean()
    options, means = _compared(student, around, judged, own, count, tried)
    if not options:
        return []
    more = [_size(option) - _size(student) for option in options]
    found = means + GAIN * abs(own) * np.maximum(more, 0)
    bar = own + SLACK * abs(own) * (count > 1)
    shapes: dict[str, ScoredPolicy] = {}
    for place in np.argsort(found, kind="stable").tolist():
        if len(shapes) == count or not found[place] < bar:
            break
        shape = shape_of(options[place])
        if shape not in shapes and shape not in tried and is_safe(options[place]):
            shapes[shape] = options[place]
    return list(shapes.values())


def _compared(
    student: ScoredPolicy,
    around: Around,
    judged: Sequence[Episode],
    own: float,
    count: int,
    tried: Collection[str],
) -> tuple[list[ScoredPolicy], np.ndarray]:
    """The best options of each choice, and the best of two choices at once; float64[options]: their mean costs.

    What is better for the rules mostly is so with another limit too: two steps for the price of one round.

    Args:
        student: whose structure changes.
        around: what they are compared by.
        judged: the episodes of the last comparison, the first of the training episodes.
        own: mean cost of the student on them.
        count: options wanted, at least.
        tried: shapes that are left out.
    """
    found: list[ScoredPolicy] = []
    means = np.empty(0)
    better: list[list[ScoredPolicy]] = []
    heats = HEATS if count == 1 else [(share, max(most, SHAPES * count)) for share, most in HEATS]
    heats = [(share * len(around.train) / len(judged), most) for share, most in heats]
    for options in options_of(student, around).values():
        new = [option for option in options if shape_of(option) not in tried] if tried else options
        if not new:
            continue
        left, costs = halved(screened(new, around.costs, around.short), around.costs, judged, heats)
        order = np.argsort(costs, kind="stable").tolist()
        better.append([left[place] for place in order if costs[place] < own])
        found, means = found + left, np.append(means, costs)
    if len(better) == 2:
        level = around.level_choice
        both = [
            replace(first, scorers={**first.scorers, level: second.scorers[level]})
            for first, second in zip(*better, strict=False)
        ][:count]
        found, means = found + both, np.append(means, around.costs(both, judged).mean(axis=1))
    return found, means


def shape_of(policy: ScoredPolicy) -> str:
    """The scorers of a policy but for their numbers: two of one shape become the same when these are searched."""
    return NUMBER.sub("#", json.dumps({name: scorer.to_json() for name, scorer in policy.scorers.items()}))


def _size(policy: ScoredPolicy) -> int:
    return sum(scorer.complexity() for scorer in policy.scorers.values())


def options_of(student: ScoredPolicy, around: Around) -> dict[str, list[ScoredPolicy]]:
    """The student with each structure next to its own, by the choice whose scorer is another."""
    found: dict[str, list[Scorer]] = {}
    rules = student.scorers[around.choice]
    if isinstance(rules, RuleList):
        options = structures(rules, around.features, around.max_rules, student.none)
        found[around.choice] = [*filter(around.budget.keeps, options), *other_ties(rules, around.max_ties)]
    if around.level is not None:
        found[around.level_choice] = level_structures(student.scorers[around.level_choice], around.level)
    return {
        choice: [replace(student, scorers={**student.scorers, choice: scorer}) for scorer in scorers]
        for choice, scorers in found.items()
        if scorers
    }


def other_ties(rules: RuleList, most: int) -> list[RuleList]:
    """The lists with a tie more, less, or another one, or with the ties in the other order."""
    ties = rules.ties
    told = [sign + name for name in rules.names for sign in ("", MOST)]
    used = {tie.removeprefix(MOST) for tie in ties}
    found = [ties[::-1]] if len(ties) > 1 else []
    for place in range(len(ties)):
        rest = used - {ties[place].removeprefix(MOST)}
        found.append((*ties[:place], *ties[place + 1 :]))
        found += [
            (*ties[:place], tie, *ties[place + 1 :])
            for tie in told
            if tie != ties[place] and tie.removeprefix(MOST) not in rest
        ]
    if len(ties) < most:
        found += [(*ties, tie) for tie in told if tie.removeprefix(MOST) not in used]
    return [replace(rules, ties=option, shares=()) for option in found] if most else []


def screened(
    options: Sequence[ScoredPolicy], costs: Costs, short: Sequence[Episode], most: int = SCREENED
) -> Sequence[ScoredPolicy]:
    """The options that are the best on a few short episodes, in their order: most of a thousand are plainly worse."""
    if len(options) <= most:
        return options
    return [options[place] for place in sorted(cheapest(options, costs, short)[:most])]


def cheapest(options: Sequence[ScoredPolicy], costs: Costs, short: Sequence[Episode]) -> list[int]:
    """The places of the options, those first that cost the least on a few short episodes."""
    means = costs(options, short[: max(1, round(SCREEN * len(short)))]).mean(axis=1)
    return np.argsort(means, kind="stable").tolist()


def halved(
    options: Sequence[ScoredPolicy], costs: Costs, train: Sequence[Episode], heats: Heats = HEATS
) -> tuple[list[ScoredPolicy], np.ndarray]:
    """The options that are left after all heats, in their order, and float64[options]: their mean costs."""
    left, done = list(options), np.empty((len(options), 0))
    for share, most in heats:
        episodes = max(1, round(share * len(train)))
        if episodes >= len(train) or len(left) <= most:
            continue
        done = np.concatenate([done, costs(left, train[done.shape[1] : episodes])], axis=1)
        stays = np.sort(np.argsort(done.mean(axis=1), kind="stable")[:most])
        left, done = [left[i] for i in stays], done[stays]
    done = np.concatenate([done, costs(left, train[done.shape[1] :])], axis=1)
    return left, done.mean(axis=1)


def structures(rules: RuleList, features: np.ndarray, max_rules: int, none: bool) -> list[RuleList]:
    """The lists next to one: `neighbours.neighbours`, and those with a further condition or a rule split by one.

    Of the rules on either side of "none of these" it may come to stand between the two parts, too: no single other
    change makes a rule for all into "what meets this, or nothing now".
    """
    columns = Columns(features)
    border = none_place(rules.rules)
    found = neighbours(rules.rules, columns, max_rules, none=none)
    conditions = conditions_on(features, columns)
    for place, rule in enumerate(rules.rules):
        head, tail = list(rules.rules[:place]), list(rules.rules[place + 1 :])
        for condition in further(rule.conditions, conditions):
            narrower = Rule((*rule.conditions, condition), rule.value)
            if tail:
                found.append([*head, narrower, *tail])
            if len(rules.rules) < max_rules:
                found.append([*head, narrower._replace(value=_above(rule, head)), rule, *tail])
                if none and place in (border - 1, border):
                    found.append(divided([*head, narrower, rule, *tail], place + 1))
    return [replace(rules, rules=tuple(numbered(option, none)), shares=()) for option in found]


def _above(rule: Rule, head: Sequence[Rule]) -> float:
    """A value just above that of a rule, on the same side of "none of these", whose value is 0."""
    highest = head[-1].value if head else rule.value + 2
    if rule.value <= 0 < highest:
        highest = 0.0 if rule.value < 0 else 0.5
    return (rule.value + highest) / 2


def conditions_on(features: np.ndarray, columns: Columns) -> list[Condition]:
    """Single conditions on each feature."""
    found = []
    for column in range(features.shape[1]):
        values = features[:, column]
        tried = {columns.round(column, float(value)) for value in np.quantile(values, QUANTILES)}
        for threshold in sorted(tried):
            if values.min() < threshold <= values.max():
                found += [Condition(column, True, threshold), Condition(column, False, threshold)]
    return found
