"""Cloning a policy: cross-entropy on its candidate and its level, first on its own decisions, then on the network's.

The second kind of round is DAgger (Ross, Gordon and Bagnell 2011): the network schedules, the expert says what it
would have done, and the network learns from all of it. A clone that only saw the expert's states does not know what
to do in those that its own mistakes lead to. A third kind is of the episodes on which the clone strays from what is
safe: what such a mistake needs comes once in hundreds of episodes, and no mean tells of it (counterexample-guided, as
in A. Solar-Lezama, Program synthesis by sketching, 2008).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.episodes import NONE, Answers, Compiled, Episode
from clearsched.problems.problem import Instance
from clearsched.teacher.choices import column_of, entropy, row_of
from clearsched.teacher.devices import encode, tensor
from clearsched.teacher.optimisers import adam
from clearsched.teacher.policy import TeacherPolicy
from clearsched.teacher.resuming import (
    Snapshot,
    copy_of,
    optimiser_tensors,
    prefixed,
    restore_optimiser,
    under,
)
from clearsched.teacher.rollouts import Recorder, run_lockstep
from clearsched.teacher.settings import CloneParams

SAMPLE = 4096
"""Decisions that the shift and scale of the network's inputs are taken from."""

LONGEST = 2
"""A round about episodes on which the network strays has so many times the decisions of the first round, at most."""

WIDTH = 128
"""Episodes that the range of the network's inputs is taken from at a time."""


