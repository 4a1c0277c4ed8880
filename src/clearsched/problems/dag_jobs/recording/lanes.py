"""Which executor ran which task, for pictures and recordings.

The simulator keeps counts of interchangeable executors, so a record of its tasks names none. Here each task is given
to an executor, its lane, that could have run it: tasks that one executor must have run in a row form a chain, and a
chain takes the lane that became free last.
"""

from __future__ import annotations

import heapq

import numpy as np
import pyarrow as pa

from clearsched.compiled.jit import allocating
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.simulator.profiles import FRESH, REST_WAVE

START_MS, DURATION_MS, TASK_JOB, TASK_STAGE, WAVE, ATTEMPT, FAILED = range(7)
"""Columns of recorded tasks (`EpisodeResult.tasks`); a record without faults may lack the last two."""


def assign_executors(tasks: np.ndarray, num_executors: int, recovery_ms: int = 0) -> np.ndarray:
    """int32[n]: an executor for each task; no executor runs two tasks at once.

    A rest-wave task stays on the executor that has just finished a task of its stage, a first-wave task on one that
    has just finished a task of its job; any other task goes to the executor that is free and was busy last. An executor
    that failed gets nothing for `recovery_ms`. Takes O(n log n).

    Args:
        tasks: int64[n, 5 or 7] in order of starting: start_ms, duration_ms, job, stage, wave, attempt, failed
            (`EpisodeResult.tasks`).
        num_executors: executors of the cluster; at most that many tasks run at once.
        recovery_ms: time that an executor is away after a failure.

    Raises:
        ClearschedError: more tasks run at once than there are executors.
    """
    tasks = np.asarray(tasks, np.int64)
    start_ms, wave = np.ascontiguousarray(tasks[:, START_MS]), tasks[:, WAVE]
    end_ms = start_ms + tasks[:, DURATION_MS]
    job, stage = tasks[:, TASK_JOB], tasks[:, TASK_STAGE]
    failed = tasks[:, FAILED] != 0 if tasks.shape[1] > FAILED else np.zeros(len(tasks), bool)
    before = np.full(len(tasks), -1, np.int64)
    followed = failed.copy()  # tasks whose executor is known not to look for another
    # Rest waves first: a first-wave task has the choice of the whole job, and must not take their place.
    for followers, group in ((wave == REST_WAVE, job * (1 + stage.max(initial=0)) + stage), (wave != FRESH, job)):
        starts = np.flatnonzero(followers & (before < 0))
        ends = np.flatnonzero(~followed)
        starts = starts[np.lexsort((starts, start_ms[starts], group[starts]))]
        ends = ends[np.lexsort((ends, end_ms[ends], group[ends]))]
        _link(starts, ends, start_ms, end_ms, group, before)
        followed[before[before >= 0]] = True
    executor = np.empty(len(tasks), np.int32)
    stuck = _lay(start_ms, end_ms + np.where(failed, recovery_ms, 0), before, num_executors, executor)
    if stuck >= 0:
        raise ClearschedError(
            f"recorded tasks: row {stuck}: more than {num_executors} tasks run at {start_ms[stuck]} ms, "
            "but the cluster has no more executors"
        )
    return executor


@allocating
def _link(
    starts: np.ndarray,
    ends: np.ndarray,
    start_ms: np.ndarray,
    end_ms: np.ndarray,
    group: np.ndarray,
    before: np.ndarray,
) -> None:
    """Write to `before` which task of `ends`, of the same group and ended at that moment, each of `starts` follows.

    `starts` and `ends` are rows sorted by group, time and row, so one pass over both finds the pairs.
    """
    i = 0
    for row in starts:
        wanted = (group[row], start_ms[row])
        while i < len(ends) and (group[ends[i]], end_ms[ends[i]]) < wanted:
            i += 1
        if i < len(ends) and (group[ends[i]], end_ms[ends[i]]) == wanted and ends[i] < row:
            before[row] = ends[i]
            i += 1


@allocating
def _lay(
    start_ms: np.ndarray, free_ms: np.ndarray, before: np.ndarray, num_executors: int, executor: np.ndarray
) -> int:
    """Lay chains of tasks on executors, in order of starting; return -1, or the row that found no executor free."""
    head = np.arange(len(start_ms))
    chain_free_ms = free_ms.copy()  # of a chain's first task: when its executor is free again
    for row in range(len(start_ms)):
        if before[row] >= 0:
            head[row] = head[before[row]]
            chain_free_ms[head[row]] = free_ms[row]
    free = np.arange(num_executors)[::-1].copy()  # a stack: the one that became free last is on top
    num_free = num_executors
    busy = [(chain_free_ms[0], 0) for _ in range(0)]  # (free again, -executor), a heap
    for row in range(len(start_ms)):
        if before[row] >= 0:
            executor[row] = executor[head[row]]
            continue
        while len(busy) > 0 and busy[0][0] <= start_ms[row]:
            free[num_free] = -heapq.heappop(busy)[1]
            num_free += 1
        if num_free == 0:
            return row
        num_free -= 1
        executor[row] = free[num_free]
        heapq.heappush(busy, (chain_free_ms[row], -free[num_free]))
    return -1


def task_table(policy: str, tasks: np.ndarray, num_executors: int) -> pa.Table:
    """The recorded tasks of an episode as a table of schema `TASKS`."""
    from clearsched.problems.dag_jobs.schemas import TASKS

    names = pa.array([policy] * len(tasks))
    small = [tasks[:, column].astype(np.int32) for column in (TASK_JOB, TASK_STAGE)]
    executor = assign_executors(tasks, num_executors)
    return pa.table([names, tasks[:, START_MS], tasks[:, DURATION_MS], *small, executor], schema=TASKS)
