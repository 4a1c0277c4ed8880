"""Jobs into the queue: their stages one after another, each after those that it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from clearsched.engines.slurm.client import Queued
from clearsched.engines.slurm.features import at_submission
from clearsched.engines.slurm.jobs import DagJob, StageFacts


class Submitter(Protocol):
    """What is asked of `client.Slurm`."""

    def submit(self, facts: StageFacts, command: Sequence[str], after: Sequence[int], comment: str) -> int: ...

    def cancel(self, arrays: Sequence[int]) -> None: ...


def submit(slurm: Submitter, job: DagJob, arrived: float, cores: int, static: Sequence[str] = ()) -> list[int]:
    """Submit a job; the array of each stage. What was submitted of a job that is refused is cancelled.

    Args:
        slurm: where to.
        job: what.
        arrived: when, seconds of Unix time.
        cores: of the cluster.
        static: features that a job_submit.lua asks for; none: the job is ranked by Slurm, or live.

    Raises:
        ClearschedError: Slurm refuses a stage.
    """
    facts = job.facts(arrived)
    told = statics(facts, static, cores)
    arrays: list[int] = []
    try:
        for number, stage in enumerate(job.stages):
            after = [arrays[parent] for parent in stage.parents]
            comment = facts[number].comment(told[number])
            arrays.append(slurm.submit(facts[number], stage.command, after, comment))
    except BaseException:
        slurm.cancel(arrays)
        raise
    return arrays


def statics(facts: Sequence[StageFacts], names: Sequence[str], cores: int) -> list[dict[str, float]]:
    """The features `names` of each stage of a job as it is submitted."""
    if not names:
        return [{} for _ in facts]
    queue = [Queued(number, each, pending=each.tasks) for number, each in enumerate(facts)]
    return at_submission(queue, names, cores)
