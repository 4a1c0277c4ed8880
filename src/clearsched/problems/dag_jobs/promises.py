"""Promises of executors to stages ahead of time (commitments, docs/simulator.md §3): a linked list of entries a key."""

from __future__ import annotations

from numba import njit

from clearsched.problems.dag_jobs.state import (
    COMMITTED,
    ENTRY_COUNT,
    ENTRY_KEY,
    ENTRY_NEXT,
    ENTRY_TO,
    FREE_ENTRY,
    JOB,
    NONE,
    PROMISED,
    State,
)


@njit(cache=True)
def job_of_key(state: State, key: int) -> int:
    """The job that a commitment key belongs to, or NONE for the global pool."""
    num_stages = len(state.stage)
    if key < num_stages:
        return state.stage[key, JOB]
    return key - num_stages if key < num_stages + len(state.job) else NONE


@njit(cache=True)
def count_promises(state: State, key: int, to: int, count: int) -> None:
    """Book `count` promises (negative: taken back) with the stage and, from outside its job, with the job."""
    if to != NONE:
        state.stage[to, COMMITTED] += count
        j = state.stage[to, JOB]
        if job_of_key(state, key) != j:
            state.job[j, PROMISED] += count


@njit(cache=True)
def promise(state: State, key: int, to: int, count: int) -> None:
    """Add `count` promises from a key to a stage (or NONE): to its entry if there is one, else at the end."""
    entry = state.entry
    count_promises(state, key, to, count)
    e = state.key_head[key]
    while e != NONE:
        if entry[e, ENTRY_TO] == to:
            entry[e, ENTRY_COUNT] += count
            return
        e = entry[e, ENTRY_NEXT]
    e = state.scalar[FREE_ENTRY]
    state.scalar[FREE_ENTRY] = entry[e, ENTRY_NEXT]
    entry[e, ENTRY_KEY], entry[e, ENTRY_TO], entry[e, ENTRY_COUNT], entry[e, ENTRY_NEXT] = key, to, count, NONE
    if state.key_head[key] == NONE:
        state.key_head[key] = e
    else:
        entry[state.key_tail[key], ENTRY_NEXT] = e
    state.key_tail[key] = e


@njit(cache=True)
def take_promise(state: State, key: int) -> int:
    """Use up one promise of the first entry of a key; return its stage or NONE."""
    e = state.key_head[key]
    to = state.entry[e, ENTRY_TO]
    if state.entry[e, ENTRY_COUNT] == 1:
        remove_entry(state, e)
    else:
        state.entry[e, ENTRY_COUNT] -= 1
        count_promises(state, key, to, -1)
    return to


@njit(cache=True)
def remove_entry(state: State, e: int) -> None:
    """Delete an entry with all its promises."""
    entry = state.entry
    key, following = entry[e, ENTRY_KEY], entry[e, ENTRY_NEXT]
    count_promises(state, key, entry[e, ENTRY_TO], -entry[e, ENTRY_COUNT])
    before, here = NONE, state.key_head[key]
    while here != e:
        before, here = here, entry[here, ENTRY_NEXT]
    if before == NONE:
        state.key_head[key] = following
    else:
        entry[before, ENTRY_NEXT] = following
    if state.key_tail[key] == e:
        state.key_tail[key] = before
    entry[e, ENTRY_KEY] = NONE
    entry[e, ENTRY_NEXT] = state.scalar[FREE_ENTRY]
    state.scalar[FREE_ENTRY] = e
