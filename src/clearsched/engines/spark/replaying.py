"""The jobs of an episode as a real Spark replays them: what each of their tasks sleeps.

The jobs are those of the source `tpch-replay`, or of another trace without levels and waves. What a task of an episode
takes is drawn by the simulator, for the engine too: in both a job's task number i of a stage takes as long, whatever
the policy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces.tpch_replay import LEVEL, WAVE
from clearsched.problems.dag_jobs.traces.trace import Trace, make_trace


@dataclass(frozen=True)
class ReplayStage:
    """A stage to replay.

    Attributes:
        parents: places of the stages that must end before.
        duration_ms: int64[tasks], how long each of its tasks sleeps.
        mean_ms: what policies believe of a task: the mean of the profile's durations.
    """

    parents: tuple[int, ...]
    duration_ms: np.ndarray
    mean_ms: float = 0.0


@dataclass(frozen=True)
class ReplayJob:
    """A job to replay.

    Attributes:
        arrival_ms: since the start of its episode.
        template: "query size", by which its profile is known.
        stages: parents first.
    """

    arrival_ms: int
    template: str
    stages: tuple[ReplayStage, ...]

    @property
    def work_ms(self) -> int:
        """Executor time of the job."""
        return int(sum(stage.duration_ms.sum() for stage in self.stages))


def with_overhead(trace: Trace, overhead_ms: float) -> Trace:
    """The trace with every duration longer by what an engine needs for a task beside the sleep.

    The places of the durations in their lists stay, so that the simulator draws the same ones.
    """
    rows = trace.stages.to_pylist()
    for row in rows:
        for entry in row["durations"]:
            entry["duration_ms"] = [round(duration + overhead_ms) for duration in entry["duration_ms"]]
    return make_trace(rows, trace.metadata | {"task_overhead_ms": overhead_ms}, "replay trace")


def replay_jobs(instance: DagJobsInstance, episode: Workload) -> list[ReplayJob]:
    """The jobs of an episode over a replay trace, with what the simulator draws for their tasks.

    Raises:
        ClearschedError: a job's durations depend on its executors, so they are not known beforehand.
    """
    trace = instance.profiles.trace
    if trace.levels != (LEVEL,) or set(trace.durations["wave"].to_pylist()) != {WAVE}:
        raise ClearschedError("a trace whose durations depend on the executors cannot be replayed: make a replay trace")
    if episode.semantics.has_faults:
        raise ClearschedError("an episode with faults or stragglers cannot be replayed: they are not known beforehand")
    drawn = instance.simulate(heuristic("fifo").compiled, [episode], record=True)[0].tasks
    assert drawn is not None
    starts, names, mean_ms = trace.profile_starts, instance.profiles.names, instance.profiles.arrays.mean_ms
    parents = trace.stages["parents"].to_pylist()
    jobs = []
    for number, (profile, arrival_ms) in enumerate(zip(episode.profile, episode.arrival_ms, strict=True)):
        of_job = drawn[drawn[:, 2] == number]
        stages = []
        for stage in range(starts[profile + 1] - starts[profile]):
            of_stage = of_job[of_job[:, 3] == stage]
            in_order = of_stage[np.argsort(of_stage[:, 5], kind="stable"), 1]
            row = starts[profile] + stage
            stages.append(ReplayStage(tuple(parents[row]), in_order, float(mean_ms[row])))
        jobs.append(ReplayJob(int(arrival_ms), " ".join(names[profile]), tuple(stages)))
    return [_parents_first(job) for job in jobs]


def _parents_first(job: ReplayJob) -> ReplayJob:
    """The job with its stages in an order in which parents come first, as Spark's stages are made."""
    place: dict[int, int] = {}
    while len(place) < len(job.stages):
        ready = [
            number
            for number, stage in enumerate(job.stages)
            if number not in place and all(parent in place for parent in stage.parents)
        ]
        place |= {number: len(place) + offset for offset, number in enumerate(ready)}
    ordered = sorted(range(len(job.stages)), key=place.__getitem__)
    found = [job.stages[number] for number in ordered]
    stages = (replace(stage, parents=tuple(place[parent] for parent in stage.parents)) for stage in found)
    return replace(job, stages=tuple(stages))


def as_text(job: ReplayJob) -> str:
    """A job as `org.clearsched.spark.replay.Replay` reads it."""
    return ";".join(
        f"{','.join(map(str, stage.parents))}:{','.join(map(str, stage.duration_ms.tolist()))}" for stage in job.stages
    )


def as_dag(job: ReplayJob) -> list[dict[str, Any]]:
    """A job as the jar is told of it beforehand, in its property `clearsched.dag`."""
    return [
        {"tasks": len(stage.duration_ms), "task_ms": round(stage.mean_ms, 3), "parents": list(stage.parents)}
        for stage in job.stages
    ]