@dataclass(frozen=True)
class Examples:
    """T decisions, in the order of episodes and time, and what the expert answers to them.

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


class Cloning:
    """Cloning as it goes, epoch by epoch; between two of them it can be put away and taken up again.

    Attributes:
        network: `problems.networks.Network`, changed in place.
        number: the round that runs or comes next; round 0 learns from what the expert schedules.
        epoch: its epochs that are done.
    """

    def __init__(
        self,
        network: Any,
        instance: Instance,
        training: Sequence[Episode],
        expert: Compiled,
        params: CloneParams,
        generator: np.random.Generator,
        asked: Sequence[Episode] = (),
    ) -> None:
        """Begin with nothing learned.

        Args:
            network: changed in place.
            instance: the problem with its data.
            training: episodes; round r uses `params.episodes` of them from r x `params.episodes` on, from the
                beginning again where they end.
            expert: the compiled policy that is imitated.
            params: the section teacher.clone.
            generator: shuffles the decisions, and seeds the network's draws in rounds of DAgger.
            asked: episodes of the safety check, which a round may be about.
        """
        self.network, self.instance, self.training, self.expert = network, instance, training, expert
        self.asked = asked
        self.params, self.generator = params, generator
        self.number = self.epoch = 0
        self._drivers: list[dict[str, Tensor]] = []  # weights that scheduled rounds 1, 2, ...
        self._seeds: list[int] = []  # of their draws
        self._strayed: list[list[int]] = []  # of each round: places in `asked` of its episodes; none: training ones
        self._examples: Examples | None = None
        self._first = 0  # decisions of round 0
        self._optimiser = adam(network, params.learning_rate)

    @property
    def episodes(self) -> int:
        """Episodes simulated by the end of the round."""
        return (self.number + 1) * self.params.episodes

    @property
    def safety_rounds(self) -> int:
        """How many rounds were about episodes of the safety check."""
        return sum(map(bool, self._strayed))

    def run_round(self, strayed: Sequence[int] = ()) -> Iterator[Epoch]:
        """The epochs of the next round, or those that are left of one that was put away.

        `strayed`: places in `asked` of the episodes that a new one is about; none: training episodes in turn.
        """
        if self._examples is None:
            self._see_again()
        if self.epoch == 0:
            self._begin_round(strayed)
        assert self._examples is not None
        steps = -(-len(self._examples) // self.params.batch_size)
        while self.epoch < self.params.epochs:
            done = self.epoch / self.params.epochs
            rates = [self._rate(done + i / (steps * self.params.epochs)) for i in range(steps)]
            found = fit_epoch(
                self.network, self._optimiser, self._examples, rates, self.params.batch_size, self.generator
            )
            self.epoch += 1
            yield found._replace(episodes=self.episodes)
        self.number, self.epoch = self.number + 1, 0

    def snapshot(self) -> Snapshot:
        """What the rest of cloning depends on, but for the network's weights and the generator's state."""
        tensors = prefixed("adam", optimiser_tensors(self._optimiser))
        for number, weights in enumerate(self._drivers):
            tensors |= prefixed(f"driver{number}", weights)
        rounds = {"seeds": self._seeds, "strayed": self._strayed}
        return Snapshot(tensors, {"number": self.number, "epoch": self.epoch, **rounds})

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there. The examples are made anew: the same ones, since the drivers are known."""
        self.number, self.epoch = snapshot.facts["number"], snapshot.facts["epoch"]
        self._seeds, self._strayed = list(snapshot.facts["seeds"]), list(snapshot.facts["strayed"])
        self._drivers = [under(f"driver{number}", snapshot.tensors) for number in range(len(self._seeds))]
        restore_optimiser(self._optimiser, under("adam", snapshot.tensors))

    def _rate(self, done: float) -> float:
        """The step size after a share of the round: it falls to 0 as a cosine."""
        return self.params.learning_rate * 0.5 * (1 + math.cos(math.pi * done))

    def _begin_round(self, strayed: Sequence[int]) -> None:
        self._strayed.append(list(strayed))
        if self.number:
            self._seeds.append(int(self.generator.integers(2**32)))
            self._drivers.append(copy_of(self.network))
        self._see(self.number)
        if self.number == 0:
            assert self._examples is not None
            sample = self.generator.permutation(len(self._examples))[:SAMPLE]
            self.network.normalise_like(encode(self.network, self._examples.observation.take(sample)))
            self.network.bound_like(inputs_of(self.network, self.instance, self.training, self.expert))
        self._optimiser = adam(self.network, self.params.learning_rate)

    def _see_again(self) -> None:
        """The examples of all rounds that have begun."""
        for number in range(self.number + (self.epoch > 0)):
            self._see(number)

    def _see(self, number: int) -> None:
        """Add the examples of a round."""
        count, strayed = self.params.episodes, [self.asked[place] for place in self._strayed[number]]
        driver = None
        if number:
            weights = copy.deepcopy(self.network)
            weights.load_state_dict(self._drivers[number - 1])
            driver = TeacherPolicy(weights, self.instance.problem, "sampled", self._seeds[number - 1])
        if driver is not None and strayed:
            new = self._corrected(strayed[:count], driver)
        else:
            episodes = [self.training[(number * count + i) % len(self.training)] for i in range(count)]
            new = demonstrate(self.instance, episodes, self.expert, driver, none=self.network.none)
        self._first = self._first or len(new)
        self._examples = new if self._examples is None else self._examples.and_more(new)

    def _corrected(self, strayed: Sequence[Episode], driver: TeacherPolicy) -> Examples:
        """Of episodes on which the network strays, again and again until there are as many decisions as in round 0.

        Each time with draws of its own. Of long streams, which have more, a part.
        """
        none, most = self.network.none, LONGEST * self._first

        def see(again: Sequence[int], most: int) -> Examples:
            episodes = [episode for _ in again for episode in strayed]
            times = [number for number in again for _ in strayed]
            return demonstrate(self.instance, episodes, self.expert, driver, times, none=none, most=most)

        once = see([0], most)
        passes = -(-self._first // len(once))
        return once.and_more(see(range(1, passes), most - len(once))) if passes > 1 else once


def inputs_of(network: Any, instance: Instance, episodes: Sequence[Episode], expert: Compiled) -> Iterator[Any]:
    """What a network would be given in episodes that the expert schedules; each batch lasts until the next one."""
    lockstep = instance.lockstep(episodes, WIDTH)
    while lockstep.advance():
        yield encode(network, lockstep.observe())
        lockstep.answer(lockstep.ask(expert), by_heuristic=True)


def demonstrate(
    instance: Instance,
    episodes: Sequence[Episode],
    expert: Compiled,
    driver: TeacherPolicy | None = None,
    again: Sequence[int] = (),
    *,
    none: bool = True,
    most: int | None = None,
) -> Examples:
    """The expert's answers in the decisions of some episodes, which it schedules itself, or else `driver` does.

    Where "none of these" is no answer that a network may learn, a decision that the expert answers so is no example;
    there the first candidate gets all it can, since a network must choose one.

    `again`: how often each episode has come before, 0 unless told: `driver` draws otherwise then.
    `none`: whether the network scores "none of these".
    `most`: examples, at most; of more a part that is drawn, by the seed of `driver`.
    """
    lockstep = instance.lockstep(episodes)
    told = zip(episodes, again or [0] * len(episodes), strict=True)
    generators = [driver.generator(instance, episode, times) for episode, times in told] if driver else []
    recorder = Recorder(most, driver.seed if driver else 0)

    def decide(observation: Any) -> Answers:
        found = lockstep.ask(expert)
        forced = (found.candidate == NONE) & ~(observation.none_allowed & none)
        named = np.flatnonzero(~forced)
        if len(named):
            columns = (found.candidate[named], found.level[named])
            recorder.add(observation.take(named), lockstep.pending[named], *columns)
        if driver is not None:
            return driver.weigh(observation, [generators[lane] for lane in lockstep.pending]).answers
        if not forced.any():
            return found
        return Answers(np.where(forced, 0, found.candidate), np.where(forced, last_level(observation), found.level))

    run_lockstep(lockstep, decide)
    observation, (_, candidate, level) = recorder.finish()
    return Examples(observation, candidate, level)


def last_level(observation: Any) -> np.ndarray:
    """int64[B]: all that the first candidate of each decision can get; 0 where there is no level choice."""
    levels, first = observation.levels, observation.candidate_start[:-1]
    return levels[first, 1] if levels.shape[1] else np.zeros(len(first), np.int64)


def fit_epoch(
    network: Any,
    optimiser: torch.optim.Optimizer,
    examples: Examples,
    rates: Sequence[float],
    batch_size: int,
    generator: np.random.Generator,
) -> Epoch:
    """A pass over the examples: Adam on the cross-entropy of candidate and level, a step size for each batch."""
    sums = np.zeros(4)
    order = generator.permutation(len(examples))
    for rate, start in zip(rates, range(0, len(order), batch_size), strict=True):
        chosen = examples[order[start : start + batch_size]]
        loss, measures = imitation_loss(network, chosen)
        take_step(network, optimiser, loss, rate, 1.0)
        sums += len(chosen) * np.array([loss.item(), *measures])
    return Epoch(0, *(sums / len(examples)).tolist())


def take_step(network: Any, optimiser: torch.optim.Optimizer, loss: Tensor, rate: float, norm: float) -> None:
    """Down the gradient, which is clipped to `norm`, with a step size of `rate`."""
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), norm)
    optimiser.step()


def imitation_loss(network: Any, examples: Examples) -> tuple[Tensor, tuple[float, float, float]]:
    """Mean cross-entropy of candidate plus that of level; mean entropy of candidate, accuracy of each.

    A decision answered by none has no level, and where the network's is always the most it has none to learn: these
    add nothing to the second part.
    """
    batch = encode(network, examples.observation)
    candidate, level = tensor(examples.candidate, network), tensor(examples.level, network)
    ranks, levels = log_probabilities(network, batch, candidate)
    column = column_of(candidate, batch)
    loss = -ranks.gather(1, column[:, None]).mean()
    with torch.no_grad():
        right = (ranks.argmax(dim=1) == column).float().mean()
    right_level = torch.ones((), device=candidate.device)
    if levels is not None and not network.always_most:
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
