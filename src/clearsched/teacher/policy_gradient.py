"""Improving the clone: policy gradient with the input-dependent baseline, in clipped steps (PPO).

The baseline is in `baselines.py`; the step is that of Schulman et al. 2017, "Proximal Policy Optimization Algorithms".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.params.models import ImproveParams
from clearsched.problems.dag_jobs.graph import Graph, take
from clearsched.problems.dag_jobs.network.encoding import Batch, encode
from clearsched.problems.dag_jobs.network.network import TeacherNetwork
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.teacher.baselines import backlog, excess_backlog, group_advantages, without_backlog
from clearsched.teacher.choices import draw, entropy, log_probability_of_grant, stage_table
from clearsched.teacher.imitation import SAMPLE, log_probabilities
from clearsched.teacher.rollouts import Recorder, run_lockstep


@dataclass(frozen=True)
class Steps:
    """T decisions of rollouts, in the order of episodes and time.

    Attributes:
        graph: the decisions.
        episode: int64[T].
        time_ms: float64[T].
        candidate: int64[T], position among the decision's candidates.
        limit: int64[T].
        log_probability: float32[T], of the stage and of the executors granted, when they were drawn.
    """

    graph: Graph
    episode: np.ndarray
    time_ms: np.ndarray
    candidate: np.ndarray
    limit: np.ndarray
    log_probability: np.ndarray

    def __len__(self) -> int:
        return len(self.candidate)

    def __getitem__(self, rows: np.ndarray) -> Steps:
        """The decisions of the given rows, in their order."""
        columns = (self.episode, self.time_ms, self.candidate, self.limit, self.log_probability)
        return Steps(take(self.graph, rows), *(column[rows] for column in columns))


class Iteration(NamedTuple):
    """How an iteration went."""

    loss: float  # mean over its gradient steps
    entropy: float  # mean entropy of the stage choice in the last pass, nats
    train_jct_s: float  # mean over its rollouts


def improve(
    network: TeacherNetwork,
    profiles: Profiles,
    workloads: Sequence[Workload],
    params: ImproveParams,
    generator: np.random.Generator,
    horizon_ms: float,
) -> Iterator[Iteration]:
    """Improve `network` in place, iteration by iteration; yields after each.

    Args:
        network: the clone.
        profiles, workloads: training episodes; each iteration draws `params.sequences` of them.
        params: the section teacher.improve.
        generator: draws episodes, choices and batches.
        horizon_ms: what happens so much later counts 1/e of what happens at once (see `baselines.returns_to_go`).
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=params.learning_rate)
    order: list[int] = []
    for _ in range(params.iterations):
        while len(order) < params.sequences:
            order += generator.permutation(len(workloads)).tolist()
        sequences = [workloads[order.pop(0)] for _ in range(params.sequences)]
        steps, advantages, jct_s = collect(network, profiles, sequences, params.rollouts, generator, horizon_ms)
        loss, mean_entropy = update(network, optimiser, steps, advantages, params, generator)
        yield Iteration(loss, mean_entropy, jct_s)


def temperature_for(network: TeacherNetwork, graph: Graph, entropy_nats: float) -> float:
    """What the scores must be divided by for a mean entropy of the stage choice of `entropy_nats`, by bisection.

    The mean is over the first decisions of `graph`, at most `SAMPLE`.

    At least 1 (a network that already varies that much stays as it is) and at most 1000 (single candidates have no
    entropy whatever the temperature).
    """
    with torch.inference_mode():
        batch = encode(take(graph, np.arange(min(graph.num_decisions, SAMPLE))))
        scores = stage_table(network, batch, network.embed(batch))
        low, high = 0.0, np.log(1000.0)
        for _ in range(40):
            middle = (low + high) / 2
            enough = float(entropy((scores / np.exp(middle)).log_softmax(dim=1)).mean()) >= entropy_nats
            low, high = (low, middle) if enough else (middle, high)
    return float(np.exp(low))


