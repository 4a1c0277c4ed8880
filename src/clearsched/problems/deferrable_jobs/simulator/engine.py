"""What happens in a slot: completions, overload, arrivals, then the choice, asked again (docs/deferrable-jobs.md)."""

from __future__ import annotations

from clearsched.compiled.jit import compiled, inlined
from clearsched.problems.deferrable_jobs.simulator.state import (
    ARRIVAL,
    COMPLETION,
    CPU,
    DEADLINE,
    DURATION,
    EVICTIONS,
    FORECAST_SUM,
    IS_OPEN,
    LOG_EVICTED,
    LOG_LOST,
    LOG_MISSED,
    LOG_RUNNING,
    LOG_USED,
    LOG_WAIT_RATE,
    LOG_WAITING,
    MISSED,
    NEXT_ARRIVAL,
    NONE,
    NUM_CANDIDATES,
    NUM_COMPLETE,
    NUM_DECISIONS,
    NUM_RUNNING,
    NUM_WAITING,
    SLOT,
    START,
    USED,
    State,
)


@compiled
def advance(state: State) -> int:
    """Run to the next decision with a candidate; the number of its candidates, 0 when all jobs are complete."""
    scalar = state.scalar
    while True:
        if scalar[IS_OPEN] == 1:
            list_candidates(state)
            if scalar[NUM_CANDIDATES] > 0:
                return scalar[NUM_CANDIDATES]
            close_slot(state)
        open_slot(state)
        if scalar[NUM_COMPLETE] == len(state.job):
            scalar[IS_OPEN] = 0
            return 0


@compiled
def answer(state: State, j: int) -> None:
    """Answer the pending decision: start candidate j, or NONE, which ends the slot."""
    state.scalar[NUM_DECISIONS] += 1
    if j == NONE:
        close_slot(state)
    else:
        start(state, j)


@inlined
def none_allowed(state: State) -> bool:
    """Whether something else is going to happen: a job runs or will arrive. Else all that wait would wait for ever."""
    return state.scalar[NUM_RUNNING] > 0 or state.scalar[NEXT_ARRIVAL] < len(state.job)


@compiled
def open_slot(state: State) -> None:
    """The slot begins: its capacity is known, jobs complete, are evicted, arrive."""
    scalar, job = state.scalar, state.job
    now = scalar[SLOT]
    complete(state, now)
    capacity = state.capacity[now % len(state.capacity)]
    while scalar[USED] > capacity:
        evict_youngest(state, now)
    while scalar[NEXT_ARRIVAL] < len(job) and job[scalar[NEXT_ARRIVAL], ARRIVAL] == now:
        state.waiting[scalar[NUM_WAITING]] = scalar[NEXT_ARRIVAL]
        scalar[NUM_WAITING] += 1
        scalar[NEXT_ARRIVAL] += 1
    for i in range(scalar[NUM_WAITING]):
        j = state.waiting[i]
        if job[j, MISSED] == NONE and now + job[j, DURATION] > job[j, DEADLINE]:
            job[j, MISSED] = now
            state.log[now, LOG_MISSED] += 1
    foresee(state, now)
    scalar[IS_OPEN] = 1


@compiled
def complete(state: State, now: int) -> None:
    """Take out the jobs whose last slot was the one before; the others keep their order."""
    scalar, job, running = state.scalar, state.job, state.running
    kept = 0
    for i in range(scalar[NUM_RUNNING]):
        j = running[i]
        if job[j, START] + job[j, DURATION] == now:
            job[j, COMPLETION] = now
            scalar[USED] -= job[j, CPU]
            scalar[NUM_COMPLETE] += 1
        else:
            running[kept] = j
            kept += 1
    scalar[NUM_RUNNING] = kept


@compiled
def evict_youngest(state: State, now: int) -> None:
    """The job that was started last waits again, in its old place; what it did is lost."""
    scalar, job, waiting = state.scalar, state.job, state.waiting
    scalar[NUM_RUNNING] -= 1
    j = state.running[scalar[NUM_RUNNING]]
    scalar[USED] -= job[j, CPU]
    job[j, EVICTIONS] += 1
    state.log[now, LOG_EVICTED] += 1
    state.log[now, LOG_LOST] += (now - job[j, START]) / job[j, DURATION]
    job[j, START] = NONE
    place = scalar[NUM_WAITING]
    while place > 0 and waiting[place - 1] > j:
        waiting[place] = waiting[place - 1]
        place -= 1
    waiting[place] = j
    scalar[NUM_WAITING] += 1


@compiled
def foresee(state: State, now: int) -> None:
    """The forecast made now, less what the running jobs will still take."""
    scalar, job, committed, room = state.scalar, state.job, state.committed, state.room
    slots, total = len(state.capacity), 0
    for r in range(len(room)):
        room[r] = state.forecast[(now + r) % slots, r]
        committed[r] = 0
        total += room[r]
    scalar[FORECAST_SUM] = total - room[0]
    for i in range(scalar[NUM_RUNNING]):
        j = state.running[i]
        commit(state, j, job[j, START] + job[j, DURATION] - now)


@inlined
def commit(state: State, j: int, slots: int) -> None:
    """Job j takes its demand for so many slots from now."""
    cpu = state.job[j, CPU]
    for r in range(slots):
        state.committed[r] += cpu
        state.room[r] -= cpu


@inlined
def list_candidates(state: State) -> None:
    """Those that wait and whose demand is free now, in order of arrival."""
    free, count = state.room[0], 0
    for i in range(state.scalar[NUM_WAITING]):
        j = state.waiting[i]
        if state.job[j, CPU] <= free:
            state.candidates[count] = j
            count += 1
    state.scalar[NUM_CANDIDATES] = count


@compiled
def start(state: State, j: int) -> None:
    """Job j, which waits, runs from this slot on."""
    scalar, job, waiting = state.scalar, state.job, state.waiting
    place = 0
    while waiting[place] != j:
        place += 1
    scalar[NUM_WAITING] -= 1
    for i in range(place, scalar[NUM_WAITING]):
        waiting[i] = waiting[i + 1]
    state.running[scalar[NUM_RUNNING]] = j
    scalar[NUM_RUNNING] += 1
    scalar[USED] += job[j, CPU]
    job[j, START] = scalar[SLOT]
    commit(state, j, job[j, DURATION])


@compiled
def close_slot(state: State) -> None:
    """The slot passes; note what was used in it and who waited."""
    scalar = state.scalar
    row = state.log[scalar[SLOT]]
    rate = 0.0
    for i in range(scalar[NUM_WAITING]):
        rate += 1.0 / state.job[state.waiting[i], DURATION]
    row[LOG_USED], row[LOG_WAITING], row[LOG_RUNNING] = scalar[USED], scalar[NUM_WAITING], scalar[NUM_RUNNING]
    row[LOG_WAIT_RATE] = rate
    scalar[SLOT] += 1
    scalar[IS_OPEN] = 0
