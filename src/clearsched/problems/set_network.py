"""The generic network: each candidate embedded with the pooled context of all candidates of its decision.

A decision is a set of candidates, so the network must not depend on their order: sum over a perceptron of each (Zaheer
et al. 2017, "Deep Sets", §3), beside it the largest entry of each column. It reads the features that students read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from clearsched.problems.networks import (
    Normalised,
    float_tensor,
    index_tensor,
    only_most,
    perceptron,
    signed_log,
    soften_heads,
    with_none,
)

LEVEL_INPUTS = ("level_to_most", "log_level", "above_first_to_most", "log_above_first")


class SetBatch(NamedTuple):
    """B decisions with c candidates in all."""

    candidates: Tensor  # float32[c, F]
    candidate_decision: Tensor  # int64[c]
    candidate_rank: Tensor  # int64[c]: position within its decision
    first_candidate: Tensor  # int64[B]
    most_candidates: int
    none_allowed: Tensor  # bool[B]
    levels: Tensor  # int64[c, 2]: first and last; [c, 0] without a level choice
    counts: Tensor  # float32[B]: candidates of each decision

    @property
    def num_decisions(self) -> int:
        """B."""
        return len(self.first_candidate)

    @property
    def same_from(self) -> Tensor:
        """int64[c]: the last level."""
        return self.levels[:, 1]


class SetEmbedding(NamedTuple):
    """What scores are computed from; E is the width of an embedding."""

    candidate: Tensor  # [c, F + 3 E + 1]: normalised features, own embedding, context of the decision
    context: Tensor  # [B, 2 E + 1]


class SetNetwork(Normalised):
    """Scores of candidates, of none, and of levels, for any problem.

    Args:
        features: names of the features of the rank choice.
        embedding: width E of a candidate's embedding.
        hidden: width of hidden layers.
        none: whether "none of these" is scored.
        levels: whether there is a level choice.
        always_most: whether its answer is always the largest level.
    """

    onnx = "clearsched.problems.set_network_onnx:draw"

    def __init__(
        self,
        features: tuple[str, ...],
        embedding: int,
        hidden: int,
        none: bool,
        levels: bool,
        always_most: bool = False,
    ) -> None:
        super().__init__({"candidate": len(features)}, ["candidate"])
        self.inputs = {"candidate": features, "level": LEVEL_INPUTS if levels else ()}
        self.none, self.levels, self.always_most = none, levels, always_most
        width = len(features) + 3 * embedding + 1
        self.candidate_net = perceptron(len(features), hidden, embedding)
        self.rank_net = perceptron(width, hidden, hidden, 1)
        if levels:
            self.level_context = nn.Linear(width, hidden)
            self.level_input = nn.Linear(len(LEVEL_INPUTS), hidden, bias=False)
            self.level_net = perceptron(hidden, hidden, 1)
        if none:
            self.none_net = perceptron(2 * embedding + 1, hidden, 1)

    def encode(self, observation: Any) -> SetBatch:
        """The inputs of an `Observation`."""
        start = observation.candidate_start
        counts = np.diff(start)
        decision = np.repeat(np.arange(len(counts)), counts)
        return SetBatch(
            float_tensor(signed_log(observation.candidates)),
            index_tensor(decision),
            index_tensor(np.arange(len(decision)) - np.repeat(start[:-1], counts)),
            index_tensor(start[:-1]),
            int(counts.max()),
            torch.from_numpy(np.array(observation.none_allowed)),
            index_tensor(observation.levels),
            float_tensor(counts),
        )

    def normalise_like(self, batch: SetBatch) -> None:
        """Take shift and scale of the features from a batch."""
        self.take_scale("candidate", batch.candidates)

    def bound_like(self, batches: Iterable[SetBatch]) -> None:
        """Take the range of the features, and the most candidates, from the decisions of all training episodes."""
        self.take_range(({"candidate": batch.candidates}, batch.counts) for batch in batches)

    def soften(self, temperature: float) -> None:
        """Divide all scores by `temperature`."""
        heads = [self.rank_net, *([self.level_net] if self.levels else []), *([self.none_net] if self.none else [])]
        soften_heads(heads, temperature)

    def embed(self, batch: SetBatch) -> SetEmbedding:
        """Each candidate beside the mean and the largest embedding of its decision, and the number of candidates."""
        rows, of = self.normal("candidate", batch.candidates), batch.candidate_decision
        own = self.candidate_net(rows)
        counts = batch.counts.to(own.dtype)[:, None]
        mean = own.new_zeros(batch.num_decisions, own.shape[1]).index_add(0, of, own) / counts
        largest = own.new_full((batch.num_decisions, own.shape[1]), -torch.inf)
        largest = largest.scatter_reduce(0, of[:, None].expand_as(own), own, "amax")
        context = torch.cat([mean, largest, counts.clamp(max=self.most).log1p()], dim=1)
        return SetEmbedding(torch.cat([rows, own, context[of]], dim=1), context)

    def score_candidates(self, batch: SetBatch, embedding: SetEmbedding) -> Tensor:
        """[B, most_candidates], one column more with none."""
        scores = self.rank_net(embedding.candidate).squeeze(1)
        table = scores.new_full((batch.num_decisions, batch.most_candidates), -torch.inf)
        table = table.index_put((batch.candidate_decision, batch.candidate_rank), scores)
        if not self.none:
            return table
        return with_none(table, self.none_net(embedding.context).squeeze(1), batch.none_allowed)

    def score_levels(self, batch: SetBatch, embedding: SetEmbedding, chosen: Tensor) -> Tensor:
        """[B, N]: the levels of the chosen candidates."""
        first, last = batch.levels[chosen].float().unbind(dim=1)
        most = int(last.max())
        level = torch.arange(1, most + 1, dtype=torch.float32, device=chosen.device)[None]
        allowed = (level >= first[:, None]) & (level <= last[:, None])
        if self.always_most:
            return only_most(allowed, embedding.candidate)
        above = (level - first[:, None] + 1).clamp(min=1)
        log_level = level.log().expand(len(chosen), -1)
        inputs = torch.stack([level / last[:, None], log_level, above / last[:, None], above.log()], dim=2)
        context = self.level_context(embedding.candidate[chosen])
        hidden = torch.relu(context[:, None] + self.level_input(inputs.to(context.dtype)))
        scores: Tensor = self.level_net(hidden).squeeze(2).masked_fill(~allowed, -torch.inf)
        return scores
