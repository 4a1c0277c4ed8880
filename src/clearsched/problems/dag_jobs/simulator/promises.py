"""Promises of executors to stages ahead of time (commitments, docs/simulator.md §3): a linked list of entries a key.

A key is a stage, whose executors follow its promises as they finish, or ROUND_KEY: the pool that a decision round is
about. Promises of a pool are carried out when the round ends, so one list serves all pools.
"""

from __future__ import annotations

from clearsched.compiled.jit import compiled, inlined
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.state import NONE, State


@inlined
def first_promise(state: State, key: int) -> int:
    """The first entry of a key, or NONE."""
    return state.scalar[st.FIRST_PROMISE_OF_ROUND] if key == st.ROUND_KEY else state.stage[key, st.FIRST_PROMISE]


@inlined
def last_promise(state: State, key: int) -> int:
    """The last entry of a key; without meaning if there is none."""
    return state.scalar[st.LAST_PROMISE_OF_ROUND] if key == st.ROUND_KEY else state.stage[key, st.LAST_PROMISE]


@inlined
def set_promises(state: State, key: int, first: int, last: int) -> None:
    """Set the ends of a key's list."""
    if key == st.ROUND_KEY:
        state.scalar[st.FIRST_PROMISE_OF_ROUND], state.scalar[st.LAST_PROMISE_OF_ROUND] = first, last
    else:
        state.stage[key, st.FIRST_PROMISE], state.stage[key, st.LAST_PROMISE] = first, last


@inlined
def count_promises(state: State, key: int, to: int, count: int) -> None:
    """Book `count` promises (negative: taken back) with the stage and, from outside its job, with the job.

    The demand of the stage is the caller's to change: mostly what was promised starts or moves at the same moment.
    """
    if to != NONE:
        state.stage[to, st.COMMITTED] += count
        j = state.stage[to, st.JOB]
        if j != (state.scalar[st.KEY_JOB] if key == st.ROUND_KEY else state.stage[key, st.JOB]):
            state.job[j, st.PROMISED] += count


@inlined
def promise(state: State, key: int, to: int, count: int) -> None:
    """Add `count` promises from a key to a stage (or NONE): to its entry if there is one, else at the end."""
    entry = state.entry
    count_promises(state, key, to, count)
    first = first_promise(state, key)
    e = first
    while e != NONE:
        if entry[e, st.ENTRY_TO] == to:
            entry[e, st.ENTRY_COUNT] += count
            return
        e = entry[e, st.ENTRY_NEXT]
    e = state.scalar[st.FREE_ENTRY]
    state.scalar[st.FREE_ENTRY] = entry[e, st.ENTRY_NEXT]
    entry[e, st.ENTRY_KEY], entry[e, st.ENTRY_TO], entry[e, st.ENTRY_COUNT], entry[e, st.ENTRY_NEXT] = (
        key,
        to,
        count,
        NONE,
    )
    if first == NONE:
        set_promises(state, key, e, e)
    else:
        entry[last_promise(state, key), st.ENTRY_NEXT] = e
        set_promises(state, key, first, e)


@inlined
def take_promise(state: State, key: int) -> int:
    """Use up one promise of the first entry of a key; return its stage or NONE."""
    return take_from(state, first_promise(state, key))


@inlined
def take_from(state: State, e: int) -> int:
    """Use up one promise of an entry; return its stage or NONE."""
    entry = state.entry
    to = entry[e, st.ENTRY_TO]
    if entry[e, st.ENTRY_COUNT] == 1:
        remove_entry(state, e)
    else:
        entry[e, st.ENTRY_COUNT] -= 1
        count_promises(state, entry[e, st.ENTRY_KEY], to, -1)
    return to


@inlined
def remove_entry(state: State, e: int) -> None:
    """Delete an entry with all its promises."""
    entry = state.entry
    key, following = entry[e, st.ENTRY_KEY], entry[e, st.ENTRY_NEXT]
    count_promises(state, key, entry[e, st.ENTRY_TO], -entry[e, st.ENTRY_COUNT])
    first, last = first_promise(state, key), last_promise(state, key)
    if first == e:
        set_promises(state, key, following, last)
    else:
        before = first
        while entry[before, st.ENTRY_NEXT] != e:
            before = entry[before, st.ENTRY_NEXT]
        entry[before, st.ENTRY_NEXT] = following
        if last == e:
            set_promises(state, key, first, before)
    entry[e, st.ENTRY_TO] = NONE
    entry[e, st.ENTRY_NEXT] = state.scalar[st.FREE_ENTRY]
    state.scalar[st.FREE_ENTRY] = e


@compiled
def drop_promises_to(state: State, j: int) -> None:
    """Delete all promises to the stages of job j: it is complete."""
    for e in range(len(state.entry)):
        to = state.entry[e, st.ENTRY_TO]
        if to != NONE and state.stage[to, st.JOB] == j:
            remove_entry(state, e)
