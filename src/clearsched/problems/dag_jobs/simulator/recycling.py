"""Rows that are used again: what the event loop does in a replay (replay.py) when a job arrives or completes."""

from __future__ import annotations

import numpy as np

from clearsched.compiled.jit import compiled
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.state import State, write_job

# Entries of `tally`, then the bins of the histogram.
COUNT, SUM_S, SUM_SQUARES, LARGEST_S, LAST_MS, MOST_ACTIVE = range(6)
FIRST_BIN = 6
BINS_PER_OCTAVE = 32
LOWEST_OCTAVE = -10  # of completion times in s: the histogram begins at a millisecond
NUM_BINS = 40 * BINS_PER_OCTAVE
TALLIES = FIRST_BIN + NUM_BINS


@compiled
def has_room(state: State) -> bool:
    """Whether there are rows for the job that arrives next."""
    return state.scalar[st.REPLAY] == 0 or state.scalar[st.FREE_ROWS] > 0


@compiled
def admit(state: State) -> int:
    """Write the job that arrives now into free rows; return its row."""
    scalar = state.scalar
    scalar[st.FREE_ROWS] -= 1
    j = state.free_row[scalar[st.FREE_ROWS]]
    write_job(state, j, j * (len(state.stage) // len(state.job)), scalar[st.NEXT_ARRIVAL])
    state.tally[MOST_ACTIVE] = max(state.tally[MOST_ACTIVE], scalar[st.NUM_ACTIVE] + 1)
    return j


@compiled
def release(state: State, j: int) -> None:
    """Free the rows of job j, which is complete, as soon as no executor is on its way to it."""
    if state.job[j, st.TRANSIT] == 0:
        state.free_row[state.scalar[st.FREE_ROWS]] = j
        state.scalar[st.FREE_ROWS] += 1


@compiled
def tally_job(state: State, j: int) -> None:
    """Count the completion time of job j."""
    tally, job = state.tally, state.job
    jct_s = (job[j, st.COMPLETION_MS] - job[j, st.ARRIVAL_MS]) / 1000
    tally[COUNT] += 1
    tally[SUM_S] += jct_s
    tally[SUM_SQUARES] += jct_s * jct_s
    tally[LARGEST_S] = max(tally[LARGEST_S], jct_s)
    tally[LAST_MS] = job[j, st.COMPLETION_MS]
    octave = np.log2(max(jct_s, 2.0**LOWEST_OCTAVE)) - LOWEST_OCTAVE
    tally[FIRST_BIN + min(int(octave * BINS_PER_OCTAVE), NUM_BINS - 1)] += 1
