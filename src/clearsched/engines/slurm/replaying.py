"""An episode on a real Slurm: jobs arrive, their tasks sleep recorded durations, a policy has its way."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clearsched.engines.slurm.bundles import job_of
from clearsched.engines.slurm.client import Slurm
from clearsched.engines.slurm.jobs import DagJob
from clearsched.engines.slurm.obeying import Keeper
from clearsched.engines.slurm.submitting import submit
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload

TASK = r"""#!/usr/bin/env bash
# TASK.sh DURATIONS LOG: sleep as long as this task of the array lasted; its number, start and end into the log.
begin=$EPOCHREALTIME
sleep "$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$1")"
echo "$SLURM_ARRAY_TASK_ID $begin $EPOCHREALTIME $SLURMD_NODENAME" >> "$2"
"""

LATEST_S = 600.0
"""After the time that all work takes on one core less often, an episode that has not ended is given up."""


@dataclass(frozen=True)
class Ran:
    """What came of an episode.

    Attributes:
        jct_s: of each job, float64[J]: from its arrival until its last task ended.
        tasks: float64[n, 5]: job, stage, task, start and end, s after the episode began.
        late_s: of each job: how long after its arrival the last stage of it was in the queue.
        looks, changes, refused: of the loop; 0 without one.
    """

    jct_s: np.ndarray
    tasks: np.ndarray
    late_s: np.ndarray
    looks: int = 0
    changes: int = 0
    refused: int = 0


def prepared(profiles: Profiles, episode: Workload, durations: list[list[list[int]]], folder: Path) -> list[DagJob]:
    """The jobs of an episode, whose tasks sleep the durations, ms; their files lie in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "task.sh"
    script.write_text(TASK, "utf-8")
    script.chmod(0o755)
    jobs = []
    for number, (profile, stages) in enumerate(zip(np.asarray(episode.profile).tolist(), durations, strict=True)):
        commands = []
        for stage, tasks in enumerate(stages):
            slept = folder / f"{number}.{stage}.durations"
            slept.write_text("".join(f"{task / 1000:.3f}\n" for task in tasks), "utf-8")
            commands.append((str(script), str(slept), str(log_of(folder, number, stage))))
        jobs.append(job_of(profiles, profile, f"j{number}", commands))
    return jobs


def log_of(folder: Path, job: int, stage: int) -> Path:
    """Where the tasks of a stage tell when they ran."""
    return folder / f"{job}.{stage}.log"


def replay(
    slurm: Slurm,
    jobs: Sequence[DagJob],
    arrival_s: Sequence[float],
    folder: Path,
    cores: int,
    every_s: float,
    keeper: Keeper | None = None,
    static: Sequence[str] = (),
) -> Ran:
    """Submit the jobs as they arrive and look at the queue until all have ended.

    Args:
        slurm: with nothing of ours in its queue.
        jobs: as `prepared`.
        arrival_s: of each job, from the beginning on, not decreasing.
        folder: of their files.
        cores: of the cluster.
        every_s: between two looks at the queue.
        keeper: keeps the queue as a student wants it; None: Slurm does as it does.
        static: features for a job_submit.lua.

    Raises:
        ClearschedError: something of ours is in the queue, Slurm refuses a job, or a task failed.
    """
    if slurm.queue():
        raise ClearschedError("slurm: DAG jobs are in the queue already: wait for them, or cancel them (scancel)")
    latest = LATEST_S + 2 * sum(job.work_s for job in jobs) / cores + arrival_s[-1]
    submitted: list[Future[tuple[list[int], float]]] = []
    with ThreadPoolExecutor(1) as pool:  # submitting takes as long as a look; nobody waits for the other
        begin = time.time()

        def enter(job: DagJob, arrived: float) -> tuple[list[int], float]:
            return submit(slurm, job, arrived, cores, static), time.time() - arrived

        try:
            while True:
                now = time.time()
                while len(submitted) < len(jobs) and arrival_s[len(submitted)] <= now - begin:
                    number = len(submitted)
                    submitted.append(pool.submit(enter, jobs[number], begin + arrival_s[number]))
                entered = sum(future.done() for future in submitted)
                queue = keeper.look(now) if keeper else slurm.queue()
                if entered == len(jobs) and not queue:
                    break
                if now - begin > latest:
                    raise ClearschedError(f"slurm: an episode has not ended after {latest:.0f} s: see squeue")
                time.sleep(max(0.0, _until(begin, arrival_s, len(submitted), now + every_s) - time.time()))
        except BaseException:
            slurm.cancel([stage.id for stage in slurm.queue()])
            raise
    counts = (keeper.counts.looks, keeper.counts.changes, keeper.counts.refused) if keeper else (0, 0, 0)
    late = np.array([future.result()[1] for future in submitted])
    tasks = read_logs(folder, jobs, begin)
    ends = np.array([tasks[tasks[:, 0] == number, 4].max() for number in range(len(jobs))])
    return Ran(ends - np.asarray(arrival_s), tasks, late, *counts)


def _until(begin: float, arrival_s: Sequence[float], entered: int, look: float) -> float:
    """When something is to be done next: an arrival or a look."""
    return min(look, begin + arrival_s[entered]) if entered < len(arrival_s) else look


def read_logs(folder: Path, jobs: Sequence[DagJob], begin: float) -> np.ndarray:
    """What the tasks tell: `Ran.tasks`.

    Raises:
        ClearschedError: a task told nothing: it failed, or was cancelled.
    """
    rows = []
    for number, job in enumerate(jobs):
        for stage, expected in enumerate(job.stages):
            path = log_of(folder, number, stage)
            lines = path.read_text("utf-8").splitlines() if path.is_file() else []
            told = [line.split()[:3] for line in lines]
            if {int(task) for task, _, _ in told} != set(range(expected.tasks)):
                missing = expected.tasks - len(told)
                raise ClearschedError(
                    f"slurm: {missing} tasks of stage {stage} of job {number} told no end ({shlex.quote(str(path))}): "
                    "they failed or were cancelled: see the logs of slurmd"
                )
            rows += [(number, stage, int(task), float(start) - begin, float(end) - begin) for task, start, end in told]
    return np.array(rows, np.float64)
