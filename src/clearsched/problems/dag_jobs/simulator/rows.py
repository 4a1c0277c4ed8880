"""The rows of features that describe the candidates of the pending decision: `features.FEATURES`, filled in.

`fill_features` looks up the quantities that `JOB_QUANTITIES` and `STAGE_QUANTITIES` name; the compiled formulas do the
rest. Sums over all jobs are made once a decision, the features of a job once for all its candidates, and of a policy
that says what it reads no others are made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearsched.compiled.features import compile_columns, count_smaller
from clearsched.compiled.jit import allocating, compiled, inlined
from clearsched.problems.dag_jobs.features import (
    FEATURE_NAMES,
    FEATURES,
    JOB_QUANTITIES,
    NUM_FEATURES,
    NUM_JOB_FEATURES,
    STAGE_QUANTITIES,
)
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.parking import decided_in_pools
from clearsched.problems.dag_jobs.simulator.state import State

WORK_OFFSET_MS = 5000.0
"""Added to a job's work left where shares are computed, so that a job about to end still counts."""

JOB_RANK, STAGE_RANK = FEATURE_NAMES.index("job_work_rank"), FEATURE_NAMES.index("stage_rank")

_write_job = compile_columns(0, FEATURES[:NUM_JOB_FEATURES], list(JOB_QUANTITIES))
_write_stage = compile_columns(NUM_JOB_FEATURES, FEATURES[NUM_JOB_FEATURES:], list(STAGE_QUANTITIES))


@allocating
def fill_features(state: State, rows: np.ndarray, stages: np.ndarray) -> int:
    """Describe the candidates of the pending decision, after `survey`.

    Args:
        state: with its candidates marked.
        rows: float32[at least candidates, NUM_FEATURES], written; fastest as `new_rows` makes it.
        stages: int64[at least candidates], written: the stage of each row.

    Returns:
        The number of candidates.
    """
    jobs = stages_of_one = 0
    for i in range(state.scalar[st.NUM_ACTIVE]):
        jobs += 1
        stages_of_one = max(stages_of_one, state.job[state.active[i], st.NUM_CANDIDATES])
    read = np.ones(NUM_FEATURES, np.bool_)
    count, _ = describe_candidates(state, rows, stages, np.empty(3 * (jobs + stages_of_one)), read)
    return count


class Totals(NamedTuple):
    """What a job is compared with: sums over the jobs in the system, and some facts of those with a candidate."""

    weight: float
    sqrt_weight: float
    power_20: float
    power_40: float
    power_60: float
    power_80: float
    smallest_weight: float  # of a job with a candidate
    ranked: int  # jobs with a candidate
    most: int  # candidates of one job


