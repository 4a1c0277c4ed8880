"""Run an expert on many episodes in lockstep and hand out every decision; write them down as the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.decisions.choices import Choices, Decision, Rows, empty
from clearsched.decisions.experts import Expert, load_expert
from clearsched.decisions.progress import progress_bar
from clearsched.decisions.writer import open_log
from clearsched.files import provenance
from clearsched.problems import find_problem
from clearsched.problems.episodes import NONE, Compiled, Episode, Lockstep
from clearsched.problems.policy import as_meant
from clearsched.problems.problem import Instance
from clearsched.teacher.policy import Weighed
from clearsched.teacher.threads import one_thread

if TYPE_CHECKING:
    from clearsched.params import Params

LOCKSTEP = 64
"""Episodes that run side by side, so that the network answers many decisions in one pass."""


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
    metadata = provenance(settings.model_dump(mode="json"), inputs) | about(expert, instance, episodes)
    bar = progress_bar("decisions log", sum(episodes.values()))
    with one_thread(), open_log(out, problem, metadata) as writer, bar as advance:
        for split, count in episodes.items():
            drawn = as_meant(expert.policy, instance, instance.split(split, count))
            for decision in record(expert, instance, drawn, split, advance=advance, ended=partial(writer.end, split)):
                writer.add(decision)
    return episodes


def about(expert: Expert, instance: Instance, episodes: Mapping[str, int]) -> dict[str, Any]:
    """What the metadata of every log tell (`reader.read_metadata`); `episodes`: how many of each split."""
    told = {
        "problem": instance.problem.name,
        "expert": expert.name,
        "objective": instance.objective.name,
        "facts": dict(instance.facts),
        "most": instance.most,
        "episodes": dict(episodes),
    }
    return told | ({"help_first": True} if getattr(expert.policy, "help_first", False) else {})


def record(
    expert: Expert,
    instance: Instance,
    episodes: Sequence[Episode],
    split: str,
    *,
    actor: Compiled | None = None,
    first_episode: int = 0,
    advance: Callable[[], None] = lambda: None,
    ended: Callable[[int, Any], None] = lambda episode, outcome: None,
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
        advance: called when an episode ends.
        ended: called with the index and the `Outcome` of each episode, after all its decisions.
    """
    for begin in range(0, len(episodes), LOCKSTEP):
        batch = episodes[begin : begin + LOCKSTEP]
        lockstep = instance.lockstep(batch)
        generators = [expert.generator(instance, episode) for episode in batch]
        counts = np.zeros(len(batch), np.int64)
        for observation in _steps(lockstep, len(batch), advance):
            lanes = lockstep.pending.tolist()
            weighed = expert.weigh(lockstep, observation, [generators[lane] for lane in lanes])
            answered = (weighed.answers.candidate != NONE) | observation.none_allowed
            rows, times_s = rows_of(observation, weighed), lockstep.time_s.tolist()
            for b in np.flatnonzero(answered).tolist():
                lane = lanes[b]
                yield Decision(split, first_episode + begin + lane, int(counts[lane]), times_s[b], *rows[b])
                counts[lane] += 1
            answers = weighed.answers if actor is None else lockstep.ask(actor)
            lockstep.answer(answers, by_heuristic=actor is None)
        for lane, outcome in enumerate(lockstep.results()):
            ended(first_episode + begin + lane, outcome)


def _steps(lockstep: Lockstep, running: int, advance: Callable[[], None]) -> Iterator[Any]:
    """The pending decisions of each step; `advance` is called for each of the `running` lanes that ends."""
    waiting = running
    while waiting:
        waiting = lockstep.advance()
        for _ in range(running - waiting):
            advance()
        running = waiting
        if waiting:
            yield lockstep.observe()


def rows_of(observation: Any, weighed: Weighed) -> list[tuple[Rows, Rows | None]]:
    """What the log says of each decision of a step: a row a candidate, then one for none where it is an answer; and a
    row a level, None where no level was asked for. A whole step at once, since there are many small decisions."""
    return list(zip(_rank_rows(observation, weighed), _level_rows(observation, weighed), strict=True))


def _rank_rows(observation: Any, weighed: Weighed) -> list[Rows]:
    counts, none = np.diff(observation.candidate_start), observation.none_allowed
    sizes = counts + none
    ends = np.cumsum(sizes)
    real = np.ones(ends[-1], np.bool_)
    real[ends[none] - 1] = False
    features = np.full((len(real), observation.candidates.shape[1]), np.nan, np.float32)
    candidate, group = np.full(len(real), NONE, np.int64), np.full(len(real), NONE, np.int64)
    features[real] = observation.candidates
    candidate[real], group[real] = observation.candidate_id, observation.candidate_group
    shown = np.arange(weighed.candidates.shape[1]) < counts[:, None]
    shown[:, -1] = none
    chosen = np.where(weighed.answers.candidate == NONE, counts, weighed.answers.candidate)
    return _split(features, candidate, group, weighed.candidates[shown], sizes, chosen, weighed.certain)


def _level_rows(observation: Any, weighed: Weighed) -> list[Rows | None]:
    found: list[Rows | None] = [None] * observation.num_decisions
    named = np.flatnonzero(weighed.answers.candidate != NONE)
    if not weighed.levels.shape[1] or not len(named):
        return found
    allowed = np.isfinite(weighed.levels[named])
    owner, column = np.nonzero(allowed)
    row = (observation.candidate_start[named] + weighed.answers.candidate[named])[owner]
    before = np.arange(allowed.shape[1]) < weighed.answers.level[named, None] - 1
    rows = _split(
        observation.candidates[row],
        column + 1,
        observation.candidate_group[row],
        weighed.levels[named][allowed],
        allowed.sum(axis=1),
        (allowed & before).sum(axis=1),
        weighed.certain,
    )
    for b, each in zip(named.tolist(), rows, strict=True):
        found[b] = each
    return found


def _split(
    features: np.ndarray,
    candidate: np.ndarray,
    group: np.ndarray,
    score: np.ndarray,
    sizes: np.ndarray,
    chosen: np.ndarray,
    certain: bool,
) -> list[Rows]:
    """Rows of decisions one after another, by decision; probabilities by softmax unless the scores are some."""
    ends = np.cumsum(sizes)
    first = ends - sizes
    probability = score
    if not certain:
        weights = np.exp(score - np.repeat(np.maximum.reduceat(score, first), sizes))
        probability = weights / np.repeat(np.add.reduceat(weights, first), sizes)
    bounds = zip(first.tolist(), ends.tolist(), chosen.tolist(), strict=True)
    return [Rows(features[a:b], candidate[a:b], group[a:b], score[a:b], probability[a:b], at) for a, b, at in bounds]


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
