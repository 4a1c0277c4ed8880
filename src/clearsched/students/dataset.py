"""What students are fitted on: decisions with the expert's answers, from the log and from their own rollouts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clearsched.decisions.reader import Choices, join, read_choices
from clearsched.decisions.recording import Decision
from clearsched.problems.dag_jobs.features import FEATURE_NAMES


class Dataset(NamedTuple):
    """Decisions by kind of choice."""

    stage: Choices  # which of the candidate stages
    limit: Choices  # which of the limits, for the stage that the expert chose
    num_executors: int

    def with_decisions(self, decisions: Iterable[Decision]) -> Dataset:
        """This set and further decisions."""
        stage, limit = collect(decisions)
        return Dataset(join([self.stage, stage]), join([self.limit, limit]), self.num_executors)


def read_dataset(path: Path, split: str, num_executors: int) -> Dataset:
    """The decisions of a split of the log.

    Raises:
        ClearschedError: the file is missing, truncated or no decision log.
    """
    return Dataset(read_choices(path, "stage", split), read_choices(path, "limit", split), num_executors)


def collect(decisions: Iterable[Decision]) -> tuple[Choices, Choices]:
    """Decisions as the arrays that `read_choices` would give for them: stages, limits."""
    found = list(decisions)
    answers = [decision.answer for decision in found]
    rows = [np.broadcast_to(d.features[d.answer.candidate], (len(d.answer.limits), len(FEATURE_NAMES))) for d in found]
    stage = _choices(
        found,
        [d.features for d in found],
        np.array([answer.candidate for answer in answers], np.int64),
        [d.stages for d in found],
        [d.jobs for d in found],
        [answer.stage_score for answer in answers],
        [answer.stage_probability for answer in answers],
    )
    limit = _choices(
        found,
        rows,
        np.array([answer.limit - answer.limits[0] for answer in answers], np.int64),
        [answer.limits for answer in answers],
        [np.full(len(d.answer.limits), d.jobs[d.answer.candidate]) for d in found],
        [answer.limit_score for answer in answers],
        [answer.limit_probability for answer in answers],
    )
    return stage, limit


def _choices(
    found: list[Decision],
    features: list[np.ndarray],
    chosen: np.ndarray,
    candidate: list[np.ndarray],
    job: list[np.ndarray],
    score: list[np.ndarray],
    probability: list[np.ndarray],
) -> Choices:
    starts = np.cumsum([0, *map(len, features)])
    float32 = np.float32  # what the log stores, so that students do not depend on the way decisions reached them
    return Choices(
        np.concatenate(features) if features else np.zeros((0, len(FEATURE_NAMES)), float32),
        starts,
        starts[:-1] + chosen,
        np.concatenate(candidate).astype(np.int64) if candidate else np.zeros(0, np.int64),
        np.concatenate(job).astype(np.int64) if job else np.zeros(0, np.int64),
        np.concatenate(score).astype(float32).astype(np.float64) if score else np.zeros(0),
        np.concatenate(probability).astype(float32).astype(np.float64) if probability else np.zeros(0),
        np.array([decision.episode for decision in found], np.int64),
        np.array([decision.decision for decision in found], np.int64),
        np.array([decision.time_s for decision in found]),
    )


def best_rows(choices: Choices) -> np.ndarray:
    """int64[d]: the row of the highest score of each decision, the first of equals.

    What an expert thinks best; it differs from what it chose where it draws its choices.
    """
    return choices.starts[:-1] + _first_true(choices, ranks(choices) == 0)


def _first_true(choices: Choices, flags: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(flags)
    first: np.ndarray = rows[np.searchsorted(rows, choices.starts[:-1])] - choices.starts[:-1]
    return first


def ranks(choices: Choices) -> np.ndarray:
    """int64[n]: how many candidates of the row's decision have a higher score."""
    owner = choices.owner
    order = np.lexsort((-choices.score, owner))
    sorted_owner, sorted_score = owner[order], choices.score[order]
    new = np.ones(len(order), bool)
    new[1:] = (sorted_owner[1:] != sorted_owner[:-1]) | (sorted_score[1:] != sorted_score[:-1])
    place = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    result = np.empty(len(order), np.int64)
    result[order] = place - choices.starts[:-1][sorted_owner]
    return result


def subset(choices: Choices, keep: np.ndarray) -> Choices:
    """The decisions that bool[d] `keep` marks."""
    rows = np.repeat(keep, choices.sizes)
    offset = np.cumsum(np.concatenate([[0], rows]))  # new place of each old row
    per_row = {name: getattr(choices, name)[rows] for name in ("features", "candidate", "job", "score", "probability")}
    per_decision = {name: getattr(choices, name)[keep] for name in ("episode", "decision", "time_s")}
    starts = np.concatenate([[0], np.cumsum(choices.sizes[keep])])
    return Choices(starts=starts, chosen=offset[choices.chosen[keep]], **per_row, **per_decision)
