"""The state of one simulated episode, as flat arrays.

Executors are interchangeable: a parked one is blank, and where a running one sits is told by its task. So the state
keeps counts instead of executor objects (docs/simulator.md §3). One row a stage, one row a job, columns named below.
Stages of an episode are numbered through: job j holds rows `job[j, BASE]` to `job[j, BASE] + job[j, NUM_STAGES]`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from clearsched.problems.dag_jobs.profiles import ProfileArrays

NONE = -1

# Columns of `stage`.
(
    JOB,  # job that the stage belongs to
    PROFILE_STAGE,  # its row in the profile arrays
    UNSTARTED,  # tasks not started
    RUNNING,  # tasks running = executors that sit on the stage
    MOVING,  # executors in transit to it
    COMMITTED,  # promises to it
    WAITING,  # parents that are not complete
    OPENED,  # order in which it became runnable
    SELECTED_IN,  # decision round in which it was last selected
    CANDIDATE,  # 1 if it is a candidate of the pending decision
) = range(10)
STAGE_COLUMNS = 10

# Columns of `job`.
(
    PROFILE,
    BASE,  # first of its stages
    NUM_STAGES,
    ARRIVAL_MS,
    COMPLETION_MS,  # NONE while it runs
    ATTACHED,  # executors attached: running or parked
    POOL,  # of these, parked in its free pool
    TRANSIT,  # executors in transit to its stages
    PROMISED,  # promises to it from keys outside the job
    GRANTED,  # executors ever granted by FIFO's second rule
    STAGES_LEFT,  # stages not complete
    TASKS_LEFT,  # tasks not started
    NUM_CANDIDATES,  # of the pending decision
    HAS_DEMAND,  # 1 if a stage of it has demand > 0, of the pending decision
) = range(14)
JOB_COLUMNS = 14

# Entries of `scalar`.
(
    TIME_MS,
    HEAP_SIZE,  # task completions pending
    NEXT_NUMBER,  # insertion number of the next event
    RING_HEAD,  # first executor in transit
    RING_SIZE,
    NEXT_ARRIVAL,  # first job that has not arrived
    NUM_ACTIVE,
    GLOBAL_POOL,  # executors in the global pool
    TO_DECIDE,  # k: executors left to decide on
    SOURCE_JOB,  # job of the executors that are decided on, or NONE
    READY_KIND,
    READY_AT,  # the job or stage of the ready executors
    READY_COUNT,
    KEY,  # commitment key of the ready executors
    ROUND,  # number of the decision round
    ROUND_OPEN,  # 1 from the start of a decision round to its dispatch
    OPENED_COUNT,
    FREE_ENTRY,  # head of the list of unused commitment entries
    NUM_EXECUTORS,
    MOVING_DELAY_MS,
    MEAN_DURATIONS,  # 1: rounded means instead of draws
    NUM_DECISIONS,
    NUM_STARTED,  # tasks started
    RECORD_TASKS,
    RECORD_DECISIONS,
) = range(25)
SCALARS = 25

# Values of READY_KIND: where the ready executors are.
READY_GLOBAL, READY_POOL, READY_STAGE, READY_DETACHED = range(4)

# Columns of `entry`: commitments, one linked list a key in order of insertion.
ENTRY_KEY, ENTRY_TO, ENTRY_COUNT, ENTRY_NEXT = range(4)

# Columns of `heap` and `ring`.
EVENT_MS, EVENT_NUMBER, EVENT_STAGE = range(3)

# Columns of `work`, per job, filled for the active jobs of a pending decision.
WORK_LEFT_MS, CRITICAL_PATH_LEFT_MS = range(2)

# Columns of `task_log` and `decision_log`.
TASK_LOG_COLUMNS = 5  # start_ms, duration_ms, job, stage in job, wave
DECISION_LOG_COLUMNS = 8  # time_ms, source job, source stage, k, target job, target stage, requested, committed


class State(NamedTuple):
    """All arrays of an episode with J jobs, S stages and N executors."""

    profiles: ProfileArrays
    levels: np.ndarray  # int64[N + 1, 3], see profiles.level_table
    scalar: np.ndarray  # int64[SCALARS]
    stage: np.ndarray  # int64[S, STAGE_COLUMNS]
    stream: np.ndarray  # uint64[S]: random stream of each stage
    job: np.ndarray  # int64[J, JOB_COLUMNS]
    work: np.ndarray  # float64[J, 2], ms
    active: np.ndarray  # int64[J]: active jobs in order of arrival
    heap: np.ndarray  # int64[N, 3]: task completions, a min-heap on (time, number)
    ring: np.ndarray  # int64[N, 3]: executors in transit, in order of arrival
    entry: np.ndarray  # int64[N + 1, 4]: commitments
    key_head: np.ndarray  # int64[S + J + 1]: a key is a stage, S + a job, or S + J for the global pool
    key_tail: np.ndarray  # int64[S + J + 1]
    task_log: np.ndarray  # int64[tasks or 0, TASK_LOG_COLUMNS]
    decision_log: np.ndarray  # int64[capacity or 0, DECISION_LOG_COLUMNS]


def new_state(
    profiles: ProfileArrays,
    levels: np.ndarray,
    profile: np.ndarray,
    arrival_ms: np.ndarray,
    moving_delay_ms: int,
    seed: int,
    *,
    mean_durations: bool = False,
    record_tasks: bool = False,
    record_decisions: bool = False,
) -> State:
    """The state at time 0: all executors in the global pool, jobs with arrival 0 active, one round open.

    Args:
        profiles: compiled trace.
        levels: int64[N + 1, 3] for the N executors of the cluster.
        profile: int64[J], profile of each job, in order of arrival.
        arrival_ms: int64[J], non-decreasing.
        moving_delay_ms: time an executor takes to move to another job.
        seed: seeds the task durations (64 bits).
    """
    num_jobs, num_executors = len(profile), len(levels) - 1
    counts = profiles.stage_start[profile + 1] - profiles.stage_start[profile]
    num_stages = int(counts.sum())
    job = np.zeros((num_jobs, JOB_COLUMNS), np.int64)
    job[:, PROFILE] = profile
    job[:, BASE] = np.cumsum(counts) - counts
    job[:, NUM_STAGES] = job[:, STAGES_LEFT] = counts
    job[:, ARRIVAL_MS] = arrival_ms
    stage = np.zeros((num_stages, STAGE_COLUMNS), np.int64)
    stage[:, JOB] = np.repeat(np.arange(num_jobs), counts)
    within = np.arange(num_stages) - np.repeat(job[:, BASE], counts)
    stage[:, PROFILE_STAGE] = np.repeat(profiles.stage_start[profile], counts) + within
    stage[:, UNSTARTED] = profiles.num_tasks[stage[:, PROFILE_STAGE]]
    stage[:, WAITING] = np.diff(profiles.parent_start)[stage[:, PROFILE_STAGE]]
    job[:, TASKS_LEFT] = np.add.reduceat(stage[:, UNSTARTED], job[:, BASE])
    num_tasks = int(stage[:, UNSTARTED].sum())
    scalar = np.zeros(SCALARS, np.int64)
    scalar[NUM_EXECUTORS] = num_executors
    scalar[MOVING_DELAY_MS] = moving_delay_ms
    scalar[MEAN_DURATIONS] = mean_durations
    scalar[RECORD_TASKS] = record_tasks
    scalar[RECORD_DECISIONS] = record_decisions
    state = State(
        profiles,
        levels,
        scalar,
        stage,
        np.empty(num_stages, np.uint64),
        job,
        np.zeros((num_jobs, 2)),
        np.zeros(num_jobs, np.int64),
        np.zeros((num_executors, 3), np.int64),
        np.zeros((num_executors, 3), np.int64),
        np.zeros((num_executors + 1, 4), np.int64),
        np.empty(num_stages + num_jobs + 1, np.int64),
        np.empty(num_stages + num_jobs + 1, np.int64),
        np.zeros((num_tasks if record_tasks else 0, TASK_LOG_COLUMNS), np.int64),
        np.zeros((2 * num_tasks + 64 if record_decisions else 0, DECISION_LOG_COLUMNS), np.int64),
    )
    _start(state, np.uint64(seed))
    return state


@njit(cache=True)
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that scatters 64 bits."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True)
def _start(state: State, seed: np.uint64) -> None:
    scalar, stage, job, entry = state.scalar, state.stage, state.job, state.entry
    for s in range(len(stage)):
        # A stream a stage, so that a task meets the same draw whatever else the policy did before it.
        j = stage[s, JOB]
        within = np.uint64(s - job[j, BASE])
        state.stream[s] = mix(mix(seed + np.uint64(j)) + within)
        stage[s, SELECTED_IN] = NONE
    state.key_head[:] = NONE
    state.key_tail[:] = NONE
    for e in range(len(entry)):
        entry[e, ENTRY_KEY] = NONE
        entry[e, ENTRY_NEXT] = e + 1 if e + 1 < len(entry) else NONE
    job[:, COMPLETION_MS] = NONE
    scalar[GLOBAL_POOL] = scalar[NUM_EXECUTORS]
    while scalar[NEXT_ARRIVAL] < len(job) and job[scalar[NEXT_ARRIVAL], ARRIVAL_MS] == 0:
        activate(state, scalar[NEXT_ARRIVAL])
        scalar[NEXT_ARRIVAL] += 1
    # Future arrivals hold the first insertion numbers, in id order.
    scalar[NEXT_NUMBER] = len(job) - scalar[NEXT_ARRIVAL]
    if scalar[NUM_ACTIVE] > 0:
        open_round_of_global_pool(state)


@njit(cache=True)
def activate(state: State, j: int) -> None:
    """Job j arrives: it becomes active and its root stages open."""
    scalar, stage, job = state.scalar, state.stage, state.job
    state.active[scalar[NUM_ACTIVE]] = j
    scalar[NUM_ACTIVE] += 1
    for s in range(job[j, BASE], job[j, BASE] + job[j, NUM_STAGES]):
        if stage[s, WAITING] == 0:
            stage[s, OPENED] = scalar[OPENED_COUNT]
            scalar[OPENED_COUNT] += 1


@njit(cache=True)
def open_round_of_global_pool(state: State) -> None:
    """A decision round on all executors of the global pool."""
    scalar = state.scalar
    scalar[READY_KIND] = READY_GLOBAL
    scalar[READY_AT] = NONE
    scalar[READY_COUNT] = scalar[TO_DECIDE] = scalar[GLOBAL_POOL]
    scalar[SOURCE_JOB] = NONE
    scalar[KEY] = len(state.stage) + len(state.job)
    scalar[ROUND_OPEN] = 1
