"""Many simulations in lockstep: at each step one forward pass decides for all that wait for a decision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clearsched.problems.dag_jobs.graph import Graph, concatenate, take
from clearsched.problems.dag_jobs.simulator.lockstep import Lockstep

Decide = Callable[[Graph], tuple[np.ndarray, np.ndarray]]
"""From the decisions that wait to int64[B] positions among each one's candidates, and int64[B] limits."""


def run_lockstep(lockstep: Lockstep, decide: Decide) -> None:
    """Run all simulations to their end. The graph that `decide` sees lasts until the next step."""
    while lockstep.advance():
        graph = lockstep.observe()
        candidate, limit = decide(graph)
        lockstep.act(graph.candidate_stage[graph.candidate_start[:-1] + candidate], limit)


class Recorder:
    """Decisions of a run in lockstep that are to be kept, in the order of episodes, and in each of time."""

    def __init__(self) -> None:
        self._graphs: list[Graph] = []
        self._columns: list[tuple[np.ndarray, ...]] = []

    def add(self, graph: Graph, episode: np.ndarray, *columns: np.ndarray) -> None:
        """Keep a copy of decisions of a step: int64[B] their episodes, and anything else [B]."""
        self._graphs.append(Graph(*(array.copy() for array in graph)))
        self._columns.append((episode, *columns))

    def finish(self) -> tuple[Graph, tuple[np.ndarray, ...]]:
        """The graph of all decisions, and their columns, the episode first. At least one step must have been kept."""
        columns = tuple(np.concatenate(column) for column in zip(*self._columns, strict=True))
        order = np.argsort(columns[0], kind="stable")
        whole = concatenate(self._graphs)
        self._graphs = []
        return take(whole, order), tuple(column[order] for column in columns)
