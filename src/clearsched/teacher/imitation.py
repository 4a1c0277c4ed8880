"""Cloning a heuristic: cross-entropy on its candidate and its level, first on its own decisions, then on the network's.

The second kind of round is DAgger (Ross, Gordon and Bagnell 2011): the network schedules, the heuristic says what it
would have done, and the network learns from all of it. A clone that only saw the heuristic's states does not know what
to do in those that its own mistakes lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.problem import NONE, Answers, Compiled, Episode, Instance
from clearsched.teacher.choices import column_of, entropy, row_of
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.rollouts import Recorder, run_lockstep
from clearsched.teacher.settings import CloneParams

SAMPLE = 4096
"""Decisions that the shift and scale of the network's inputs are taken from."""


@dataclass(frozen=True)
class Examples:
    """T decisions, in the order of episodes and time, and what the heuristic answers to them.

    Attributes:
        observation: the decisions.
        candidate: int64[T], position among the decision's candidates, or NONE.
        level: int64[T], not truncated by what is free at that moment; of no meaning where the candidate is NONE.
    """

    observation: Any
    candidate: np.ndarray
    level: np.ndarray

    def __len__(self) -> int:
        return len(self.candidate)

    def __getitem__(self, rows: np.ndarray) -> Examples:
        """The examples of the given rows, in their order."""
        return Examples(self.observation.take(rows), self.candidate[rows], self.level[rows])

    def and_more(self, others: Examples) -> Examples:
        """These and, after them, others."""
        return Examples(
            self.observation.and_more([others.observation]),
            np.concatenate([self.candidate, others.candidate]),
            np.concatenate([self.level, others.level]),
        )


class Epoch(NamedTuple):
    """How an epoch of cloning went, averaged over its decisions."""

    episodes: int  # simulated so far
    loss: float
    entropy: float  # of the choice of a candidate, nats
    accuracy: float  # share of decisions whose candidate is the heuristic's
    level_accuracy: float  # share whose level of that candidate is


def clone(
    network: Any,
    instance: Instance,
    training: Sequence[Episode],
    heuristic: Compiled,
    params: CloneParams,
    generator: np.random.Generator,
    report: Callable[[Epoch], None] = lambda epoch: None,
) -> None:
    """Teach `network` what `heuristic` does.

    Args:
        network: `problems.networks.Network`, changed in place.
        instance: the problem with its data.
        training: episodes; round r uses `params.episodes` of them from r x `params.episodes` on, from the beginning
            again where they end.
        heuristic: a compiled policy.
        params: the section teacher.clone.
        generator: shuffles the decisions, and seeds the network's draws in rounds of DAgger.
        report: called after each epoch.
    """
    examples: Examples | None = None
    for number in range(1 + params.dagger_rounds):
        episodes = [training[(number * params.episodes + i) % len(training)] for i in range(params.episodes)]
        driver = None
        if number:
            driver = TeacherPolicy(network, instance.problem, "sampled", int(generator.integers(2**32)))
        new = demonstrate(instance, episodes, heuristic, driver)
        examples = new if examples is None else examples.and_more(new)
        if number == 0:
            sample = generator.permutation(len(examples))[:SAMPLE]
            network.normalise_like(network.encode(examples.observation.take(sample)))
        for epoch in fit(network, examples, params, generator):
            report(epoch._replace(episodes=(number + 1) * params.episodes))


def demonstrate(
    instance: Instance, episodes: Sequence[Episode], heuristic: Compiled, driver: TeacherPolicy | None = None
) -> Examples:
    """The heuristic's answers in the decisions of some episodes, which it schedules itself, or else `driver` does.

    Where "none of these" is no answer that a network may learn, a decision that the heuristic answers so is no example;
    there the first candidate gets all it can, since a network must choose one.
    """
    lockstep = instance.lockstep(episodes)
    generators = [driver.generator(instance, episode) for episode in episodes] if driver else []
    recorder = Recorder()

    def decide(observation: Any) -> Answers:
        found = lockstep.ask(heuristic)
        named = np.flatnonzero((found.candidate != NONE) | observation.none_allowed)
        if len(named):
            columns = (found.candidate[named], found.level[named])
            recorder.add(observation.take(named), lockstep.pending[named], *columns)
        if driver is not None:
            return driver.weigh(observation, [generators[lane] for lane in lockstep.pending]).answers
        forced = (found.candidate == NONE) & ~observation.none_allowed
        level = np.where(forced, instance.most, found.level)
        return Answers(np.where(forced, 0, found.candidate), level)

    run_lockstep(lockstep, decide)
    observation, (_, candidate, level) = recorder.finish()
    return Examples(observation, candidate, level)


def fit(network: Any, examples: Examples, params: CloneParams, generator: np.random.Generator) -> Iterator[Epoch]:
    """Adam on the cross-entropy of candidate and level, its step size falling to 0 as a cosine; yields after each
    epoch."""
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


def imitation_loss(network: Any, examples: Examples) -> tuple[Tensor, tuple[float, float, float]]:
    """Mean cross-entropy of candidate plus that of level; mean entropy of candidate, accuracy of each.

    A decision answered by none has no level: it adds nothing to the second part.
    """
    batch = network.encode(examples.observation)
    candidate, level = torch.from_numpy(examples.candidate), torch.from_numpy(examples.level)
    ranks, levels = log_probabilities(network, batch, candidate)
    column = column_of(candidate, batch)
    loss = -ranks.gather(1, column[:, None]).mean()
    with torch.no_grad():
        right = (ranks.argmax(dim=1) == column).float().mean()
    right_level = torch.ones(())
    if levels is not None:
        named = candidate != NONE
        index = torch.where(named, level - 1, 0)
        of_level = torch.where(named[:, None], levels.gather(1, index[:, None]), 0.0)
        loss = -(ranks.gather(1, column[:, None]).mean() + of_level.mean())
        with torch.no_grad():
            right_level = ((levels.argmax(dim=1) == level - 1) | ~named).float().mean()
    with torch.no_grad():
        return loss, (float(entropy(ranks).mean()), float(right), float(right_level))


def log_probabilities(network: Any, batch: Any, candidate: Tensor) -> tuple[Tensor, Tensor | None]:
    """Log-probabilities of the candidates, [B, columns], and of the levels of `candidate`, [B, N] (None without).

    `candidate`: int64[B], position within each decision, or NONE; the levels of such a decision mean nothing.
    """
    embedding = network.embed(batch)
    ranks = network.score_candidates(batch, embedding).log_softmax(dim=1)
    if not network.levels:
        return ranks, None
    levels = network.score_levels(batch, embedding, row_of(candidate, batch)).log_softmax(dim=1)
    return ranks, levels
