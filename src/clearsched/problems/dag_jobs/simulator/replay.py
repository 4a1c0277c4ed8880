"""A replay: one long episode of which only statistics are kept, in memory bounded by the jobs in the system.

Jobs come in chunks from any iterator. The rows of a job that is complete are used again by a later one
(recycling.py); the loop pauses when it needs the next chunk, or more rows than there are. Completion times go into
running sums and a histogram, so a million jobs take no more memory than a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from clearsched.errors import WorkloadError
from clearsched.problems.dag_jobs.simulator import loop, recycling
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.engine import OVER
from clearsched.problems.dag_jobs.simulator.profiles import MOST_EXECUTORS, Profiles, level_table
from clearsched.problems.dag_jobs.simulator.semantics import PUBLISHED, Semantics
from clearsched.problems.dag_jobs.simulator.state import State, allocate, begin, settle

Chunk = tuple[np.ndarray, np.ndarray]
"""Jobs in order of arrival: profiles, int64[n], and arrival times in ms, int64[n]."""


@dataclass(frozen=True)
class ReplayStatistics:
    """What is known of a replay when it is over.

    Attributes:
        num_jobs: jobs that arrived, all complete.
        mean_jct_s, std_jct_s, largest_jct_s: of the job completion times, s.
        makespan_s: time of the last completion, s.
        num_tasks: tasks started.
        num_decisions: answers of the policy.
        most_jobs: most jobs that were in the system at once.
        state_bytes: memory of the simulator's state at the end, which is its largest.
        histogram: int64[NUM_BINS], jobs by completion time; the bins are 2 % wide.
    """

    num_jobs: int
    mean_jct_s: float
    std_jct_s: float
    largest_jct_s: float
    makespan_s: float
    num_tasks: int
    num_decisions: int
    most_jobs: int
    state_bytes: int
    histogram: np.ndarray

    def quantile_s(self, share: float) -> float:
        """The completion time that this share of the jobs does not exceed, s, to the width of a bin (2 %)."""
        position = int(np.searchsorted(np.cumsum(self.histogram), share * self.num_jobs))
        return float(2.0 ** ((position + 0.5) / recycling.BINS_PER_OCTAVE + recycling.LOWEST_OCTAVE))


def in_chunks(profile: np.ndarray, arrival_ms: np.ndarray, size: int = 65_536) -> Iterator[Chunk]:
    """Jobs that are all known, in order of arrival, as the chunks that `replay` takes."""
    for first in range(0, len(profile), size):
        yield profile[first : first + size], arrival_ms[first : first + size]


def replay(
    profiles: Profiles,
    jobs: Iterable[Chunk],
    policy: loop.Compiled,
    *,
    num_executors: int,
    moving_delay_ms: int = 2000,
    seed: int = 0,
    mean_durations: bool = False,
    semantics: Semantics = PUBLISHED,
    job_rows: int = 64,
) -> ReplayStatistics:
    """Schedule the jobs of an iterator, which may be longer than memory.

    The same jobs as an episode's run the same, but for several that arrive at time 0: a replay admits them one by
    one, as any others.

    Args:
        jobs: chunks of jobs in order of arrival, over all chunks.
        policy: inside the compiled loop.
        seed: of the task durations.
        job_rows: jobs in the system that memory is taken for at first; it doubles when they are more.

    Raises:
        WorkloadError: no job, no executor, arrivals out of order, or an unknown profile.
    """
    if not 1 <= num_executors <= MOST_EXECUTORS:
        raise WorkloadError(f"replay: num_executors is {num_executors}: 1 to {MOST_EXECUTORS:,} expected")
    chunks = _checked(jobs, profiles.trace.num_profiles)
    levels = level_table(profiles.trace.levels, num_executors, semantics.right_interpolation)
    most_stages = int(np.diff(profiles.arrays.stage_start).max())
    state = allocate(
        profiles.arrays, levels, np.zeros((0, 2), np.int64), job_rows, job_rows * most_stages,
        free_rows=job_rows, tallies=recycling.TALLIES,
    )  # fmt: skip
    settle(state, moving_delay_ms, mean_durations, semantics)
    state.scalar[st.REPLAY] = state.scalar[st.MORE_ARRIVALS] = 1
    state.free_row[:] = np.arange(job_rows)[::-1]
    state.scalar[st.FREE_ROWS] = job_rows
    begin(state, np.uint64(seed))
    following = next(chunks, None)
    while loop.run_or_raise(state, policy) != OVER:
        if state.scalar[st.NEXT_ARRIVAL] == state.scalar[st.NUM_ARRIVALS]:
            chunk, following = following, next(chunks, None)
            state = _next_chunk(state, chunk, more=following is not None)
        else:
            state = _with_more_rows(state)
    return _statistics(state)


def _checked(jobs: Iterable[Chunk], num_profiles: int) -> Iterator[np.ndarray]:
    """The chunks as rows of `State.arrival`, checked."""
    last_ms = 0
    for number, (profile, arrival_ms) in enumerate(jobs):
        where = f"replay: chunk {number}"
        if len(profile) != len(arrival_ms):
            raise WorkloadError(f"{where}: {len(profile)} profiles and {len(arrival_ms)} arrival times")
        if len(profile) == 0:
            continue
        if np.min(profile) < 0 or np.max(profile) >= num_profiles:
            raise WorkloadError(f"{where}: profiles must lie in 0 to {num_profiles - 1}")
        if arrival_ms[0] < last_ms or np.any(np.diff(arrival_ms) < 0):
            raise WorkloadError(f"{where}: arrival times must be at least 0 and in increasing order")
        last_ms = int(arrival_ms[-1])
        rows = np.empty((len(profile), 2), np.int64)
        rows[:, st.ARRIVES_MS], rows[:, st.ARRIVING_PROFILE] = arrival_ms, profile
        yield rows


def _next_chunk(state: State, rows: np.ndarray | None, *, more: bool) -> State:
    """The same state with the next arrivals; `more`: there are others after them, so that `none` can wait for them."""
    state.scalar[st.MORE_ARRIVALS] = more
    if rows is None:
        return state
    state.scalar[st.NEXT_ARRIVAL], state.scalar[st.NUM_ARRIVALS] = 0, len(rows)
    return state._replace(arrival=rows)


def _with_more_rows(state: State) -> State:
    """The same state with room for twice as many jobs."""
    rows = len(state.job)
    # Row numbers stay as they are: stages follow their job's row at a fixed distance.
    stage, job, work, known, active = (
        np.concatenate([array, np.zeros_like(array)])
        for array in (state.stage, state.job, state.work, state.known, state.active)
    )
    free_row = np.empty(2 * rows, np.int64)
    free_row[:rows] = np.arange(rows, 2 * rows)[::-1]
    state.scalar[st.FREE_ROWS] = rows
    return state._replace(stage=stage, job=job, work=work, known=known, active=active, free_row=free_row)


def _statistics(state: State) -> ReplayStatistics:
    scalar, tally = state.scalar, state.tally
    count = int(tally[recycling.COUNT])
    if count == 0:
        raise WorkloadError("replay: no job: at least one needed")
    mean = tally[recycling.SUM_S] / count
    arrays = [array for array in state[1:] if isinstance(array, np.ndarray)]
    return ReplayStatistics(
        num_jobs=count,
        mean_jct_s=float(mean),
        std_jct_s=float(np.sqrt(max(tally[recycling.SUM_SQUARES] / count - mean * mean, 0.0))),
        largest_jct_s=float(tally[recycling.LARGEST_S]),
        makespan_s=float(tally[recycling.LAST_MS]) / 1000,
        num_tasks=int(scalar[st.NUM_STARTED]),
        num_decisions=int(scalar[st.NUM_DECISIONS]),
        most_jobs=int(tally[recycling.MOST_ACTIVE]),
        state_bytes=sum(array.nbytes for array in arrays),
        histogram=tally[recycling.FIRST_BIN : recycling.FIRST_BIN + recycling.NUM_BINS].astype(np.int64),
    )
