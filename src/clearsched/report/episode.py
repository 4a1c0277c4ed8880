"""One episode under every policy at once: at each decision of each policy what all the others would have answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices, Decision
from clearsched.decisions.experts import Expert
from clearsched.decisions.recording import collect, rows_of
from clearsched.decisions.schema import log_features
from clearsched.problems.episodes import NONE, Answers, Episode
from clearsched.problems.policy import as_meant
from clearsched.problems.problem import Instance
from clearsched.teacher.threads import one_thread


class Schedule(NamedTuple):
    """An episode under one policy: d decisions with n rows, and what came of it."""

    policy: str
    rank: Choices  # as logged: scores and probabilities are the expert's
    level: Choices  # of the choice of a level; decisions in which the expert names a candidate
    answers: Mapping[str, np.ndarray]  # int64[d] by policy: row among its decision's rows; NONE: none of them
    levels: Mapping[str, np.ndarray]  # int64[d] by policy: what it gives its candidate; 0 without a level
    outcome: Any


def record(
    instance: Instance, episode: Episode, policies: Sequence[Any], expert: Expert, most: int
) -> tuple[list[Schedule], int]:
    """The schedule of each policy, and how many decisions the longest has; the first `most` of each are kept.

    The policies run side by side, each on its own copy of the episode, and are asked at every decision of all.

    Args:
        instance: the problem with its data.
        episode: to schedule.
        policies: compiled ones, and the expert by its name.
        expert: whose scores and probabilities are kept.
        most: decisions that are kept of each.
    """
    count = len(policies)
    lockstep = instance.lockstep([as_meant(p, instance, [episode])[0] for p in policies], record=True)
    generators = [expert.generator(instance, episode) for _ in policies]
    kept: list[list[tuple[Decision, dict[str, tuple[int, int]]]]] = [[] for _ in policies]
    asked = np.zeros(count, np.int64)
    with one_thread():
        while lockstep.advance():
            observation, lanes = lockstep.observe(), lockstep.pending
            weighed = expert.weigh(lockstep, observation, [generators[lane] for lane in lanes.tolist()])
            found = [weighed.answers if p.name == expert.name else lockstep.ask(p.compiled) for p in policies]
            if (asked[lanes] < most).any():
                rows, times_s, levels = rows_of(observation, weighed), lockstep.time_s.tolist(), observation.levels
                told = {p.name: _told(observation, levels, each) for p, each in zip(policies, found, strict=True)}
                for b, lane in enumerate(lanes.tolist()):
                    if asked[lane] < most:
                        decision = Decision("test", 0, int(asked[lane]), times_s[b], *rows[b])
                        kept[lane].append((decision, {name: (row[b], level[b]) for name, (row, level) in told.items()}))
            asked[lanes] += 1
            lockstep.answer(_own(found, lanes), by_heuristic=True)
    outcomes = lockstep.results()
    schedules = [
        _schedule(policy.name, lane, outcome, len(log_features(instance.problem)))
        for policy, lane, outcome in zip(policies, kept, outcomes, strict=True)
    ]
    return schedules, int(asked.max())


def _own(found: Sequence[Answers], lanes: np.ndarray) -> Answers:
    """Of the answers of all policies in all lanes, each lane's own policy's."""
    both = [np.stack(parts) for parts in zip(*found, strict=True)]
    candidate, level = (part[lanes, np.arange(len(lanes))] for part in both)
    return Answers(candidate, level)


def _told(observation: Any, levels: np.ndarray, answers: Answers) -> tuple[list[int], list[int]]:
    """What a policy answers each decision: the row of the decision, and the level as far as it is allowed.

    `levels`: those of the observation, which may take a while to ask for.
    """
    named, starts = answers.candidate != NONE, observation.candidate_start
    none = np.where(observation.none_allowed, np.diff(starts), NONE)
    rows = np.where(named, answers.candidate, none)
    if not levels.shape[1]:
        return rows.tolist(), [0] * len(rows)
    first, last = levels[starts[:-1] + np.where(named, answers.candidate, 0)].T
    return rows.tolist(), np.where(named, np.clip(answers.level, first, last), 0).tolist()


def _schedule(
    name: str, kept: Sequence[tuple[Decision, dict[str, tuple[int, int]]]], outcome: Any, num_features: int
) -> Schedule:
    rank, level = collect([decision for decision, _ in kept], num_features)
    names = list(kept[0][1]) if kept else []
    answers = {who: np.array([told[who][0] for _, told in kept], np.int64) for who in names}
    levels = {who: np.array([told[who][1] for _, told in kept], np.int64) for who in names}
    return Schedule(name, rank, level, answers, levels, outcome)
