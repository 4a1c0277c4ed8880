"""Compile what a problem's runs need, once, at installation: the first run of the chain would wait for it.

numba compiles a function when it is first called and keeps it for the next process (`compiled.cache`). So an episode
is run in every way that the stages run theirs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from clearsched.compiled.scoring import NOTHING, scores_of
from clearsched.params import parse
from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance, Problem

TRACE, WORKLOADS = "trace.parquet", "workloads.parquet"


def prepare(name: str) -> None:
    """Run all compiled code of a problem once, on an episode of its default source.

    Raises:
        ClearschedError: there is no problem of that name.
    """
    problem = find_problem(name)
    episodes = {"train": 1, "validation": 1, "test": 1}
    params = parse({"problem": name, "workload": {"episodes": episodes}}, "prepare", whole=False)
    with tempfile.TemporaryDirectory() as folder:
        trace, workloads = Path(folder) / TRACE, Path(folder) / WORKLOADS
        problem.build(params, trace)
        problem.draw(params, trace, workloads)
        _run(problem, problem.open(trace, workloads))


def _run(problem: Problem, instance: Instance) -> None:
    """The episodes in one go, as searches and evaluations run them, and in lockstep, as teachers and logs do."""
    scores_of(NOTHING, np.zeros((1, 1), np.float32))
    policy = heuristic(problem, problem.baseline)
    episodes = instance.split("train")
    runs = policy.run(instance, episodes, record=True)
    for episode, run in zip(episodes, runs, strict=True):
        instance.bounds(episode)
        run.cost_to_go(np.zeros(1), np.inf)
    lockstep = instance.lockstep(episodes)
    while lockstep.advance():
        observation = lockstep.observe()
        some = np.arange(observation.num_decisions)
        observation.take(some).and_more([observation.take(some)]).backlog()
        lockstep.answer(lockstep.ask(policy.compiled), by_heuristic=True)
