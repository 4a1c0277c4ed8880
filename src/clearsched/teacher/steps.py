"""Clipped steps of the policy gradient over the decisions of an iteration's rollouts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.episodes import NONE
from clearsched.teacher.choices import entropy
from clearsched.teacher.devices import encode, tensor
from clearsched.teacher.imitation import log_probabilities, take_step
from clearsched.teacher.sampling import Steps, log_probability_of_choice
from clearsched.teacher.settings import ImproveParams


class Pull(NamedTuple):
    """What an iteration's steps are drawn by, beside the advantages."""

    rate: float  # step size of Adam
    entropy: float  # weight of the entropy bonus, per nat
    clone: Any = None  # the network that `params.anchor` ties to, or None


def update(
    network: Any,
    optimiser: torch.optim.Optimizer,
    steps: Steps,
    advantages: np.ndarray,
    params: ImproveParams,
    generator: np.random.Generator,
    pull: Pull,
) -> tuple[float, float]:
    """Passes of clipped policy-gradient steps over the decisions; mean loss, and mean entropy of the last pass.

    No further step once the choices have moved by more than `params.target_kl`.
    """
    losses: list[float] = []
    entropies: list[float] = []
    for _ in range(params.epochs):
        entropies = []
        order = generator.permutation(len(steps))
        for start in range(0, len(order), params.batch_size):
            chosen = order[start : start + params.batch_size]
            loss, measures = surrogate_loss(network, steps[chosen], advantages[chosen], params, pull)
            losses.append(loss.item())
            entropies.append(measures.entropy)
            if params.target_kl is not None and measures.moved > params.target_kl:
                return float(np.mean(losses)), float(np.mean(entropies))
            take_step(network, optimiser, loss, pull.rate, params.gradient_norm)
    return float(np.mean(losses)), float(np.mean(entropies))


class Measures(NamedTuple):
    """How a batch stands before its step."""

    entropy: float  # mean entropy of the choice of a candidate, nats
    moved: float  # divergence from the choices that were drawn, nats a decision (estimated)


def surrogate_loss(
    network: Any, steps: Steps, advantages: np.ndarray, params: ImproveParams, pull: Pull
) -> tuple[Tensor, Measures]:
    """The clipped surrogate with an entropy bonus for candidate and level, and with what ties it to the clone."""
    batch = encode(network, steps.observation)
    candidate, level = tensor(steps.candidate, network), tensor(steps.level, network)
    before = tensor(steps.log_probability, network)
    advantage = tensor(advantages.astype(np.float32), network)
    ranks, levels = log_probabilities(network, batch, candidate)
    log_ratio = log_probability_of_choice(batch, ranks, levels, candidate, level) - before
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - params.clip, 1 + params.clip)
    gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
    mean_entropy = entropy(ranks).mean()
    bonus = mean_entropy
    if levels is not None:
        bonus = bonus + torch.where(candidate == NONE, 0.0, entropy(levels)).mean()
    loss = -(gain + pull.entropy * bonus)
    if pull.clone is not None:
        with torch.no_grad():
            theirs, their_levels = log_probabilities(pull.clone, batch, candidate)
        away = divergence(theirs, ranks)
        if levels is not None and their_levels is not None:
            away = away + torch.where(candidate == NONE, 0.0, divergence(their_levels, levels))
        loss = loss + params.anchor * away.mean()
    with torch.no_grad():
        moved = (ratio - 1 - log_ratio).mean()  # never negative, with the divergence as its mean (Schulman 2020)
    return loss, Measures(float(mean_entropy.detach()), float(moved))


def divergence(of: Tensor, fro: Tensor) -> Tensor:
    """[B]: Kullback-Leibler divergence of each row of log-probabilities `fro` from that of `of`, nats."""
    difference = (of - fro).masked_fill(~of.isfinite(), 0.0)
    return (of.exp() * difference).sum(dim=1)