@compiled
def describe_candidates(
    state: State, rows: np.ndarray, stages: np.ndarray, scratch: np.ndarray, read: np.ndarray
) -> tuple[int, bool]:
    """`fill_features` of the columns that bool[NUM_FEATURES] names; whether all that was written is finite.

    `scratch`: float64[3 x (active jobs + candidates of one job)], to work in.
    """
    totals = _totals(state)
    # Keys to rank by, and the ranks: first those of the jobs with a candidate, then those of one job's candidates.
    places = totals.ranked + totals.most
    keys, ranks, ordered = scratch[:places], scratch[places : 2 * places], scratch[2 * places : 3 * places]
    if read[JOB_RANK]:
        _rank_jobs(state, keys, ranks, ordered, totals.ranked)
    count = place = 0
    finite = True
    for i in range(state.scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        candidates = state.job[j, st.NUM_CANDIDATES]
        if candidates == 0:
            continue
        _rank_stages(state, j, stages[count:], keys[totals.ranked :])
        if read[STAGE_RANK]:
            count_smaller(keys, ranks, ordered, totals.ranked, candidates)
        finite &= _describe_job(state, j, rows, count, read, totals, ranks[place])
        place += 1
        for column in range(NUM_JOB_FEATURES):
            if read[column]:
                value = rows[count, column]
                for c in range(count + 1, count + candidates):
                    rows[c, column] = value
        for c in range(count, count + candidates):
            finite &= _describe_stage(state, stages[c], rows, c, read, ranks[totals.ranked + c - count])
        count += candidates
    return count, finite


@inlined
def _totals(state: State) -> Totals:
    """One pass over the jobs in the system."""
    weight = sqrt_weight = power_20 = power_40 = power_60 = power_80 = 0.0
    smallest_weight = np.inf
    ranked = most = 0
    for i in range(state.scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        own = state.work[j, st.WORK_LEFT_MS] + WORK_OFFSET_MS
        weight += own
        sqrt_weight += np.sqrt(own)
        root = state.work[j, st.WORK_ROOT]
        power_20 += root
        power_40 += root * root
        power_60 += root * root * root
        power_80 += root * root * root * root
        candidates = state.job[j, st.NUM_CANDIDATES]
        if candidates > 0:
            smallest_weight = min(smallest_weight, own)
            ranked += 1
            most = max(most, candidates)
    return Totals(weight, sqrt_weight, power_20, power_40, power_60, power_80, smallest_weight, ranked, most)


@inlined
def _rank_jobs(state: State, keys: np.ndarray, ranks: np.ndarray, ordered: np.ndarray, ranked: int) -> None:
    """Write for each of the `ranked` jobs with a candidate how many of them have less work left."""
    place = 0
    for i in range(state.scalar[st.NUM_ACTIVE]):
        j = state.active[i]
        if state.job[j, st.NUM_CANDIDATES] > 0:
            keys[place] = state.work[j, st.WORK_LEFT_MS]
            place += 1
    count_smaller(keys, ranks, ordered, 0, ranked)


@inlined
def _rank_stages(state: State, j: int, stages: np.ndarray, keys: np.ndarray) -> None:
    """Write the candidates of job j, by index, to `stages`, and the key of each to `keys`."""
    stage, s = state.stage, state.job[j, st.BASE]
    candidates = state.job[j, st.NUM_CANDIDATES]
    for c in range(candidates):
        while stage[s, st.CANDIDATE] == 0:
            s += 1
        stages[c] = s
        levels_below = state.profiles.levels_below[stage[s, st.PROFILE_STAGE]]
        keys[c] = order_key(stage[s, st.WAITING], levels_below, c, candidates)
        s += 1


@inlined
def _describe_job(
    state: State, j: int, rows: np.ndarray, row: int, read: np.ndarray, totals: Totals, smaller_jobs: float
) -> bool:
    """Write the features of job j that are read to a row; whether all are finite."""
    scalar, job, work = state.scalar, state.job, state.work
    is_source = 1 if j == scalar[st.SOURCE_JOB] else 0
    held = job[j, st.ATTACHED] + job[j, st.TRANSIT] + job[j, st.PROMISED]  # as `executors_held`
    weight = work[j, st.WORK_LEFT_MS] + WORK_OFFSET_MS
    finite: bool = _write_job(
        rows,
        row,
        read,
        is_source=is_source,
        held=held - is_source * scalar[st.TO_DECIDE],
        parked=job[j, st.POOL] - is_source * decided_in_pools(state),
        work_left_ms=work[j, st.WORK_LEFT_MS],
        work_ms=work[j, st.WORK_TOTAL_MS],
        tasks_left=job[j, st.TASKS_LEFT],
        stages_left=job[j, st.STAGES_LEFT],
        time_ms=scalar[st.TIME_MS],
        arrival_ms=job[j, st.ARRIVAL_MS],
        critical_path_left_ms=work[j, st.CRITICAL_PATH_LEFT_MS],
        smaller_jobs=smaller_jobs,
        weight=weight,
        smallest_weight=totals.smallest_weight,
        sum_weight=totals.weight,
        sqrt_weight=np.sqrt(weight),
        sum_sqrt_weight=totals.sqrt_weight,
        root=work[j, st.WORK_ROOT],
        sum_power_20=totals.power_20,
        sum_power_40=totals.power_40,
        sum_power_60=totals.power_60,
        sum_power_80=totals.power_80,
        jobs=scalar[st.NUM_ACTIVE],
        executors=scalar[st.NUM_EXECUTORS],
        moving_delay_ms=scalar[st.MOVING_DELAY_MS],
    )
    return finite


@inlined
def _describe_stage(
    state: State, s: int, rows: np.ndarray, row: int, read: np.ndarray, earlier_candidates: float
) -> bool:
    """Write the features of stage s, and of the decision, that are read to a row; whether all are finite."""
    stage = state.stage
    finite: bool = _write_stage(
        rows,
        row,
        read,
        waiting_parents=stage[s, st.WAITING],
        unstarted=stage[s, st.UNSTARTED],
        running=stage[s, st.RUNNING],
        moving=stage[s, st.MOVING],
        promised=stage[s, st.COMMITTED],
        task_ms=state.known[s, st.TASK_MS],
        levels_below=state.profiles.levels_below[stage[s, st.PROFILE_STAGE]],
        critical_path_ms=state.known[s, st.PATH_MS],
        earlier_candidates=earlier_candidates,
        to_decide=state.scalar[st.TO_DECIDE],
        parked_in_all=state.scalar[st.PARKED] - decided_in_pools(state),
        executors=state.scalar[st.NUM_EXECUTORS],
        jobs=state.scalar[st.NUM_ACTIVE],
    )
    return finite


@inlined
def order_key(waiting_parents: int, levels_below: int, place: int, places: int) -> float:
    """A key by which the stages of a job are sorted as by `comes_before`: whole and below 2^53, so float64 holds it."""
    deepest = 1 << 20  # more levels than a job can have
    return float(((deepest if waiting_parents > 0 else 0) + deepest - levels_below) * places + place)


@compiled
def comes_before(state: State, a: int, b: int) -> bool:
    """Order of the stages of one job: parents complete first, then most levels below, then lowest index."""
    stage, levels_below = state.stage, state.profiles.levels_below
    ready_a, ready_b = stage[a, st.WAITING] == 0, stage[b, st.WAITING] == 0
    if ready_a != ready_b:
        return ready_a
    below_a, below_b = levels_below[stage[a, st.PROFILE_STAGE]], levels_below[stage[b, st.PROFILE_STAGE]]
    return below_a > below_b or (below_a == below_b and a < b)


def describe_fault(state: State, rows: np.ndarray, stages: np.ndarray) -> str:
    """Which feature of the pending decision is not finite, and where, in one line; empty if all are.

    Args:
        state: with a decision pending.
        rows: float32[c, NUM_FEATURES], as `fill_features` wrote them.
        stages: int64[c].
    """
    wrong = ~np.isfinite(rows)
    if not wrong.any():
        return ""
    # One bad number spoils the shares of all jobs. Most is wrong where it comes from, and the stage tells more there.
    row = int(wrong.sum(axis=1).argmax())
    columns = np.flatnonzero(wrong[row])
    column = next((c for c in columns if c >= NUM_JOB_FEATURES), columns[0])
    told = place_of(state, stages[row], f"feature {FEATURE_NAMES[column]} is {rows[row, column]}")
    return f"{told}: the durations of its profile must be finite numbers"


def place_of(state: State, s: int, what: str) -> str:
    """`decision N: <what> for stage S of job J`: the beginning of a message about the pending decision."""
    j = state.stage[s, st.JOB]
    return f"decision {state.scalar[st.NUM_DECISIONS]}: {what} for stage {s - state.job[j, st.BASE]} of job {j}"
