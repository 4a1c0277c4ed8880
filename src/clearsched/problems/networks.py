"""What the teacher asks of a network, and blocks that networks are made of. A problem brings its own, or takes the set
network (set_network.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn


class Batch(Protocol):
    """B pending decisions as inputs of a network: c candidates, levels 1 to N. Index tensors count over the batch."""

    @property
    def num_decisions(self) -> int:
        """B."""

    @property
    def first_candidate(self) -> Tensor:
        """int64[B]."""

    @property
    def most_candidates(self) -> int:
        """The largest number of candidates of a decision: the column of "none of these" in tables that have one."""

    @property
    def same_from(self) -> Tensor:
        """int64[c]: the level of the candidate from which upwards all levels do the same."""


class Network(Protocol):
    """Scores of candidates, of none of them, and of levels; an `nn.Module`."""

    inputs: Mapping[str, Sequence[str]]  # names by group, in order: what a checkpoint and the code must agree on
    none: bool  # whether tables of candidates have a last column for "none of these"
    levels: bool  # whether there is a level choice
    always_most: bool  # whether its answer is always the largest level that is allowed: nothing of it is learned
    # onnx: str, where it can be exported: "module:function" that draws it (`networks_onnx`)

    def encode(self, observation: Any) -> Any:
        """A `Batch`. Index tensors may share the observation's memory, so they last as long as its arrays."""

    def embed(self, batch: Any) -> Any:
        """What the scores are computed from, once for all choices."""

    def score_candidates(self, batch: Any, embedding: Any) -> Tensor:
        """[B, most_candidates], one column more with `none`; -inf where a decision has no such candidate."""

    def score_levels(self, batch: Any, embedding: Any, chosen: Tensor) -> Tensor:
        """[B, N]: column l - 1 is level l of the candidate int64[B] `chosen`; -inf where it is not allowed."""

    def normalise_like(self, batch: Any) -> None:
        """Take shift and scale of the inputs from a batch of typical decisions."""

    def bound_like(self, batches: Iterable[Any]) -> None:
        """Take the range of the inputs from the decisions of all training episodes.

        Beyond it the network answers as at its edge: what no training saw must not be told by extrapolation.
        """

    def soften(self, temperature: float) -> None:
        """Divide all scores by `temperature`: the same best choice, but probabilities that are less sure of it."""


def perceptron(*widths: int) -> nn.Sequential:
    """Linear layers with rectifiers between them."""
    layers: list[nn.Module] = []
    for index, (width, following) in enumerate(pairwise(widths)):
        if index:
            layers.append(nn.ReLU())
        layers.append(nn.Linear(width, following))
    return nn.Sequential(*layers)


UNBOUNDED = torch.finfo(torch.float32).max
"""A bound that nothing has been learned for."""


class Normalised(nn.Module):
    """A network whose groups of inputs are shifted and scaled to mean 0 and deviation 1 over typical decisions, some of
    them held within what training saw before."""

    most: Tensor  # of what is counted or summed, that training saw at a decision

    def __init__(self, widths: Mapping[str, int], held: Sequence[str]) -> None:
        """The widths of the groups, and which of them are held."""
        super().__init__()
        self.held = tuple(held)
        for group, width in widths.items():
            self.register_buffer(f"{group}_mean", torch.zeros(width))
            self.register_buffer(f"{group}_scale", torch.ones(width))
            if group in held:
                self.register_buffer(f"{group}_low", torch.full((width,), -UNBOUNDED))
                self.register_buffer(f"{group}_high", torch.full((width,), UNBOUNDED))
        self.register_buffer("most", torch.tensor(UNBOUNDED))

    def take_scale(self, group: str, values: Tensor) -> None:
        """Shift and scale a group as these values, [n, width], lie."""
        deviation = values.std(dim=0, correction=0)
        getattr(self, f"{group}_mean").copy_(values.mean(dim=0))
        # An input that never varies in training must not blow up when it does later.
        getattr(self, f"{group}_scale").copy_(torch.where(deviation > 1e-3, deviation, torch.ones(())))

    def take_range(self, batches: Iterable[tuple[Mapping[str, Tensor], Tensor]]) -> None:
        """Let the inputs that are held range as they do in these batches, and no further.

        Args:
            batches: values of those groups, [n, width] each; of each decision, how many things there are to count,
                [B]: the largest number is `most`.
        """
        low: dict[str, Tensor] = {}
        high: dict[str, Tensor] = {}
        for groups, counts in batches:
            for group, values in {**groups, "most": counts}.items():
                least, most = values.aminmax(dim=0)
                low[group] = torch.minimum(low.get(group, least), least)
                high[group] = torch.maximum(high.get(group, most), most)
        self.most.copy_(high.pop("most"))
        for group in high:
            getattr(self, f"{group}_low").copy_(low[group])
            getattr(self, f"{group}_high").copy_(high[group])

    def normal(self, group: str, values: Tensor) -> Tensor:
        """The values of a group, held within their range if they are, shifted, scaled and cut off at 10 deviations."""
        mean, scale = getattr(self, f"{group}_mean"), getattr(self, f"{group}_scale")
        if group in self.held:
            values = values.clamp(getattr(self, f"{group}_low"), getattr(self, f"{group}_high"))
        return ((values.to(mean.dtype) - mean) / scale).clamp(-10, 10)


def soften_heads(heads: Sequence[nn.Sequential], temperature: float) -> None:
    """Divide the last layer of each head by `temperature`."""
    with torch.no_grad():
        for head in heads:
            for parameter in head[-1].parameters():
                parameter.div_(temperature)


def only_most(allowed: Tensor, like: Tensor) -> Tensor:
    """[B, N]: score 0 for the largest level that is allowed, bool[B, N], and -inf for all others; in the type of
    `like`."""
    level = torch.arange(1, allowed.shape[1] + 1, device=allowed.device)[None]
    largest = (allowed * level).amax(dim=1, keepdim=True)
    return torch.zeros_like(allowed, dtype=like.dtype).masked_fill(level != largest, -torch.inf)


def with_none(table: Tensor, none_score: Tensor, none_allowed: Tensor) -> Tensor:
    """The table [B, K] with one column more: the scores of none, [B], -inf where it is no answer, bool[B]."""
    return torch.cat([table, none_score.masked_fill(~none_allowed, -torch.inf)[:, None]], dim=1)


def signed_log(values: np.ndarray) -> np.ndarray:
    """sign(x) log(1 + |x|): close to x near 0, to log x far from it."""
    return np.copysign(np.log1p(np.abs(values)), values)


def float_tensor(values: np.ndarray) -> Tensor:
    """float32, sharing memory where it can."""
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def index_tensor(values: np.ndarray) -> Tensor:
    """int64, sharing memory where it can."""
    return torch.from_numpy(np.ascontiguousarray(values, np.int64))
