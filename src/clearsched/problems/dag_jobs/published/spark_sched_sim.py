"""The Decima network of spark-sched-sim: where its checkpoint lies, and the network that has its weights.

Source: A. Gertsman, spark-sched-sim (MIT), `schedulers/decima/scheduler.py`, after Mao et al. 2019, "Learning
Scheduling Algorithms for Data Processing Clusters", §5.1 and §5.2. Trained by PPO on 50 executors and streams of 200
TPC-H jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.graph import Graph
from clearsched.problems.dag_jobs.published.checkpoint import read_weights
from clearsched.problems.dag_jobs.published.observation import (
    INPUTS,
    JOB_INPUTS,
    LIMIT_INPUTS,
    NODE_INPUTS,
    Batch,
    encode,
)
from clearsched.problems.networks import soften_heads

COMMIT = "2ba8d80c2ce57ccb4f20e753476a69295db223c9"
CHECKPOINT = f"https://raw.githubusercontent.com/ArchieGertsman/spark-sched-sim/{COMMIT}/models/decima/model.pt"
SHA256 = "5466d9f5c1fdc734ab541dd12c98539b08a1b5660bab59279d976f64867a2dd9"

EMBEDDING = 16
OF_GRAPH, OF_HEADS = (32, 16), (64, 64)
"""Widths of hidden layers: of the perceptrons that read the graph, of those that score."""

NAMES = {
    "own_net": "encoder.node_encoder.mlp_prep",
    "message_net": "encoder.node_encoder.mlp_msg",
    "update_net": "encoder.node_encoder.mlp_update",
    "job_net": "encoder.dag_encoder.mlp",
    "total_net": "encoder.global_encoder.mlp",
    "stage_net": "stage_policy_network.mlp_score",
    "limit_net": "exec_policy_network.mlp_score",
}
"""What the parts of the network are called in its checkpoint."""


def new() -> Decima:
    """The network, without its weights."""
    return Decima()


def fetch(cache_folder: str | Path) -> Path:
    """Download the checkpoint (96 kB) with pooch, which checks its digest; a finished download is used again.

    Raises:
        ClearschedError: the download failed, or it is another file.
    """
    import pooch

    folder = Path(cache_folder) / "spark-sched-sim"
    try:
        found = pooch.retrieve(CHECKPOINT, f"sha256:{SHA256}", "model.pt", folder, progressbar=False)
    except Exception as error:
        raise ClearschedError(
            f"teacher.published: the download of {CHECKPOINT} failed ({type(error).__name__}); fetch it by hand and "
            "set teacher.published.path to the file"
        ) from None
    return Path(found)


def read(data: bytes, where: object) -> dict[str, Tensor]:
    """The state of `new()`, of a checkpoint's bytes; no code of the checkpoint is run.

    Raises:
        ClearschedError: see `checkpoint.read_weights`.
    """
    with torch.device("meta"):  # shapes without numbers
        own = {name: tuple(tensor.shape) for name, tensor in new().state_dict().items()}
    theirs = {name: _their_name(name) for name in own}
    found = read_weights(data, {theirs[name]: shape for name, shape in own.items()}, where)
    return {name: found[theirs[name]] for name in own}


def _their_name(name: str) -> str:
    part, _, rest = name.partition(".")
    return f"{NAMES[part]}.{rest}"


class Embedding(NamedTuple):
    """What the network knows of a batch."""

    node: Tensor  # [n, EMBEDDING]
    job: Tensor  # [a, EMBEDDING]
    total: Tensor  # [B, EMBEDDING]
    nodes: Tensor  # [n, len(NODE_INPUTS)], in the type of the weights


class Decima(nn.Module):
    """Scores of candidate stages and of numbers of executors to give to their job.

    It has no score for leaving executors idle, and gives a number, not a limit: limit l of a job that holds h is the
    number l - h. Where a number is more than there is to give, the limit is not allowed.
    """

    inputs = INPUTS
    none = False
    levels = True
    always_most = False

    def __init__(self) -> None:
        super().__init__()
        node, leaky = len(NODE_INPUTS), 0.2
        self.own_net = _perceptron(nn.LeakyReLU(leaky), node, *OF_GRAPH, EMBEDDING)
        self.message_net = _perceptron(nn.LeakyReLU(leaky), EMBEDDING, *OF_GRAPH, EMBEDDING)
        self.update_net = _perceptron(nn.LeakyReLU(leaky), EMBEDDING, *OF_GRAPH, EMBEDDING)
        self.job_net = _perceptron(nn.LeakyReLU(leaky), node + EMBEDDING, *OF_GRAPH, EMBEDDING)
        self.total_net = _perceptron(nn.LeakyReLU(leaky), EMBEDDING, *OF_GRAPH, EMBEDDING)
        self.stage_net = _perceptron(nn.Tanh(), node + 3 * EMBEDDING, *OF_HEADS, 1)
        self.limit_net = _perceptron(nn.Tanh(), len(JOB_INPUTS) + 2 * EMBEDDING + len(LIMIT_INPUTS), *OF_HEADS, 1)

    def encode(self, observation: Graph) -> Batch:
        """The inputs of a graph."""
        return encode(observation)

    def normalise_like(self, batch: Batch) -> None:
        """Its inputs have scales of their own, with which it was trained."""

    def bound_like(self, batches: Iterable[Batch]) -> None:
        """Nobody knows what its training saw."""

    def soften(self, temperature: float) -> None:
        """Divide all scores by `temperature`."""
        soften_heads([self.stage_net, self.limit_net], temperature)

    def embed(self, batch: Batch) -> Embedding:
        """Embeddings of all stages, jobs and decisions."""
        nodes = batch.nodes.to(next(self.parameters()).dtype)
        node = self._pass_up(self.own_net(nodes), batch)
        job = node.new_zeros(len(batch.first_node), EMBEDDING)
        job = job.index_add(0, batch.node_job, self.job_net(torch.cat([nodes, node], dim=1)))
        total = node.new_zeros(batch.num_decisions, EMBEDDING).index_add(0, batch.job_decision, self.total_net(job))
        return Embedding(node, job, total, nodes)

    def _pass_up(self, own: Tensor, batch: Batch) -> Tensor:
        """[n, EMBEDDING]: each stage's own part and what its children send, computed from the last stages upwards."""
        # A decision without any edge is not passed through: there the own part is all.
        last = torch.where(batch.is_alone[:, None], own, self.update_net(own))
        state = torch.where(batch.is_last[:, None], last, torch.zeros_like(own))
        for begin, end in pairwise(batch.step_start):
            senders, sender = batch.child[begin:end].unique(return_inverse=True)
            receivers, receiver = batch.parent[begin:end].unique(return_inverse=True)
            message = self.message_net(state[senders])[sender]
            heard = own.new_zeros(len(receivers), EMBEDDING).index_add(0, receiver, message)
            state = state.index_put((receivers,), own[receivers] + self.update_net(heard))
        return state

    def score_candidates(self, batch: Batch, embedding: Embedding) -> Tensor:
        """[B, most_candidates]: score of each candidate, -inf where a decision has no such one."""
        at, job, decision = batch.candidate_node, batch.candidate_job, batch.candidate_decision
        known = [embedding.nodes[at], embedding.node[at], embedding.job[job], embedding.total[decision]]
        scores = self.stage_net(torch.cat(known, dim=1)).squeeze(1)
        table = scores.new_full((batch.num_decisions, batch.most_candidates), -torch.inf)
        return table.index_put((decision, batch.candidate_rank), scores)

    def score_levels(self, batch: Batch, embedding: Embedding, chosen: Tensor) -> Tensor:
        """[B, N]: score of each limit on the job of candidate `chosen` (int64[B]); -inf where it is not allowed."""
        job = batch.candidate_job[chosen]
        known = torch.cat(
            [
                embedding.nodes[batch.first_node[job], : len(JOB_INPUTS)],
                embedding.job[job],
                embedding.total[batch.candidate_decision[chosen]],
            ],
            dim=1,
        )
        limit = torch.arange(1, batch.most_executors + 1, device=chosen.device)[None]
        more = limit - batch.held[chosen][:, None]
        row, column = ((more >= 1) & (more <= batch.room[chosen][:, None])).nonzero(as_tuple=True)
        given = ((more[row, column] - 1) / batch.executors[row]).to(known.dtype)
        scores = self.limit_net(torch.cat([known[row], given[:, None]], dim=1)).squeeze(1)
        return scores.new_full((len(chosen), batch.most_executors), -torch.inf).index_put((row, column), scores)


def _perceptron(activation: nn.Module, *widths: int) -> nn.Sequential:
    """Linear layers with the activation between them."""
    layers: list[nn.Module] = []
    for index, (width, following) in enumerate(pairwise(widths)):
        if index:
            layers.append(activation)
        layers.append(nn.Linear(width, following))
    return nn.Sequential(*layers)
