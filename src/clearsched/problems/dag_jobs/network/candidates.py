"""What the batches of all networks for DAG jobs say of their candidates, the same whatever else a network reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.graph import GLOBAL_FEATURES, Graph
from clearsched.problems.networks import index_tensor

DEMAND = FEATURE_NAMES.index("stage_demand")
_TOTALS = [feature.name for feature in GLOBAL_FEATURES]
TO_DECIDE, EXECUTORS = _TOTALS.index("executors_to_decide"), _TOTALS.index("num_executors")
"""Columns of `Graph.totals`."""


def candidate_fields(graph: Graph) -> dict[str, Any]:
    """Of B decisions with c candidates in all, by the names of a batch's fields.

    Returns:
        int64 tensors, counted over the batch: `candidate_node`, `candidate_job`, `candidate_decision`, `candidate_rank`
        (position within its decision), `held` (executors of its job) and `covering` (executors of use to it at most:
        all larger grants do the same), each [c]; `first_candidate` and `executors` [B]. Integers: `most_candidates`,
        `most_executors`. Tensors may share the graph's memory.
    """
    first, counts = graph.candidate_start[:-1], np.diff(graph.candidate_start)
    decision = np.repeat(np.arange(graph.num_decisions), counts)
    job, executors = graph.node_job[graph.candidate_node], graph.totals[:, EXECUTORS]
    of_use = np.minimum(graph.totals[decision, TO_DECIDE], graph.candidates[:, DEMAND])
    return {
        "candidate_node": index_tensor(graph.candidate_node),
        "candidate_job": index_tensor(job),
        "candidate_decision": index_tensor(decision),
        "candidate_rank": index_tensor(np.arange(len(decision)) - np.repeat(first, counts)),
        "first_candidate": index_tensor(first),
        "most_candidates": int(counts.max()),
        "held": index_tensor(graph.job_held[job]),
        "covering": index_tensor(np.maximum(of_use, 1)),
        "executors": index_tensor(executors),
        "most_executors": int(executors.max()),
    }
