"""The smallest change of one feature that gives a decision another answer.

A feature belongs to a row, to all rows of a group (of a job), or to all rows of the decision, as the log shows; it is
changed for all of them at once, the other features stay. Small is told in deviations of the feature over the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.problems.declarations import Choice
from clearsched.scorers.patches import conditions_of
from clearsched.scorers.policy import ScoredPolicy, names_of

GRID = 65
"""Values between the least and the most of a feature that are tried where its effect has no thresholds."""

STEPS = np.geomspace(1e-4, 1, GRID)
"""Shares of that range by which it is changed besides."""

HALVINGS = 40
"""Of the interval in which such a feature flips the answer: to the last digit of a float32."""

ROW, GROUP, DECISION = "row", "group", "decision"
"""Whose a feature is."""


@dataclass(frozen=True)
class Spread:
    """What the log tells of the features of a choice, each an array [F]."""

    low: np.ndarray
    high: np.ndarray
    deviation: np.ndarray
    whole: np.ndarray  # bool: it takes whole numbers only
    owner: tuple[str, ...]  # ROW, GROUP or DECISION


class Flip(NamedTuple):
    """A change that gives another answer."""

    feature: int  # column
    rows: np.ndarray  # of the decision, those that it is changed for
    value: float  # that it becomes
    answer: int  # row that is answered then
    distance: float  # deviations


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
    return Spread(
        rows.min(axis=0), rows.max(axis=0), rows.std(axis=0, dtype=np.float64), whole, tuple(belongs.tolist())
    )


def smallest_flip(
    policy: ScoredPolicy,
    decision: Choices,
    spread: Spread,
    wanted: int | None = None,
    among: np.ndarray | None = None,
) -> tuple[Flip | None, bool]:
    """The smallest change of one feature after which another row is answered; whether there is surely no smaller one.

    Args:
        policy: who answers.
        decision: one decision of the rank choice.
        spread: of the log's features: a feature stays within what the log has seen.
        wanted: the row that is to be answered; None: any other one.
        among: the only rows that are changed, with those that share a feature with them; None: each of them in turn.
    """
    trial = _Trial(policy, decision, spread, wanted, among)
    scorer, names = policy.scorers[policy.rank.name], names_of(policy.rank)
    found: list[Flip] = []
    brackets: list[Bracket] = []
    exact = among is None
    for feature in _asked(policy):
        if not spread.deviation[feature] > 0:
            continue
        for rows in trial.units(feature):
            piecewise = not policy.patches and scorer.is_piecewise(names[feature], len(rows))
            exact &= piecewise
            if piecewise:
                flip = trial.piecewise(feature, rows)
                found += [flip] if flip else []
            else:
                bracket = trial.bracket(feature, rows)
                brackets += [bracket] if bracket else []
    best = min(found, key=_order, default=None)
    for bracket in sorted(brackets, key=lambda bracket: (bracket.least, bracket.flip.feature)):
        if best is not None and bracket.least > best.distance:
            break
        best = min([*([best] if best else []), trial.narrowed(bracket)], key=_order)
    return best, exact


def _order(flip: Flip) -> tuple[float, int]:
    return flip.distance, flip.feature


def _asked(policy: ScoredPolicy) -> list[int]:
    """The features that the scorer of the rank choice or a patch asks for, by their columns."""
    rank = policy.rank
    patched = {c.feature for patch in policy.patches if patch.cap is None for c in conditions_of(patch, rank)}
    names = names_of(rank)
    return sorted(patched | {names.index(name) for name in policy.scorers[rank.name].used})


class _Trial:
    """One decision, whose rows are changed and scored again."""

    def __init__(
        self,
        policy: ScoredPolicy,
        decision: Choices,
        spread: Spread,
        wanted: int | None,
        among: np.ndarray | None,
    ) -> None:
        self.policy, self.decision, self.spread, self.wanted = policy, decision, spread, wanted
        self.changeable = np.flatnonzero(~decision.is_none) if among is None else among
        self.none = decision.is_none
        self.rows = decision.features
        self._scoring = policy.scoring()
        self.scores = self._scored(self.rows)
        self.answer = int(self._answers(self.scores[None])[0])
        self.rank: Choice = policy.rank

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

    def piecewise(self, feature: int, rows: np.ndarray) -> Flip | None:
        """The smallest change across a threshold, or to where the score of a row crosses that of another one."""
        names, scorer = names_of(self.rank), self.policy.scorers[self.rank.name]
        marks = scorer.thresholds(names[feature])
        begins = np.concatenate([[self.spread.low[feature]], marks]).astype(np.float32)
        changed = self._changed(feature, rows, begins)
        slope = scorer.slopes(names[feature], changed, names)
        others = np.delete(self.scores, rows)
        missing = others[None] - self._scored(changed)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            met = np.repeat(begins, len(rows))[:, None] + missing / slope[:, None]
        met = met[np.isfinite(met)].astype(np.float32)
        up, down = np.float32(np.inf), np.float32(-np.inf)
        values = np.concatenate([marks, np.nextafter(marks, down), met, np.nextafter(met, up), np.nextafter(met, down)])
        if self.spread.whole[feature]:
            values = np.concatenate([np.floor(values), np.floor(values) + 1])
        return self._first(feature, rows, values)

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
        return Flip(feature, rows, value, answer, abs(value - own) / float(spread.deviation[feature]))
