"""Hand-made episodes, and how the tests run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clearsched.problems.deferrable_jobs.problem import PROBLEM
from clearsched.problems.deferrable_jobs.simulator import loop
from clearsched.problems.deferrable_jobs.simulator.lockstep import Lockstep
from clearsched.problems.deferrable_jobs.simulator.outcome import Outcome, outcome_of
from clearsched.problems.deferrable_jobs.simulator.state import Episode, new_state
from clearsched.problems.episodes import Answers

NONE = -1


def toy(jobs: Sequence[tuple[int, int, int, int]], capacity: Sequence[int], **settings: Any) -> Episode:
    """An episode of jobs (arrival, duration, cpu, deadline) under a perfect forecast."""
    columns = [np.array(column, np.int64) for column in zip(*jobs, strict=True)]
    reach = max(int(columns[1].max()), 2)
    left = np.array(capacity, np.int64)
    foreseen = np.repeat(left[:, None], reach, axis=1)
    return Episode(*columns, left, foreseen, np.ones(reach), **settings)


def run(episode: Episode, name: str, *parameters: float) -> Outcome:
    """The episode under a heuristic, in the compiled loop."""
    return run_compiled(episode, PROBLEM.compile_heuristic(name, parameters))


def run_compiled(episode: Episode, policy: loop.Compiled) -> Outcome:
    state = new_state(episode)
    loop.run_or_raise(state, policy)
    return outcome_of(episode, state)


def play(episode: Episode, answers: Sequence[int]) -> Outcome:
    """The episode with the given answers (jobs, or NONE) to its decisions, none more and none less."""
    lockstep, left = Lockstep([episode]), list(answers)
    while lockstep.advance():
        job = left.pop(0)
        seen = lockstep.observe()
        position = NONE if job == NONE else seen.candidate_id.tolist().index(job)
        lockstep.answer(Answers(np.array([position]), np.zeros(1, np.int64)))
    assert not left, f"{left} were not asked for"
    return lockstep.results()[0]
