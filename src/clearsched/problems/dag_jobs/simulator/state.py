"""The state of one simulated episode, as flat arrays.

Executors are interchangeable: a parked one is blank, and where a running one sits is told by its task. So the state
keeps counts instead of executor objects (docs/simulator.md §3). One row a stage, one row a job, columns named below.
Stage rows are numbered through: job row j holds the rows `job[j, BASE]` to `job[j, BASE] + job[j, NUM_STAGES]`.

In an episode every job has its own rows, in order of arrival. In a replay (replay.py) the rows of a job that is
complete are used again by a later one, so that memory is bounded by the jobs in the system, not by their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.jit import compiled, inlined
from clearsched.compiled.wheel import BITMAP_WORDS, WHEEL_SLOTS, clear_queue
from clearsched.problems.dag_jobs.simulator.profiles import ProfileArrays
from clearsched.problems.dag_jobs.simulator.semantics import PUBLISHED, Semantics

NONE = -1

# Columns of `stage`. The first five are what a task that follows another reads: one cache line.
(
    UNSTARTED,  # tasks not started
    DEMAND,  # tasks that no executor is meant for: UNSTARTED - MOVING - COMMITTED
    STARTED,  # starts of its tasks so far, lost ones too
    PROFILE_STAGE,  # its row in the profile arrays
    STREAM,  # random stream of its tasks: 64 bits
    JOB,  # row of the job that the stage belongs to
    RUNNING,  # tasks running = executors that sit on the stage
    MOVING,  # executors in transit to it
    COMMITTED,  # promises to it
    WAITING,  # parents that are not complete
    UNSATURATED,  # parents with demand > 0
    OPENED,  # order in which it became runnable
    SELECTED,  # 1 if it was chosen in this decision round
    CANDIDATE,  # 1 if it is a candidate: demand > 0, no parent unsaturated, not selected
    FIRST_PROMISE,  # its list of commitment entries: promises whose executors come from this stage
    LAST_PROMISE,
) = range(16)
STAGE_COLUMNS = 16

# Columns of `job`.
(
    ATTACHED,  # executors attached: running or parked
    TASKS_LEFT,  # tasks not started
    POOL,  # of the attached, parked in its free pool
    TRANSIT,  # executors in transit to its stages
    PROMISED,  # promises to it from keys outside the job
    NUM_CANDIDATES,
    STAGES_LEFT,  # stages not complete
    HAS_DEMAND,  # number of its stages with demand > 0
    BASE,  # first of its stages
    NUM_STAGES,
    PROFILE,
    ARRIVAL_MS,
    COMPLETION_MS,  # NONE while it runs
    GRANTED,  # executors ever granted by FIFO's second rule
    NUMBER,  # its number in order of arrival
    WORK_STAMP,  # TASKS_LEFT when its row of `work` was computed, or NONE
    READY,  # number of its stages with demand > 0 whose parents are complete
    STALLED,  # 1 while executors are parked in it and such a stage waits: see parking.py
    STALLED_SINCE_MS,
    STALLED_TO_MS,  # when that ended last
) = range(20)
JOB_COLUMNS = 24  # three cache lines, so that a row begins with one

# Entries of `scalar`.
(
    TIME_MS,
    TO_DECIDE,  # k: executors left to decide on
    ROUND_OPEN,  # 1 from the start of a decision round to its dispatch
    SOURCE_JOB,  # job of the executors that are decided on, or NONE
    READY_KIND,
    READY_AT,  # the job or stage of the ready executors
    READY_COUNT,
    KEY,  # commitment key of the ready executors: a stage, or ROUND_KEY for all others
    KEY_JOB,  # the job that the key belongs to, or NONE
    FIRST_PROMISE_OF_ROUND,  # the list of entries of ROUND_KEY, which lives no longer than a round
    LAST_PROMISE_OF_ROUND,
    NUM_SELECTED,
    GLOBAL_POOL,  # executors in the global pool
    NUM_ACTIVE,
    TOTAL_CANDIDATES,
    JOBS_WITH_DEMAND,
    NEXT_ARRIVAL,  # first row of `arrival` that has not arrived
    NUM_ARRIVALS,  # rows of `arrival` that count
    OPENED_COUNT,
    FREE_ENTRY,  # head of the list of unused commitment entries
    NUM_EXECUTORS,
    MOVING_DELAY_MS,
    MEAN_DURATIONS,  # 1: rounded means instead of draws
    NUM_DECISIONS,
    NUM_STARTED,  # tasks started
    RECORD_TASKS,
    RECORD_DECISIONS,
    JOB_TIME_MS,  # integral of the number of jobs in the system, up to COUNTED_TO_MS
    COUNTED_TO_MS,
    WORK_CONSERVING,  # 1: the global pool is offered after every event (§10)
    OFFER_AT_COMPLETION,  # 1: it is offered after an event with which a job is complete, or loses an executor (§10)
    OFFER_DUE,  # 1: by one of these rules it is to be offered, and has not been since the last event
    SPARK_FIFO,  # 1: FIFO's jobs keep what they were granted (§10)
    HOLDS_JOBS,  # 1: and FIFO is the policy
    FAULTS,  # 1: tasks may be stragglers or fail (§11)
    STRAGGLER_THRESHOLD,  # probability x 2^32
    RECOVERY_MS,
    REPLAY,  # 1: job rows are used again
    MORE_ARRIVALS,  # 1: in a replay, `arrival` holds the next jobs, not the last ones
    FREE_ROWS,  # in a replay: unused job rows, listed in `free_row`
    NUM_COMPLETE,  # jobs complete
    SEED,
    IDLING,  # 1: learned policies may leave executors idle
    OUTAGE_EXECUTORS,  # executors that an outage takes (§11)
    OUTAGE_FROM_MS,
    OUTAGE_UNTIL_MS,
    OUTAGE_TAKEN,  # that it has taken
    PARKED,  # executors in the pools of jobs
    PARKED_TIME_MS,  # PARKED x TIME_MS + this is the integral of PARKED up to now
    LONGEST_STALL_MS,  # longest time that STALLED of a job was 1 without a break
    OFFER_PARKED,  # 1: executors parked in a job are offered again while a stage of it is ready (§10)
    OFFER_FROM,  # place in `active` of the next job whose pool may be offered after this event; NONE: of none
    ASKED_JOB,  # job whose pool the event itself opened a round on, or NONE
    SPARK_OFFERS,  # 1: idle executors are offered to stages whose parents are complete, and no others (§10)
    ASK_EACH_TASK,  # 1: an executor is decided on after every task (§10)
    ENDED_STAGE,  # under Spark's offers: complete, but its children open after the round that is open; or NONE
    BACK_UP_PARKED,  # 1: who would park in a job takes a task of a stage of it that is ready (§10)
    HELP_FIRST,  # 1: so does who is left idle by the policy, a learned one (§5)
    INTERARRIVAL_MS,  # mean time between arrivals that the episode was drawn with, 0 where unknown: for networks
) = range(59)
SCALARS = 59

ROUND_KEY = NONE

# Values of READY_KIND: where the ready executors are.
READY_GLOBAL, READY_POOL, READY_STAGE, READY_DETACHED = range(4)

# What an event is: the low bits of its code; the rest is the stage.
FINISHES, ARRIVES, FAILS, RECOVERS = range(4)
KIND_BITS = 2
KIND_MASK = 3

# Columns of `entry`: commitments, one linked list a key in order of insertion.
ENTRY_KEY, ENTRY_TO, ENTRY_COUNT, ENTRY_NEXT = range(4)

# Columns of `arrival`.
ARRIVES_MS, ARRIVING_PROFILE = range(2)

# Columns of `work`, per job, as policies see it; current after `survey`, but for the last, which does not change.
WORK_LEFT_MS, CRITICAL_PATH_LEFT_MS, WORK_ROOT, WORK_TOTAL_MS = range(4)
WORK_COLUMNS = 4  # WORK_ROOT: fifth root of the work left + ROOT_OFFSET_MS, of which the shares by powers are made
ROOT_OFFSET_MS = 1000.0

# Columns of `known`, per stage: what policies see of durations, which may be wrong (estimates.py).
TASK_MS, PATH_MS = range(2)  # mean duration of a task; largest work on a path downwards, the stage's own included
KNOWN_COLUMNS = 2

# Entries of `fault`.
MEAN_LIFE_MS, SLOWDOWN = range(2)

# Columns of `task_log` and `decision_log`.
TASK_LOG_COLUMNS = 7  # start_ms, duration_ms, job, stage in job, wave, attempt, failed
DECISION_LOG_COLUMNS = 8  # time_ms, source job, source stage, k, target job, target stage, requested, committed


class State(NamedTuple):
    """All arrays of an episode with J job rows, S stage rows and N executors."""

    profiles: ProfileArrays
    levels: np.ndarray  # int64[N + 1, 3], see profiles.level_table
    scalar: np.ndarray  # int64[SCALARS]
    stage: np.ndarray  # int64[S, STAGE_COLUMNS]
    job: np.ndarray  # int64[J, JOB_COLUMNS]
    work: np.ndarray  # float64[J, WORK_COLUMNS], ms
    known: np.ndarray  # float64[S, KNOWN_COLUMNS], ms
    arrival: np.ndarray  # int64[jobs, 2]: arrival time and profile, in order of arrival
    active: np.ndarray  # int64[J]: rows of the active jobs in order of arrival
    bitmap: np.ndarray  # uint64[BITMAP_WORDS]: the event queue, see compiled/wheel.py
    wheel: np.ndarray  # int32[WHEEL_SLOTS]
    node: np.ndarray  # int64[N + 1, 2]
    overflow: np.ndarray  # int64[N + 1, 3]
    entry: np.ndarray  # int64[N + 1, 4]: commitments
    selected: np.ndarray  # int64[N]: stages chosen in this round
    fault: np.ndarray  # float64[2]
    free_row: np.ndarray  # int64[J] in a replay, else int64[0]
    tally: np.ndarray  # float64[TALLIES] in a replay, else float64[0]: see replay.py
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
    semantics: Semantics | None = None,
    task_rows: int = 0,
    decision_rows: int = 0,
) -> State:
    """The state at time 0: all executors in the global pool, jobs with arrival 0 active, one round open.

    Args:
        profiles: compiled trace.
        levels: int64[N + 1, 3] for the N executors of the cluster.
        profile: int64[J], profile of each job, in order of arrival.
        arrival_ms: int64[J], non-decreasing.
        moving_delay_ms: time an executor takes to move to another job.
        seed: seeds the task durations (64 bits).
        semantics: corrections and faults; None for none.
        task_rows, decision_rows: task starts and decisions to record; 0 for no record.
    """
    counts = profiles.stage_start[profile + 1] - profiles.stage_start[profile]
    arrival = np.empty((len(profile), 2), np.int64)
    arrival[:, ARRIVES_MS], arrival[:, ARRIVING_PROFILE] = arrival_ms, profile
    state = allocate(
        profiles, levels, arrival, len(profile), int(counts.sum()), task_rows=task_rows, decision_rows=decision_rows
    )
    settle(state, moving_delay_ms, mean_durations, semantics or PUBLISHED)
    begin(state, np.uint64(seed))
    return state


def allocate(
    profiles: ProfileArrays,
    levels: np.ndarray,
    arrival: np.ndarray,
    job_rows: int,
    stage_rows: int,
    *,
    task_rows: int = 0,
    decision_rows: int = 0,
    free_rows: int = 0,
    tallies: int = 0,
) -> State:
    """The arrays of a state. Rows of stages and jobs are written when a job arrives."""
    num_executors = len(levels) - 1
    return State(
        profiles,
        levels,
        np.zeros(SCALARS, np.int64),
        np.empty((stage_rows, STAGE_COLUMNS), np.int64),
        np.empty((job_rows, JOB_COLUMNS), np.int64),
        np.zeros((job_rows, WORK_COLUMNS)),
        np.empty((stage_rows, KNOWN_COLUMNS)),
        arrival,
        np.empty(job_rows, np.int64),
        np.empty(BITMAP_WORDS, np.uint64),
        np.empty(WHEEL_SLOTS, np.int32),
        np.empty((num_executors + 1, 2), np.int64),
        np.empty((num_executors + 1, 3), np.int64),
        np.empty((num_executors + 1, 4), np.int64),
        np.empty(num_executors, np.int64),
        np.zeros(2),
        np.empty(free_rows, np.int64),
        np.zeros(tallies),
        np.zeros((task_rows, TASK_LOG_COLUMNS), np.int64),
        np.zeros((decision_rows, DECISION_LOG_COLUMNS), np.int64),
    )


def settle(state: State, moving_delay_ms: int, mean_durations: bool, semantics: Semantics) -> None:
    """Write the settings of an episode into its state."""
    scalar = state.scalar
    scalar[NUM_EXECUTORS] = len(state.levels) - 1
    scalar[MOVING_DELAY_MS] = moving_delay_ms
    scalar[MEAN_DURATIONS] = mean_durations
    scalar[RECORD_TASKS] = len(state.task_log) > 0
    scalar[RECORD_DECISIONS] = len(state.decision_log) > 0
    scalar[WORK_CONSERVING] = semantics.work_conserving or semantics.spark_offers
    scalar[OFFER_AT_COMPLETION] = semantics.offer_at_completion
    scalar[SPARK_FIFO] = semantics.spark_fifo
    scalar[IDLING] = semantics.idling
    scalar[OFFER_PARKED] = semantics.offer_parked or semantics.spark_offers
    scalar[SPARK_OFFERS] = semantics.spark_offers
    scalar[ASK_EACH_TASK] = semantics.ask_each_task
    scalar[BACK_UP_PARKED] = semantics.back_up_parked
    scalar[HELP_FIRST] = semantics.help_first
    scalar[ENDED_STAGE] = NONE
    scalar[OFFER_FROM] = scalar[ASKED_JOB] = NONE
    scalar[FAULTS] = semantics.has_faults
    scalar[STRAGGLER_THRESHOLD] = round(semantics.straggler_probability * 2**32)
    scalar[RECOVERY_MS] = semantics.recovery_ms
    scalar[OUTAGE_EXECUTORS] = semantics.outage_executors
    scalar[OUTAGE_FROM_MS], scalar[OUTAGE_UNTIL_MS] = semantics.outage_from_ms, semantics.outage_until_ms
    scalar[NUM_ARRIVALS] = len(state.arrival)
    state.fault[MEAN_LIFE_MS] = 3_600_000 / semantics.failures_per_hour if semantics.failures_per_hour > 0 else np.inf
    state.fault[SLOWDOWN] = semantics.straggler_slowdown


@inlined
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that scatters 64 bits."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def begin(state: State, seed: np.uint64) -> None:
    """Time 0: an empty queue, all executors in the global pool, jobs with arrival 0 admitted, a round open if any."""
    scalar, entry, arrival = state.scalar, state.entry, state.arrival
    scalar[SEED] = np.int64(seed)
    clear_queue(state.bitmap, state.node)
    for e in range(len(entry)):
        entry[e, ENTRY_KEY] = NONE
        entry[e, ENTRY_TO] = NONE
        entry[e, ENTRY_NEXT] = e + 1 if e + 1 < len(entry) else NONE
    scalar[FIRST_PROMISE_OF_ROUND] = scalar[LAST_PROMISE_OF_ROUND] = NONE
    scalar[GLOBAL_POOL] = scalar[NUM_EXECUTORS]
    if scalar[REPLAY] == 0:
        base = 0
        for j in range(len(arrival)):
            write_job(state, j, base, j)
            base += state.job[j, NUM_STAGES]
    while scalar[NEXT_ARRIVAL] < scalar[NUM_ARRIVALS] and arrival[scalar[NEXT_ARRIVAL], ARRIVES_MS] == 0:
        if scalar[REPLAY] == 1:
            break  # jobs of time 0 are admitted with the others, when a row is free
        activate(state, scalar[NEXT_ARRIVAL])
        scalar[NEXT_ARRIVAL] += 1
    if scalar[NUM_ACTIVE] > 0:
        open_round_of_global_pool(state)


@compiled
def write_job(state: State, j: int, base: int, row: int) -> None:
    """Write the rows of the job that `arrival[row]` announces: job row j, stage rows from `base` on."""
    stage, job, profiles = state.stage, state.job, state.profiles
    profile = state.arrival[row, ARRIVING_PROFILE]
    first, stop = profiles.stage_start[profile], profiles.stage_start[profile + 1]
    job[j, :] = 0
    job[j, BASE], job[j, NUM_STAGES], job[j, STAGES_LEFT] = base, stop - first, stop - first
    job[j, HAS_DEMAND] = stop - first
    job[j, PROFILE], job[j, ARRIVAL_MS] = profile, state.arrival[row, ARRIVES_MS]
    job[j, COMPLETION_MS] = job[j, WORK_STAMP] = NONE
    state.work[j, WORK_TOTAL_MS] = profiles.work_ms[profile]
    # A stream a stage, so that a task meets the same draw whatever else the policy did before it.
    stream = mix(np.uint64(state.scalar[SEED]) + np.uint64(job_number(state, row)))
    job[j, NUMBER] = job_number(state, row)
    for i in range(stop - first):
        s, g = base + i, first + i
        num_parents = profiles.parent_start[g + 1] - profiles.parent_start[g]
        stage[s, :] = 0
        stage[s, UNSTARTED] = stage[s, DEMAND] = profiles.num_tasks[g]
        stage[s, PROFILE_STAGE] = g
        stage[s, STREAM] = np.int64(mix(stream + np.uint64(i)))
        stage[s, JOB] = j
        stage[s, WAITING] = stage[s, UNSATURATED] = num_parents
        stage[s, FIRST_PROMISE] = stage[s, LAST_PROMISE] = NONE
        state.known[s, TASK_MS], state.known[s, PATH_MS] = profiles.mean_ms[g], profiles.critical_path_ms[g]
        job[j, TASKS_LEFT] += profiles.num_tasks[g]


@compiled
def job_number(state: State, row: int) -> int:
    """The number, in order of arrival, of the job that `arrival[row]` announces."""
    if state.scalar[REPLAY] == 0:
        return row
    # The rows before NEXT_ARRIVAL have arrived: they are complete or active. Those of earlier chunks too.
    return state.scalar[NUM_COMPLETE] + state.scalar[NUM_ACTIVE] + row - state.scalar[NEXT_ARRIVAL]


@inlined
def activate(state: State, j: int) -> None:
    """Job j arrives: it becomes active, its root stages open and are candidates."""
    scalar, stage, job = state.scalar, state.stage, state.job
    count_job_time(state)
    state.active[scalar[NUM_ACTIVE]] = j
    scalar[NUM_ACTIVE] += 1
    scalar[JOBS_WITH_DEMAND] += 1
    for s in range(job[j, BASE], job[j, BASE] + job[j, NUM_STAGES]):
        if stage[s, WAITING] == 0:
            stage[s, OPENED] = scalar[OPENED_COUNT]
            scalar[OPENED_COUNT] += 1
            stage[s, CANDIDATE] = 1
            job[j, READY] += 1
            job[j, NUM_CANDIDATES] += 1
            scalar[TOTAL_CANDIDATES] += 1


@inlined
def count_job_time(state: State) -> None:
    """Bring the integral of the number of jobs in the system up to now, before that number changes."""
    scalar = state.scalar
    scalar[JOB_TIME_MS] += scalar[NUM_ACTIVE] * (scalar[TIME_MS] - scalar[COUNTED_TO_MS])
    scalar[COUNTED_TO_MS] = scalar[TIME_MS]


@inlined
def open_round_of_global_pool(state: State) -> None:
    """A decision round on all executors of the global pool."""
    scalar = state.scalar
    scalar[READY_KIND] = READY_GLOBAL
    scalar[READY_AT] = NONE
    scalar[READY_COUNT] = scalar[TO_DECIDE] = scalar[GLOBAL_POOL]
    scalar[SOURCE_JOB] = NONE
    scalar[KEY], scalar[KEY_JOB] = ROUND_KEY, NONE
    scalar[ROUND_OPEN] = 1
    scalar[OFFER_DUE] = 0
