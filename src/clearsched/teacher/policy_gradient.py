"""Improving the clone: policy gradient with the input-dependent baseline, in clipped steps (PPO).

The baseline is in `baselines.py`; the step is that of Schulman et al. 2017, "Proximal Policy Optimization Algorithms",
in `steps.py`; what is drawn, in `sampling.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.episodes import Compiled, Episode
from clearsched.problems.problem import Instance
from clearsched.teacher.choices import entropy
from clearsched.teacher.devices import encode, placed
from clearsched.teacher.imitation import SAMPLE
from clearsched.teacher.optimisers import adam
from clearsched.teacher.resuming import Snapshot, copy_of, optimiser_tensors, prefixed, restore_optimiser, under
from clearsched.teacher.sampling import Scope, collect
from clearsched.teacher.settings import ImproveParams
from clearsched.teacher.steps import Pull, update

GROWTH = 10.0
"""How much longer the cut rollouts are in the last iteration than in the first, on average."""


class Iteration(NamedTuple):
    """How an iteration went."""

    loss: float  # mean over its gradient steps
    entropy: float  # mean entropy of the choice of a candidate in the last pass, nats
    train_objective: float | None  # mean over its rollouts; None where they were cut


class Improving:
    """Policy gradient as it goes, iteration by iteration; between two of them it can be put away and taken up again.

    Attributes:
        network: changed in place.
        iteration: the iterations that are done.
        average: the running mean of the weights after each iteration; empty before the first, or without one.
    """

    def __init__(
        self,
        network: Any,
        instance: Instance,
        training: Sequence[Episode],
        params: ImproveParams,
        generator: np.random.Generator,
        scale_s: float,
        expert: Compiled = None,
    ) -> None:
        """Begin with the clone.

        Args:
            network: the clone, changed in place.
            instance: the problem with its data.
            training: episodes; each iteration draws `params.sequences` of them.
            params: the section teacher.improve.
            generator: draws episodes, choices and batches.
            scale_s: mean stay of a job, s: the unit of the horizons in `params`.
            expert: what schedules on where a rollout was cut; needed with `params.curriculum`.
        """
        self.network, self.instance, self.training = network, instance, training
        self.params, self.generator = params, generator
        self.iteration = 0
        self.average: dict[str, Tensor] = {}
        self._scale_s, self._expert = scale_s, expert
        self._order: list[int] = []
        self._optimiser = adam(network, params.learning_rate)
        self.begin()

    def begin(self) -> None:
        """Take the network as it is now for the clone."""
        self._clone = copy.deepcopy(self.network) if self.params.anchor else None

    def run(self) -> Iterator[Iteration]:
        """The iterations that are left; yields after each."""
        params = self.params
        while self.iteration < params.iterations:
            while len(self._order) < params.sequences:
                self._order += self.generator.permutation(len(self.training)).tolist()
            sequences = [self.training[self._order.pop(0)] for _ in range(params.sequences)]
            drawn = collect(self.network, self.instance, sequences, params.rollouts, self.generator, self._scope())
            done = self.iteration / params.iterations
            pull = Pull(
                params.learning_rate * (1 - done),
                params.entropy + (params.entropy_end - params.entropy) * done,
                self._clone,
            )
            loss, mean_entropy = update(
                self.network, self._optimiser, drawn.steps, drawn.advantages, params, self.generator, pull
            )
            self.iteration += 1
            self._move_average()
            yield Iteration(loss, mean_entropy, drawn.mean_objective)

    def snapshot(self) -> Snapshot:
        """What the rest depends on, but for the network's weights and the generator's state."""
        tensors = prefixed("adam", optimiser_tensors(self._optimiser)) | prefixed("average", self.average)
        if self._clone is not None:
            tensors |= prefixed("clone", self._clone.state_dict())
        return Snapshot(tensors, {"iteration": self.iteration, "order": self._order})

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there."""
        self.iteration, self._order = snapshot.facts["iteration"], list(snapshot.facts["order"])
        self.average = placed(under("average", snapshot.tensors), self.network)
        if self._clone is not None:
            self._clone.load_state_dict(under("clone", snapshot.tensors))
        restore_optimiser(self._optimiser, under("adam", snapshot.tensors))

    def _scope(self) -> Scope:
        """How far this iteration looks."""
        params, scale_s = self.params, self._scale_s
        trace_s = np.inf if params.trace is None else params.trace * scale_s
        if params.curriculum is None:
            return Scope(params.horizon * scale_s, trace_s, baseline=params.baseline)
        grown = GROWTH ** (self.iteration / max(params.iterations - 1, 1))
        cut_s = params.curriculum * scale_s * grown
        return Scope(params.horizon * scale_s, trace_s, cut_s, self._expert, params.baseline)

    def _move_average(self) -> None:
        share = self.params.average
        if not share:
            return
        if not self.average:
            self.average = copy_of(self.network)
        for name, value in self.network.state_dict().items():
            self.average[name].lerp_(value, 1 - share)


def temperature_for(network: Any, observation: Any, entropy_nats: float) -> float:
    """What the scores must be divided by for a mean entropy of the choice of `entropy_nats`, by bisection.

    The mean is over the first decisions of `observation`, at most `SAMPLE`.

    At least 1 (a network that already varies that much stays as it is) and at most 1000 (single candidates have no
    entropy whatever the temperature).
    """
    with torch.inference_mode():
        batch = encode(network, observation.take(np.arange(min(observation.num_decisions, SAMPLE))))
        scores = network.score_candidates(batch, network.embed(batch))
        low, high = 0.0, np.log(1000.0)
        for _ in range(40):
            middle = (low + high) / 2
            enough = float(entropy((scores / np.exp(middle)).log_softmax(dim=1)).mean()) >= entropy_nats
            low, high = (low, middle) if enough else (middle, high)
    return float(np.exp(low))
