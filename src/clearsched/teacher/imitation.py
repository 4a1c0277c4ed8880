"""Cloning a heuristic: cross-entropy on its stage and its limit, first on its own decisions, then on the network's.

The second kind of round is DAgger (Ross, Gordon and Bagnell 2011): the network schedules, the heuristic says what it
would have done, and the network learns from all of it. A clone that only saw the heuristic's states does not know what
to do in those that its own mistakes lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.params.models import CloneParams
from clearsched.problems.dag_jobs.graph import Graph, concatenate, take
from clearsched.problems.dag_jobs.network.encoding import EXECUTORS, Batch, encode
from clearsched.problems.dag_jobs.network.network import TeacherNetwork
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep
from clearsched.problems.dag_jobs.simulator.loop import Compiled
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.simulator.state import NONE
from clearsched.teacher.choices import entropy, stage_table
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.rollouts import Recorder, run_lockstep

SAMPLE = 4096
"""Decisions that the shift and scale of the network's inputs are taken from."""


@dataclass(frozen=True)
class Examples:
    """T decisions, in the order of episodes and time, and what the heuristic answers to them.

    Attributes:
        graph: the decisions.
        candidate: int64[T], position among the decision's candidates.
        limit: int64[T], executors that the job may hold, not truncated by what is free at that moment.
    """

    graph: Graph
    candidate: np.ndarray
    limit: np.ndarray

    def __len__(self) -> int:
        return len(self.candidate)

    def __getitem__(self, rows: np.ndarray) -> Examples:
        """The examples of the given rows, in their order."""
        return Examples(take(self.graph, rows), self.candidate[rows], self.limit[rows])

    def and_more(self, others: Examples) -> Examples:
        """These and, after them, others."""
        return Examples(
            concatenate([self.graph, others.graph]),
            np.concatenate([self.candidate, others.candidate]),
            np.concatenate([self.limit, others.limit]),
        )


class Epoch(NamedTuple):
    """How an epoch of cloning went, averaged over its decisions."""

    episodes: int  # simulated so far
    loss: float
    entropy: float  # of the stage choice, nats
    stage_accuracy: float  # share of decisions whose stage is the heuristic's
    limit_accuracy: float  # share whose limit on that stage's job is


def clone(
    network: TeacherNetwork,
    profiles: Profiles,
    workloads: Sequence[Workload],
    heuristic: Compiled,
    params: CloneParams,
    generator: np.random.Generator,
    report: Callable[[Epoch], None] = lambda epoch: None,
) -> None:
    """Teach `network` what `heuristic` does.

    Args:
        network: changed in place.
        profiles, workloads: training episodes; round r uses `params.episodes` of them from r x `params.episodes` on,
            from the beginning again where they end.
        heuristic: a compiled policy.
        params: the section teacher.clone.
        generator: shuffles the decisions, and seeds the network's draws in rounds of DAgger.
        report: called after each epoch.
    """
    examples: Examples | None = None
    for number in range(1 + params.dagger_rounds):
        episodes = [workloads[(number * params.episodes + i) % len(workloads)] for i in range(params.episodes)]
        driver = TeacherPolicy(network, "sampled", int(generator.integers(2**32))) if number else None
        new = demonstrate(profiles, episodes, heuristic, driver)
        examples = new if examples is None else examples.and_more(new)
        if number == 0:
            sample = generator.permutation(len(examples))[:SAMPLE]
            network.normalise_like(encode(take(examples.graph, sample)))
        for epoch in fit(network, examples, params, generator):
            report(epoch._replace(episodes=(number + 1) * params.episodes))


def demonstrate(
    profiles: Profiles, workloads: Sequence[Workload], heuristic: Compiled, driver: TeacherPolicy | None = None
) -> Examples:
    """The heuristic's answers in the decisions of some episodes, which it schedules itself, or else `driver` does.

    A decision in which the heuristic would leave executors idle although there is a candidate is no example; there the
    first candidate gets all it can, since a network must choose one.
    """
    lockstep = Lockstep(profiles, workloads)
    generators = [driver.generator(workload) for workload in workloads] if driver else []
    recorder = Recorder()

    def decide(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        stage, limit = lockstep.choices(heuristic)
        of_decision = np.repeat(np.arange(len(stage)), np.diff(graph.candidate_start))
        chosen = np.flatnonzero(graph.candidate_stage == stage[of_decision])
        named = np.flatnonzero(stage != NONE)
        candidate = np.zeros_like(stage)
        candidate[named] = chosen - graph.candidate_start[named]
        if len(named):
            recorder.add(take(graph, named), lockstep.pending[named], candidate[named], limit[named])
        if driver is not None:
            return driver.choose(graph, [generators[index] for index in lockstep.pending])[:2]
        return candidate, np.where(stage == NONE, graph.totals[:, EXECUTORS].astype(np.int64), limit)

    run_lockstep(lockstep, decide)
    graph, (_, candidate, limit) = recorder.finish()
    return Examples(graph, candidate, limit)


def fit(
    network: TeacherNetwork, examples: Examples, params: CloneParams, generator: np.random.Generator
) -> Iterator[Epoch]:
    """Adam on the cross-entropy of stage and limit, its step size falling to 0 as a cosine; yields after each epoch."""
    steps = params.epochs * -(-len(examples) // params.batch_size)
    optimiser = torch.optim.Adam(network.parameters(), lr=params.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(params.epochs):
        sums = np.zeros(4)
        order = generator.permutation(len(examples))
        for start in range(0, len(order), params.batch_size):
            chosen = examples[order[start : start + params.batch_size]]
            loss, measures = imitation_loss(network, chosen)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            sums += len(chosen) * np.array([loss.item(), *measures])
        yield Epoch(0, *(sums / len(examples)).tolist())


def imitation_loss(network: TeacherNetwork, examples: Examples) -> tuple[Tensor, tuple[float, float, float]]:
    """Mean cross-entropy of stage plus that of limit; and mean entropy of stage, accuracy of stage and of limit."""
    batch = encode(examples.graph)
    candidate, limit = torch.from_numpy(examples.candidate), torch.from_numpy(examples.limit)
    stages, limits = log_probabilities(network, batch, candidate)
    loss = -(stages.gather(1, candidate[:, None]).mean() + limits.gather(1, (limit - 1)[:, None]).mean())
    with torch.no_grad():
        right_stage = (stages.argmax(dim=1) == candidate).float().mean()
        right_limit = (limits.argmax(dim=1) == limit - 1).float().mean()
        return loss, (float(entropy(stages).mean()), float(right_stage), float(right_limit))


def log_probabilities(network: TeacherNetwork, batch: Batch, candidate: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities [B, most_candidates] of the candidates, and [B, N] of the limits on the job of `candidate`.

    `candidate`: int64[B], position within each decision.
    """
    embedding = network.embed(batch)
    stages = stage_table(network, batch, embedding).log_softmax(dim=1)
    limits = network.score_limits(batch, embedding, batch.first_candidate + candidate).log_softmax(dim=1)
    return stages, limits
