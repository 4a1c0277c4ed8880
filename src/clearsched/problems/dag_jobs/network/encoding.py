"""Many pending decisions as inputs of the network: the arrays of a `Graph` on scales a network likes.

Counts and times span four orders of magnitude, so they enter as logarithms. Jobs also get their shares of the cluster
by work left to several powers: what the best readable rules are made of (docs/heuristics.md, capped SRPT), so that
those rules are close to linear here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.graph import (
    GLOBAL_FEATURES,
    JOB_FEATURES,
    NODE_FEATURES,
    Graph,
)
from clearsched.problems.dag_jobs.network.candidates import EXECUTORS, candidate_fields
from clearsched.problems.dag_jobs.simulator.rows import WORK_OFFSET_MS
from clearsched.problems.networks import float_tensor, index_tensor, signed_log

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""A job's share of the executors is taken by its work left to each of these powers."""

_JOB_NAMES = [feature.name for feature in JOB_FEATURES]
WORK_LEFT, STAGES_LEFT = _JOB_NAMES.index("work_left_s"), _JOB_NAMES.index("stages_left")

SHARES = tuple(f"share_{power:g}" for power in POWERS)
NODE_INPUTS = tuple(feature.name for feature in NODE_FEATURES)
JOB_INPUTS = (
    *(feature.name for feature in JOB_FEATURES),
    *(f"log_{name}" for name in SHARES),
    *(f"held_to_{name}" for name in SHARES),
)
RATE = "interarrival_s"
"""The input of networks that are told the arrival rate, and only of these."""

TOLD_TOTALS = [place for place, feature in enumerate(GLOBAL_FEATURES) if feature.name != RATE]
RATE_TOTAL = [feature.name for feature in GLOBAL_FEATURES].index(RATE)
GLOBAL_INPUTS = (*(GLOBAL_FEATURES[place].name for place in TOLD_TOTALS), "work_left_s")
LIMIT_INPUTS = (
    "limit_to_executors",
    "log_limit",
    "limit_minus_held_to_executors",
    "log_limit_minus_held",
    "is_all",
    "covers_decision",
    *(f"log_limit_to_{name}" for name in SHARES),
)

CANDIDATE_INPUTS = tuple(name for name in FEATURE_NAMES if not name.startswith(("job_load_", "job_parked", "parked_")))
"""The features, without those that say what the job's `held_to_share` says, and those of parked executors.

Another input would be another network: teachers that are shipped or trained before could not be read.
"""
TOLD = [FEATURE_NAMES.index(name) for name in CANDIDATE_INPUTS]
"""Their columns."""

INPUTS = {
    "node": NODE_INPUTS,
    "job": JOB_INPUTS,
    "global": GLOBAL_INPUTS,
    "candidate": CANDIDATE_INPUTS,
    "limit": LIMIT_INPUTS,
}
"""Names of the network's inputs, in order: what a checkpoint and the code must agree on."""


def inputs_of(rate: bool) -> dict[str, tuple[str, ...]]:
    """`INPUTS`, for a network that is told the arrival rate with that input too."""
    return INPUTS | {"global": (*GLOBAL_INPUTS, RATE)} if rate else INPUTS


class Batch(NamedTuple):
    """B decisions as one graph: n nodes, m edges, a jobs, c candidates, N the most executors of a cluster.

    All index tensors are int64 and count over the whole batch.
    """

    nodes: Tensor  # float32[n, len(NODE_INPUTS)]
    node_job: Tensor  # [n]
    parent: Tensor  # [m], as nodes
    child: Tensor  # [m], as nodes
    jobs: Tensor  # float32[a, len(JOB_INPUTS)]
    job_decision: Tensor  # [a]
    totals: Tensor  # float32[B, len(GLOBAL_INPUTS)], one more with the rate
    candidates: Tensor  # float32[c, len(CANDIDATE_INPUTS)]
    candidate_node: Tensor  # [c]
    candidate_job: Tensor  # [c]
    candidate_decision: Tensor  # [c]
    candidate_rank: Tensor  # [c]: position within its decision
    first_candidate: Tensor  # [B]
    most_candidates: int
    held: Tensor  # [c]: executors that the candidate's job holds
    covering: Tensor  # [c]: executors that the decision can give it at most: all larger grants are the same
    executors: Tensor  # [B]
    most_executors: int
    shares: Tensor  # float32[a, len(POWERS)]: log of the executors that are the job's share
    none_allowed: Tensor  # bool[B]

    @property
    def num_decisions(self) -> int:
        """B."""
        return len(self.executors)

    @property
    def same_from(self) -> Tensor:
        """[c]: the limit from which upwards all limits grant the same: all that there is to give, or of use."""
        return self.held + self.covering

    def candidate_table(self, values: Tensor, fill: float) -> Tensor:
        """[B, most_candidates]: `values` [c] by decision, `fill` where a decision has fewer."""
        table = values.new_full((self.num_decisions, self.most_candidates), fill)
        return table.index_put((self.candidate_decision, self.candidate_rank), values)


