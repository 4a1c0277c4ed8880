"""Why a request was answered as it was, in the words of `clearsched students explain`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from clearsched.compiled.asking import NOBODY
from clearsched.compiled.flipping import smallest_at_hand
from clearsched.compiled.reach import Spread, owners_at_hand, spread_of_rows
from clearsched.compiled.scoring import NONE
from clearsched.decisions.choices import Choices
from clearsched.reading.explaining import Prepared, Telling
from clearsched.reading.flipping import Flip, flip_of, smallest_flip
from clearsched.reading.reasons import Reasons, Spoken
from clearsched.scorers import words
from clearsched.scorers.patches import meets
from clearsched.serving.deciding import Decided, Decider
from clearsched.serving.schema import Change, Explanation

MOST_CHANGED = 64
"""Candidates of a decision of which changes are searched: where compiled code does not search them, with the square of
their number in time."""

RIVALS = 4
"""Candidates, the best ones, whose features are changed."""


@dataclass(frozen=True)
class Naming(Telling):
    """A request of which candidates are called what their caller calls them."""

    decider: Decider
    decided: Decided

    @property
    def candidates(self) -> list[Any]:
        """As the request has them."""
        found: list[Any] = self.decided.request.candidates
        return found

    @property
    def reasons(self) -> Reasons:  # made once for all requests
        """Why the rank choice is answered as it is."""
        return self.decider.reasons[self.policy.rank.name]

    def is_none(self, row: int) -> bool:
        """Whether a row is "none of these", which comes after the candidates."""
        return row >= len(self.candidates)

    def spoken(self, row: int) -> Spoken:
        """What comes of a row, which is known of the first two."""
        features, answer = self.decision.features[row], self.decided.answer
        if row == answer.best:
            return Spoken(features, answer.score, int(answer.piece))
        if row == answer.second:
            return Spoken(features, answer.second_score, int(answer.second_piece))
        return super().spoken(row)

    def name(self, row: int) -> str:
        """For example "stage 57", "the last one (job 12)" or "none of these (leave the executors idle)"."""
        rank = self.policy.rank
        if self.is_none(row):
            return f"none of these ({self.policy.idles})"
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
        spread: of the features in a log; None: they reach as far as those of the request (`spread_of_rows`).
    """
    telling = telling_of(decider, decided)
    answer, rows = decided.answer, len(decided.request.candidates)
    best, second = (rows if row == NONE else row for row in (answer.best, answer.second))
    against = None if answer.second == NOBODY else " ".join(telling.comparison(best, second))
    return Explanation(
        f"The answer is {telling.name(best)}{telling.because(best)}.",
        None if answer.best == NONE else _level_words(decider, decided, telling.decision.features[best]),
        against,
        _change(telling, spread),
    )


def telling_of(decider: Decider, decided: Decided) -> Naming:
    """A request as a decision of a log; the last row is "none of these" where it was allowed."""
    named = [getattr(candidate, "group", None) for candidate in decided.request.candidates]
    count = len(named)
    more = int(bool(decider.rank.none) and decided.request.none_allowed)
    rows = decider.rows(decided, more)
    rows[count:] = np.nan
    first: dict[str, int] = {}  # the number of a group is the place of its first candidate
    groups = [count + row if name is None else first.setdefault(name, row) for row, name in enumerate(named)]
    decision = _blank(count, more)._replace(features=rows, group=np.array(groups + more * [NONE]))
    return Naming(Prepared(decider.policy), decision, decider.most, decider, decided)


@lru_cache(maxsize=64)
def _blank(count: int, more: int) -> Choices:
    """A decision between `count` candidates, and none of these if `more` is 1, of which nothing else is known."""
    size = count + more
    place = np.array([*range(count), *(more * [NONE])])
    zero, one = np.zeros(size), np.zeros(1, np.int64)
    return Choices(np.zeros((size, 0)), np.array([0, size]), one, place, place, zero, zero, one, one, zero[:1])


def _level_words(decider: Decider, decided: Decided, row: np.ndarray) -> str | None:
    """Why the chosen candidate, float32[F], gets as much as it does."""
    level, answer = decider.level, decided.answer
    if level is None:
        return None
    reasons = decider.reasons[level.name]
    known = Spoken(row, answer.share, int(answer.level_piece))
    reason = reasons.level(reasons.spoken(row) if decider.policy.patches else known)  # what patches lower is told apart
    capped = [
        f"patch {place} lowers it to {words.amount(patch.cap, level, {})}"
        for place, patch in enumerate(decider.policy.patches, 1)
        if patch.cap is not None and meets(patch, level, row)
    ]
    least, most = int(decided.request.candidates[decided.answer.best].least), int(decided.request.most)
    unit = f" {level.unit}" if level.unit else ""
    return f"Of {least} to {most}{unit} it gets {decided.level}: {'; '.join([reason, *capped])}."


def _change(telling: Naming, spread: Spread | None) -> Change | None:
    """The smallest change of one feature that gives another answer; None: there is none, or none is searched."""
    decider, rows, count = telling.decider, telling.decision.features, len(telling.candidates)
    if len(rows) == 1 or count > MOST_CHANGED:
        return None
    groups, marks = telling.decision.group, decider.asked
    real, own = rows[:count], groups[:count]
    if decider.is_straight and spread is None:
        found, owner = smallest_at_hand(decider.held, real, own, count < len(rows), marks, decider.shared, RIVALS)
        flip, exact = flip_of(found, owner, groups, np.arange(count), count), count <= RIVALS
    else:
        given = spread or spread_of_rows(real, own, marks, decider.shared)
        reach = given._replace(owner=owners_at_hand(real, own, marks, given.owner))
        flip, exact = smallest_flip(decider.policy, telling.decision, reach, most=RIVALS)
    return None if flip is None else _told(telling, flip, exact)


def _told(telling: Naming, flip: Flip, exact: bool) -> Change:
    feature = telling.policy.rank.features[flip.feature]
    is_none = telling.is_none(flip.answer)
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
