"""What a decision costs: with the feature matrix, with an ensemble of trees, with the graph of a network.

    python benchmarks/decisions.py [--profiles DIR_OR_TRACE] [--cpu-seconds S]

All on the episodes of simulator.py under the fair heuristic, so that the work is the only difference: every decision
also fills the feature matrix of its candidates, and scores them by 50 random trees of depth 3. The graph is that of
64 simulations in lockstep, as a network's batch. CPU seconds of one thread; compilation is not counted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numba import njit
from settings import SETTINGS, TIMED, Row, Setting, Stopwatch, command, episodes

from clearsched.policies import heuristic
from clearsched.problems.dag_jobs.candidates import survey
from clearsched.problems.dag_jobs.engine import DECIDE, advance, commit
from clearsched.problems.dag_jobs.features import NUM_FEATURES, fill_features
from clearsched.problems.dag_jobs.loop import choose
from clearsched.problems.dag_jobs.profiles import Profiles
from clearsched.problems.dag_jobs.simulate import Simulation, start
from clearsched.problems.dag_jobs.state import NUM_DECISIONS
from clearsched.problems.dag_jobs.trees import Trees, pack, score

NOTHING, FEATURES, TREES = range(3)
"""What is done at each decision, beside deciding."""

NUM_TREES, DEPTH = 50, 3
LOCKSTEP = 64
"""Simulations whose decisions make one batch for a network."""


@njit(cache=True)
def run_episode(state: Any, policy: Any, trees: Any, rows: np.ndarray, stages: np.ndarray, work: int) -> float:
    """An episode under `policy`, with `work` at each decision; the sum of the scores, so that they are not left out."""
    total = 0.0
    while advance(state) == DECIDE:
        if work >= FEATURES:
            survey(state)
            count = fill_features(state, rows, stages)
            if work == TREES:
                for candidate in range(count):
                    total += score(trees, rows[candidate])
        s, requested = choose(state, policy, rows, stages)
        commit(state, s, requested)
    return total


def decision_rate(profiles: Profiles, setting: Setting, cpu_seconds: float, work: int) -> float:
    """Decisions per CPU second of whole episodes."""
    policy, trees = heuristic("fair").compiled, random_trees(profiles, setting)
    watch, decisions = Stopwatch(), 0
    for index, workload in enumerate(episodes(profiles, setting)):
        with watch.running():
            state = start(profiles, workload)
            rows = np.empty((len(state.stage), NUM_FEATURES), np.float32)
            run_episode(state, policy, trees, rows, np.empty(len(state.stage), np.int64), work)
        if index == 0:
            watch.cpu_s = 0.0  # it compiles
            continue
        decisions += int(state.scalar[NUM_DECISIONS])
        if watch.cpu_s >= cpu_seconds:
            break
    return decisions / watch.cpu_s


def random_trees(profiles: Profiles, setting: Setting) -> Trees:
    """`NUM_TREES` full trees of depth `DEPTH` whose thresholds are values that the features took in an episode."""
    matrix = np.concatenate(list(islice(matrices(profiles, setting), 200)))
    generator = np.random.default_rng(0)
    inner, count = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    nodes = np.arange(count)
    trees = []
    for _ in range(NUM_TREES):
        feature = np.where(nodes < inner, generator.integers(NUM_FEATURES, size=count), -1)
        threshold = matrix[generator.integers(len(matrix), size=count), feature]
        children = {"left": (2 * nodes + 1) % count, "right": (2 * nodes + 2) % count}
        value = generator.normal(size=count)
        trees.append({"feature": feature, "threshold": threshold, "value": value, **children})
    return pack(trees, NUM_FEATURES, "random trees")


def matrices(profiles: Profiles, setting: Setting) -> Iterator[np.ndarray]:
    """The feature matrices of the decisions of one episode under the fair heuristic."""
    simulation = Simulation(profiles, next(episodes(profiles, setting)))
    while simulation.advance():
        yield simulation.observe().candidates.copy()
        answer_fairly(simulation)


def answer_fairly(simulation: Simulation) -> None:
    """Answer as the fair heuristic does; where it names none, with the first candidate."""
    stage, limit = simulation.reference_choice(heuristic("fair").compiled)
    if stage < 0:
        seen = simulation.observe()
        stage = int(seen.candidate_stage[0])
        limit = int(seen.job_held[seen.node_job[seen.candidate_node[0]]]) + 1
    simulation.act(stage, limit)


def graph_us(profiles: Profiles, setting: Setting, cpu_seconds: float, lockstep: int = LOCKSTEP) -> float:
    """CPU microseconds a decision to describe the pending decisions of `lockstep` simulations as one batched graph."""
    from clearsched.teacher.encoding import collate

    fresh = episodes(profiles, setting)
    running = [advanced(Simulation(profiles, next(fresh))) for _ in range(lockstep)]
    collate([simulation.observe() for simulation in running])
    watch, decisions = Stopwatch(), 0
    while decisions == 0 or watch.cpu_s < cpu_seconds:
        with watch.running():
            collate([simulation.observe() for simulation in running])
        decisions += lockstep
        for index, simulation in enumerate(running):
            answer_fairly(simulation)
            if not simulation.advance():
                running[index] = advanced(Simulation(profiles, next(fresh)))
    return 1e6 * watch.cpu_s / decisions


def advanced(simulation: Simulation) -> Simulation:
    simulation.advance()
    return simulation


def rows(profiles: Profiles, cpu_seconds: float) -> list[Row]:
    """Lines of the table (table.py)."""
    kinds = {
        FEATURES: "decisions, feature matrix filled",
        TREES: f"decisions, {NUM_TREES} trees of depth {DEPTH} on it",
    }
    lines = [
        Row(what, "per CPU s", *(decision_rate(profiles, SETTINGS[name], cpu_seconds, work) for name in TIMED))
        for work, what in kinds.items()
    ]
    graph = (graph_us(profiles, SETTINGS[name], cpu_seconds) for name in TIMED)
    return [*lines, Row(f"batched graph of {LOCKSTEP} simulations", "CPU us a decision", *graph)]


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    for row in rows(profiles, arguments.cpu_seconds):
        print(f"{row.what:<46} {row.a:>12,.1f} (a) {row.b:>12,.1f} (b)  {row.unit}")


if __name__ == "__main__":
    command(__doc__, main)
