"""The state of an episode as flat arrays, and the episode that it starts from.

CPU is in whole millicores and time in whole slots, so that all that happens is exact; only scores and costs are not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clearsched.errors import WorkloadError
from clearsched.problems.deferrable_jobs.settings import WeightsParams

NONE = -1
"""No job, no slot, or the answer "nothing now"."""

# Columns of State.job.
ARRIVAL, DURATION, CPU, DEADLINE, START, COMPLETION, EVICTIONS, MISSED = range(8)
JOB_COLUMNS = 8

# Places in State.scalar. Those from SLOT_S on stay as they are.
SLOT, IS_OPEN, NEXT_ARRIVAL, NUM_WAITING, NUM_RUNNING, NUM_CANDIDATES, NUM_COMPLETE, NUM_DECISIONS, USED = range(9)
FORECAST_SUM, SLOT_S, DAY_SLOTS, DAY_START, CLUSTER = range(9, 14)
NUM_SCALARS = 14

# Columns of State.log.
LOG_USED, LOG_WAITING, LOG_RUNNING, LOG_WAIT_RATE, LOG_LOST, LOG_EVICTED, LOG_MISSED = range(7)
LOG_COLUMNS = 7


@dataclass(frozen=True)
class Episode:
    """One episode to schedule: J jobs, T slots after which the capacity repeats, a forecast of reach up to R - 1 slots.

    Attributes:
        arrival: int64[J], slot in which each job arrives, non-decreasing.
        duration: int64[J], slots that it runs without a break, 1 to R.
        cpu: int64[J], its demand while it runs, millicores.
        deadline: int64[J], the last slot at whose beginning it may complete in time.
        capacity: int64[T], millicores that on-demand work leaves in each slot.
        forecast: int64[T, R], what was foreseen for slot u r slots before it; [u, 0] is the capacity.
        deviation: float64[R], standard deviation of the forecast's error by reach, millicores, above 0.
        slot_s: length of a slot.
        day_slots: slots of a day.
        day_start: slot of the day in which the episode begins.
        cluster: millicores of the cluster, those of on-demand work included.
        weights: of the cost.
        objective: name of the measure that `Outcome.cost_to_go` tells of.
        seed: names the random stream of a policy that draws its choices.
    """

    arrival: np.ndarray
    duration: np.ndarray
    cpu: np.ndarray
    deadline: np.ndarray
    capacity: np.ndarray
    forecast: np.ndarray
    deviation: np.ndarray
    slot_s: int = 300
    day_slots: int = 288
    day_start: int = 0
    cluster: int = 0
    weights: WeightsParams = field(default_factory=WeightsParams)
    objective: str = "cost"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what the simulator relies on.

        Raises:
            WorkloadError: no job, arrivals out of order, a job that can never run or never be in time.
        """
        count = len(self.arrival)
        if count == 0 or any(len(column) != count for column in (self.duration, self.cpu, self.deadline)):
            raise WorkloadError(f"episode: {count} arrivals: at least one job, and every column of it, needed")
        if self.arrival[0] < 0 or np.any(np.diff(self.arrival) < 0):
            raise WorkloadError("episode: arrivals must be at least 0 and in increasing order")
        if self.duration.min() < 1 or self.duration.max() > self.forecast.shape[1]:
            raise WorkloadError(f"episode: durations must lie in 1 to {self.forecast.shape[1]} slots")
        if self.cpu.min() < 1 or self.cpu.max() > self.capacity.min():
            raise WorkloadError("episode: a job must fit alone into the smallest capacity, or it may never complete")
        if np.any(self.deadline < self.arrival + self.duration):
            raise WorkloadError("episode: a deadline leaves no time to run the job")
        if self.forecast.shape[0] != len(self.capacity) or np.any(self.forecast[:, 0] != self.capacity):
            raise WorkloadError("episode: the forecast without reach must be the capacity")
        if len(self.deviation) != self.forecast.shape[1] or not self.deviation.min() > 0:
            raise WorkloadError("episode: a deviation above 0 needed for every reach of the forecast")

    @property
    def num_jobs(self) -> int:
        """J."""
        return len(self.arrival)

    @cached_property
    def most_slots(self) -> int:
        """No policy needs more slots: after the last arrival a job runs in each, and the oldest is never evicted."""
        return int(self.arrival[-1] + self.duration.sum()) + 1


class State(NamedTuple):
    """The state. J jobs, T slots of capacity, R slots of forecast, S slots at most."""

    scalar: np.ndarray  # int64[NUM_SCALARS]
    job: np.ndarray  # int64[J, JOB_COLUMNS]
    waiting: np.ndarray  # int64[J]: the first NUM_WAITING are the jobs that wait, in increasing order
    running: np.ndarray  # int64[J]: the first NUM_RUNNING are the jobs that run, in order of starting
    candidates: np.ndarray  # int64[J]: the first NUM_CANDIDATES are those that wait and fit now, in increasing order
    capacity: np.ndarray  # int64[T]
    forecast: np.ndarray  # int64[T, R]
    deviation: np.ndarray  # float64[R]
    committed: np.ndarray  # int64[R]: millicores of the running jobs that still run so many slots from now
    room: np.ndarray  # int64[R]: forecast made now, less committed
    log: np.ndarray  # float64[S, LOG_COLUMNS]: what came of each slot


def new_state(episode: Episode) -> State:
    """The state before slot 0."""
    count, reach = episode.num_jobs, episode.forecast.shape[1]
    scalar = np.zeros(NUM_SCALARS, np.int64)
    scalar[SLOT_S], scalar[DAY_SLOTS], scalar[DAY_START] = episode.slot_s, episode.day_slots, episode.day_start
    scalar[CLUSTER] = episode.cluster or episode.capacity.max()
    job = np.zeros((count, JOB_COLUMNS), np.int64)
    job[:, ARRIVAL], job[:, DURATION], job[:, CPU] = episode.arrival, episode.duration, episode.cpu
    job[:, DEADLINE] = episode.deadline
    job[:, START] = job[:, COMPLETION] = job[:, MISSED] = NONE
    lists = np.zeros((3, count), np.int64)
    rooms = np.zeros((2, reach), np.int64)
    log = np.zeros((episode.most_slots, LOG_COLUMNS))
    inputs = (episode.capacity, episode.forecast, episode.deviation)
    return State(scalar, job, lists[0], lists[1], lists[2], *inputs, rooms[0], rooms[1], log)
