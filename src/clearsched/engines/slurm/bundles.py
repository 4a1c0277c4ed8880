"""Recorded jobs for a machine where a task costs a process: tasks in bundles, the DAGs and the work as recorded.

A Slurm task takes some ten milliseconds to start, as long as a recorded task of a query runs. So some recorded tasks of
a stage, one after another, become one task of their summed duration. The bundles are a trace like any other, which the
simulator runs too: both know the same jobs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearsched.engines.slurm.jobs import DagJob, Stage
from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.schemas import WAVES
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload, simulate
from clearsched.problems.dag_jobs.traces.trace import Trace, make_trace
from clearsched.problems.policy import CompiledPolicy

LEVEL = 1
"""The one level of a bundled trace: a task that sleeps lasts as long, however many run beside it."""


def bundled(trace: Trace, tasks: int, slower: float) -> Trace:
    """The trace with so many recorded tasks in one, all `slower` times as long; one table of durations a stage."""
    rows = []
    lists = _recorded(trace)
    for stage in trace.stages.to_pylist():
        own = lists[stage["profile"], stage["stage"]]
        each = np.resize(own, stage["num_tasks"])
        starts = np.arange(0, len(each), tasks)
        durations = np.maximum(1, np.rint(np.add.reduceat(each, starts) * slower)).astype(int).tolist()
        entries = [{"wave": wave, "level": LEVEL, "duration_ms": durations} for wave in WAVES]
        rows.append({**stage, "num_tasks": len(starts), "durations": entries, "arrival_ms": None})
    kept = {key: value for key, value in trace.metadata.items() if key not in ("mix", "levels")}
    return make_trace(rows, kept | {"bundle": tasks, "slower": slower}, "bundled trace")


def _recorded(trace: Trace) -> dict[tuple[int, int], np.ndarray]:
    """float64[n] by (profile, stage): the durations of one wave, those of later tasks at the most executors first."""
    found: dict[tuple[int, int], tuple[tuple[bool, int], np.ndarray]] = {}
    for entry in trace.durations.to_pylist():
        if entry["duration_ms"]:
            key, rank = (entry["profile"], entry["stage"]), (entry["wave"] == "rest_wave", entry["level"])
            if key not in found or rank > found[key][0]:
                found[key] = rank, np.array(entry["duration_ms"], np.float64)
    return {key: durations for key, (_, durations) in found.items()}


def drawn_durations(profiles: Profiles, episode: Workload, fifo: CompiledPolicy) -> list[list[list[int]]]:
    """Duration of each task, ms, by job, stage and task: what the simulator draws for the episode under any policy."""
    result = simulate(profiles, episode, fifo.compiled, record_tasks=True)
    assert result.tasks is not None
    found: list[list[list[int]]] = []
    for profile in np.asarray(episode.profile).tolist():
        first, last = profiles.arrays.stage_start[profile : profile + 2].tolist()
        found.append([[0] * int(tasks) for tasks in profiles.arrays.num_tasks[first:last]])
    for _, duration_ms, job, stage, _, attempt, _ in result.tasks.tolist():
        found[job][stage][attempt] = duration_ms
    return found


def job_of(profiles: Profiles, profile: int, name: str, commands: Sequence[tuple[str, ...]]) -> DagJob:
    """A profile as a job for Slurm; a command for each stage.

    Raises:
        ClearschedError: a stage stands before one of its parents: it could not be submitted after it.
    """
    arrays = profiles.arrays
    first, last = arrays.stage_start[profile : profile + 2].tolist()
    stages = []
    for number, stage in enumerate(range(first, last)):
        parents = arrays.parents[arrays.parent_start[stage] : arrays.parent_start[stage + 1]].tolist()
        if parents and max(parents) >= number:
            raise ClearschedError(f"trace: profile {profile}: stage {number} stands before its parent {max(parents)}")
        mean_s = float(arrays.mean_ms[stage]) / 1000
        stages.append(Stage(int(arrays.num_tasks[stage]), mean_s, tuple(sorted(parents)), commands[number]))
    return DagJob(name, tuple(stages))


def compiled_bundles(trace: Trace, tasks: int, slower: float) -> Profiles:
    """`bundled`, for the simulator, no delay added to any task."""
    return compile_profiles(bundled(trace, tasks, slower), warmup_delay_ms=0)
