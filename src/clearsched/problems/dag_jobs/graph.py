"""What a network sees of a pending decision: stages as nodes, edges of the DAGs, jobs, candidates.

The arrays are filled straight from the state by compiled code; no Python object a node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.candidates import demand, executors_held, is_complete
from clearsched.problems.dag_jobs.features import NUM_FEATURES, Feature, fill_features
from clearsched.problems.dag_jobs.state import (
    ARRIVAL_MS,
    BASE,
    CANDIDATE,
    COMMITTED,
    CRITICAL_PATH_LEFT_MS,
    MOVING,
    NONE,
    NUM_ACTIVE,
    NUM_EXECUTORS,
    NUM_STAGES,
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

NODE_FEATURES = (
    Feature("tasks_left", "tasks", "tasks that have not started"),
    Feature("demand", "tasks", "tasks that no executor is meant for yet"),
    Feature("task_s", "s", "mean duration of a task"),
    Feature("work_left_s", "s", "work that has not started, in executor-seconds"),
    Feature("executors", "executors", "executors that run it, move to it or are promised to it"),
    Feature("is_ready", "", "1 if all parents are complete"),
    Feature("is_candidate", "", "1 if the decision may choose it"),
    Feature("levels_below", "stages", "stages on the longest path below it"),
    Feature("critical_path_s", "s", "largest work on a path from it downwards, in executor-seconds"),
)
JOB_FEATURES = (
    Feature("is_source", "", "1 if the executors to decide on sit in this job"),
    Feature("executors", "executors", "executors it holds, less those decided on"),
    Feature("work_left_s", "s", "work that has not started, in executor-seconds"),
    Feature("tasks_left", "tasks", "tasks that have not started"),
    Feature("stages_left", "stages", "stages that are not complete"),
    Feature("age_s", "s", "time since it arrived"),
    Feature("critical_path_s", "s", "largest work left on one path, in executor-seconds"),
)
GLOBAL_FEATURES = (
    Feature("executors_to_decide", "executors", "executors that the decision is about"),
    Feature("jobs_in_system", "jobs", "active jobs"),
    Feature("num_executors", "executors", "executors of the cluster"),
)


class Observation(NamedTuple):
    """A pending decision as arrays: n nodes (incomplete stages of active jobs), m edges, a jobs, c candidates."""

    nodes: np.ndarray  # float32[n, len(NODE_FEATURES)]
    node_job: np.ndarray  # int64[n]: position of the node's job in `jobs`
    edges: np.ndarray  # int64[2, m]: row 0 parent, row 1 child, as nodes; complete stages have none
    jobs: np.ndarray  # float32[a, len(JOB_FEATURES)], in order of arrival
    job_held: np.ndarray  # int64[a]: executors a job holds: limits run from held + 1 to all
    totals: np.ndarray  # float32[len(GLOBAL_FEATURES)]
    candidates: np.ndarray  # float32[c, NUM_FEATURES]: the feature matrix of the stage choice
    candidate_node: np.ndarray  # int64[c]
    candidate_stage: np.ndarray  # int64[c]: what `Simulation.act` takes


@njit(cache=True)
def observe(state: State) -> Observation:
    """Describe the pending decision. `survey` must have run, as `Simulation.advance` does."""
    scalar, stage, job, profiles = state.scalar, state.stage, state.job, state.profiles
    num_jobs = scalar[NUM_ACTIVE]
    most = 0
    for i in range(num_jobs):
        most += job[state.active[i], NUM_STAGES]
    node_of = np.full(len(stage), NONE, np.int64)
    nodes = np.empty((most, len(NODE_FEATURES)), np.float32)
    node_job = np.empty(most, np.int64)
    jobs = np.empty((num_jobs, len(JOB_FEATURES)), np.float32)
    job_held = np.empty(num_jobs, np.int64)
    n = m = 0
    for i in range(num_jobs):
        j = state.active[i]
        job_held[i] = executors_held(state, j)
        fill_job(state, j, job_held[i], jobs[i])
        for s in range(job[j, BASE], job[j, BASE] + job[j, NUM_STAGES]):
            if not is_complete(state.stage, s):
                g = stage[s, PROFILE_STAGE]
                m += profiles.parent_start[g + 1] - profiles.parent_start[g]
                node_of[s] = n
                node_job[n] = i
                fill_node(state, s, nodes[n])
                n += 1
    edges = np.empty((2, m), np.int64)
    m = 0
    for i in range(num_jobs):
        base = job[state.active[i], BASE]
        for s in range(base, base + job[state.active[i], NUM_STAGES]):
            if node_of[s] == NONE:
                continue
            g = stage[s, PROFILE_STAGE]
            for e in range(profiles.parent_start[g], profiles.parent_start[g + 1]):
                parent = node_of[base + profiles.parents[e]]
                if parent != NONE:
                    edges[0, m], edges[1, m] = parent, node_of[s]
                    m += 1
    candidates = np.empty((n, NUM_FEATURES), np.float32)
    candidate_stage = np.empty(n, np.int64)
    c = fill_features(state, candidates, candidate_stage)
    candidate_node = np.empty(c, np.int64)
    for i in range(c):
        candidate_node[i] = node_of[candidate_stage[i]]
    totals = np.empty(len(GLOBAL_FEATURES), np.float32)
    totals[0], totals[1], totals[2] = scalar[TO_DECIDE], num_jobs, scalar[NUM_EXECUTORS]
    return Observation(
        nodes[:n], node_job[:n], edges[:, :m].copy(), jobs, job_held, totals,
        candidates[:c], candidate_node, candidate_stage[:c],
    )  # fmt: skip


@njit(cache=True)
def fill_node(state: State, s: int, row: np.ndarray) -> None:
    """Write the features of stage s: float32[len(NODE_FEATURES)]."""
    stage, profiles = state.stage[s], state.profiles
    g = stage[PROFILE_STAGE]
    row[0] = stage[UNSTARTED]
    row[1] = demand(state.stage, s)
    row[2] = profiles.mean_ms[g] / 1000
    row[3] = stage[UNSTARTED] * profiles.mean_ms[g] / 1000
    row[4] = stage[RUNNING] + stage[MOVING] + stage[COMMITTED]
    row[5] = 1.0 if stage[WAITING] == 0 else 0.0
    row[6] = stage[CANDIDATE]
    row[7] = profiles.levels_below[g]
    row[8] = profiles.critical_path_ms[g] / 1000


@njit(cache=True)
def fill_job(state: State, j: int, held: int, row: np.ndarray) -> None:
    """Write the features of job j: float32[len(JOB_FEATURES)]."""
    scalar, job = state.scalar, state.job[j]
    row[0] = 1.0 if j == scalar[SOURCE_JOB] else 0.0
    row[1] = held
    row[2] = state.work[j, WORK_LEFT_MS] / 1000
    row[3] = job[TASKS_LEFT]
    row[4] = job[STAGES_LEFT]
    row[5] = (scalar[TIME_MS] - job[ARRIVAL_MS]) / 1000
    row[6] = state.work[j, CRITICAL_PATH_LEFT_MS] / 1000
