"""Which of the Spark jobs that had ended a later one waits for: of many the latest, which stand in for those before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from clearsched.problems.dag_jobs.traces.spark_eventlog.records import SparkJob, Stage

FEW = 64
"""Spark jobs that read a dataset and had ended: up to so many a stage has an edge from each of them, implied or not."""


class Ended:
    """Spark jobs that ended, each with its last stage.

    Args:
        jobs: (Spark job, position of its last stage, whether it waits for those of the others that had ended before it
            was submitted, and so stands in for them); those that did not end are left aside.
    """

    def __init__(self, jobs: Iterable[tuple[SparkJob, int, bool]]) -> None:
        ended = sorted((job.ended, job.started, last, stands) for job, last, stands in jobs if job.ended is not None)
        self._ends = [end for end, *_ in ended]
        self._lasts = [last for *_, last, _ in ended]
        starts = (start if stands else 0 for _, start, _, stands in ended)
        self._latest_start = list(accumulate(starts, max, initial=0))

    def before(self, started: int, few: int = 0) -> list[int]:
        """The last stages of those that had ended at a position, if they are few; else of those for which no later one
        stands in.
        """
        last = bisect_left(self._ends, started)
        first = bisect_right(self._ends, self._latest_start[last]) if last > few else 0
        return self._lasts[first:last]


class Readers:
    """The Spark jobs that list a dataset, to ask which of them a stage that reads it waits for.

    With an edge from each, a thousand Spark jobs one after the other would have half a million edges.

    Args:
        jobs: the Spark jobs.
        stages: every stage that they list, by id.
        ran: the stages that ran, every one after its parents.
        direct: of each of them the positions of those whose output it reads.
        lasts: Spark job -> position of its last stage that ran.
    """

    def __init__(
        self,
        jobs: Sequence[SparkJob],
        stages: Mapping[int, Stage],
        ran: Sequence[Stage],
        direct: Sequence[set[int]],
        lasts: Mapping[int, int],
    ) -> None:
        wait = _waiting(ran, direct, lasts)
        found: defaultdict[int, list[tuple[SparkJob, int, bool]]] = defaultdict(list)
        for job in jobs:
            if job.id in lasts:
                for rdd in {stages[stage_id].rdd for stage_id in job.stage_ids}:
                    found[rdd].append((job, lasts[job.id], (job.id, rdd) in wait))
        self._ended = {rdd: Ended(readers) for rdd, readers in found.items()}

    def before(self, rdd: int, started: int) -> list[int]:
        """The last stages of those that had ended at a position; if they are many, without those that are implied."""
        return self._ended[rdd].before(started, FEW) if rdd in self._ended else []


def _waiting(ran: Sequence[Stage], direct: Sequence[set[int]], lasts: Mapping[int, int]) -> set[tuple[int, int]]:
    """(Spark job, dataset) where the last stage waits for the readers of the dataset that had ended before.

    It reads the dataset itself, or through stages of its own Spark job.
    """
    leads = {last for job, last in lasts.items() if ran[last].job == job}
    found = set()
    for position in range(len(ran) - 1, -1, -1):
        if position in leads:
            job = ran[position].job
            found |= {(job, ran[parent].rdd) for parent in direct[position]}
            leads |= {parent for parent in direct[position] if ran[parent].job == job}
    return found
