"""The graph network: embeddings of stages, jobs and the cluster, a head for stages and a head for limits.

In the manner of Decima (Mao et al. 2019, "Learning Scheduling Algorithms for Data Processing Clusters", §5.1
and §5.2): messages flow from children to parents, so a stage's embedding tells what lies below it. It differs in two
places: the heads also see the candidate's own feature row, and all nodes are updated at once for a fixed number of
rounds instead of level by level.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from clearsched.problems.dag_jobs.graph import Graph
from clearsched.problems.dag_jobs.network.encoding import Batch, encode, encode_limits, inputs_of
from clearsched.problems.networks import Normalised, only_most, perceptron, soften_heads, with_none

NORMALISED = ("node", "job", "global", "candidate")
"""Groups of inputs that are shifted and scaled to mean 0 and deviation 1 over the cloned decisions."""

HELD = ("global", "candidate")
"""Those that are held within what training saw. Jobs and stages are not: a giant must be told from a large job.

Measured on the shipped networks beside a giant, on streams of another seed than the test's (docs/teacher.md).
"""


class Embedding(NamedTuple):
    """What the network knows of a batch: E is the width of an embedding."""

    node: Tensor  # [n, E]
    job: Tensor  # [a, E]
    total: Tensor  # [B, E]
    jobs: Tensor  # [a, len(JOB_INPUTS)], normalised
    candidates: Tensor  # [c, len(CANDIDATE_INPUTS)], normalised


class ChildrenToParents(nn.Module):
    """Rounds with shared weights: a node's state becomes its own input plus g(sum over its children of f(child)).

    Message passing as torch_geometric's `MessagePassing` does it, to the bit (a test holds the two against each other);
    to import that takes longer than a short run.
    """

    def __init__(self, embedding: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.message_net = perceptron(embedding, embedding, embedding)
        self.update_net = perceptron(embedding, embedding, embedding)

    def forward(self, own: Tensor, parent: Tensor, child: Tensor) -> Tensor:
        """[n, E] -> [n, E]; `parent` and `child` are the ends of each edge."""
        state = own
        for _ in range(self.rounds):
            messages = self.message_net(state).index_select(0, child)
            state = own + self.update_net(torch.zeros_like(own).index_add(0, parent, messages))
        return state


class TeacherNetwork(Normalised):
    """Scores of candidate stages and of parallelism limits.

    Args:
        embedding: width of the stage, job and cluster embeddings.
        hidden: width of hidden layers.
        rounds: rounds of message passing; a stage sees what lies that many levels below it. With 0 there is no graph
            embedding: neither messages nor sums over stages and jobs, as where Decima's is left out (§7.4, fig. 14).
        levels: learned, or most: the limit is always all executors, so that no limit is controlled (ibid.).
        rate: whether the mean time between arrivals is an input (§7.4, table 2).
        none: whether leaving the executors idle has a score too, from the cluster's embedding.
    """

    levels = True
    onnx = "clearsched.problems.dag_jobs.network.onnx:draw"

    def __init__(
        self,
        embedding: int,
        hidden: int,
        rounds: int,
        none: bool = False,
        *,
        levels: str = "learned",
        rate: bool = False,
    ) -> None:
        self.inputs = inputs_of(rate)
        width = {group: len(names) for group, names in self.inputs.items()}
        super().__init__({group: width[group] for group in NORMALISED}, HELD)
        self.none, self.rate, self.always_most = none, rate, levels == "most"
        self.node_net = perceptron(width["node"], hidden, embedding)
        self.passing = ChildrenToParents(embedding, rounds)
        self.job_net = perceptron(embedding + width["job"], hidden, embedding)
        self.total_net = perceptron(embedding + width["global"], hidden, embedding)
        context = 2 * embedding + width["job"] + width["candidate"]
        self.stage_net = perceptron(embedding + context, hidden, hidden, 1)
        self.limit_context = nn.Linear(context, hidden)
        self.limit_input = nn.Linear(width["limit"], hidden, bias=False)
        self.limit_net = perceptron(hidden, hidden, 1)
        if none:
            self.none_net = perceptron(embedding, hidden, 1)

    def encode(self, observation: Graph) -> Batch:
        """The inputs of a graph."""
        return encode(observation, rate=self.rate)

    def normalise_like(self, batch: Batch) -> None:
        """Take shift and scale of the inputs from a batch of typical decisions."""
        inputs = (batch.nodes, batch.jobs, batch.totals, batch.candidates)
        for group, values in zip(NORMALISED, inputs, strict=True):
            self.take_scale(group, values)

    def bound_like(self, batches: Iterable[Batch]) -> None:
        """Take the range of what is held, and the most jobs of a decision, from those of all training episodes."""
        self.take_range(
            ({"global": batch.totals, "candidate": batch.candidates}, _jobs_of(batch, torch.float32))
            for batch in batches
        )

    def soften(self, temperature: float) -> None:
        """Divide all scores by `temperature`: the same best choice, but probabilities that are less sure of it."""
        soften_heads([self.stage_net, self.limit_net, *([self.none_net] if self.none else [])], temperature)

    def embed(self, batch: Batch) -> Embedding:
        """Embeddings of all stages, jobs and decisions."""
        nodes, jobs = self.normal("node", batch.nodes), self.normal("job", batch.jobs)
        node = self.passing(self.node_net(nodes), batch.parent, batch.child)
        of_job = self._sum(node, batch.node_job, len(jobs))
        job = self.job_net(torch.cat([of_job, jobs], dim=1))
        # A sum over more jobs than training saw is taken as of so many: a network idled a cluster that had 120 of them.
        share = (self.most / _jobs_of(batch, job.dtype)).clamp(max=1)
        of_all = self._sum(job, batch.job_decision, batch.num_decisions) * share[:, None]
        total = self.total_net(torch.cat([of_all, self.normal("global", batch.totals)], dim=1))
        return Embedding(node, job, total, jobs, self.normal("candidate", batch.candidates))

    def score_candidates(self, batch: Batch, embedding: Embedding) -> Tensor:
        """[B, most_candidates]: score of each candidate; with `none` one column more, that of leaving them idle."""
        node = embedding.node[batch.candidate_node]
        context = self._context(batch, embedding, torch.arange(len(node), device=node.device))
        scores = self.stage_net(torch.cat([node, context], dim=1)).squeeze(1)
        table = batch.candidate_table(scores, -torch.inf)
        if not self.none:
            return table
        return with_none(table, self.none_net(embedding.total).squeeze(1), batch.none_allowed)

    def score_levels(self, batch: Batch, embedding: Embedding, chosen: Tensor) -> Tensor:
        """[B, N]: score of each limit on the job of candidate `chosen` (int64[B]); -inf where it is not allowed."""
        inputs, allowed = encode_limits(batch, chosen)
        if self.always_most:
            return only_most(allowed, embedding.node)
        context = self.limit_context(self._context(batch, embedding, chosen))
        hidden = torch.relu(context[:, None] + self.limit_input(inputs.to(context.dtype)))
        return self.limit_net(hidden).squeeze(2).masked_fill(~allowed, -torch.inf)

    def _sum(self, values: Tensor, of: Tensor, count: int) -> Tensor:
        """[count, E]: sums of float[n, E] by int64[n]; zeros where there is no graph embedding."""
        sums = values.new_zeros(count, values.shape[1])
        return sums.index_add(0, of, values) if self.passing.rounds else sums

    def _context(self, batch: Batch, embedding: Embedding, chosen: Tensor) -> Tensor:
        """What is known of the job and the cluster of candidates, and of the candidates themselves."""
        job = batch.candidate_job[chosen]
        total = embedding.total[batch.candidate_decision[chosen]]
        return torch.cat([embedding.job[job], total, embedding.jobs[job], embedding.candidates[chosen]], dim=1)


def _jobs_of(batch: Batch, dtype: torch.dtype) -> Tensor:
    """[B]: the number of jobs in the system at each decision."""
    jobs = torch.zeros(batch.num_decisions, dtype=dtype, device=batch.job_decision.device)
    return jobs.index_add(0, batch.job_decision, torch.ones_like(batch.job_decision, dtype=dtype))
