"""Which executor ran which task, for pictures.

The simulator keeps counts of interchangeable executors, so a record of its tasks names none. Here each task is given
to an executor that could have run it: the one that just left the same stage for a rest-wave task, one of the same
job for a first-wave task, any free one for a fresh task.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from clearsched.problems.dag_jobs.profiles import FIRST_WAVE, REST_WAVE


def assign_executors(tasks: np.ndarray, num_executors: int) -> np.ndarray:
    """int32[n]: an executor for each task; no executor runs two tasks at once.

    Args:
        tasks: int64[n, 5] in order of starting: start_ms, duration_ms, job, stage, wave (`EpisodeResult.tasks`).
        num_executors: executors of the cluster; at most that many tasks run at once.
    """
    free_at = np.zeros(num_executors, np.int64)
    last_job = np.full(num_executors, -1, np.int64)
    last_stage = np.full(num_executors, -1, np.int64)
    executor = np.empty(len(tasks), np.int32)
    for row, (start_ms, duration_ms, job, stage, wave) in enumerate(tasks):
        free = free_at <= start_ms
        same_job = free & (last_job == job)
        same_stage = same_job & (last_stage == stage)
        wishes = {REST_WAVE: (same_stage & (free_at == start_ms), same_stage, same_job), FIRST_WAVE: (same_job,)}
        chosen = next(wish for wish in (*wishes.get(int(wave), ()), free) if wish.any())
        # Of several, the one that was free last: lanes stay as full as they were.
        e = int(np.flatnonzero(chosen)[np.argmax(free_at[chosen])])
        executor[row], free_at[e], last_job[e], last_stage[e] = e, start_ms + duration_ms, job, stage
    return executor


def task_table(policy: str, tasks: np.ndarray, num_executors: int) -> pa.Table:
    """The recorded tasks of an episode as a table of schema `TASKS`."""
    from clearsched.schemas import TASKS

    start_ms, duration_ms, job, stage, _ = tasks.T
    names = pa.array([policy] * len(tasks))
    small = [column.astype(np.int32) for column in (job, stage)]
    return pa.table([names, start_ms, duration_ms, *small, assign_executors(tasks, num_executors)], schema=TASKS)
