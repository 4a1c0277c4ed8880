"""From recorded runs to the rows of a trace: the core and the wave of each task, one row a stage."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.recorder.eventlog import Run

Clock = Literal["processor", "wall"]
"""How long a task took: the processor time that it used, or its finish minus its launch."""

AGAIN = "delete query-<number>.json of this size and level in the work folder and record again"


@dataclass(frozen=True)
class Recording:
    """What was recorded of one query at one parallelism level.

    Attributes:
        cold: the first run of the query in its application, which meets the query's code for the first time.
        timed: the runs after it.
    """

    cold: Run
    timed: tuple[Run, ...]


@dataclass(frozen=True)
class StageWaves:
    """Task durations of one stage of one run, in ms, each at least 1."""

    first: list[int]
    rest: list[int]


def split_waves(run: Run, cores: int, clock: Clock) -> list[StageWaves]:
    """Durations by `clock` of the tasks of every stage, each core's first task of a stage told from its later ones.

    Spark's local mode does not write down which core ran a task, so the cores are rebuilt: in the order of
    launch, a task goes to the core that has been free for the longest. Spark notes a finish a moment after
    the core became free, so a task may be launched some ms before the noted finish of the one before it.
    """
    tasks = sorted((task, index) for index, stage in enumerate(run) for task in stage.tasks)
    free_at = [(0, core) for core in range(cores)]
    seen: set[tuple[int, int]] = set()
    waves = [StageWaves([], []) for _ in run]
    for task, index in tasks:
        _, core = free_at[0]
        heapq.heapreplace(free_at, (task.finish_ms, core))
        wave = waves[index].rest if (core, index) in seen else waves[index].first
        seen.add((core, index))
        duration_ms = task.processor_ms if clock == "processor" else task.finish_ms - task.launch_ms
        wave.append(max(1, duration_ms))
    return waves


def profile_rows(
    profile: int, query: str, size: str, levels: dict[int, Recording], clock: Clock
) -> list[dict[str, Any]]:
    """The rows of one profile (schema TRACE), the runs of every level merged stage by stage.

    Raises:
        ClearschedError: a timed run has other stages, other dependencies or other numbers of tasks than the first
            one, a cold run broke off, or a stage comes before its parent.
    """
    where = f"query {query}, size {size}"
    reference = next(iter(levels.values())).timed[0]
    for index, stage in enumerate(reference):
        if any(parent >= index for parent in stage.parents):
            raise ClearschedError(f"{where}: stage {index} is listed before one of its parents {stage.parents}")
    timed, fresh = {}, {}
    for level, recording in sorted(levels.items()):
        _check_same(f"{where}, level {level}", reference, recording.timed)
        timed[level] = [split_waves(run, level, clock) for run in recording.timed]
        cold = split_waves(recording.cold, level, clock)
        matches = match_cold(f"{where}, level {level}", reference, recording.cold)
        fresh[level] = [[] if match is None else sorted(cold[match].first) for match in matches]
    return [
        {
            "profile": profile,
            "query": query,
            "size": size,
            "stage": index,
            "num_tasks": stage.num_tasks,
            "parents": list(stage.parents),
            "durations": [
                {"wave": wave, "level": level, "duration_ms": durations}
                for level in timed
                for wave, durations in (
                    ("first_wave", _merged(timed[level], index, "first")),
                    ("rest_wave", _merged(timed[level], index, "rest")),
                    ("fresh", fresh[level][index]),
                )
            ],
        }
        for index, stage in enumerate(reference)
    ]


def _merged(timed: Sequence[list[StageWaves]], index: int, wave: str) -> list[int]:
    """The durations of one wave of one stage in all runs, sorted: their order carries no meaning."""
    return sorted(duration for run in timed for duration in getattr(run[index], wave))


def match_cold(where: str, reference: Run, cold: Run) -> list[int | None]:
    """The cold run's stage for each stage of the timed runs, None where it has none.

    A sort samples a partition again when that holds much more than its share. On the little data of a cold run this
    may not happen; the timed runs then have one stage more, which gets no fresh durations. Where the runs differ by
    more than that, Spark joined large tables in another way than small ones: no stage of the query gets any.

    Raises:
        ClearschedError: the cold run has the first stages of the timed runs and no others: it broke off.
    """
    found, expected = [stage.parents for stage in cold], [stage.parents for stage in reference]
    if expected == found:
        return list(range(len(cold)))
    if expected[: len(found)] == found:
        raise ClearschedError(
            f"{where}, run 0: {len(cold)} stages with other dependencies than the timed runs' {len(reference)}; {AGAIN}"
        )
    for extra in reversed(range(len(reference))):
        rest = [
            tuple(parent - (parent > extra) for parent in stage.parents if parent != extra)
            for index, stage in enumerate(reference)
            if index != extra
        ]
        if rest == found:
            return [None if index == extra else index - (index > extra) for index in range(len(reference))]
    return [None] * len(reference)


def _check_same(where: str, reference: Run, timed: Sequence[Run]) -> None:
    parents = [stage.parents for stage in reference]
    tasks = [stage.num_tasks for stage in reference]
    for number, run in enumerate(timed, 1):
        if [stage.parents for stage in run] != parents:
            raise ClearschedError(
                f"{where}, run {number}: {len(run)} stages with other dependencies than the first run's "
                f"{len(reference)}; {AGAIN}"
            )
        counts = [stage.num_tasks for stage in run]
        if counts != tasks:
            raise ClearschedError(
                f"{where}, run {number}: tasks by stage {counts} where the first run had {tasks}; {AGAIN}"
            )
