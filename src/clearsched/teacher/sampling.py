"""Rollouts for the policy gradient: choices drawn from the network, and how much better each went than it had to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.episodes import NONE, Answers, Compiled, Episode
from clearsched.problems.problem import Instance
from clearsched.teacher.baselines import excess_backlog, generalised, group_advantages, without_backlog
from clearsched.teacher.choices import candidate_of, column_of, draw, log_probability_of_level, row_of
from clearsched.teacher.devices import encode, tensor
from clearsched.teacher.rollouts import Recorder, run_lockstep


@dataclass(frozen=True)
class Steps:
    """T decisions of rollouts, in the order of episodes and time.

    Attributes:
        observation: the decisions.
        episode: int64[T].
        time_s: float64[T].
        candidate: int64[T], position among the decision's candidates, or NONE.
        level: int64[T].
        log_probability: float32[T], of the candidate and of what its level does, when they were drawn.
    """

    observation: Any
    episode: np.ndarray
    time_s: np.ndarray
    candidate: np.ndarray
    level: np.ndarray
    log_probability: np.ndarray

    def __len__(self) -> int:
        return len(self.candidate)

    def __getitem__(self, rows: np.ndarray) -> Steps:
        """The decisions of the given rows, in their order."""
        columns = (self.episode, self.time_s, self.candidate, self.level, self.log_probability)
        return Steps(self.observation.take(rows), *(column[rows] for column in columns))


class Scope(NamedTuple):
    """How far a decision's consequences are followed."""

    horizon_s: float  # what happens so much later counts 1/e of what happens at once (`Outcome.cost_to_go`)
    trace_s: float = np.inf  # see `baselines.generalised`
    cut_s: float = np.inf  # mean of the times at which rollouts are cut; infinite: they run to their end
    expert: Compiled = None  # schedules on, unseen, where a rollout was cut
    baseline: str = "sequence"  # or iteration: the rollouts whose mean return is the baseline (`ImproveParams`)


class Drawn(NamedTuple):
    """The decisions of an iteration's rollouts."""

    steps: Steps
    advantages: np.ndarray  # float64[T], deviation 1
    mean_objective: float | None  # over the rollouts; None where they were cut


def collect(
    network: Any,
    instance: Instance,
    sequences: Sequence[Episode],
    rollouts: int,
    generator: np.random.Generator,
    scope: Scope,
) -> Drawn:
    """Roll out every episode `rollouts` times, choices drawn from the network.

    Rollouts of one episode share its jobs and its luck, and where `scope` cuts them, the time of the cut: termination
    without memory, so that no choice is made with the end in view (Mao et al. 2019, "Learning Scheduling Algorithms
    for Data Processing Clusters", §5.3). Decima's differential reward subtracts the same from all rollouts of an
    episode until then, so it is in the baseline already.
    With the baseline `iteration` all rollouts share one, whatever their jobs.
    """
    episodes = [episode for episode in sequences for _ in range(rollouts)]
    ends_s = np.full(len(sequences), np.inf)
    if np.isfinite(scope.cut_s):
        ends_s = generator.exponential(scope.cut_s, len(sequences))
    ends_s = np.repeat(ends_s, rollouts)
    steps, results = roll_out(network, instance, episodes, generator, ends_s, scope.expert)
    places = np.cumsum(np.bincount(steps.episode, minlength=len(episodes)))[:-1]
    times, backlogs = np.split(steps.time_s, places), np.split(steps.observation.backlog(), places)
    advantages, excess = [], []
    size = len(episodes) if scope.baseline == "iteration" else rollouts
    for first in range(0, len(episodes), size):
        group = slice(first, first + size)
        advantages += group_advantages(times[group], results[group], scope.horizon_s, ends_s[group])
        excess += excess_backlog(times[group], backlogs[group], [result.end_s for result in results[group]])
    joined = without_backlog(np.concatenate(advantages), np.concatenate(excess))
    if np.isfinite(scope.trace_s):
        joined = generalised(joined, times, scope.horizon_s, scope.trace_s)
    mean = None
    if not np.isfinite(ends_s).any():
        name = instance.objective.name
        mean = float(np.mean([result.measures[name] for result in results]))
    return Drawn(steps, joined / (joined.std() or 1.0), mean)


def roll_out(
    network: Any,
    instance: Instance,
    episodes: Sequence[Episode],
    generator: np.random.Generator,
    ends_s: np.ndarray | None = None,
    expert: Compiled = None,
) -> tuple[Steps, list[Any]]:
    """Schedule all episodes in lockstep, choices drawn from the network; their decisions, and the outcome of each.

    `ends_s`: float64[episodes]; from then on `expert` schedules, and its decisions are not kept. The first decision of
    an episode is kept in any case.
    """
    lockstep = instance.lockstep(episodes)
    recorder = Recorder()
    begun = np.zeros(len(episodes), bool)

    def decide(observation: Any) -> Answers:
        lanes, times_s = lockstep.pending, lockstep.time_s
        rows = np.arange(len(lanes))
        if ends_s is not None:
            rows = np.flatnonzero((times_s < ends_s[lanes]) | ~begun[lanes])
        begun[lanes] = True
        if len(rows) == len(lanes):
            candidate, level, log_probability = choose(network, observation, generator)
            recorder.add(observation, lanes, times_s, candidate, level, log_probability)
            return Answers(candidate, level)
        answers = lockstep.ask(expert)
        if len(rows):
            seen = observation.take(rows)
            candidate, level, log_probability = choose(network, seen, generator)
            recorder.add(seen, lanes[rows], times_s[rows], candidate, level, log_probability)
            answers.candidate[rows], answers.level[rows] = candidate, level
        return answers

    run_lockstep(lockstep, decide)
    observation, columns = recorder.finish()
    return Steps(observation, *columns), list(lockstep.results())


def choose(network: Any, observation: Any, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw candidate and level of each decision, int64[B], and float32[B], the log-probability of what they do."""
    uniform = generator.random((observation.num_decisions, 2))
    with torch.inference_mode():
        batch = encode(network, observation)
        embedding = network.embed(batch)
        ranks = network.score_candidates(batch, embedding).log_softmax(dim=1)
        column = draw(ranks.exp().cpu().numpy(), uniform[:, 0])
        candidate = tensor(candidate_of(column, batch.most_candidates), network)
        levels, level = None, torch.zeros_like(candidate)
        if network.levels:
            levels = network.score_levels(batch, embedding, row_of(candidate, batch)).log_softmax(dim=1)
            drawn = tensor(draw(levels.exp().cpu().numpy(), uniform[:, 1]), network) + 1
            level = torch.where(candidate == NONE, level, drawn)
        chosen = log_probability_of_choice(batch, ranks, levels, candidate, level)
    return candidate.cpu().numpy(), level.cpu().numpy(), chosen.cpu().numpy()


def log_probability_of_choice(
    batch: Any, ranks: Tensor, levels: Tensor | None, candidate: Tensor, level: Tensor
) -> Tensor:
    """[B]: log of the probability of a candidate and of what it is given; none is given nothing."""
    of_rank = ranks.gather(1, column_of(candidate, batch)[:, None]).squeeze(1)
    if levels is None:
        return of_rank
    grant = log_probability_of_level(levels, level, batch.same_from[row_of(candidate, batch)])
    return of_rank + torch.where(candidate == NONE, 0.0, grant)
