"""Improving the clone: policy gradient with the input-dependent baseline, in clipped steps (PPO).

The baseline is in `baselines.py`; the step is that of Schulman et al. 2017, "Proximal Policy Optimization Algorithms".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.problem import NONE, Answers, Episode, Instance
from clearsched.teacher.baselines import excess_backlog, group_advantages, without_backlog
from clearsched.teacher.choices import candidate_of, column_of, draw, entropy, log_probability_of_level, row_of
from clearsched.teacher.imitation import SAMPLE, log_probabilities
from clearsched.teacher.rollouts import Recorder, run_lockstep
from clearsched.teacher.settings import ImproveParams


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


class Iteration(NamedTuple):
    """How an iteration went."""

    loss: float  # mean over its gradient steps
    entropy: float  # mean entropy of the choice of a candidate in the last pass, nats
    train_objective: float  # mean over its rollouts


def improve(
    network: Any,
    instance: Instance,
    training: Sequence[Episode],
    params: ImproveParams,
    generator: np.random.Generator,
    horizon_s: float,
) -> Iterator[Iteration]:
    """Improve `network` in place, iteration by iteration; yields after each.

    Args:
        network: the clone.
        instance: the problem with its data.
        training: episodes; each iteration draws `params.sequences` of them.
        params: the section teacher.improve.
        generator: draws episodes, choices and batches.
        horizon_s: what happens so much later counts 1/e of what happens at once (see `Outcome.cost_to_go`).
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=params.learning_rate)
    order: list[int] = []
    for _ in range(params.iterations):
        while len(order) < params.sequences:
            order += generator.permutation(len(training)).tolist()
        sequences = [training[order.pop(0)] for _ in range(params.sequences)]
        steps, advantages, mean = collect(network, instance, sequences, params.rollouts, generator, horizon_s)
        loss, mean_entropy = update(network, optimiser, steps, advantages, params, generator)
        yield Iteration(loss, mean_entropy, mean)


def temperature_for(network: Any, observation: Any, entropy_nats: float) -> float:
    """What the scores must be divided by for a mean entropy of the choice of `entropy_nats`, by bisection.

    The mean is over the first decisions of `observation`, at most `SAMPLE`.

    At least 1 (a network that already varies that much stays as it is) and at most 1000 (single candidates have no
    entropy whatever the temperature).
    """
    with torch.inference_mode():
        batch = network.encode(observation.take(np.arange(min(observation.num_decisions, SAMPLE))))
        scores = network.score_candidates(batch, network.embed(batch))
        low, high = 0.0, np.log(1000.0)
        for _ in range(40):
            middle = (low + high) / 2
            enough = float(entropy((scores / np.exp(middle)).log_softmax(dim=1)).mean()) >= entropy_nats
            low, high = (low, middle) if enough else (middle, high)
    return float(np.exp(low))


def collect(
    network: Any,
    instance: Instance,
    sequences: Sequence[Episode],
    rollouts: int,
    generator: np.random.Generator,
    horizon_s: float,
) -> tuple[Steps, np.ndarray, float]:
    """Roll out every episode `rollouts` times, choices drawn from the network.

    Returns the decisions of all rollouts, their advantages (float64, deviation 1) and the mean objective.
    """
    episodes = [episode for episode in sequences for _ in range(rollouts)]
    steps, results = roll_out(network, instance, episodes, generator)
    ends = np.cumsum(np.bincount(steps.episode, minlength=len(episodes)))[:-1]
    times, backlogs = np.split(steps.time_s, ends), np.split(steps.observation.backlog(), ends)
    advantages, excess = [], []
    for first in range(0, len(episodes), rollouts):
        group = slice(first, first + rollouts)
        advantages += group_advantages(times[group], results[group], horizon_s)
        excess += excess_backlog(times[group], backlogs[group])
    joined = without_backlog(np.concatenate(advantages), np.concatenate(excess))
    name = instance.objective.name
    mean = float(np.mean([result.measures[name] for result in results]))
    return steps, joined / (joined.std() or 1.0), mean


