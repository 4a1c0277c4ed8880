"""Which decisions patches change: a run in which the policy is asked at every decision with them and without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from clearsched.problems.episodes import NONE, Episode
from clearsched.problems.policy import as_meant
from clearsched.problems.problem import Instance
from clearsched.schemas import PATCH_CHANGES
from clearsched.scorers.patches import STAY_IDLE, meets
from clearsched.scorers.policy import ScoredPolicy

WIDTH = 64
"""Episodes that run side by side."""

EXAMPLES = 3
"""Decisions that are told in words."""


class Answer(NamedTuple):
    """What was answered to a decision."""

    candidate: int  # what the log calls it, or NONE
    level: int  # 0 where there is none
    row: np.ndarray | None  # float32[F]; None: none of these


class Change(NamedTuple):
    """A decision that the patches change."""

    episode: int
    decision: int  # of the episode, as the decision log counts: those with a candidate
    time_s: float
    candidates: int  # how many there were
    patch: int  # which one it was, counted from 1 in the order in which they count; 0: none of them alone
    before: Answer
    after: Answer


class Changes(NamedTuple):
    """What became of the decisions of a run with the patches."""

    decisions: int
    candidate: int  # of these, with another candidate
    level: int  # with the same candidate and another level
    by_patch: Counter[int]  # changed decisions by `Change.patch`
    examples: list[Change]
    table: pa.Table  # all that are changed, of PATCH_CHANGES without the load


def changes_of(before: ScoredPolicy, after: ScoredPolicy, instance: Instance, episodes: Sequence[Episode]) -> Changes:
    """Run the patched policy `after`; at every decision ask also what `before` would answer there."""
    lockstep = instance.lockstep(as_meant(after, instance, episodes), WIDTH)
    decisions = candidate = level = 0
    by_patch: Counter[int] = Counter()
    first: dict[int, list[Change]] = {}
    taken, rows = np.zeros(len(episodes), np.int64), []
    while lockstep.advance():
        old, new = lockstep.ask(before.compiled), lockstep.ask(after.compiled)
        other = new.candidate != old.candidate
        changed = other | (new.level != old.level)
        decisions += len(other)
        episode = lockstep.episode[lockstep.pending]
        candidate += int(other.sum())
        level += int((changed & ~other).sum())
        if changed.any():
            seen, times = lockstep.observe(), lockstep.time_s
            for b in np.flatnonzero(changed).tolist():
                where = int(episode[b])
                told = _change(after, seen, b, old, new)
                told = told._replace(episode=where, decision=int(taken[where]), time_s=float(times[b]))
                rows.append(_row(told, after))
                by_patch[told.patch] += 1
                if by_patch[told.patch] <= EXAMPLES:
                    first.setdefault(told.patch, []).append(told)
        taken[episode] += 1
        lockstep.answer(new)
    table = pa.Table.from_pylist(sorted(rows, key=lambda row: row["episode"]), pa.schema(list(PATCH_CHANGES)[1:]))
    return Changes(decisions, candidate, level, by_patch, _examples(first), table)


def _row(change: Change, policy: ScoredPolicy) -> dict[str, Any]:
    """A change as a row of PATCH_CHANGES, without its load."""
    row: dict[str, Any] = {name: getattr(change, name) for name in ("episode", "decision", "time_s", "candidates")}
    for name, answer in (("before", change.before), ("after", change.after)):
        has_level = policy.level is not None and answer.candidate != NONE
        row |= {name: answer.candidate, f"{name}_level": answer.level if has_level else None}
    return row | {"patch": change.patch or None}


def _change(policy: ScoredPolicy, seen: Any, b: int, old: Any, new: Any) -> Change:
    """Decision b of an observation; where and when is not known here."""
    start, stop = int(seen.candidate_start[b]), int(seen.candidate_start[b + 1])
    before, after = (
        Answer(NONE, 0, None)
        if answers.candidate[b] == NONE
        else Answer(
            int(seen.candidate_id[start + answers.candidate[b]]),
            int(answers.level[b]),
            np.array(seen.candidates[start + answers.candidate[b]]),
        )
        for answers in (old, new)
    )
    return Change(0, 0, 0.0, stop - start, _responsible(policy, before, after), before, after)


def _responsible(policy: ScoredPolicy, before: Answer, after: Answer) -> int:
    """The first patch that tells the two answers apart, counted from 1; of caps the lowest; 0 if no single one does."""
    if before.candidate == after.candidate:
        caps = [
            (patch.cap, place)
            for place, patch in enumerate(policy.patches, 1)
            if patch.cap is not None and policy.level is not None and meets(patch, policy.level, after.row)
        ]
        return min(caps)[1] if caps else 0
    orders = [(place, patch) for place, patch in enumerate(policy.patches, 1) if patch.cap is None]
    orders.sort(key=lambda entry: entry[1].do != STAY_IDLE)  # what is not worth it comes last, whatever the others say
    for place, patch in orders:
        if meets(patch, policy.rank, before.row) != meets(patch, policy.rank, after.row):
            return place
    return 0


def _examples(first: dict[int, list[Change]]) -> list[Change]:
    """The first change of each patch, then the second of each, up to `EXAMPLES`; the earliest episodes first."""
    lists = [sorted(first[patch], key=lambda change: (change.episode, change.decision)) for patch in sorted(first)]
    found = [changes[turn] for turn in range(EXAMPLES) for changes in lists if turn < len(changes)]
    return found[:EXAMPLES]