def encode(graph: Graph, *, rate: bool = False) -> Batch:
    """The inputs of the network. Index tensors may share the graph's memory, so they last as long as its arrays.

    `rate`: with the mean time between arrivals, the last of the totals.
    """
    count = graph.num_decisions
    job_decision = np.repeat(np.arange(count), np.diff(graph.job_start))
    work = graph.jobs[:, WORK_LEFT].astype(np.float64) + WORK_OFFSET_MS / 1000
    log_shares = _log_shares(work, job_decision, graph.totals[:, EXECUTORS])
    held_to_share = np.log1p(np.maximum(graph.job_held, 0)[:, None] / np.exp(log_shares))
    totals = [signed_log(graph.totals[:, TOLD_TOTALS]), np.log1p(np.bincount(job_decision, work, count))[:, None]]
    if rate:
        totals.append(signed_log(graph.totals[:, [RATE_TOTAL]]))
    return Batch(
        nodes=float_tensor(signed_log(graph.nodes)),
        node_job=index_tensor(graph.node_job),
        parent=index_tensor(graph.edges[0]),
        child=index_tensor(graph.edges[1]),
        jobs=float_tensor(np.concatenate([signed_log(graph.jobs), log_shares, held_to_share], axis=1)),
        job_decision=index_tensor(job_decision),
        totals=float_tensor(np.concatenate(totals, axis=1)),
        candidates=float_tensor(signed_log(graph.candidates[:, TOLD])),
        **candidate_fields(graph),
        shares=float_tensor(log_shares),
        none_allowed=torch.from_numpy(np.array(graph.none_allowed)),
    )


def encode_limits(batch: Batch, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The limits 1..N as inputs of the network, and which of them are allowed: above what the job holds, at most all.

    Args:
        batch: the decisions.
        chosen: int64[B], the candidate of each decision whose job is to get a limit, counted over the batch.

    Returns:
        float32[B, N, len(LIMIT_INPUTS)] and bool[B, N]; column l - 1 is limit l.
    """
    limit = torch.arange(1, batch.most_executors + 1, dtype=torch.float32, device=chosen.device)[None]
    executors, held = batch.executors[:, None].float(), batch.held[chosen][:, None].float()
    more = (limit - held).clamp(min=1)
    allowed = (limit > held) & (limit <= executors)
    log_limit = limit.log().expand(len(chosen), -1)
    inputs = torch.stack(
        [
            (limit / executors),
            log_limit,
            more / executors,
            more.log(),
            (limit == executors).float(),
            (more >= batch.covering[chosen][:, None]).float(),
        ],
        dim=2,
    )
    to_share = log_limit[:, :, None] - batch.shares[batch.candidate_job[chosen]][:, None]
    return torch.cat([inputs, to_share], dim=2), allowed


def _log_shares(work: np.ndarray, decision: np.ndarray, executors: np.ndarray) -> np.ndarray:
    """float64[a, len(POWERS)]: log of the executors that are a job's share by work^power among its decision's jobs."""
    log_work = np.log(work)
    shares = np.empty((len(work), len(POWERS)))
    for column, power in enumerate(POWERS):
        total = np.bincount(decision, np.exp(power * log_work), len(executors))
        shares[:, column] = power * log_work + np.log(executors / total)[decision]
    return shares
