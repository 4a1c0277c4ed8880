"""The data of the decision explorer: schedules, decisions, candidates, and what every policy makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clearsched.decisions.answers import rank_scores
from clearsched.decisions.choices import Choices, take
from clearsched.decisions.schema import log_features
from clearsched.problems.declarations import level_choice, rank_choice
from clearsched.problems.episodes import NONE, Episode, Timeline
from clearsched.problems.problem import Instance, Problem
from clearsched.reading.explaining import Prepared, Telling, level_account
from clearsched.reading.flipping import Spread
from clearsched.report.episode import Schedule
from clearsched.report.packing import columns
from clearsched.scorers.policy import ScoredPolicy, names_of

CANDIDATES = 40
"""Rows of a decision that are shown, at most: every policy's answer, then the best by the expert's score."""

BY_TRIAL = 10
"""Decisions of a schedule, at most, of a policy whose flips are found by trial, which takes a thousand times as long;
and of schedules of those policies alone that score."""

WORDS = ("row", "rows", "whose", "note")
"""The fields of a timeline that are no arrays."""


class Material(NamedTuple):
    """What the data of schedules is made of."""

    instance: Instance
    episode: Episode
    expert: str
    scored: Sequence[Prepared]
    spread: Spread  # of the features in the log
    explained: int  # decisions of a schedule for which a flip is searched


def questions(problem: Problem) -> dict[str, Any]:
    """The choices of a problem in words, and its features with units."""
    rank = rank_choice(problem.choices)
    level = level_choice(problem.choices)
    return {
        "rank": {"name": rank.name, "question": rank.question, "none": rank.none, "group": rank.group},
        "level": None if level is None else {"name": level.name, "question": level.question, "unit": level.unit},
        "features": [
            {"name": f.name, "unit": f.unit, "meaning": f.meaning, "shared": f.per_decision}
            for f in log_features(problem)
        ],
    }


def clauses_of(policy: ScoredPolicy) -> list[list[list[Any]]]:
    """The conditions of each clause of a policy's rank choice: feature, whether it must be below, threshold."""
    scorer, rank = policy.scorers[policy.rank.name], policy.rank
    names = getattr(scorer, "names", names_of(rank))
    return [
        [[names[c.feature], bool(c.below), float(np.float32(c.threshold))] for c in clause.conditions]
        for clause in scorer.clauses()
    ]


def schedule_data(schedule: Schedule, material: Material) -> dict[str, Any]:
    """A schedule as JSON: columns by decision and by row, answers and scores by policy, accounts, spans."""
    rank = schedule.rank
    kept = shown_rows(schedule)
    starts = np.concatenate([[0], np.cumsum(np.add.reduceat(kept, rank.starts[:-1]))]) if len(rank.chosen) else [0]
    data: dict[str, Any] = {
        "policy": schedule.policy,
        "objective": columns(np.array([schedule.outcome.measures[material.instance.objective.name]]))[0],
        "time": columns(rank.time_s, 9),
        "start": np.asarray(starts).tolist(),
        "hidden": (rank.sizes - np.diff(starts)).tolist(),
        "candidate": columns(rank.candidate[kept]),
        "group": columns(rank.group[kept]),
        "features": _features(material.instance.problem, rank, kept),
        "probability": columns(rank.probability[kept], 3),
        "answers": {who: _places(rank, kept, rows) for who, rows in schedule.answers.items()},
        "levels": {who: levels.tolist() for who, levels in schedule.levels.items()},
        "scores": {material.expert: columns(rank.score[kept])},
        "fires": {},
    }
    for prepared in material.scored:
        data["scores"][prepared.name] = columns(rank_scores(prepared, rank)[kept])
        spoke = _fires(prepared.policy, rank)
        if spoke is not None:
            data["fires"][prepared.name] = spoke[kept].tolist()
    data["accounts"] = accounts(schedule, material)
    return data | {"timeline": _timeline(schedule, material)}


