"""Why a request was answered as it was, in the words of `clearsched students explain`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clearsched.compiled.asking import NOBODY
from clearsched.compiled.scoring import NONE
from clearsched.decisions.choices import Choices
from clearsched.reading.explaining import Telling
from clearsched.reading.flipping import DECISION, GROUP, ROW, Flip, Spread, smallest_flip
from clearsched.reading.reasons import level_reason
from clearsched.scorers import words
from clearsched.scorers.patches import conditions_of, meets
from clearsched.scorers.policy import ScoredPolicy
from clearsched.serving.deciding import Decided, Decider, needed_of
from clearsched.serving.schema import Change, Explanation

MOST_CHANGED = 64
"""Candidates of a decision of which changes are searched: the search takes a time that grows with their square."""

RIVALS = 4
"""Candidates, the best ones, whose features are changed."""


@dataclass(frozen=True)
class Naming(Telling):
    """A request of which candidates are called what their caller calls them."""

    candidates: list[Any] = ()  # type: ignore[assignment]  # as the request has them

    def name(self, row: int) -> str:
        """For example "stage 57", "the last one (job 12)" or "none of these (leave the executors idle)"."""
        rank = self.policy.rank
        if self.decision.is_none[row]:
            return f"none of these ({rank.none})"
        told = self.candidates[row].id or f"candidate {row}"
        return f"{told} ({self.group_name(row)})" if rank.group and self.candidates[row].group else told

    def group_name(self, row: int) -> str:
        """What the caller calls the group; the candidate where it has none."""
        return str(self.candidates[row].group or self.candidates[row].id or f"candidate {row}")


@np.errstate(all="ignore")  # numbers near the end of float32 are tried as well
def explain(decider: Decider, decided: Decided, spread: Spread | None) -> Explanation:
    """Why the answer is what it is, why not the runner-up, and what would have changed it.

    Args:
        decider: that answered.
        decided: what it answered.
        spread: of the features in a log; None: they reach as far as those of the request (`spread_of_request`).
    """
    telling = telling_of(decider, decided, spread)
    answer, rows = decided.answer, len(decided.request.candidates)
    best, second = (rows if row == NONE else row for row in (answer.best, answer.second))
    against = None if answer.second == NOBODY else " ".join(telling.comparison(best, second))
    return Explanation(
        f"The answer is {telling.name(best)}{telling.because(best)}.",
        None if answer.best == NONE else _level_words(decider, decided),
        against,
        _change(telling),
    )


def telling_of(decider: Decider, decided: Decided, spread: Spread | None) -> Naming:
    """A request as a decision of a log; the last row is "none of these" where it was allowed."""
    candidates = decided.request.candidates
    rows = decider.rows(decided)
    named = [getattr(candidate, "group", None) for candidate in candidates]
    number = {name: place for place, name in enumerate(dict.fromkeys(named))}
    groups = [number[name] if name is not None else len(number) + row for row, name in enumerate(named)]
    place = np.arange(len(rows))
    if decider.rank.none and decided.request.none_allowed:
        rows = np.concatenate([rows, np.full((1, rows.shape[1]), np.nan, np.float32)])
        place, groups = np.append(place, NONE), [*groups, NONE]
    zero, one = np.zeros(len(rows)), np.zeros(1, np.int64)
    starts = np.array([0, len(rows)])
    decision = Choices(rows, starts, one, place, np.array(groups), zero, zero, one, one, np.zeros(1))
    policy = decider.policy
    reach = as_given(spread or spread_of_request(policy, decision), decision)
    return Naming(policy, decision, reach, decider.most, candidates)


def spread_of_request(policy: ScoredPolicy, decision: Choices) -> Spread:
    """How far features reach, from nothing but the candidates at hand and what the rules compare them with.

    A feature reaches from half of its least value to twice its most, and at least to 1; where rules compare it with a
    number, to 0 and to twice that besides. It is whole where the candidates' values are. Its deviation is theirs; where
    they are alike, their size.
    """
    rank, scorer = policy.rank, policy.scorers[policy.rank.name]
    rows = decision.features[~decision.is_none].astype(np.float64)
    least = rows.min(axis=0)
    low, high = np.where(least > 0, least / 2, 2 * least), np.maximum(2 * np.abs(rows).max(axis=0), 1.0)
    patched = [c for patch in policy.patches if patch.cap is None for c in conditions_of(patch, rank)]
    asked = set(needed_of(policy))
    for column, feature in enumerate(rank.features):
        if feature.name not in asked:
            continue
        marks = [float(mark) for mark in scorer.thresholds(feature.name)]
        marks += [c.threshold for c in patched if c.feature == column]
        low[column] = min([low[column], *(mark - abs(mark) for mark in marks)])
        high[column] = max([high[column], *(2 * mark for mark in marks)])
    deviation, size = rows.std(axis=0), np.abs(rows).max(axis=0)
    deviation = np.where(deviation > 0, deviation, np.where(size > 0, size, 1.0))
    reach = float(np.finfo(np.float32).max)
    low, high = (np.clip(end, -reach, reach) for end in (low, high))
    whole = np.all(rows == np.floor(rows), axis=0)
    told = any(count > 1 for count in np.unique(decision.group, return_counts=True)[1].tolist())
    owner = (DECISION if feature.per_decision else GROUP if told else ROW for feature in rank.features)
    return Spread(low, high, deviation, whole, tuple(owner))


def as_given(spread: Spread, decision: Choices) -> Spread:
    """The spread without what the candidates at hand do not share: a feature that differs is each one's own."""
    real = ~decision.is_none
    rows, groups = decision.features[real], decision.group[real]
    order = np.argsort(groups, kind="stable")
    apart = np.diff(rows[order], axis=0) != 0
    differs = {
        ROW: np.zeros(rows.shape[1], bool),
        GROUP: np.any(apart & (np.diff(groups[order]) == 0)[:, None], axis=0),
        DECISION: np.any(apart, axis=0),
    }
    owner = (ROW if differs[own][column] else own for column, own in enumerate(spread.owner))
    return replace(spread, owner=tuple(owner))


