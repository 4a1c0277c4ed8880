"""The smallest change of one feature that gives a decision another answer.

A feature belongs to a row, to all rows of a group (of a job), or to all rows of the decision, as the log shows; it is
changed for all of them at once, the other features stay. Small is told in deviations of the feature over the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clearsched.compiled.asking import Asked, Held, hold
from clearsched.compiled.flipping import ANY, Found, smallest
from clearsched.compiled.reach import DECISION, GROUP, ROW, Marks, Spread
from clearsched.compiled.scoring import NONE, NOTHING
from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice
from clearsched.scorers.patches import conditions_of
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.scorer import Scoring

GRID = 65
"""Values between the least and the most of a feature that are tried where its effect is no straight line in pieces."""

STEPS = np.geomspace(1e-4, 1, GRID)
"""Shares of that range by which it is changed besides."""

HALVINGS = 40
"""Of the interval in which such a feature flips the answer: to the last digit of a float32."""


class Flip(NamedTuple):
    """A change that gives another answer."""

    feature: int  # column
    rows: np.ndarray  # of the decision, those that it is changed for
    value: float  # that it becomes
    answer: int  # row that is answered then
    distance: float  # deviations
    owner: int  # whose the feature is


class Features(NamedTuple):
    """What a search changes."""

    marks: Marks  # of the features that compiled code searches
    others: list[int]  # columns of those that are searched by trial


class Bracket(NamedTuple):
    """Two values of a feature next to each other on a grid, of which only the further one flips the answer."""

    flip: Flip
    near: float
    least: float  # deviations of `near`: no flip between the two is smaller


def spread_of(choices: Choices) -> Spread:
    """What a log tells of its features; rows of none have none."""
    real = ~choices.is_none
    rows, owner, group = choices.features[real], choices.owner[real], choices.group[real]
    whole = np.all(rows == np.floor(rows), axis=0)
    order = np.lexsort((group, owner))
    differs = {
        name: np.any((np.diff(rows[order], axis=0) != 0) & same[:, None], axis=0)
        for name, same in (
            (GROUP, (np.diff(owner[order]) == 0) & (np.diff(group[order]) == 0)),
            (DECISION, np.diff(owner[order]) == 0),
        )
    }
    belongs = np.where(~differs[DECISION], DECISION, np.where(~differs[GROUP], GROUP, ROW))
    low, high = (end.astype(np.float64) for end in (rows.min(axis=0), rows.max(axis=0)))
    return Spread(low, high, rows.std(axis=0, dtype=np.float64), whole, belongs)


@dataclass(frozen=True)
class Searched:
    """A policy whose decisions are searched for flips: what each search asks of it is made once."""

    policy: ScoredPolicy

    @cached_property
    def held(self) -> Held:
        """The scorer of the rank choice, handed over to compiled code."""
        return hold(Asked(self.policy.packed(self.policy.rank), NOTHING, NOTHING, NOTHING))

    @cached_property
    def scoring(self) -> Scoring:
        """Its scores."""
        return self.policy.scoring()

    @cached_property
    def to_any(self) -> Features:
        """The features on the way to any other answer."""
        return self._features(any_answer=True)

    @cached_property
    def to_certain(self) -> Features:
        """The features on the way to a certain answer."""
        return self._features(any_answer=False)

    def _features(self, *, any_answer: bool) -> Features:
        straight, others = asked_features(self.policy, any_answer)
        return Features(marks_of(self.policy, straight), others)

    @property
    def is_straight(self) -> bool:
        """Whether compiled code finds every flip to any other answer, which takes a thousandth of the time."""
        return not self.to_any.others


def smallest_flip(
    policy: ScoredPolicy | Searched,
    decision: Choices,
    spread: Spread,
    wanted: int | None = None,
    most: int | None = None,
) -> tuple[Flip | None, bool]:
    """The smallest change of one feature after which another row is answered; whether there is surely no smaller one.

    Args:
        policy: who answers; made ready where it is asked often.
        decision: one decision of the rank choice.
        spread: of the log's features: a feature stays within what the log has seen.
        wanted: the row that is to be answered; None: any other one.
        most: so many candidates are changed, the best ones, with those that share a feature with them; None: all.
    """
    searched = policy if isinstance(policy, Searched) else Searched(policy)
    marks, others = searched.to_any if wanted is None else searched.to_certain
    best = _straight_flip(searched.held, decision, spread, wanted, most, marks) if len(marks.columns) else None
    if not others:
        return best, most is None or most >= int((~decision.is_none).sum())
    trial = _Trial(searched, decision, spread, wanted, most)
    found = (
        trial.bracket(feature, rows)
        for feature in others
        if spread.deviation[feature] > 0
        for rows in trial.units(feature)
    )
    brackets = [bracket for bracket in found if bracket]
    for bracket in sorted(brackets, key=lambda bracket: (bracket.least, bracket.flip.feature)):
        if best is not None and bracket.least > best.distance:
            break
        best = min([*([best] if best else []), trial.narrowed(bracket)], key=_order)
    return best, False


def asked_features(policy: ScoredPolicy, any_answer: bool = True) -> tuple[list[int], list[int]]:
    """The features that the rank choice asks for, by their columns: those that compiled code searches, and the others.

    `any_answer`: whether any other answer will do; a certain one asks more of the scorer.
    """
    rank, names = policy.rank, names_of(policy.rank)
    scorer = policy.scorers[rank.name]
    patched = {c.feature for patch in policy.patches if patch.cap is None for c in conditions_of(patch, rank)}
    asked = sorted(patched | {names.index(name) for name in scorer.used})
    together = 1 if any_answer else 2
    straight = [] if scorer.relative else [i for i in asked if scorer.is_piecewise(names[i], together)]
    return straight, [i for i in asked if i not in straight]


def marks_of(policy: ScoredPolicy, features: Sequence[int]) -> Marks:
    """The thresholds of some features, by their columns, in scorer and patches."""
    rank = policy.rank
    scorer, names = policy.scorers[rank.name], names_of(rank)
    asked = [c for patch in policy.patches if patch.cap is None for c in conditions_of(patch, rank)]
    marks = [
        np.union1d(scorer.thresholds(names[i]), np.array([c.threshold for c in asked if c.feature == i], np.float32))
        for i in features
    ]
    first = np.cumsum([0, *(len(own) for own in marks)])
    return Marks(np.array(features, np.int64), first, np.concatenate([*marks, np.zeros(0, np.float32)]))


def _straight_flip(
    held: Held,
    decision: Choices,
    spread: Spread,
    wanted: int | None,
    most: int | None,
    marks: Marks,
) -> Flip | None:
    """The smallest change of one of the features in which scores are straight lines in pieces."""
    real = np.flatnonzero(~decision.is_none)
    if not len(real):
        return None
    goal = ANY if wanted is None else NONE if decision.is_none[wanted] else int(np.searchsorted(real, wanted))
    found = smallest(
        held,
        np.ascontiguousarray(decision.features[real], np.float32),
        decision.group[real].astype(np.int64),
        len(real) < len(decision.features),
        marks,
        spread,
        len(real) if most is None else most,
        goal,
    )
    none = np.flatnonzero(decision.is_none)
    owner = int(spread.owner[found.feature])
    return flip_of(found, owner, decision.group, real, int(none[0]) if len(none) else NONE)


def flip_of(found: Found, owner: int, group: np.ndarray, real: np.ndarray, none: int) -> Flip | None:
    """What compiled code found, by the rows of a decision: `real` are the candidates, `none` is "none of these"."""
    if found.feature < 0:
        return None
    row = int(real[found.row])
    rows = real if owner == DECISION else real[group[real] == group[row]] if owner == GROUP else np.array([row])
    answer = none if found.answer == NONE else int(real[found.answer])
    return Flip(int(found.feature), rows, float(found.value), answer, float(found.distance), owner)


def _order(flip: Flip) -> tuple[float, int]:
    return flip.distance, flip.feature


class _Trial:
    """One decision, whose rows are changed and scored again."""

    def __init__(
        self,
        searched: Searched,
        decision: Choices,
        spread: Spread,
        wanted: int | None,
        most: int | None,
    ) -> None:
        self.policy, self.decision, self.spread, self.wanted = searched.policy, decision, spread, wanted
        self.none = decision.is_none
        self.rows = decision.features
        self._scoring = searched.scoring
        self.scores = self._scored(self.rows)
        real = np.flatnonzero(~self.none)
        self.changeable = real[np.argsort(-self.scores[real], kind="stable")[:most]]
        self.answer = int(self._answers(self.scores[None])[0])
        self.rank: Choice = searched.policy.rank

    def _scored(self, rows: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
        return np.array(self._scoring(rows, starts), np.float64)

    def _answers(self, scores: np.ndarray) -> np.ndarray:
        """int64[v]: the row that is answered under each of scores float64[v, n]: the first best, none before others."""
        order = np.argsort(~self.none, kind="stable")
        answers: np.ndarray = order[np.argmax(scores[:, order], axis=1)]
        return answers

    def units(self, feature: int) -> Iterator[np.ndarray]:
        """The sets of rows that have the feature together."""
        real, belongs = np.flatnonzero(~self.none), self.spread.owner[feature]
        if belongs == DECISION:
            yield real
        elif belongs == GROUP:
            for group in np.unique(self.decision.group[self.changeable]).tolist():
                yield real[self.decision.group[real] == group]
        else:
            yield from self.changeable[:, None]

    def bracket(self, feature: int, rows: np.ndarray) -> Bracket | None:
        """The smallest change on a grid over what the log has seen, and the grid's value before it."""
        own = float(self.rows[rows[0], feature])
        low, high = float(self.spread.low[feature]), float(self.spread.high[feature])
        steps = (high - low) * STEPS
        grid = np.concatenate([np.linspace(low, high, GRID), own + steps, own - steps])
        if self.spread.whole[feature]:
            grid = np.round(grid)
        flip = self._first(feature, rows, grid)
        if flip is None:
            return None
        if self.spread.whole[feature]:
            return Bracket(flip, flip.value, flip.distance)
        between = grid[(np.minimum(own, flip.value) < grid) & (grid < np.maximum(own, flip.value))].astype(np.float32)
        near = float(between[np.argmax(np.abs(between - own))]) if len(between) else own
        return Bracket(flip, near, abs(near - own) / float(self.spread.deviation[feature]))

    def narrowed(self, bracket: Bracket) -> Flip:
        """The smallest change within a bracket, by halving."""
        flip, near = bracket.flip, bracket.near
        for _ in range(HALVINGS):
            middle = float(np.float32((near + flip.value) / 2))
            if middle in (near, flip.value):
                break
            found = self._first(flip.feature, flip.rows, np.array([middle]))
            near, flip = (near, found) if found else (middle, flip)
        return flip

    def _changed(self, feature: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """float32[values x rows, F]: the rows with each value of a feature."""
        changed = np.tile(self.rows[rows], (len(values), 1))
        changed[:, feature] = np.repeat(values, len(rows))
        return changed

    def _with(self, feature: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """float64[v, n]: the scores of the decision with each value of a feature of some rows."""
        if self.policy.scorers[self.rank.name].relative:
            whole = np.tile(self.rows, (len(values), 1, 1))
            whole[:, rows, feature] = values[:, None]
            starts = np.arange(len(values) + 1) * len(self.rows)
            return self._scored(whole.reshape(-1, self.rows.shape[1]), starts).reshape(len(values), -1)
        # All in one call: under patches a score is a place among the rows that are scored together.
        scored = self._scored(np.concatenate([self.rows, self._changed(feature, rows, values)]))
        before, changed = np.split(scored, [len(self.rows)])
        scores = np.tile(before, (len(values), 1))
        scores[:, rows] = changed.reshape(len(values), len(rows))
        return scores

    def _first(self, feature: int, rows: np.ndarray, values: np.ndarray) -> Flip | None:
        """The nearest of some values that flips the answer."""
        own, spread = float(self.rows[rows[0], feature]), self.spread
        values = np.unique(values.astype(np.float32))
        values = values[(values >= spread.low[feature]) & (values <= spread.high[feature]) & (values != own)]
        values = values[np.argsort(np.abs(values - np.float32(own)), kind="stable")]
        answers = self._answers(self._with(feature, rows, values))
        flips = np.flatnonzero(answers == self.wanted if self.wanted is not None else answers != self.answer)
        flips = flips[answers[flips] != self.answer]
        if not len(flips):
            return None
        value, answer = float(values[flips[0]]), int(answers[flips[0]])
        distance = abs(value - own) / float(spread.deviation[feature])
        return Flip(feature, rows, value, answer, distance, int(spread.owner[feature]))
