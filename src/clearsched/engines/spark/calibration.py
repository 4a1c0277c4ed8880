"""What an engine takes beside the work, measured on jobs of its own: the simulator is told of it, and of nothing else.

The calibration is no part of what is compared: its jobs are others, and it ends before the first episode begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from clearsched.engines.spark.measured import END, EXECUTED_BY, JOB, STAGE, START, TASK, MeasuredEpisode
from clearsched.engines.spark.replaying import ReplayJob, ReplayStage

EPISODE = "calibration"
SLEEP_MS = 150
WAVES = 10
"""Tasks of an executor in each of the wide stages."""


@dataclass(frozen=True)
class Calibration:
    """Means over the calibration's tasks, ms.

    Attributes:
        task_overhead_ms: from the launch of a task to that of the next on its executor, less the sleep.
        change_ms: how much longer that is where the next task is of another job.
        stage_ms: from the end of a stage's last task to the launch of the first of the stage that waited for it.
        submit_ms: from a job's submission to its first launch, on idle executors.
        tasks: how many tasks the first is a mean of.
    """

    task_overhead_ms: float
    change_ms: float
    stage_ms: float
    submit_ms: float
    tasks: int

    def to_json(self) -> dict[str, float]:
        """Its fields."""
        return asdict(self)


def calibration_jobs(executors: int) -> list[ReplayJob]:
    """Two jobs of one wide stage that arrive together, and later, alone, a chain of stages of one task."""
    wide = ReplayStage((), np.full(WAVES * executors, SLEEP_MS), SLEEP_MS)
    chain = tuple(ReplayStage((place - 1,) if place else (), np.full(1, SLEEP_MS), SLEEP_MS) for place in range(8))
    alone_ms = 2 * WAVES * SLEEP_MS * 2
    return [
        ReplayJob(0, EPISODE, (wide,)),
        ReplayJob(50, EPISODE, (wide,)),
        ReplayJob(alone_ms, EPISODE, chain),
    ]


def calibrated(episode: MeasuredEpisode) -> Calibration:
    """What the calibration's jobs took beside their sleeps."""
    tasks, chain = episode.tasks, 2
    wide = tasks[tasks[:, JOB] < chain]
    within, across = [], []
    for executor in np.unique(wide[:, EXECUTED_BY]):
        mine = wide[wide[:, EXECUTED_BY] == executor]
        mine = mine[np.argsort(mine[:, START], kind="stable")]
        more = np.diff(mine[:, START]) - SLEEP_MS
        changed = np.diff(mine[:, JOB]) != 0
        within.append(more[~changed])
        across.append(more[changed])
    overhead = np.concatenate(within)
    moves = np.concatenate(across)
    alone = tasks[tasks[:, JOB] == chain]
    alone = alone[np.lexsort((alone[:, TASK], alone[:, STAGE]))]
    return Calibration(
        float(overhead.mean()),
        float(moves.mean() - overhead.mean()) if len(moves) else 0.0,
        float((alone[1:, START] - alone[:-1, END]).mean()),
        float(alone[0, START] - episode.arrival_ms[chain]),
        len(overhead),
    )


def pooled(found: Sequence[Calibration]) -> Calibration:
    """The mean of several applications' calibrations, each alike."""
    means = {field.name: float(np.mean([getattr(one, field.name) for one in found])) for field in fields(Calibration)}
    return Calibration(**means | {"tasks": sum(one.tasks for one in found)})  # type: ignore[arg-type]
