"""Run an expert on many episodes in lockstep and hand out every decision; write them down as the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearsched.decisions.choices import Choices, empty
from clearsched.decisions.experts import Expert, load_expert
from clearsched.decisions.progress import progress_bar
from clearsched.decisions.writer import open_log
from clearsched.files import provenance
from clearsched.problems import find_problem
from clearsched.problems.problem import NONE, Compiled, Episode, Instance
from clearsched.teacher.choices import softmax
from clearsched.teacher.policy import Weighed

if TYPE_CHECKING:
    from clearsched.params import Params

LOCKSTEP = 64
"""Episodes that run side by side, so that the network answers many decisions in one pass."""


class Rows(NamedTuple):
    """The rows of one choice of a decision: n of them, one chosen."""

    features: np.ndarray  # float32[n, F]
    candidate: np.ndarray  # int64[n]
    group: np.ndarray  # int64[n]
    score: np.ndarray  # float64[n]
    probability: np.ndarray  # float64[n]
    chosen: int  # position among the n


class Decision(NamedTuple):
    """One decision and the expert's answer: the rows of its rank choice, and of its level choice if it was asked."""

    split: str
    episode: int
    decision: int
    time_s: float
    rank: Rows
    level: Rows | None


def log(
    params: Params, trace: Path, workloads: Path, tuned: Path | None, teacher: str | Path, out: Path
) -> dict[str, int]:
    """See `clearsched.decisions.log`."""
    problem = find_problem(params.problem)
    instance = problem.open(trace, workloads)
    settings = params.decisions
    expert = load_expert(problem, teacher, tuned, settings.mode)
    episodes = {"train": settings.episodes, "validation": settings.held_out}
    inputs: dict[str, str | Path] = {"trace": trace, "workloads": workloads}
    if tuned:
        inputs["tuned"] = tuned
    if Path(teacher).is_file():
        inputs["teacher"] = teacher
    metadata = provenance(settings.model_dump(mode="json"), inputs) | {
        "problem": problem.name,
        "expert": expert.name,
        "facts": dict(instance.facts),
        "most": instance.most,
        "episodes": episodes,
    }
    with open_log(out, problem, metadata) as writer, progress_bar("decisions log", sum(episodes.values())) as advance:
        for split, count in episodes.items():
            for decision in record(expert, instance, instance.split(split, count), split, advance=advance):
                writer.add(decision)
    return episodes


def record(
    expert: Expert,
    instance: Instance,
    episodes: Sequence[Episode],
    split: str,
    *,
    actor: Compiled | None = None,
    first_episode: int = 0,
    advance: Callable[[], None] | None = None,
) -> Iterator[Decision]:
    """Every decision of some episodes with the expert's answer, episodes in lockstep, step by step.

    A decision that the expert answers by none, where that is no answer for a learned policy, is left out.

    Args:
        expert: who answers.
        instance: the problem with its data.
        episodes: to run.
        split: what the decisions say of their split.
        actor: the policy whose choices are carried out; without one, the expert's.
        first_episode: index of the first episode in its split.
        advance: called without argument when an episode ends.
    """
    for begin in range(0, len(episodes), LOCKSTEP):
        batch = episodes[begin : begin + LOCKSTEP]
        lockstep = instance.lockstep(batch)
        generators = [expert.generator(instance, episode) for episode in batch]
        counts, ended = np.zeros(len(batch), np.int64), 0
        while lockstep.advance():
            lanes = lockstep.pending
            observation = lockstep.observe()
            weighed = expert.weigh(lockstep, observation, [generators[lane] for lane in lanes])
            for b, lane in enumerate(lanes.tolist()):
                if weighed.answers.candidate[b] == NONE and not observation.none_allowed[b]:
                    continue
                head = (split, first_episode + begin + lane, int(counts[lane]), float(lockstep.time_s[b]))
                yield Decision(*head, *rows_of(observation, weighed, b))
                counts[lane] += 1
            lockstep.answer(weighed.answers if actor is None else lockstep.ask(actor))
            ended = _tell(advance, ended, len(lockstep.results()))
        _tell(advance, ended, len(lockstep.results()))


def _tell(advance: Callable[[], None] | None, before: int, now: int) -> int:
    for _ in range(now - before):
        if advance is not None:
            advance()
    return now


def rows_of(observation: Any, weighed: Weighed, b: int) -> tuple[Rows, Rows | None]:
    """What the log says of decision b: a row a candidate, one for none where it is an answer, and a row a level."""
    probability = (lambda score: score) if weighed.certain else softmax
    first, last = observation.candidate_start[b], observation.candidate_start[b + 1]
    count, candidate = int(last - first), int(weighed.answers.candidate[b])
    features = np.array(observation.candidates[first:last])
    ids, groups = np.array(observation.candidate_id[first:last]), np.array(observation.candidate_group[first:last])
    score = weighed.candidates[b, :count]
    if observation.none_allowed[b]:
        features = np.concatenate([features, np.full((1, features.shape[1]), np.nan, np.float32)])
        ids, groups = np.append(ids, NONE), np.append(groups, NONE)
        score = np.append(score, weighed.candidates[b, -1])
    chosen = count if candidate == NONE else candidate
    rank = Rows(features, ids, groups, score, probability(score), chosen)
    if candidate == NONE or not weighed.levels.shape[1]:
        return rank, None
    levels = np.flatnonzero(np.isfinite(weighed.levels[b]))
    n, level_score = len(levels), weighed.levels[b, levels]
    same = np.broadcast_to(features[candidate], (n, features.shape[1]))
    at = int(np.searchsorted(levels, weighed.answers.level[b] - 1))
    return rank, Rows(same, levels + 1, np.full(n, groups[candidate]), level_score, probability(level_score), at)


def collect(decisions: Iterable[Decision], num_features: int) -> tuple[Choices, Choices]:
    """Decisions as the arrays that `read_choices` would give for them: of the rank choice, of the level choice."""
    found = list(decisions)
    asked = [(decision, decision.level) for decision in found if decision.level is not None]
    ranks = _choices(found, [decision.rank for decision in found], num_features)
    return ranks, _choices([decision for decision, _ in asked], [rows for _, rows in asked], num_features)


def _choices(found: list[Decision], rows: list[Rows], num_features: int) -> Choices:
    if not found:
        return empty(num_features)
    starts = np.cumsum([0, *(len(each.candidate) for each in rows)])

    def joined(name: str, kind: type) -> np.ndarray:
        return np.concatenate([getattr(each, name) for each in rows]).astype(kind)

    float32 = np.float32  # what the log stores, so that students do not depend on the way decisions reached them
    return Choices(
        joined("features", float32),
        starts,
        starts[:-1] + np.array([each.chosen for each in rows], np.int64),
        joined("candidate", np.int64),
        joined("group", np.int64),
        joined("score", float32).astype(np.float64),
        joined("probability", float32).astype(np.float64),
        np.array([decision.episode for decision in found], np.int64),
        np.array([decision.decision for decision in found], np.int64),
        np.array([decision.time_s for decision in found]),
    )
