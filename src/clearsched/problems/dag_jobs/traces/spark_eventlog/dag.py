"""The stages that a set of Spark jobs ran, and which of them wait for which.

A later Spark job lists the stages of an earlier one again when it reads their output. Spark then skips them; they are
mapped to the stage that ran, by the id of the resilient distributed dataset (RDD) that both put out.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import MAX_EDGES, AbsurdError
from clearsched.problems.dag_jobs.traces.spark_eventlog.ended import Ended, Readers
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import SparkJob, Stage


@dataclass(frozen=True)
class Dag:
    """The stages that ran, every stage after its parents.

    Attributes:
        stages: in the order of their Spark jobs and, in a Spark job, of the datasets that they put out. Spark's own
            numbers of stages differ from run to run (they come out of a hash set); datasets are made in the order of
            the query's plan.
        parents: of each stage, as positions in `stages`, increasing.
        reads: those of them whose output the stage reads; the others are known from the times of a run only.
        elsewhere: (stage, parent) ids where the parent ran in none of the Spark jobs: its output was there before.
        in_sequence: edges that are known only from the order in which the Spark jobs were submitted.
    """

    stages: tuple[Stage, ...]
    parents: tuple[tuple[int, ...], ...]
    reads: tuple[tuple[int, ...], ...]
    elsewhere: tuple[tuple[int, int], ...]
    in_sequence: int


def connect(jobs: Sequence[SparkJob], stages: Mapping[int, Stage], ran_ids: Collection[int], sequence: bool) -> Dag:
    """The stages that ran, with their dependencies.

    A stage waits for

    1. its parents, those that were skipped replaced by the stage that put out the same dataset;
    2. the last stages of Spark jobs that read the same data and had ended before the stage's own Spark job was
       submitted (of many, those only for which no later one stands in): a sort waits for the samples of its input, a
       filter for the scalar that it compares with;
    3. with `sequence`, if none of its parents is in its own Spark job: the last stages of the Spark jobs that had ended
       before its own was submitted and that gave their result to the driver (those only for which no later one
       stands in). The driver submitted its Spark job only then: actions follow each other, and the hash table of a
       broadcast join comes without an edge between stages. Spark jobs that put out a shuffle, as those of the stages
       of an adaptive query, have their readers among the stages.

    Args:
        jobs: the Spark jobs, in the order of their submission.
        stages: every stage that they list, by id.
        ran_ids: ids of those that ran.
        sequence: whether rule 3 holds.

    Raises:
        AbsurdError: stages wait for each other, or for more than `MAX_EDGES` others in all.
    """
    started = {job.id: job.started for job in jobs}
    ran = _in_order([stages[stage_id] for stage_id in ran_ids], started)
    index = {stage.id: position for position, stage in enumerate(ran)}
    by_rdd = {stage.rdd: place for place, stage in reversed(list(enumerate(ran))) if not stage.to_driver}
    results = {job.id: max(index.keys() & set(job.stage_ids), default=None) for job in jobs}
    lasts = {job: index[result] for job, result in results.items() if result is not None}

    direct: list[set[int]] = []
    elsewhere: list[tuple[int, int]] = []
    for position, stage in enumerate(ran):
        found: set[int] = set()
        for parent_id in stage.parent_ids:
            known, is_direct = _resolve(parent_id, position, stages, index, by_rdd)
            if not is_direct:
                elsewhere.append((stage.id, parent_id))
            found |= known
        direct.append(found - {position})
    parents = _with_readers(jobs, stages, ran, direct, lasts)
    in_sequence = 0
    if sequence:
        read = set().union(*direct)
        to_driver = {job: place for job, place in lasts.items() if ran[place].to_driver or place not in read}
        in_sequence = _add_sequence(jobs, ran, parents, to_driver)
    reads = tuple(tuple(sorted(found)) for found in direct)
    every = tuple(tuple(sorted(found)) for found in parents)
    return Dag(tuple(ran), every, reads, tuple(elsewhere), in_sequence)


def _in_order(stages: Sequence[Stage], started: Mapping[int, int]) -> list[Stage]:
    """The stages by their Spark jobs and datasets, but every one after its parents."""
    ids = {stage.id for stage in stages}
    parents = {stage.id: set(stage.parent_ids) & ids for stage in stages}
    children: defaultdict[int, list[Stage]] = defaultdict(list)
    for stage in stages:
        for parent in parents[stage.id]:
            children[parent].append(stage)
    missing = {stage_id: len(found) for stage_id, found in parents.items()}
    ready = [(started[stage.job], stage.rdd, stage.id, stage) for stage in stages if not missing[stage.id]]
    heapq.heapify(ready)
    ordered: list[Stage] = []
    while ready:
        ordered.append(heapq.heappop(ready)[-1])
        for stage in children[ordered[-1].id]:
            missing[stage.id] -= 1
            if not missing[stage.id]:
                heapq.heappush(ready, (started[stage.job], stage.rdd, stage.id, stage))
    if len(ordered) < len(stages):
        stuck = min(stage_id for stage_id, count in missing.items() if count)
        raise AbsurdError(f"stage {stuck} and others that wait for each other")
    return ordered


def _resolve(
    stage_id: int, child: int, stages: Mapping[int, Stage], index: Mapping[int, int], by_rdd: Mapping[int, int]
) -> tuple[set[int], bool]:
    """Positions of the stages that ran and stand for a listed one, and whether that is itself or the one of the same
    dataset. If neither ran, its output was there before, and those of its parents that ran stand for it.
    """
    if stage_id in index:
        return {index[stage_id]}, True
    if (stage := stages.get(stage_id)) is not None and by_rdd.get(stage.rdd, child) < child:
        return {by_rdd[stage.rdd]}, True
    seen, waiting, found = {stage_id}, [stage_id], set()
    while waiting:
        stage = stages.get(waiting.pop())
        if stage is None:
            continue
        position = index.get(stage.id, by_rdd.get(stage.rdd, child))
        if position < child:
            found.add(position)
            continue
        fresh = [parent for parent in stage.parent_ids if parent not in seen]
        seen.update(fresh)
        waiting += fresh
    return found, False


def _with_readers(
    jobs: Sequence[SparkJob],
    stages: Mapping[int, Stage],
    ran: Sequence[Stage],
    direct: Sequence[set[int]],
    lasts: Mapping[int, int],
) -> list[set[int]]:
    """What each stage waits for by rules 1 and 2."""
    started = {job.id: job.started for job in jobs}
    readers = Readers(jobs, stages, ran, direct, lasts)
    parents: list[set[int]] = []
    count = 0
    for position, (stage, found) in enumerate(zip(ran, direct, strict=True)):
        before = (readers.before(rdd, started[stage.job]) for rdd in {ran[parent].rdd for parent in found})
        parents.append(found.union(last for lasts in before for last in lasts if last < position))
        count = _counted(count, parents[-1])
    return parents


def _counted(count: int, edges: Collection[int]) -> int:
    """The number of edges with some more.

    Raises:
        AbsurdError: it is above `MAX_EDGES`.
    """
    if (count := count + len(edges)) > MAX_EDGES:
        raise AbsurdError(f"a job of more than {MAX_EDGES:,} edges between its stages")
    return count


def _add_sequence(
    jobs: Sequence[SparkJob], ran: Sequence[Stage], parents: list[set[int]], to_driver: Mapping[int, int]
) -> int:
    """Add the edges of rule 3 to `parents`; return how many stages got one.

    `to_driver` has the last stage of each Spark job that gave its result to the driver. Such a job stands in for those
    that had ended before it was submitted, since it waits for them.
    """
    own: defaultdict[int, list[int]] = defaultdict(list)
    for position, stage in enumerate(ran):
        own[stage.job].append(position)
    ended = Ended((job, to_driver[job.id], True) for job in jobs if job.id in to_driver)
    count, edges = 0, sum(map(len, parents))
    for job in jobs:
        waits = set(ended.before(job.started))
        mine = set(own[job.id])
        entries = [position for position in own[job.id] if not parents[position] & mine]
        for position in entries:
            wanted = {parent for parent in waits if parent < position} - parents[position]
            # Few are wanted, but their readers may have thousands of parents each: those are not put together.
            added = {parent for parent in wanted if not any(parent in parents[one] for one in parents[position])}
            parents[position] |= added
            edges = _counted(edges, added)
            count += bool(added)
    return count