def _level_words(decider: Decider, decided: Decided) -> str | None:
    """Why the chosen candidate gets as much as it does."""
    level = decider.level
    if level is None:
        return None
    row = decider.rows(decided._replace(given=decided.given[[decided.answer.best]]))[0]
    reason = level_reason(decider.policy.scorers[level.name], level, row)
    capped = [
        f"patch {place} lowers it to {words.amount(patch.cap, level, {})}"
        for place, patch in enumerate(decider.policy.patches, 1)
        if patch.cap is not None and meets(patch, level, row)
    ]
    least, most = int(decided.request.candidates[decided.answer.best].least), int(decided.request.most)
    unit = f" {level.unit}" if level.unit else ""
    return f"Of {least} to {most}{unit} it gets {decided.level}: {'; '.join([reason, *capped])}."


def _change(telling: Naming) -> Change | None:
    """The smallest change of one feature that gives another answer; None: there is none, or none is searched."""
    decision, policy = telling.decision, telling.policy
    real = np.flatnonzero(~decision.is_none)
    if len(decision.features) == 1 or len(real) > MOST_CHANGED:
        return None
    scores = policy.scores(decision.features)
    best = real[np.argsort(-scores[real], kind="stable")[:RIVALS]]
    flip, exact = smallest_flip(policy, decision, telling.spread, among=best if len(best) < len(real) else None)
    return None if flip is None else _told(telling, flip, exact)


def _told(telling: Naming, flip: Flip, exact: bool) -> Change:
    feature = telling.policy.rank.features[flip.feature]
    is_none = bool(telling.decision.is_none[flip.answer])
    return Change(
        feature.name,
        feature.unit,
        flip.rows.tolist(),
        float(telling.decision.features[flip.rows[0], flip.feature]),
        flip.value,
        None if is_none else flip.answer,
        exact,
        f"With {telling.change(flip)}, the answer is {telling.name(flip.answer)}.",
    )
