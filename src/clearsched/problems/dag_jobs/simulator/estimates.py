"""What policies believe of task durations, where that is not what happens (docs/workloads.md, estimates).

A policy reads mean task durations, and work and paths that are made of them. They are an episode's own columns of the
state, so that they can be wrong there, while the durations of its tasks stay what they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearsched.compiled.jit import compiled
from clearsched.errors import WorkloadError
from clearsched.problems.dag_jobs.simulator import state as st
from clearsched.problems.dag_jobs.simulator.profiles import ProfileArrays
from clearsched.problems.dag_jobs.simulator.state import State

STREAM = 0xE571
"""Tells the random numbers of estimates from all others of the same seed."""


@dataclass(frozen=True)
class Estimates:
    """How wrong the durations are that policies see. The defaults are no error at all.

    Attributes:
        error: typical factor between a stage's estimate and its mean duration: the estimate is lognormal about it, its
            logarithm with the standard deviation ln(error), as in Dell'Amico, Carra and Michiardi, "PSBS: practical
            size-based scheduling", IEEE Transactions on Computers 65 (2016). Half of the variance is the job's, shared
            by its stages (its input is larger than thought), half is the stage's own.
        missing: share of the jobs of whose durations nothing is known: all their stages count as `unknown_task_ms`.
        unknown_task_ms: the mean duration of a task of the trace, ms; of use where some are missing.

    Raises:
        WorkloadError: a factor below 1, a share beyond 1, or a duration that is not above 0.
    """

    error: float = 1.0
    missing: float = 0.0
    unknown_task_ms: float = 1000.0

    def __post_init__(self) -> None:
        for name, low, high in (("error", 1, 1000), ("missing", 0, 1), ("unknown_task_ms", 1e-9, 1e15)):
            value = getattr(self, name)
            if not low <= value <= high:  # refuses NaN too
                raise WorkloadError(f"estimates: {name} is {value}: it must lie in {low:g} to {high:g}")

    @property
    def are_exact(self) -> bool:
        """Whether policies see what is."""
        return self.error == 1 and self.missing == 0


EXACT = Estimates()
"""Policies know the mean duration of every stage."""


def believed_task_ms(profiles: ProfileArrays, profile: np.ndarray, estimates: Estimates, seed: int) -> np.ndarray:
    """float64[S]: the mean task duration that policies see, of each stage of the jobs of an episode in their order.

    The numbers behind it depend on the seed and on the jobs of the episode, on nothing that policies do: with a larger
    error the same estimates are wrong in the same direction, and with a larger share missing the same jobs are unknown,
    and others.

    Args:
        profiles: compiled trace.
        profile: int64[J], in order of arrival.
        estimates: how wrong they are.
        seed: of the episode's task durations, 64 bits.
    """
    first, counts = profiles.stage_start[profile], np.diff(profiles.stage_start)[profile]
    begins = np.cumsum(counts) - counts
    rows = np.arange(counts.sum()) + np.repeat(first - begins, counts)
    generator = np.random.default_rng([STREAM, seed % 2**64])
    of_job, unknown = generator.standard_normal(len(profile)), generator.random(len(profile)) < estimates.missing
    of_stage = generator.standard_normal(len(rows))
    factor = estimates.error ** ((np.repeat(of_job, counts) + of_stage) / np.sqrt(2))
    return np.where(np.repeat(unknown, counts), estimates.unknown_task_ms, profiles.mean_ms[rows] * factor)


@compiled
def believe(state: State, task_ms: np.ndarray) -> None:
    """Write float64[S], the mean task durations that policies see, and what is made of them, to a state at time 0."""
    stage, job, known, profiles = state.stage, state.job, state.known, state.profiles
    for j in range(len(job)):
        base = job[j, st.BASE]
        deepest, work_ms = 0, 0.0
        for s in range(base, base + job[j, st.NUM_STAGES]):
            known[s, st.TASK_MS] = task_ms[s]
            work_ms += profiles.num_tasks[stage[s, st.PROFILE_STAGE]] * task_ms[s]
            deepest = max(deepest, profiles.levels_below[stage[s, st.PROFILE_STAGE]])
        state.work[j, st.WORK_TOTAL_MS] = work_ms
        # From the leaves up: a path is the stage's own work and the longest path of its children.
        for height in range(deepest + 1):
            for s in range(base, base + job[j, st.NUM_STAGES]):
                g = stage[s, st.PROFILE_STAGE]
                if profiles.levels_below[g] == height:
                    below = 0.0
                    for i in range(profiles.child_start[g], profiles.child_start[g + 1]):
                        below = max(below, known[base + profiles.children[i], st.PATH_MS])
                    known[s, st.PATH_MS] = profiles.num_tasks[g] * task_ms[s] + below
