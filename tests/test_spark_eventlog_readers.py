"""Many Spark jobs that read one dataset: the edges between them grow with their number, not with its square."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from clearsched.problems.dag_jobs.traces.spark_eventlog import dag, ended
from clearsched.problems.dag_jobs.traces.spark_eventlog.absurd import AbsurdError
from clearsched.problems.dag_jobs.traces.spark_eventlog.dag import connect
from clearsched.problems.dag_jobs.traces.spark_eventlog.records import SparkJob, Stage

Parents = Sequence[Sequence[int]]


def readers(*times: tuple[int, int]) -> tuple[list[SparkJob], dict[int, Stage]]:
    """Spark jobs with the positions of their start and end; the first puts out dataset 0, all the others read it."""
    jobs, stages = [], {0: Stage(0, 0, 0, 1, [])}
    for number, (start, end) in enumerate(times):
        if number:
            stages[number] = Stage(number, number, 10 + number, 1, [0], to_driver=True)
        jobs.append(SparkJob(number, 0, start, sorted({0, number}), {}, end))
    return jobs, stages


@pytest.fixture
def none_is_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges that are implied are left out from the first."""
    monkeypatch.setattr(ended, "FEW", 0)


@pytest.mark.usefixtures("none_is_few")
@pytest.mark.parametrize(
    ("times", "parents"),
    [
        ([(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)], [(), (0,), (0, 1), (0, 2), (0, 3)]),  # one after the other
        ([(1, 2), (3, 5), (4, 6), (7, 9), (8, 10)], [(), (0,), (0,), (0, 1, 2), (0, 1, 2)]),  # two at once, then two
        ([(1, 2), (3, 9), (4, 5), (6, 7), (8, 10)], [(), (0,), (0,), (0, 2), (0, 3)]),  # one goes on beside the others
        ([(1, 2), (3, 5), (4, 7), (6, 8), (9, 10)], [(), (0,), (0,), (0, 1), (0, 2, 3)]),
    ],
)
@pytest.mark.parametrize("sequence", [False, True])
def test_only_the_latest_readers_are_waited_for(
    times: list[tuple[int, int]], parents: list[tuple[int, ...]], sequence: bool
) -> None:
    jobs, stages = readers(*times)
    assert list(connect(jobs, stages, list(stages), sequence).parents) == parents


@pytest.mark.usefixtures("none_is_few")
def test_a_reader_that_waits_for_nobody_stands_in_for_nobody() -> None:
    """Spark job 2 lists the dataset of stage 0, but what it reads of it was there: its stage did not wait for job 1."""
    stages = {0: Stage(0, 0, 0, 1, []), 1: Stage(1, 1, 11, 1, [0]), 2: Stage(2, 2, 12, 1, [9])}
    stages |= {3: Stage(3, 3, 13, 1, [0]), 9: Stage(9, 2, 19, 1, [])}
    listed = [[0], [0, 1], [0, 2, 9], [0, 3]]
    jobs = [SparkJob(number, 0, 2 * number + 1, ids, {}, 2 * number + 2) for number, ids in enumerate(listed)]
    assert connect(jobs, stages, [0, 1, 2, 3], sequence=False).parents == ((), (0,), (), (0, 1, 2))


def test_of_few_readers_all_are_waited_for_and_of_many_the_latest() -> None:
    jobs, stages = readers(*((2 * number + 1, 2 * number + 2) for number in range(1000)))
    parents = connect(jobs, stages, list(stages), sequence=True).parents
    assert parents[:65] == tuple(tuple(range(number)) for number in range(65))
    assert parents[65:] == tuple((0, number - 1) for number in range(65, 1000))


def test_too_many_edges_are_absurd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty at once, each of which waits for forty before."""
    monkeypatch.setattr(dag, "MAX_EDGES", 1000)
    first = [(3 + number, 50 + number) for number in range(40)]
    then = [(100 + number, 150 + number) for number in range(40)]
    jobs, stages = readers((1, 2), *then)
    assert connect(jobs, stages, list(stages), sequence=False).parents[-1] == (0,)
    jobs, stages = readers((1, 2), *first, *then)
    with pytest.raises(AbsurdError, match=r"a job of more than 1,000 edges between its stages"):
        connect(jobs, stages, list(stages), sequence=False)


def ancestors(parents: Parents) -> list[set[int]]:
    found: list[set[int]] = []
    for own in parents:
        found.append(set(own).union(*(found[parent] for parent in own)))
    return found


def drawn(draw: random.Random) -> tuple[list[SparkJob], dict[int, Stage], list[int]]:
    """Spark jobs, some at once, over datasets that are computed from each other, and the stages that ran.

    As Spark does: a Spark job lists a stage for every dataset that its own is computed from; those whose output is
    there do not run.
    """
    sources = {dataset: [one for one in range(dataset) if draw.random() < 0.4] for dataset in range(6)}
    jobs: dict[int, SparkJob] = {}
    stages: dict[int, Stage] = {}
    ran: list[int] = []
    there: set[int] = set()
    running: list[int] = []
    position = 0
    for number in range(draw.randrange(2, 14)):
        while running and draw.random() < 0.6:
            position += 1
            jobs[running.pop(draw.randrange(len(running)))].ended = position
        position += 1
        wanted = draw.randrange(6)
        needed = sorted(ancestors([*sources.values()])[wanted])
        ids = {dataset: 10 * number + dataset for dataset in needed}
        for dataset in needed:
            stages[ids[dataset]] = Stage(ids[dataset], number, dataset, 1, [ids[one] for one in sources[dataset]])
        last = 10 * number + 9
        stages[last] = Stage(last, number, 100 + number, 1, [ids[one] for one in sources[wanted]], to_driver=True)
        jobs[number] = SparkJob(number, 0, position, sorted([*ids.values(), last]), {})
        missing = [dataset for dataset in sources[wanted] if dataset not in there]
        for dataset in missing:
            missing += [one for one in sources[dataset] if one not in there and one not in missing]
        ran += [*(ids[dataset] for dataset in missing), last]
        there |= set(missing)
        running.append(number)
    return list(jobs.values()), stages, sorted(ran)


@pytest.mark.usefixtures("none_is_few")
def test_what_is_left_out_is_implied() -> None:
    """A stage has the ancestors that it would have with an edge from every reader that had ended."""
    for seed in range(200):
        jobs, stages, ran = drawn(random.Random(seed))
        found = connect(jobs, stages, ran, sequence=False)
        position = {stage.id: place for place, stage in enumerate(found.stages)}
        every = []
        for stage, direct in zip(found.stages, found.reads, strict=True):
            read = {found.stages[parent].rdd for parent in direct}
            before = [job for job in jobs if job.ended is not None and job.ended < jobs[stage.job].started]
            lasts = [max(set(job.stage_ids) & set(ran)) for job in before if read & rdds(job, stages)]
            every.append({*direct, *(position[last] for last in lasts)})
        assert all(set(own) <= all_of for own, all_of in zip(found.parents, every, strict=True))
        assert ancestors(found.parents) == ancestors(every)


def rdds(job: SparkJob, stages: dict[int, Stage]) -> set[int]:
    return {stages[stage_id].rdd for stage_id in job.stage_ids}