def collect(
    network: TeacherNetwork,
    profiles: Profiles,
    sequences: Sequence[Workload],
    rollouts: int,
    generator: np.random.Generator,
    horizon_ms: float,
) -> tuple[Steps, np.ndarray, float]:
    """Roll out every sequence `rollouts` times, choices drawn from the network.

    Returns the decisions of all rollouts, their advantages (float64, deviation 1) and the mean JCT in s.
    """
    episodes = [workload for workload in sequences for _ in range(rollouts)]
    steps, results = roll_out(network, profiles, episodes, generator)
    ends = np.cumsum(np.bincount(steps.episode, minlength=len(episodes)))[:-1]
    times, backlogs = np.split(steps.time_ms, ends), np.split(backlog(steps.graph), ends)
    advantages, excess = [], []
    for first in range(0, len(episodes), rollouts):
        group = slice(first, first + rollouts)
        advantages += group_advantages(times[group], results[group], horizon_ms)
        excess += excess_backlog(times[group], backlogs[group])
    joined = without_backlog(np.concatenate(advantages), np.concatenate(excess))
    mean_jct_s = float(np.mean([result.avg_jct_s for result in results]))
    return steps, joined / (joined.std() or 1.0), mean_jct_s


def roll_out(
    network: TeacherNetwork, profiles: Profiles, episodes: Sequence[Workload], generator: np.random.Generator
) -> tuple[Steps, list[EpisodeResult]]:
    """Schedule all episodes in lockstep, choices drawn from the network; their decisions, and the results of each."""
    lockstep = Lockstep(profiles, episodes)
    recorder = Recorder()

    def decide(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        candidate, limit, log_probability = choose(network, graph, generator)
        recorder.add(graph, lockstep.pending, lockstep.time_s * 1000, candidate, limit, log_probability)
        return candidate, limit

    run_lockstep(lockstep, decide)
    graph, columns = recorder.finish()
    return Steps(graph, *columns), lockstep.results()


def choose(
    network: TeacherNetwork, graph: Graph, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw candidate and limit of each decision, int64[B], float32[B] log-probability of stage and grant."""
    uniform = generator.random((graph.num_decisions, 2))
    with torch.inference_mode():
        batch = encode(graph)
        embedding = network.embed(batch)
        stages = stage_table(network, batch, embedding).log_softmax(dim=1)
        candidate = torch.from_numpy(draw(stages.exp().numpy(), uniform[:, 0]))
        limits = network.score_limits(batch, embedding, batch.first_candidate + candidate).log_softmax(dim=1)
        limit = torch.from_numpy(draw(limits.exp().numpy(), uniform[:, 1])) + 1
        chosen = log_probability_of_choice(batch, stages, limits, candidate, limit)
    return candidate.numpy(), limit.numpy(), chosen.numpy()


def log_probability_of_choice(batch: Batch, stages: Tensor, limits: Tensor, candidate: Tensor, limit: Tensor) -> Tensor:
    """[B]: log of the probability of a stage and of the executors it is granted."""
    row = batch.first_candidate + candidate
    grant = log_probability_of_grant(limits, limit, batch.held[row] + batch.covering[row])
    return stages.gather(1, candidate[:, None]).squeeze(1) + grant


def update(
    network: TeacherNetwork,
    optimiser: torch.optim.Optimizer,
    steps: Steps,
    advantages: np.ndarray,
    params: ImproveParams,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """Passes of clipped policy-gradient steps over the decisions; mean loss, and stage entropy of the last pass."""
    losses: list[float] = []
    entropies: list[float] = []
    for _ in range(params.epochs):
        entropies = []
        order = generator.permutation(len(steps))
        for start in range(0, len(order), params.batch_size):
            chosen = order[start : start + params.batch_size]
            loss, stage_entropy = surrogate_loss(network, steps[chosen], advantages[chosen], params)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), params.gradient_norm)
            optimiser.step()
            losses.append(loss.item())
            entropies.append(stage_entropy)
    return float(np.mean(losses)), float(np.mean(entropies))


def surrogate_loss(
    network: TeacherNetwork, steps: Steps, advantages: np.ndarray, params: ImproveParams
) -> tuple[Tensor, float]:
    """The clipped surrogate with an entropy bonus for stage and limit, and the mean entropy of the stage choice."""
    batch = encode(steps.graph)
    candidate, limit = torch.from_numpy(steps.candidate), torch.from_numpy(steps.limit)
    before = torch.from_numpy(steps.log_probability)
    advantage = torch.from_numpy(advantages.astype(np.float32))
    stages, limits = log_probabilities(network, batch, candidate)
    ratio = (log_probability_of_choice(batch, stages, limits, candidate, limit) - before).exp()
    clipped = ratio.clamp(1 - params.clip, 1 + params.clip)
    gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
    stage_entropy = entropy(stages).mean()
    bonus = params.entropy * (stage_entropy + entropy(limits).mean())
    return -(gain + bonus), float(stage_entropy.detach())
