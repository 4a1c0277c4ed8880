"""DAG jobs drawn from the published marginals: inverse-transform sampling, vectorised over a chunk of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from clearsched.problems.dag_jobs.settings.sources import AlibabaLikeParams
from clearsched.problems.dag_jobs.traces.alibaba_2018.rows import Batch
from clearsched.problems.dag_jobs.traces.alibaba_like.marginals import marginal

MOST_STAGES = 199
"""Largest number of stages of a job in the published table."""

LONGEST_PATH = 54
"""Largest critical path, in stages."""

EXTRA_PARENTS = 0.46
"""Parents drawn for a stage beside the one on the level above it (mean of a Poisson number; some coincide). Chosen so
that a job with edges has 4.64 of them on average, as published (9,419,028 edges, 48.3 % of 4,201,014 jobs)."""


@dataclass(frozen=True)
class Shapes:
    """Joint distribution of stages a job and critical path under the options.

    Attributes:
        joint: float64[MOST_STAGES, LONGEST_PATH]: probability of n stages with a critical path of c stages.
        level: float64[LONGEST_PATH, LONGEST_PATH]: cumulative distribution of the level of a stage beyond the first of
            each level, by critical path.
    """

    joint: np.ndarray
    level: np.ndarray


@cache
def shapes(min_stages: int, max_stages: int, dag_only: bool) -> Shapes:
    """The distributions that `draw_jobs` samples from, conditioned on the options.

    Each level of a job holds at least one stage, which takes c of its n stages; the other n - c are spread so that the
    levels of all stages follow the published table.
    """
    joint = np.zeros((MOST_STAGES, LONGEST_PATH))
    for stages, probability in enumerate(marginal("stages").pmf(MOST_STAGES), start=1):
        if min_stages <= stages <= max_stages:
            longest = min(stages, LONGEST_PATH)
            paths = marginal("critical_path", stages).pmf(longest) if stages > 1 else np.ones(1)
            joint[stages - 1, :longest] = probability * paths
    if dag_only:
        joint[:, 0] = 0.0
    joint /= joint.sum()
    jobs = joint.sum(axis=0)
    all_stages = np.arange(1, MOST_STAGES + 1) @ joint
    level = np.ones((LONGEST_PATH, LONGEST_PATH))
    for path in range(1, LONGEST_PATH + 1):
        published = marginal("level", path).pmf(path) if path > 1 else np.ones(1)
        others = np.maximum(all_stages[path - 1] * published - jobs[path - 1], 0.0)
        if others.sum() > 0:
            level[path - 1, :path] = np.cumsum(others) / others.sum()
    return Shapes(joint, level)


def draw_jobs(generator: np.random.Generator, jobs: int, options: AlibabaLikeParams) -> Batch:
    """Draw a number of jobs; their arrivals are relative to the one before the first of them.

    Quantities are independent of each other, but for the shape of the DAG (critical path given the number of stages,
    levels given the critical path) and for cpu and memory, which go up together.
    """
    shape = shapes(options.min_stages, options.max_stages, options.dag_only)
    drawn = np.searchsorted(np.cumsum(shape.joint), generator.random(jobs) * shape.joint.sum(), side="right")
    drawn = np.minimum(drawn, np.flatnonzero(shape.joint)[-1])
    stages, path = drawn // LONGEST_PATH + 1, drawn % LONGEST_PATH + 1
    job_start = np.concatenate([[0], np.cumsum(stages)])
    level = _levels(generator, shape, stages, path)
    parent_start, parents = _parents(generator, job_start, level)
    rows = len(level)
    resources = generator.random(rows)
    tasks = marginal("tasks")
    most = options.max_tasks or np.inf
    highest = float(np.interp(most, tasks.values, tasks.probabilities))
    return Batch(
        job_start=job_start,
        parent_start=parent_start,
        parents=parents,
        num_tasks=tasks.quantile(highest * generator.random(rows)).astype(np.int32),
        mean_s=marginal(f"{options.duration}_s").quantile(generator.random(rows)),
        arrival_s=np.cumsum(marginal("interval_s").quantile(generator.random(jobs)).astype(np.int64)),
        cpu=(marginal("cpu").quantile(resources) / 100).astype(np.float32),
        memory=marginal("memory").quantile(resources).astype(np.float32),
    )


def _levels(generator: np.random.Generator, shape: Shapes, stages: np.ndarray, path: np.ndarray) -> np.ndarray:
    """int64[G]: level of each stage, from 1, increasing within a job; every level up to its critical path occurs."""
    job = np.repeat(np.arange(len(stages)), stages)
    rank = np.arange(len(job)) - np.repeat(np.cumsum(stages) - stages, stages)
    level = rank + 1
    beyond = np.flatnonzero(rank >= path[job])
    uniform = generator.random(len(beyond))
    for value in np.unique(path[job[beyond]]):
        here = path[job[beyond]] == value
        level[beyond[here]] = 1 + np.searchsorted(shape.level[value - 1], uniform[here], side="right")
    return np.asarray(level[np.lexsort((level, job))])


def _parents(generator: np.random.Generator, job_start: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets int64[G + 1] and parents int32[edges]: for each stage beyond level 1 one of the level above it, and
    others of any level above.
    """
    rows = len(level)
    first_of_job = np.repeat(job_start[:-1], np.diff(job_start))
    new = np.r_[True, (level[1:] != level[:-1]) | (first_of_job[1:] != first_of_job[:-1])]
    block_start = np.flatnonzero(new)
    block = np.cumsum(new) - 1
    child = np.flatnonzero(level > 1)
    above = block_start[block[child] - 1]  # the levels of a job follow each other without a gap
    here = block_start[block[child]]
    parent = above + (generator.random(len(child)) * (here - above)).astype(np.int64)
    more = np.repeat(np.arange(len(child)), generator.poisson(EXTRA_PARENTS, len(child)))
    other = first_of_job[child[more]]
    other = other + (generator.random(len(more)) * (here[more] - other)).astype(np.int64)
    edges = np.unique(np.concatenate([child * rows + parent, child[more] * rows + other]))
    child, parent = edges // rows, edges % rows
    start = np.concatenate([[0], np.cumsum(np.bincount(child, minlength=rows))])
    return start, (parent - first_of_job[child]).astype(np.int32)
