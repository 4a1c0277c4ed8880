"""Recorded jobs as jobs of sleeping tasks: fewer and shorter ones, the same DAGs, the same shares of the work.

A replay trace is a trace like any other, so episodes are drawn over it, policies are tuned and fitted on it, and the
simulator runs it. What a task of an episode takes is drawn by the simulator, for the engine too: in both a job's task
number i of a stage takes as long, whatever the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.traces.trace import Trace, make_trace

LEVEL = 1
"""The one level of a replay trace: a sleep takes as long however many executors its job has."""

WAVE = "first_wave"
"""The one wave of a replay trace: a sleep takes as long on whatever executor. It stands in for the others."""

JOIN_MS = 1
"""How long the one task takes that ends a job of several last stages: a Spark job has one last stage."""


@dataclass(frozen=True)
class ReplayStage:
    """A stage to replay.

    Attributes:
        parents: places of the stages that must end before.
        duration_ms: int64[tasks], how long each of its tasks sleeps.
    """

    parents: tuple[int, ...]
    duration_ms: np.ndarray


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


def replay_trace(trace: Trace, tasks: float, seconds: float) -> Trace:
    """The trace with so many times its tasks and so many times its executor time, to the rounding of the tasks.

    A stage of n tasks gets max(1, round(n x tasks)), each of which takes as much longer as there are fewer. All
    measured durations but those of fresh executors are in one list; a job of several last stages gets one more, of one
    task of `JOIN_MS`, after them.

    Raises:
        ClearschedError: a factor is not above 0 and finite.
    """
    for name, factor in (("tasks", tasks), ("seconds", seconds)):
        if not 0 < factor < np.inf:
            raise ClearschedError(f"replay: {name} is {factor}: a factor above 0 expected")
    rows: list[dict[str, Any]] = []
    for begin, end in pairwise(trace.profile_starts.tolist()):
        of_job = trace.stages.slice(begin, end - begin).to_pylist()
        rows += [_stage_row(row, tasks, seconds) for row in of_job]
        if len(last := _last_stages(of_job)) > 1:
            rows.append(rows[-1] | {"stage": end - begin, "num_tasks": 1, "parents": last, "durations": _list([JOIN_MS])})
    source = trace.metadata.get("source", "")
    metadata = {"source": f"replay of {source}" if source else "replay", "replay": {"tasks": tasks, "seconds": seconds}}
    return make_trace(rows, metadata, "replay trace")


def _stage_row(row: dict[str, Any], tasks: float, seconds: float) -> dict[str, Any]:
    measured = [entry for entry in row["durations"] if entry["wave"] != "fresh" and entry["duration_ms"]]
    measured = measured or [entry for entry in row["durations"] if entry["duration_ms"]]
    every = np.sort(np.concatenate([entry["duration_ms"] for entry in measured]).astype(np.float64))
    fewer = max(1, round(row["num_tasks"] * tasks))
    longer = row["num_tasks"] / fewer * seconds
    return row | {"num_tasks": fewer, "durations": _list(np.maximum(np.rint(every * longer), 1).astype(int).tolist())}


def _list(durations: list[int]) -> list[dict[str, Any]]:
    return [{"wave": WAVE, "level": LEVEL, "duration_ms": durations}]


def _last_stages(rows: Sequence[dict[str, Any]]) -> list[int]:
    read = {parent for row in rows for parent in row["parents"]}
    return [row["stage"] for row in rows if row["stage"] not in read]


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
    starts, names = trace.profile_starts, instance.profiles.names
    parents = trace.stages["parents"].to_pylist()
    jobs = []
    for number, (profile, arrival_ms) in enumerate(zip(episode.profile, episode.arrival_ms, strict=True)):
        of_job = drawn[drawn[:, 2] == number]
        stages = []
        for stage in range(starts[profile + 1] - starts[profile]):
            of_stage = of_job[of_job[:, 3] == stage]
            in_order = of_stage[np.argsort(of_stage[:, 5], kind="stable"), 1]
            stages.append(ReplayStage(tuple(parents[starts[profile] + stage]), in_order))
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
    stages = (ReplayStage(tuple(place[p] for p in job.stages[n].parents), job.stages[n].duration_ms) for n in ordered)
    return ReplayJob(job.arrival_ms, job.template, tuple(stages))


def as_text(job: ReplayJob) -> str:
    """A job as `org.clearsched.spark.replay.Replay` reads it."""
    return ";".join(
        f"{','.join(map(str, stage.parents))}:{','.join(map(str, stage.duration_ms.tolist()))}" for stage in job.stages
    )
