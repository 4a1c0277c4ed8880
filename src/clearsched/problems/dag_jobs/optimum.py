"""The optimum of small instances by constraint programming (OR-Tools CP-SAT), exact where it says that it is proved.

The instance must be one in which a task lasts as long wherever and whenever it runs, and moves are free. What the
simulator then allows a policy is a schedule of tasks that are not interrupted, on E executors that are all alike, a
stage after its parents: this is what CP-SAT minimises the sum of completion times over, so no policy does better. It
may do better than any policy can: the simulator does not ask at every moment (docs/simulator.md §6).

The solver's own relaxation of sums of completion times is weak. What proves optima is a family of valid inequalities,
one for each set S of jobs: where p are the tasks' durations, W_j a job's sum of them and r the first arrival in S,

    2 E sum_S W_j (C_j - r)  >=  (sum_S W_j)^2 + E sum of p^2 over the tasks of S

(M. Queyranne, Structure of a simple scheduling polyhedron, 1993, for one machine; L. Hall, A. Schulz, D. Shmoys and
J. Wein, Scheduling to minimize average completion time, 1997, for several; a job completes with its last task).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.simulator.profiles import ADD_MS, LENGTH, OFFSET, Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload

MOST_JOBS = 8
"""The inequalities are as many as there are sets of jobs."""

MISSING = "the optimum needs OR-Tools, which is not installed: pip install 'clearsched[optimum]'"

EFFORT = 3.0
"""CP-SAT's deterministic time for an instance: work that is counted, not seconds, so that equal runs end alike."""


@dataclass(frozen=True)
class Optimum:
    """The best schedule that was found.

    Attributes:
        jct_s: its mean job completion time, s.
        bound_s: what the solver proved that none is below, s.
        proved: whether the two meet.
    """

    jct_s: float
    bound_s: float
    proved: bool


@dataclass(frozen=True)
class Stage:
    """A stage of constant durations."""

    num_tasks: int
    duration: int
    parents: tuple[int, ...]


def available() -> bool:
    """Whether the solver is installed: it is the optional extra `optimum`."""
    return find_spec("ortools") is not None


def optimum(profiles: Profiles, workload: Workload, effort: float = EFFORT, seed: int = 1) -> Optimum:
    """The least mean JCT of an instance of up to 8 jobs; the same on every run of one version of OR-Tools.

    Args:
        profiles: of stages whose tasks have one duration each.
        workload: moves must be free, and nothing may fail or straggle.
        effort: deterministic time after which the best that was found is told, unproved.
        seed: of the solver.

    Raises:
        ClearschedError: OR-Tools is not installed, the instance is too large, durations differ within a stage, or
            moves or faults are not off; or the effort is too small to find any schedule.
    """
    if not available():
        raise ClearschedError(MISSING)
    jobs = constant_jobs(profiles, workload)
    arrival = [int(time) for time in workload.arrival_ms]
    unit = int(np.gcd.reduce([*arrival, *(stage.duration for stages in jobs for stage in stages)])) or 1
    scaled = [[Stage(s.num_tasks, s.duration // unit, s.parents) for s in stages] for stages in jobs]
    found, bound, proved = _solve(scaled, [time // unit for time in arrival], workload.num_executors, effort, seed)
    scale = unit / 1000 / len(jobs)
    waited = sum(arrival) // unit
    return Optimum((found - waited) * scale, (bound - waited) * scale, proved)


def constant_jobs(profiles: Profiles, workload: Workload) -> list[list[Stage]]:
    """The stages of each job of an instance in which nothing changes how long a task lasts.

    Raises:
        ClearschedError: something does, or there are too many jobs.
    """
    if len(workload.profile) > MOST_JOBS:
        raise ClearschedError(f"optimum: {len(workload.profile)} jobs: at most {MOST_JOBS} can be solved")
    if workload.moving_delay_ms or workload.semantics.has_faults:
        raise ClearschedError("optimum: moves must be free and nothing may fail or straggle")
    arrays = profiles.arrays
    jobs = []
    for profile in workload.profile:
        stages = []
        base = arrays.stage_start[profile]
        for g in range(base, arrays.stage_start[profile + 1]):
            rows = arrays.table[g].reshape(-1, arrays.table.shape[-1])
            values = {
                int(value) + int(row[ADD_MS])
                for row in rows
                for value in arrays.durations_ms[row[OFFSET] : row[OFFSET] + row[LENGTH]]
            }
            if len(values) != 1:
                raise ClearschedError(
                    f"optimum: profile {profile}, stage {g - base}: tasks last {min(values)} to {max(values)} ms: "
                    "one duration expected"
                )
            parents = arrays.parents[arrays.parent_start[g] : arrays.parent_start[g + 1]]
            stages.append(Stage(int(arrays.num_tasks[g]), values.pop(), tuple(int(p) for p in parents)))
        jobs.append(stages)
    return jobs


def _solve(
    jobs: list[list[Stage]], arrival: list[int], executors: int, effort: float, seed: int
) -> tuple[int, int, bool]:
    """(sum of completion times, proved bound of it, whether they meet), in whole units of time."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    latest = max(arrival) + sum(stage.num_tasks * stage.duration for stages in jobs for stage in stages)
    intervals: list[Any] = []
    completion = [_add_job(model, stages, time, latest, intervals) for stages, time in zip(jobs, arrival, strict=True)]
    model.add_cumulative(intervals, [1] * len(intervals), executors)
    _add_inequalities(model, jobs, arrival, executors, completion)
    model.minimize(sum(completion))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = effort
    solver.parameters.linearization_level = 2  # the inequalities are for the linear relaxation
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise ClearschedError(f"optimum: no schedule found with effort {effort:g}: give it more")
    return round(solver.objective_value), int(np.ceil(solver.best_objective_bound - 1e-6)), status == cp_model.OPTIMAL


def _add_job(model: Any, stages: list[Stage], arrival: int, latest: int, intervals: list[Any]) -> Any:
    """The tasks of a job, into `intervals`; its completion. Tasks of a stage are all alike: they start in order."""
    ends = [model.new_int_var(arrival, latest, "") for _ in stages]
    for stage, end in zip(stages, ends, strict=True):
        starts = [model.new_int_var(arrival, latest, "") for _ in range(stage.num_tasks)]
        for start in starts:
            intervals.append(model.new_fixed_size_interval_var(start, stage.duration, ""))
        for before, after in pairwise(starts):
            model.add(before <= after)
        for parent in stage.parents:
            model.add(starts[0] >= ends[parent])
        model.add(end == starts[-1] + stage.duration)
    completion = model.new_int_var(arrival, latest, "")
    for end in ends:
        model.add(completion >= end)
    return completion


def _add_inequalities(
    model: Any, jobs: list[list[Stage]], arrival: list[int], executors: int, completion: list[Any]
) -> None:
    work = [sum(stage.num_tasks * stage.duration for stage in stages) for stages in jobs]
    squares = [sum(stage.num_tasks * stage.duration**2 for stage in stages) for stages in jobs]
    for size in range(1, len(jobs) + 1):
        for chosen in combinations(range(len(jobs)), size):
            first = min(arrival[j] for j in chosen)
            least = sum(work[j] for j in chosen) ** 2 + executors * sum(squares[j] for j in chosen)
            model.add(sum(2 * executors * work[j] * (completion[j] - first) for j in chosen) >= least)
