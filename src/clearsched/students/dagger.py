"""Learn, run, let the expert answer where the student went, learn again.

Source: S. Ross, G. Gordon, D. Bagnell, A reduction of imitation learning and structured prediction to no-regret online
learning, AISTATS 2011 (DAgger).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clearsched.problems.episodes import Episode
from clearsched.problems.policy import as_meant
from clearsched.scorers.policy import ScoredPolicy
from clearsched.students.dataset import Dataset
from clearsched.students.sampling import sampled
from clearsched.students.task import Task

SPLIT = "train"
"""Whose episodes the students visit."""

PARTITION = "round={number}/decisions.parquet"
"""Where the decisions of a round lie in the folder of visits, so that `pyarrow.dataset` reads all rounds as one."""

Learn = Callable[[Task], ScoredPolicy]
Tell = Callable[[str, float], None]


class Imitated(NamedTuple):
    """What imitation came to."""

    student: ScoredPolicy  # of the best round
    others: list[ScoredPolicy]  # of the other rounds, the best first: one of them may be safe where the best is not
    costs: list[float]  # of each round's on the validation episodes


def improve(
    task: Task,
    learn: Learn,
    expert: Any,
    episodes: Sequence[Episode],
    visits: Path | None = None,
    tell: Tell = lambda what, cost: None,
) -> Imitated:
    """The best of a student learned from the log and of those learned again from where it went.

    The rounds are compared in closed loop by the objective on the validation episodes.

    Args:
        task: what is learned from at first.
        learn: of the kind.
        expert: who answers where the student went (`decisions.experts.Expert`).
        episodes: where the student goes.
        visits: a folder for the decisions of each round; None: they are not kept.
        tell: called with what was learned from, and the cost.
    """
    common = task.common
    students: list[ScoredPolicy] = []
    costs: list[float] = []
    for number in range(common.dagger_rounds + 1):
        chosen = sampled(task.dataset, common.sampling, task.seed)
        student = learn(replace(task, dataset=chosen))
        students.append(student)
        costs.append(task.bench.validation_cost(student))
        tell(f"{number} DAgger rounds, {len(chosen.rank.chosen):,} decisions", costs[-1])
        if number < common.dagger_rounds:
            count = common.dagger_episodes
            visited = [episodes[i] for i in np.arange(number * count, (number + 1) * count) % len(episodes)]
            folder = None if visits is None else visits / PARTITION.format(number=number + 1)
            task = replace(task, dataset=_with_visits(task, expert, visited, student, folder))
    best, *others = [students[place] for place in np.argsort(costs, kind="stable")]
    return Imitated(best, others, costs)


def _with_visits(
    task: Task, expert: Any, episodes: Sequence[Episode], student: ScoredPolicy, path: Path | None
) -> Dataset:
    """The decisions so far and the expert's answers where the student went."""
    from clearsched.decisions.recording import record  # it brings torch

    instance = task.bench.instance
    episodes = as_meant(student, instance, episodes)
    with _log(task, expert, len(episodes), path) as writer:
        ended = (lambda episode, outcome: None) if writer is None else partial(writer.end, SPLIT)
        found = []
        for decision in record(expert, instance, episodes, SPLIT, actor=student.compiled, ended=ended):
            found.append(decision)
            if writer is not None:
                writer.add(decision)
    return task.dataset.with_decisions(found)


@contextmanager
def _log(task: Task, expert: Any, episodes: int, path: Path | None) -> Iterator[Any]:
    """A decision log to write to, or None."""
    if path is None:
        yield None
        return
    from clearsched.decisions.recording import about  # it brings torch
    from clearsched.decisions.writer import open_log

    metadata = about(expert, task.bench.instance, {SPLIT: episodes}) | {"actor": task.name}
    with open_log(path, task.problem, metadata) as writer:
        yield writer
