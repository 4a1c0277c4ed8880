"""The features of a candidate: one definition for the loop, the decision log, the students and the docs.

A row describes a stage that a decision may choose, the job it belongs to and the cluster. The limit choice reads the
row of the stage that was chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.candidates import demand, executors_held
from clearsched.problems.dag_jobs.state import (
    ARRIVAL_MS,
    BASE,
    CANDIDATE,
    COMMITTED,
    CRITICAL_PATH_LEFT_MS,
    JOB,
    MOVING,
    NUM_ACTIVE,
    NUM_CANDIDATES,
    NUM_EXECUTORS,
    NUM_STAGES,
    PROFILE,
    PROFILE_STAGE,
    RUNNING,
    SOURCE_JOB,
    STAGES_LEFT,
    TASKS_LEFT,
    TIME_MS,
    TO_DECIDE,
    UNSTARTED,
    WAITING,
    WORK_LEFT_MS,
    State,
)


class Feature(NamedTuple):
    """A named column of the feature matrix."""

    name: str
    unit: str
    meaning: str


FEATURES = (
    Feature("job_is_source", "", "1 if the executors to decide on sit in this job: it keeps them without a move"),
    Feature("job_executors", "executors", "executors it holds (attached, in transit, promised), less those decided on"),
    Feature("job_work_left_s", "s", "work of the job that has not started: tasks x mean duration, in executor-seconds"),
    Feature("job_work_total_s", "s", "work of the whole job, in executor-seconds"),
    Feature("job_tasks_left", "tasks", "tasks of the job that have not started"),
    Feature("job_stages_left", "stages", "stages of the job that are not complete"),
    Feature("job_age_s", "s", "time since the job arrived"),
    Feature("job_critical_path_s", "s", "largest work left on one path through its stages, in executor-seconds"),
    Feature("job_work_rank", "jobs", "number of jobs with a candidate that have less work left than this one"),
    Feature("job_work_to_smallest", "", "work left relative to the job with a candidate that has least"),
    Feature("job_work_share", "", "its share of the work left of all jobs"),
    Feature("job_sqrt_share", "", "its share when every job counts with the square root of its work left"),
    Feature("job_sqrt_load", "", "executors it holds, relative to its square-root share of the cluster"),
    Feature("job_fair_load", "", "executors it holds, relative to an equal share of the cluster"),
    Feature("stage_is_ready", "", "1 if all its parents are complete: its tasks can start at once"),
    Feature("stage_tasks_left", "tasks", "tasks of the stage that have not started"),
    Feature("stage_demand", "tasks", "tasks of the stage that no executor is meant for yet"),
    Feature("stage_task_s", "s", "mean duration of its tasks"),
    Feature("stage_work_left_s", "s", "work of the stage that has not started, in executor-seconds"),
    Feature("stage_levels_below", "stages", "stages on the longest path below the stage"),
    Feature("stage_critical_path_s", "s", "largest work on a path from it downwards, in executor-seconds"),
    Feature("stage_executors", "executors", "executors that run it, move to it or are promised to it"),
    Feature("stage_rank", "stages", "candidates of its job that come before it: ready first, then more levels below"),
    Feature("executors_to_decide", "executors", "executors that this decision is about"),
    Feature("jobs_in_system", "jobs", "jobs that have arrived and are not complete"),
)
NUM_FEATURES = len(FEATURES)
FEATURE_NAMES = tuple(feature.name for feature in FEATURES)

WORK_OFFSET_MS = 5000.0
"""Added to a job's work left where shares are computed, so that a job about to end still counts."""


