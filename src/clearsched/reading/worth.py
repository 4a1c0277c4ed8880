"""What each piece of a student is worth: how often it speaks, what changes without it, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clearsched.decisions.answers import level_answers, rank_answers
from clearsched.decisions.choices import Choices
from clearsched.evaluation.statistics import Interval, generator, paired_difference
from clearsched.layout import layout
from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import Episode
from clearsched.problems.problem import Instance
from clearsched.scorers.pieces import speakers
from clearsched.scorers.policy import ScoredPolicy, names_of


class Worth(NamedTuple):
    """What a piece is worth; None where it was not measured, or the piece cannot be left out."""

    choice: str
    piece: str
    fires: float | None  # share of the candidates (of a level: of the decisions) for which it speaks
    answers: float | None  # share of the decisions whose answer it gave
    changes: float | None  # share of the decisions whose answer is another one without it
    cost: Interval | None  # by how much the objective is worse without it, % of it with it; none where that is 0


class Bench(NamedTuple):
    """Episodes on which a student is run without a piece."""

    instance: Instance
    episodes: Sequence[Episode]
    confidence: float = 0.95
    resamples: int = 2000


def worth_of(policy: ScoredPolicy, logged: Mapping[str, Choices], most: int, bench: Bench | None) -> list[Worth]:
    """Every piece of every scorer in the order in which they are printed.

    Args:
        policy: whose pieces are left out, one at a time.
        logged: decisions by the name of the choice, those with two answers or more count; may be empty.
        most: the largest level.
        bench: where it is run; without one there is no cost.
    """
    base = None if bench is None else _objective(policy, bench)
    found = []
    for choice in policy.problem.choices:
        shares = _Shares(policy, choice, logged.get(choice.name), most)
        for place, (name, other) in enumerate(_without(policy, choice)):
            cost = None
            if other is not None and bench is not None and base is not None and base.mean():
                cost = _cost_of(_objective(other, bench), base, bench)
            changes = None if other is None else shares.changes(other)
            found.append(Worth(choice.name, name, *shares.of(place), changes, cost))
    return found


def _without(policy: ScoredPolicy, choice: Choice) -> Iterator[tuple[str, ScoredPolicy | None]]:
    """The pieces of a choice's scorer, then the patches on it: the name of each, and the policy without it."""
    for piece in policy.scorers[choice.name].pieces():
        scorers = None if piece.without is None else {**policy.scorers, choice.name: piece.without}
        yield piece.name, None if scorers is None else replace(policy, scorers=scorers)
    for place, patch in enumerate(policy.patches):
        if (patch.cap is None) == (choice.form == "rank"):
            rest = (*policy.patches[:place], *policy.patches[place + 1 :])
            yield f"patch {place + 1}", replace(policy, patches=rest)


def _objective(policy: ScoredPolicy, bench: Bench) -> np.ndarray:
    name = bench.instance.objective.name
    outcomes = policy.run(bench.instance, bench.episodes)
    return np.array([outcome.measures[name] for outcome in outcomes])


def _cost_of(values: np.ndarray, base: np.ndarray, bench: Bench) -> Interval:
    """By how much `values` are worse than `base`, % of that, episode by episode."""
    worse = (values, base) if bench.instance.objective.lower_is_better else (base, values)
    found = paired_difference(*worse, generator(0, "students", "worth"), bench.confidence, bench.resamples)
    return found.scaled(100.0 / abs(float(base.mean())))


class _Shares:
    """How often the pieces of one scorer speak in logged decisions, and what changes without one."""

    def __init__(self, policy: ScoredPolicy, choice: Choice, choices: Choices | None, most: int) -> None:
        self.choices, self.most, self.rank = choices, most, choice.form == "rank"
        if choices is None:
            return
        self.answer = self._answers(policy)
        self.matters = ~choices.trivial
        rows = np.flatnonzero(~choices.is_none) if self.rank else choices.starts[:-1]
        spoke = policy.scorers[choice.name].firing(choices.features[rows], names_of(choice))
        self.spoke, self.speakers = None, speakers(policy.scorers[choice.name])
        if spoke is not None:
            self.spoke = np.full(len(choices.features), -1)
            self.spoke[rows] = spoke
            self.rows = rows

    def _answers(self, policy: ScoredPolicy) -> np.ndarray:
        assert self.choices is not None
        if self.rank:
            return rank_answers(policy, self.choices)
        return level_answers(policy, self.choices, self.most)

    def of(self, place: int) -> tuple[float | None, float | None]:
        """How often the piece of a place fires, and how often it gave the answer."""
        if self.choices is None or self.spoke is None or place >= self.speakers:
            return None, None
        fires = float((self.spoke[self.rows] == place).mean())
        at = self.answer if self.rank else self.choices.starts[:-1]
        return fires, float((self.spoke[at] == place)[self.matters].mean())

    def changes(self, other: ScoredPolicy) -> float | None:
        """Share of the decisions with two answers or more that another policy answers otherwise."""
        if self.choices is None:
            return None
        return float((self._answers(other) != self.answer)[self.matters].mean())


def table(policy: ScoredPolicy, found: Sequence[Worth], bench: Bench | None) -> list[str]:
    """The worth of all pieces as text; columns that were not measured are left out."""
    lines: list[str] = []
    for choice in policy.problem.choices:
        rows = [worth for worth in found if worth.choice == choice.name]
        if not rows:
            continue
        body = [
            [worth.piece, *map(_share, (worth.fires, worth.answers, worth.changes)), *_cost(worth)] for worth in rows
        ]
        header = [choice.name, "fires", "answers", "changes", "cost without (%)", "CI (%)"]
        lines += ["", *layout(header, body, left=1)]
    if not lines:
        return []
    told = [
        "What each piece is worth. Fires: share of the candidates for which it speaks; answers: of the decisions with",
        "two answers or more, those whose answer it gave; changes: those with another answer without it.",
    ]
    if bench is not None:
        objective = bench.instance.objective
        told.append(
            f"Cost without: mean {objective.short} on {bench.instance.describe('validation', bench.episodes)}, paired."
        )
    return [*told, *lines]


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _cost(worth: Worth) -> list[Any]:
    if worth.cost is None:
        return ["", ""]
    low, high = worth.cost.low, worth.cost.high
    return [f"{worth.cost.mean:+.2f}", f"{low:+.2f} to {high:+.2f}" if low == low else "-"]
