"""How long a candidate may wait: measured over episodes, and proved where a rule of age stands above all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.problems.declarations import Choice
from clearsched.problems.episodes import NONE, Compiled, Episode
from clearsched.problems.problem import Instance
from clearsched.reading.verification.bounds import score_bounds
from clearsched.reading.verification.box import Box, whole_region, within
from clearsched.scorers.conditions import Condition
from clearsched.scorers.patches import PREFER, STAY_IDLE, Patch, conditions_of
from clearsched.scorers.scorer import Scorer
from clearsched.scorers.ties import MOST

LANES = 32
"""Episodes that run side by side."""


class Wait(NamedTuple):
    """The longest wait of a group (of a job), or of a candidate where there are no groups."""

    seconds: float
    episode: int
    group: int
    since_s: float


def longest_wait(compiled: Compiled, instance: Instance, episodes: Sequence[Episode], rank: Choice) -> Wait:
    """The longest time that a group had a ready candidate, none of its candidates served, and none chosen.

    It is seen at decisions: a wait lasts from the first one that sees it to the one that ends it.
    """
    longest = Wait(0.0, -1, -1, 0.0)
    names = [feature.name for feature in rank.features]
    columns = [names.index(name) if name else -1 for name in (rank.ready, rank.served)]
    for begin in range(0, len(episodes), LANES):
        batch = episodes[begin : begin + LANES]
        lockstep, since = instance.lockstep(batch), [dict[int, float]() for _ in batch]
        while lockstep.advance():
            seen, lanes, times = lockstep.observe(), lockstep.pending.tolist(), lockstep.time_s.tolist()
            answers = lockstep.ask(compiled)
            for b, waiting in enumerate(_waiting(seen, columns, bool(rank.group))):
                before, now = since[lanes[b]], times[b]
                since[lanes[b]] = {group: before.get(group, now) for group in waiting}
                for group, first in since[lanes[b]].items():
                    if now - first > longest.seconds:
                        longest = Wait(now - first, begin + lanes[b], group, first)
                if answers.candidate[b] != NONE:
                    row = seen.candidate_start[b] + answers.candidate[b]
                    since[lanes[b]].pop(int((seen.candidate_group if rank.group else seen.candidate_id)[row]), None)
            lockstep.answer(answers)
    return longest


def _waiting(seen: Any, columns: Sequence[int], grouped: bool) -> list[list[int]]:
    """The groups that wait, of each pending decision."""
    ready, served = (
        np.full(len(seen.candidates), default) if column < 0 else seen.candidates[:, column] > 0
        for column, default in zip(columns, (True, False), strict=True)
    )
    group = seen.candidate_group if grouped else seen.candidate_id
    found = []
    for first, last in zip(seen.candidate_start[:-1].tolist(), seen.candidate_start[1:].tolist(), strict=True):
        own = group[first:last]
        some, none = set(own[ready[first:last]].tolist()), set(own[served[first:last]].tolist())
        found.append(sorted(some - none))
    return found


class AgeRule(NamedTuple):
    """From an age on a ready candidate has a higher score than every younger one."""

    age: float
    oldest_first: bool  # of those, which then all have one score, the oldest one
    above_none: bool  # and a score above that of none of these


def age_rule(scorer: Scorer, rank: Choice, box: Box, names: Sequence[str]) -> AgeRule | None:
    """The rule of age that is proved of a scorer, with the least age; None where none is.

    Scores are bounded from below over all ready rows of the box from an age on, and from above over all younger ones.

    Args:
        scorer: of a rank choice.
        rank: names the features of age and readiness.
        box: what the features, in the order of `names`, can be.
        names: of the features, those of the scorer where it has its own.
    """
    if not rank.age or rank.age not in scorer.used:
        return None
    column, start = list(names).index(rank.age), whole_region(box)
    ready = [Condition(list(names).index(rank.ready), False, 1.0)] if rank.ready else []
    for mark in scorer.thresholds(rank.age).tolist():
        old = within(start, [Condition(column, False, mark), *ready], box)
        young = within(start, [Condition(column, True, mark)], box)
        if old is None or young is None:
            continue
        (least, most), below = score_bounds(scorer, old, box), score_bounds(scorer, young, box)[1]
        if least > below:
            ties = getattr(scorer, "ties", ())
            return AgeRule(mark, least == most and ties[:1] == (f"{MOST}{rank.age}",), least > 0)
    return None


def patched_age_rule(
    patches: Sequence[Patch], none: bool, scorer: Scorer, rank: Choice, box: Box, names: Sequence[str]
) -> AgeRule | None:
    """The rule of age that the first patch on the order of candidates is; None where it is none.

    It must prefer whatever is old enough, ready candidates at least. "None of these" comes before a preferred candidate
    too: no patch may answer it, and where scores may (`none`), that of each ready old candidate must be above 0.

    Args:
        patches: in the order in which they count.
        none: whether "none of these" is an answer of the scores.
        scorer, rank, box, names: as in `age_rule`.
    """
    ordering = [patch for patch in patches if patch.cap is None]
    if not rank.age or not ordering or ordering[0].do != PREFER or any(patch.do == STAY_IDLE for patch in ordering):
        return None
    columns = [feature.name for feature in rank.features]
    marks: list[float] = []
    for column, below, threshold in conditions_of(ordering[0], rank):
        if columns[column] == rank.age and not below:
            marks.append(threshold)
        elif columns[column] != rank.ready or below or threshold > 1:
            return None
    if not marks:
        return None
    mark, own = max(marks), list(names)
    ready = [Condition(own.index(rank.ready), False, 1.0)] if rank.ready else []
    old = within(whole_region(box), [Condition(own.index(rank.age), False, mark), *ready], box)
    if none and (old is None or not score_bounds(scorer, old, box)[0] > 0):
        return None
    return AgeRule(mark, False, True)
