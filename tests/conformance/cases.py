"""What the conformance tests need of each problem: small settings, and an instance whose optimum is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.simulator.profiles import compile_profiles
from clearsched.problems.deferrable_jobs.instance import DeferrableJobs
from clearsched.problems.episodes import Episode
from clearsched.problems.problem import Instance
from deferrable_jobs.deferrable_toys import toy
from toys import stage, toy_trace, toy_workload


class Case(NamedTuple):
    """A problem's entry: a new problem adds one."""

    params: Mapping[str, Any]  # as in params.yaml: small enough for a few seconds
    toy: Callable[[], tuple[Instance, Episode]]
    optimum: float  # of the toy's objective, worked out by hand
    settings: Mapping[str, Mapping[str, float]]  # of heuristics, where the defaults do not fit the toy


def _two_jobs() -> tuple[Instance, Episode]:
    """One executor, a long job before a short one: 100 ms to move, 50 for a first task, 10 for each after it.

    The short one first: it ends at 170, the long one at 170 + 100 + 50 + 7 x 10 = 390; mean 280 ms.
    """
    return DagJobsInstance(compile_profiles(toy_trace([[stage(8)], [stage(3)]]))), toy_workload([0, 0], 1)


def _a_dip() -> tuple[Instance, Episode]:
    """In slot 2 only 2 of 3 cores are left: a job of 2 that starts before, beside another, is evicted there.

    It arrives in slot 1 and is best started in slot 3: it waits 2 slots of its 3, the other none; the mean is 1/3.
    """
    episode = toy([(0, 3, 1000, 9), (1, 3, 2000, 8)], [3000, 3000, 2000, 3000, 3000, 3000])
    return DeferrableJobs.__new__(DeferrableJobs), episode  # an instance without files: it runs what it is given


CASES = {
    "dag_jobs": Case(
        {
            "workload": {
                "executors": 4,
                "jobs": 5,
                "episodes": {"train": 3, "validation": 2, "test": 2},
            }
        },
        _two_jobs,
        0.280,
        {},
    ),
    "deferrable_jobs": Case(
        {
            "traces": {"synthetic": {"jobs": 40}},
            "workload": {"jobs": 20, "slots": 60, "episodes": {"train": 3, "validation": 2, "test": 2}},
        },
        _a_dip,
        1 / 3,
        {"threshold": {"safety": 0.0, "slack": 0.0}},
    ),
}