def roll_out(
    network: Any, instance: Instance, episodes: Sequence[Episode], generator: np.random.Generator
) -> tuple[Steps, list[Any]]:
    """Schedule all episodes in lockstep, choices drawn from the network; their decisions, and the outcome of each."""
    lockstep = instance.lockstep(episodes)
    recorder = Recorder()

    def decide(observation: Any) -> Answers:
        candidate, level, log_probability = choose(network, observation, generator)
        recorder.add(observation, lockstep.pending, lockstep.time_s, candidate, level, log_probability)
        return Answers(candidate, level)

    run_lockstep(lockstep, decide)
    observation, columns = recorder.finish()
    return Steps(observation, *columns), list(lockstep.results())


def choose(network: Any, observation: Any, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw candidate and level of each decision, int64[B], and float32[B], the log-probability of what they do."""
    uniform = generator.random((observation.num_decisions, 2))
    with torch.inference_mode():
        batch = network.encode(observation)
        embedding = network.embed(batch)
        ranks = network.score_candidates(batch, embedding).log_softmax(dim=1)
        column = draw(ranks.exp().numpy(), uniform[:, 0])
        candidate = torch.from_numpy(candidate_of(column, batch.most_candidates))
        levels, level = None, torch.zeros_like(candidate)
        if network.levels:
            levels = network.score_levels(batch, embedding, row_of(candidate, batch)).log_softmax(dim=1)
            drawn = torch.from_numpy(draw(levels.exp().numpy(), uniform[:, 1])) + 1
            level = torch.where(candidate == NONE, level, drawn)
        chosen = log_probability_of_choice(batch, ranks, levels, candidate, level)
    return candidate.numpy(), level.numpy(), chosen.numpy()


def log_probability_of_choice(
    batch: Any, ranks: Tensor, levels: Tensor | None, candidate: Tensor, level: Tensor
) -> Tensor:
    """[B]: log of the probability of a candidate and of what it is given; none is given nothing."""
    of_rank = ranks.gather(1, column_of(candidate, batch)[:, None]).squeeze(1)
    if levels is None:
        return of_rank
    grant = log_probability_of_level(levels, level, batch.same_from[row_of(candidate, batch)])
    return of_rank + torch.where(candidate == NONE, 0.0, grant)


def update(
    network: Any,
    optimiser: torch.optim.Optimizer,
    steps: Steps,
    advantages: np.ndarray,
    params: ImproveParams,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """Passes of clipped policy-gradient steps over the decisions; mean loss, and mean entropy of the last pass."""
    losses: list[float] = []
    entropies: list[float] = []
    for _ in range(params.epochs):
        entropies = []
        order = generator.permutation(len(steps))
        for start in range(0, len(order), params.batch_size):
            chosen = order[start : start + params.batch_size]
            loss, mean_entropy = surrogate_loss(network, steps[chosen], advantages[chosen], params)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), params.gradient_norm)
            optimiser.step()
            losses.append(loss.item())
            entropies.append(mean_entropy)
    return float(np.mean(losses)), float(np.mean(entropies))


def surrogate_loss(network: Any, steps: Steps, advantages: np.ndarray, params: ImproveParams) -> tuple[Tensor, float]:
    """The clipped surrogate with an entropy bonus for candidate and level, and the mean entropy of the former."""
    batch = network.encode(steps.observation)
    candidate, level = torch.from_numpy(steps.candidate), torch.from_numpy(steps.level)
    before = torch.from_numpy(steps.log_probability)
    advantage = torch.from_numpy(advantages.astype(np.float32))
    ranks, levels = log_probabilities(network, batch, candidate)
    ratio = (log_probability_of_choice(batch, ranks, levels, candidate, level) - before).exp()
    clipped = ratio.clamp(1 - params.clip, 1 + params.clip)
    gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
    mean_entropy = entropy(ranks).mean()
    bonus = mean_entropy
    if levels is not None:
        bonus = bonus + torch.where(candidate == NONE, 0.0, entropy(levels)).mean()
    return -(gain + params.entropy * bonus), float(mean_entropy.detach())
