"""Episodes to schedule: which jobs arrive when, for training, validation and test (docs/workloads.md).

Every episode is drawn from its own random stream, named by (seed, split, episode), so it is the same whatever else
was drawn, on any number of cores.
"""

from __future__ import annotations

from clearsched.problems.dag_jobs.workloads.episode import read_episode
from clearsched.problems.dag_jobs.workloads.files import SPLITS, Workloads, load_inputs, read_workloads
from clearsched.problems.dag_jobs.workloads.sampling import build, mean_interarrival_ms
from clearsched.problems.dag_jobs.workloads.survey import executor_ms

__all__ = [
    "SPLITS",
    "Workloads",
    "build",
    "executor_ms",
    "load_inputs",
    "mean_interarrival_ms",
    "read_episode",
    "read_workloads",
]
