"""A sample of decisions under a heuristic: what the features of candidates look like, and what it chose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.episodes import Answers, Compiled, Episode
from clearsched.problems.problem import Instance, as_made
from clearsched.problems.programs import Ground

SAMPLED = 4
"""Training episodes that the sample is taken from, at most."""

MOST_ROWS = 200_000
"""Candidates in it, at most; about that many, since decisions are taken whole."""


def ground_of(instance: Instance, episodes: Sequence[Episode], heuristic: Compiled) -> Ground:
    """What programs may know of an instance, from the decisions of a heuristic.

    Raises:
        ClearschedError: no decision has a candidate.
    """
    rows: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    answered: list[Answers] = []
    lockstep = instance.lockstep(as_made(instance, episodes[:SAMPLED]))
    seen = 0
    while seen < MOST_ROWS and lockstep.advance():
        observation = lockstep.observe()
        rows.append(observation.candidates.copy())
        counts.append(np.diff(observation.candidate_start))
        seen += len(rows[-1])
        answers = lockstep.ask(heuristic)
        answered.append(Answers(answers.candidate.copy(), answers.level.copy()))
        lockstep.answer(answers, by_heuristic=True)
    if not rows:
        raise ClearschedError("search: the training episodes have no decision with a candidate: nothing to search for")
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    chosen = np.concatenate([answers.candidate for answers in answered])
    level = np.concatenate([answers.level for answers in answered])
    return Ground(instance.problem, instance.most, instance.none, np.concatenate(rows), starts, chosen, level)
