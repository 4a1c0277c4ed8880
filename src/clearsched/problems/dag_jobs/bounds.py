"""Lower bounds: what no policy can do better than, on an episode whose jobs and luck are known (docs/evaluation.md).

Every task counts with the least that it can last in its episode (`least_durations`). Then

* *resources*: in any time t all executors together do at most E x t of work, so the cluster does nothing that one
  preemptive machine of speed E could not do, and on one machine shortest remaining processing time first has the least
  sum of completion times of all (L. Schrage, Operations Research 16, 1968). So the sum of the JCTs is at least that of
  SRPT on the jobs' least work.
* *critical path*: a job cannot complete before its longest chain of stages, each of which takes at least its longest
  task and at least its work over E.

Each holds for the sum over the jobs of an episode, so the larger of the two sums does. They are not mixed job by job:
SRPT bounds the sum alone, and a job's place in it says nothing of the job.

Before a job's first task an executor moves to it, since none is there when it arrives. That is `moving_delay_ms` of the
job's own time, which comes on top of its chain and before its work (or, the other way to count it, that much more
work of an executor). All this holds under every correction and fault: a failure loses work, a straggler lasts longer.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from clearsched.compiled.jit import compiled
from clearsched.problems.dag_jobs.simulator.durations import HALF, LOW, random_bits
from clearsched.problems.dag_jobs.simulator.profiles import (
    ADD_MS,
    FIRST_WAVE,
    FRESH,
    LENGTH,
    MEAN_MS,
    OFFSET,
    REST_WAVE,
    ProfileArrays,
    Profiles,
    level_table,
)
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.simulator.state import mix

DRAWN, MEAN, ANY = range(3)
"""How long a task lasts at the least: by its own random bits; the mean; or, where a lost task draws again, any value
that was measured."""

NEVER = 2**62


@dataclass(frozen=True)
class LeastDurations:
    """What the jobs of an episode need at the least.

    Attributes:
        work_ms: int64[J], sum of the least durations of the job's tasks, executor-ms.
        path_ms: float64[J], longest chain of stages, ms.
    """

    work_ms: np.ndarray
    path_ms: np.ndarray


def bounds(profiles: Profiles, workload: Workload) -> dict[str, float]:
    """The best that any policy can reach in an episode, by measure, s: `jct_s` and `makespan_s`.

    Raises:
        ClearschedError: the workload is malformed, as the simulator finds it.
    """
    least, speed, move = least_durations(profiles, workload), workload.num_executors, workload.moving_delay_ms
    arrival = np.asarray(workload.arrival_ms, np.int64)
    path = least.path_ms + move
    resources = max(
        srpt_jct_ms(arrival + move, least.work_ms, speed).mean() + move,
        srpt_jct_ms(arrival, least.work_ms + move, speed).mean(),
    )
    makespan = max(
        float((arrival + path).max()),
        drained_ms(arrival + move, least.work_ms, speed),
        drained_ms(arrival, least.work_ms + move, speed),
    )
    return {"jct_s": float(max(resources, path.mean())) / 1000, "makespan_s": makespan / 1000}


def srpt_jct_ms(release_ms: np.ndarray, work_ms: np.ndarray, speed: int) -> np.ndarray:
    """float64[J]: completion less release under shortest remaining processing time first on one machine, preemptive.

    Args:
        release_ms: int64[J], non-decreasing.
        work_ms: int64[J], at speed 1.
        speed: of the machine. Times are counted in ms / speed, so that they are whole numbers.
    """
    release = [int(time) * speed for time in release_ms]
    done = np.zeros(len(release))
    heap: list[tuple[int, int]] = []
    now, following = 0, 0
    while following < len(release) or heap:
        if not heap:
            now = max(now, release[following])
        while following < len(release) and release[following] <= now:
            heapq.heappush(heap, (int(work_ms[following]), following))
            following += 1
        left, job = heapq.heappop(heap)
        until = release[following] if following < len(release) else now + left
        served = min(left, until - now)
        now += served
        if served < left:
            heapq.heappush(heap, (left - served, job))
        else:
            done[job] = now - release[job]
    return done / speed


def drained_ms(release_ms: np.ndarray, work_ms: np.ndarray, speed: int) -> float:
    """When a machine that never idles in vain has done all work: the largest release + work released from then on."""
    behind = np.cumsum(work_ms[::-1])[::-1] / speed
    return float((release_ms + behind).max())


def least_durations(profiles: Profiles, workload: Workload) -> LeastDurations:
    """The least that each task can last in an episode, whatever the policy, summed up by job.

    A task's random bits are its own (docs/simulator.md, random numbers); what a policy changes is how many executors
    its job has and what the executor did before. So the least is over all levels that 1 to E executors can draw from
    and over all waves, at the task's own place in their lists. The first task of a stage is never of the rest wave, and
    the first of a job with one root is fresh. Where executors fail a lost task draws anew: there it is over all values.
    """
    levels = level_table(profiles.trace.levels, workload.num_executors, workload.semantics.right_interpolation)[1:]
    reached = np.unique(np.concatenate([levels[:, 0], levels[levels[:, 2] > 0, 1]]))
    mode = MEAN if workload.mean_durations else DRAWN
    again = workload.semantics.loses_tasks
    if mode == MEAN:
        reached = np.unique(levels[:, 0])
    elif again:
        mode = ANY
    profile = np.asarray(workload.profile, np.int64)
    work, path = np.zeros(len(profile), np.int64), np.zeros(len(profile))
    starts = profiles.arrays.stage_start
    scratch = np.zeros(int(np.diff(starts).max()))
    seed, speed = np.uint64(workload.seed), workload.num_executors
    _jobs(profiles.arrays, profile, reached, mode, again, seed, speed, scratch, work, path)
    return LeastDurations(work, path)


@compiled
def _jobs(
    profiles: ProfileArrays,
    profile: np.ndarray,
    reached: np.ndarray,
    mode: int,
    again: bool,
    seed: np.uint64,
    speed: int,
    chain: np.ndarray,
    work_ms: np.ndarray,
    path_ms: np.ndarray,
) -> None:
    """Fill `work_ms` and `path_ms`; `chain` float64[most stages of a job] is room to work in.

    `again`: a task may be lost and start again, so that nothing is known of what starts first.
    """
    for j in range(len(profile)):
        base, stop = profiles.stage_start[profile[j]], profiles.stage_start[profile[j] + 1]
        stream = mix(seed + np.uint64(j))
        roots = 0
        for g in range(base, stop):
            roots += profiles.parent_start[g] == profiles.parent_start[g + 1]
        deepest = 0
        for g in range(base, stop):
            is_root = profiles.parent_start[g] == profiles.parent_start[g + 1]
            bits = np.int64(mix(stream + np.uint64(g - base)))
            known = 0 if again else 2 if is_root and roots == 1 else 1
            work, longest = _stage(profiles, g, reached, mode, bits, known)
            work_ms[j] += work
            chain[g - base] = max(np.float64(longest), work / speed)
            deepest = max(deepest, profiles.levels_below[g])
        # From the leaves up: a stage's chain is its own time and the longest chain of its children.
        for height in range(1, deepest + 1):
            for g in range(base, stop):
                if profiles.levels_below[g] == height:
                    below = 0.0
                    for i in range(profiles.child_start[g], profiles.child_start[g + 1]):
                        below = max(below, chain[profiles.children[i]])
                    chain[g - base] += below
        for i in range(stop - base):
            path_ms[j] = max(path_ms[j], chain[i])


@compiled
def _stage(profiles: ProfileArrays, g: int, reached: np.ndarray, mode: int, stream: int, known: int) -> tuple[int, int]:
    """The sum and the largest of the least durations of a stage's tasks, ms.

    `known` of its first task: nothing (0), that it is not of the rest wave (1), that it is fresh (2).
    """
    work, longest, least = 0, 0, 0
    for k in range(profiles.num_tasks[g]):
        if k < 2 or mode == DRAWN:  # else they are all alike
            bits = random_bits(stream, k)
            least = NEVER
            for i in range(len(reached)):
                for wave in (FIRST_WAVE, FRESH, REST_WAVE):
                    if k == 0 and ((known > 0 and wave == REST_WAVE) or (known > 1 and wave == FIRST_WAVE)):
                        continue
                    duration_ms = int(_duration_ms(profiles, g, reached[i], wave, mode, bits))
                    if duration_ms < least:
                        least = duration_ms
        work += least
        longest = max(longest, least)
    return work, longest


@compiled
def _duration_ms(profiles: ProfileArrays, g: int, level: int, wave: int, mode: int, bits: np.uint64) -> int:
    """How long a task lasts by the table (`drawn_duration_ms`, `mean_duration_ms`), or could at the least."""
    row = profiles.table[g, level, wave]
    if mode == MEAN:
        return row[MEAN_MS]
    if mode == DRAWN:
        pick = np.int64(((bits & LOW) * np.uint64(row[LENGTH])) >> HALF)
        return profiles.durations_ms[row[OFFSET] + pick] + row[ADD_MS]
    least = NEVER
    for i in range(row[OFFSET], row[OFFSET] + row[LENGTH]):
        if profiles.durations_ms[i] < least:
            least = int(profiles.durations_ms[i])
    return least + row[ADD_MS]
