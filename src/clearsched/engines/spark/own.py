"""Spark's own policies as the simulator runs them: formulae, since its heuristics of these names are Decima's.

Source: Spark's `SchedulingAlgorithm`: FIFO takes the task set of the earliest job; FAIR, where each job has a pool of
its own, that of the job with fewest running tasks, among equals the pool whose name comes first: here the earliest.
"""

from __future__ import annotations

from clearsched.compiled.formulae import CONSTANT
from clearsched.errors import ClearschedError
from clearsched.problems import find_problem
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.policy import ScoredPolicy

FIFO, FAIR = "fifo", "fair"

WEIGHTS = {
    FIFO: {"job_age_s": 1.0},
    FAIR: {"job_executors": -1e6, "job_age_s": 1.0},
}
"""What scores a candidate: no age makes up for an executor. Among equals the first candidate is chosen."""


def own_policy(name: str) -> ScoredPolicy:
    """FIFO or FAIR, without limits.

    Raises:
        ClearschedError: Spark has no such policy.
    """
    if name not in WEIGHTS:
        known = " and ".join(WEIGHTS)
        raise ClearschedError(f"{name}: Spark itself has the policies {known}: give others as rules, with --student")
    problem = find_problem("dag_jobs")
    rank, level = problem.choices
    scorers = {rank.name: WeightedSum(WEIGHTS[name]), level.name: WeightedSum({CONSTANT: 1.0})}
    return ScoredPolicy(name, problem, scorers, False, {}, name, "heuristic")