def shown_rows(schedule: Schedule) -> np.ndarray:
    """bool[n]: the rows that are shown."""
    rank = schedule.rank
    kept = np.ones(len(rank.features), np.bool_)
    for i in np.flatnonzero(rank.sizes > CANDIDATES).tolist():
        begin, end = rank.starts[i : i + 2].tolist()
        wanted = rank.score[begin:end].copy()
        wanted[rank.is_none[begin:end]] = np.inf
        for rows in schedule.answers.values():
            if rows[i] != NONE:
                wanted[rows[i]] = np.inf
        kept[begin:end] = False
        kept[begin + np.argsort(-wanted, kind="stable")[:CANDIDATES]] = True
    return kept


def _places(rank: Choices, kept: np.ndarray, rows: np.ndarray) -> list[int]:
    """Where among the shown rows of its decision each answer stands; NONE stays."""
    before = np.concatenate([[0], np.cumsum(kept)])
    begins = rank.starts[:-1]
    at = before[begins + np.maximum(rows, 0)] - before[begins]
    found: list[int] = np.where(rows == NONE, NONE, at).tolist()
    return found


def _features(problem: Problem, rank: Choices, kept: np.ndarray) -> dict[str, list[Any]]:
    """Each feature, a value a row; of one that all candidates of a decision share, a value a decision."""
    return {
        feature.name: columns(rank.features[rank.starts[:-1] if feature.per_decision else kept, place])
        for place, feature in enumerate(log_features(problem))
    }


def _fires(policy: ScoredPolicy, rank: Choices) -> np.ndarray | None:
    """int64[n]: the piece that speaks for each row, -1 for none of these; None where all pieces count at once."""
    real = ~rank.is_none
    spoke = policy.scorers[policy.rank.name].firing(rank.features[real], names_of(policy.rank))
    if spoke is None:
        return None
    found = np.full(len(real), NONE, np.int64)
    found[real] = spoke
    return found


def accounts(schedule: Schedule, material: Material) -> dict[str, dict[int, str]]:
    """In words, by policy and decision: why it answers so and not as the expert does, and what would flip it."""
    found: dict[str, dict[int, str]] = {prepared.name: {} for prepared in material.scored}
    level_of = {int(number): place for place, number in enumerate(schedule.level.decision)}
    few = BY_TRIAL if schedule.policy in (material.expert, *found) else 0
    most = material.instance.most
    for prepared in material.scored:
        count = material.explained if prepared.searched.is_straight else min(few, material.explained)
        for i in explained(schedule, material, count).tolist():
            decision = take(schedule.rank, np.array([i]))
            told = Telling(prepared, decision, most).account(material.spread)
            if prepared.policy.level is not None and i in level_of:
                told += level_account(prepared, take(schedule.level, np.array([level_of[i]])), most)
            found[prepared.name][i] = " ".join(told)
    return found


def explained(schedule: Schedule, material: Material, count: int) -> np.ndarray:
    """int64: `count` decisions to account for: where a policy differs from the expert first, evenly taken."""
    rank = schedule.rank
    others = [schedule.answers[prepared.name] for prepared in material.scored]
    experts = schedule.answers[material.expert]
    differs = np.any([rows != experts for rows in others], axis=0) if others else np.zeros(len(experts), bool)
    first, rest = np.flatnonzero(differs & ~rank.trivial), np.flatnonzero(~differs & ~rank.trivial)
    chosen = _evenly(first, count)
    return np.sort(np.concatenate([chosen, _evenly(rest, count - len(chosen))]))


def _evenly(places: np.ndarray, count: int) -> np.ndarray:
    """At most so many of the places, spread over all of them."""
    if len(places) <= count:
        return places
    return places[np.linspace(0, len(places) - 1, max(count, 0)).round().astype(np.int64)]


def _timeline(schedule: Schedule, material: Material) -> dict[str, Any] | None:
    """What a Gantt chart is drawn of, where the problem tells it."""
    tell = getattr(material.instance, "timeline", None)
    if tell is None:
        return None
    found: Timeline = tell(schedule.outcome, material.episode)
    arrays = {name: columns(np.asarray(getattr(found, name)), 9) for name in Timeline._fields if name not in WORDS}
    return {name: getattr(found, name) for name in WORDS} | arrays
