"""What the network of spark-sched-sim reads, computed from a `Graph` of pending decisions.

Source: A. Gertsman, spark-sched-sim (MIT), `schedulers/decima/env_wrapper.py` and `scheduler.py` at commit 2ba8d80.
A node is a stage of an active job that is not complete, with five numbers:

    executors_to_give   executors that the decision can give to the stage's job, over those of the cluster
    is_source           1 if the executors to decide on sit in the job, else -1
    job_executors       executors that are the job's (attached, moving, promised), over those of the cluster
    tasks_left          tasks not started, over 200
    work_left           the same times the duration of a task in ms, over 100,000

Two differences are ours. The duration is the stage's mean, as every policy here is told it; theirs is that of the task
that was started last, which at that time nobody can know yet. And their count of a job's executors keeps those that
have left a job with no task to start; such a job has nothing to decide, only its number enters sums over the jobs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearsched.problems.dag_jobs.graph import JOB_FEATURES, NODE_FEATURES, Graph
from clearsched.problems.dag_jobs.network.candidates import EXECUTORS, TO_DECIDE, candidate_fields
from clearsched.problems.networks import index_tensor

NODE_INPUTS = ("executors_to_give", "is_source", "job_executors", "tasks_left", "work_left")
JOB_INPUTS = NODE_INPUTS[:3]
"""Those that all stages of a job share."""

LIMIT_INPUTS = ("executors_given",)
INPUTS = {"node": NODE_INPUTS, "job": JOB_INPUTS, "limit": LIMIT_INPUTS}
"""Names of the network's inputs, in order."""

TASKS_SCALE = 200.0
WORK_SCALE_S = 100.0

_NODE = [feature.name for feature in NODE_FEATURES]
_JOB = [feature.name for feature in JOB_FEATURES]
TASKS_LEFT, WORK_LEFT = _NODE.index("tasks_left"), _NODE.index("work_left_s")
IS_SOURCE = _JOB.index("is_source")


class Batch(NamedTuple):
    """B decisions as one graph: n nodes, a jobs, c candidates. Index tensors are int64 and count over the batch.

    Messages go up in steps, first those from the deepest stages: step t has the edges `step_start[t]` to
    `step_start[t + 1]`.
    """

    nodes: Tensor  # float64[n, len(NODE_INPUTS)]
    node_job: Tensor  # [n]
    first_node: Tensor  # [a]
    job_decision: Tensor  # [a]
    is_last: Tensor  # bool[n]: no stage depends on it
    is_alone: Tensor  # bool[n]: no stage of its whole decision depends on another
    parent: Tensor  # [e], an edge once for each step that it is part of
    child: Tensor  # [e]
    step_start: tuple[int, ...]
    candidate_node: Tensor  # [c]
    candidate_job: Tensor  # [c]
    candidate_decision: Tensor  # [c]
    candidate_rank: Tensor  # [c]: position within its decision
    first_candidate: Tensor  # [B]
    most_candidates: int
    held: Tensor  # [c]: executors that the candidate's job holds
    room: Tensor  # [c]: executors that the decision can give to its job
    covering: Tensor  # [c]: executors of use: more do the same
    executors: Tensor  # [B]
    most_executors: int

    @property
    def num_decisions(self) -> int:
        """B."""
        return len(self.executors)

    @property
    def same_from(self) -> Tensor:
        """[c]: the limit from which upwards all limits grant the same."""
        return self.held + self.covering


def encode(graph: Graph) -> Batch:
    """The inputs of the network. Index tensors may share the graph's memory, so they last as long as its arrays."""
    count = graph.num_decisions
    job_decision = np.repeat(np.arange(count), np.diff(graph.job_start))
    candidates = candidate_fields(graph)
    to_decide = graph.totals[:, TO_DECIDE].astype(np.int64)
    executors = graph.totals[:, EXECUTORS].astype(np.int64)
    jobs, room = _jobs(graph, job_decision, to_decide, executors)
    nodes = np.concatenate(
        [
            jobs[graph.node_job],
            graph.nodes[:, [TASKS_LEFT]] / TASKS_SCALE,
            graph.nodes[:, [WORK_LEFT]] / WORK_SCALE_S,
        ],
        axis=1,
    )
    is_last = np.ones(len(nodes), np.bool_)
    is_last[graph.edges[0]] = False
    alone = np.diff(graph.edge_start) == 0
    parent, child, step_start = steps(len(nodes), *graph.edges)
    return Batch(
        nodes=torch.from_numpy(nodes),
        node_job=index_tensor(graph.node_job),
        first_node=index_tensor(np.searchsorted(graph.node_job, np.arange(len(jobs)))),
        job_decision=index_tensor(job_decision),
        is_last=torch.from_numpy(is_last),
        is_alone=torch.from_numpy(alone[job_decision[graph.node_job]]),
        parent=index_tensor(parent),
        child=index_tensor(child),
        step_start=step_start,
        room=index_tensor(room)[candidates["candidate_job"]],
        **candidates,
    )


def steps(count: int, parent: np.ndarray, child: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """The edges of each step of message passing, the deepest first.

    The step of a depth has the edges among the stages of that depth and all their children. Where a child depends on
    another one, their edge is part of it too, so a stage may be computed again, from a part of its children alone: the
    network was trained so.

    Args:
        count: nodes.
        parent, child: int64[m], the ends of the edges.

    Returns:
        The ends of the edges of all steps, and where each step begins.
    """
    depth = depths(count, parent, child)
    parents, children, starts = [parent[:0]], [child[:0]], [0]
    for level in range(int(depth.max(initial=0)) - 1, -1, -1):
        among = depth == level
        among[child[depth[parent] == level]] = True
        edges = np.flatnonzero(among[parent] & among[child])
        parents.append(parent[edges])
        children.append(child[edges])
        starts.append(starts[-1] + len(edges))
    return np.concatenate(parents), np.concatenate(children), tuple(starts)


def depths(count: int, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """int64[count]: edges on the longest path from a node without parents to each node."""
    depth = np.zeros(count, np.int64)
    while True:
        deeper = depth.copy()
        np.maximum.at(deeper, child, depth[parent] + 1)
        if np.array_equal(deeper, depth):
            return depth
        depth = deeper


def _jobs(
    graph: Graph, decision: np.ndarray, to_decide: np.ndarray, executors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """float64[a, len(JOB_INPUTS)], and int64[a]: executors that the decision can give to each job."""
    is_source = graph.jobs[:, IS_SOURCE] == 1
    # What a job holds leaves out those that are decided on; theirs counts them until they are promised away.
    has = graph.job_held + np.where(is_source, to_decide[decision], 0)
    free = np.maximum(executors[decision] - has, 0)
    room = np.where(is_source, to_decide[decision], np.minimum(free, to_decide[decision]))
    share = executors[decision].astype(np.float64)
    return np.stack([room / share, np.where(is_source, 1.0, -1.0), has / share], axis=1), room