@njit(cache=True)
def fill_features(state: State, rows: np.ndarray, stages: np.ndarray) -> int:
    """Describe the candidates of the pending decision, after `survey`.

    Args:
        state: with its candidates marked.
        rows: float32[at least candidates, NUM_FEATURES], written.
        stages: int64[at least candidates], written: the stage of each row.

    Returns:
        The number of candidates.
    """
    scalar, job, work = state.scalar, state.job, state.work
    total_work = total_sqrt = 0.0
    smallest = np.inf
    for i in range(scalar[NUM_ACTIVE]):
        j = state.active[i]
        left = work[j, WORK_LEFT_MS] + WORK_OFFSET_MS
        total_work += left
        total_sqrt += np.sqrt(left)
        if job[j, NUM_CANDIDATES] > 0:
            smallest = min(smallest, left)
    count = 0
    for i in range(scalar[NUM_ACTIVE]):
        j = state.active[i]
        if job[j, NUM_CANDIDATES] == 0:
            continue
        first = count
        for s in range(job[j, BASE], job[j, BASE] + job[j, NUM_STAGES]):
            if state.stage[s, CANDIDATE] == 1:
                stages[count] = s
                if count == first:
                    _describe_job(state, j, total_work, total_sqrt, smallest, rows[count])
                else:
                    rows[count, :14] = rows[first, :14]
                _describe_stage(state, s, rows[count])
                count += 1
    return count


@njit(cache=True)
def _describe_job(state: State, j: int, total_work: float, total_sqrt: float, smallest: float, row: np.ndarray) -> None:
    scalar, job, work = state.scalar, state.job, state.work
    left = work[j, WORK_LEFT_MS] + WORK_OFFSET_MS
    held = executors_held(state, j)
    rank = 0
    for i in range(scalar[NUM_ACTIVE]):
        other = state.active[i]
        if job[other, NUM_CANDIDATES] > 0 and work[other, WORK_LEFT_MS] < work[j, WORK_LEFT_MS]:
            rank += 1
    share = np.sqrt(left) / total_sqrt
    row[0] = 1.0 if j == scalar[SOURCE_JOB] else 0.0
    row[1] = held
    row[2] = work[j, WORK_LEFT_MS] / 1000
    row[3] = state.profiles.work_ms[job[j, PROFILE]] / 1000
    row[4] = job[j, TASKS_LEFT]
    row[5] = job[j, STAGES_LEFT]
    row[6] = (scalar[TIME_MS] - job[j, ARRIVAL_MS]) / 1000
    row[7] = work[j, CRITICAL_PATH_LEFT_MS] / 1000
    row[8] = rank
    row[9] = left / smallest
    row[10] = left / total_work
    row[11] = share
    row[12] = held / (share * scalar[NUM_EXECUTORS])
    row[13] = held * scalar[NUM_ACTIVE] / scalar[NUM_EXECUTORS]


@njit(cache=True)
def _describe_stage(state: State, s: int, row: np.ndarray) -> None:
    stage, profiles = state.stage, state.profiles
    g = stage[s, PROFILE_STAGE]
    j = stage[s, JOB]
    ready = stage[s, WAITING] == 0
    rank = 0
    for other in range(state.job[j, BASE], state.job[j, BASE] + state.job[j, NUM_STAGES]):
        if other != s and stage[other, CANDIDATE] == 1 and comes_before(state, other, s):
            rank += 1
    row[14] = 1.0 if ready else 0.0
    row[15] = stage[s, UNSTARTED]
    row[16] = demand(state.stage, s)
    row[17] = profiles.mean_ms[g] / 1000
    row[18] = stage[s, UNSTARTED] * profiles.mean_ms[g] / 1000
    row[19] = profiles.levels_below[g]
    row[20] = profiles.critical_path_ms[g] / 1000
    row[21] = stage[s, RUNNING] + stage[s, MOVING] + stage[s, COMMITTED]
    row[22] = rank
    row[23] = state.scalar[TO_DECIDE]
    row[24] = state.scalar[NUM_ACTIVE]


@njit(cache=True)
def comes_before(state: State, a: int, b: int) -> bool:
    """Order of the stages of one job: parents complete first, then most levels below, then lowest index."""
    stage, levels_below = state.stage, state.profiles.levels_below
    ready_a, ready_b = stage[a, WAITING] == 0, stage[b, WAITING] == 0
    if ready_a != ready_b:
        return ready_a
    below_a, below_b = levels_below[stage[a, PROFILE_STAGE]], levels_below[stage[b, PROFILE_STAGE]]
    return below_a > below_b or (below_a == below_b and a < b)
