"""What a policy that scores would have answered in logged decisions."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from clearsched.decisions.choices import Choices
from clearsched.decisions.ordering import places
from clearsched.problems.episodes import level_of


class Scoring(Protocol):
    """What is asked for: scores of candidates and shares of the most, from rows of features."""

    @property
    def name(self) -> str: ...
    @property
    def may_idle(self) -> bool: ...  # whether it may answer "none of these", which scores 0
    def scores(self, features: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
        """float64[n] of float32[n, F], a row of none: 0; int64[d + 1] `starts`: the first row of each decision."""

    @property
    def rounds_up(self) -> bool: ...
    def level_share(self, features: np.ndarray) -> np.ndarray: ...  # float32[n, F] -> float64[n]


def rank_scores(policy: Scoring, choices: Choices) -> np.ndarray:
    """float64[n]: the policy's score of each row; of none 0, or minus infinity where it never answers so."""
    scores = np.array(policy.scores(choices.features, choices.starts), np.float64)
    if not policy.may_idle:
        scores[choices.is_none] = -np.inf
    return scores


def rank_places(policy: Scoring, choices: Choices) -> np.ndarray:
    """int64[n]: the place of each row in the policy's order, 0 for its answer; none must be beaten."""
    return places(rank_scores(policy, choices), choices.starts, choices.is_none)


def rank_answers(policy: Scoring, choices: Choices) -> np.ndarray:
    """int64[d]: the row that the policy answers."""
    return np.flatnonzero(rank_places(policy, choices) == 0)


def level_answers(policy: Scoring, choices: Choices, most: int) -> np.ndarray:
    """int64[d]: the level that the policy answers, among those that each decision allows.

    Args:
        policy: with a choice of a level.
        choices: of it; the rows of a decision are the levels from the first to the last allowed.
        most: the largest level, the whole that shares are of.
    """
    starts = choices.starts[:-1]
    first, last = choices.candidate[starts].tolist(), choices.candidate[choices.starts[1:] - 1]
    shares, up = policy.level_share(choices.features[starts]).tolist(), policy.rounds_up
    found = [level_of(share, least, most, up=up) for share, least in zip(shares, first, strict=True)]
    return np.minimum(np.array(found, np.int64), last)
