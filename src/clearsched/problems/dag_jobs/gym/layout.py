"""The shape of what a Gymnasium environment shows and takes: padded arrays of fixed size, and their spaces.

C `max_candidates`, R the rows of an action (C, and one more with `idling`), L `limit_levels`; a graph has V
`max_nodes`, M `max_edges` and A `max_jobs`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from clearsched.compiled.jit import allocating
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, NUM_FEATURES
from clearsched.problems.dag_jobs.graph import GLOBAL_FEATURES, JOB_FEATURES, NODE_FEATURES, observe
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.rows import fill_features
from clearsched.problems.dag_jobs.simulator.state import NONE, State

IS_SOURCE, WORK_RANK, STAGE_RANK = (
    FEATURE_NAMES.index(name) for name in ("job_is_source", "job_work_rank", "stage_rank")
)

LARGEST = float(np.finfo(np.float32).max)
"""Bound of what has none: times and work grow with the episode."""


class Choice(NamedTuple):
    """What a pending decision offers; no candidate where none is pending."""

    num_candidates: int
    none_allowed: bool


@dataclass(frozen=True)
class Layout:
    """Sizes of the padded arrays.

    Attributes:
        max_candidates: rows of the candidate matrix.
        limit_levels: levels that the limit of an action can take.
        idling: an action can name row C: leave the executors idle.
        max_jobs, max_nodes, max_edges: sizes of the graph; all 0 without one.
    """

    max_candidates: int
    limit_levels: int
    idling: bool = True
    max_jobs: int = 0
    max_nodes: int = 0
    max_edges: int = 0

    @property
    def has_graph(self) -> bool:
        """The observation holds the graph too."""
        return self.max_jobs > 0

    @property
    def action_rows(self) -> int:
        """R."""
        return self.max_candidates + self.idling

    def observation_space(self) -> spaces.Dict:
        """What one environment shows."""
        rows = self.max_candidates
        shown: dict[str, spaces.Space[Any]] = {
            "candidates": _box((rows, NUM_FEATURES)),
            "action_mask": spaces.Box(0, 1, (self.action_rows + self.limit_levels,), np.int8),
        }
        if self.has_graph:
            shown |= {
                "candidate_node": _index((rows,), self.max_nodes),
                # The demand of a stage falls below 0 when it is promised more executors than it has tasks.
                "nodes": _box((self.max_nodes, len(NODE_FEATURES)), low=-LARGEST),
                "node_job": _index((self.max_nodes,), self.max_jobs),
                "edges": _index((2, self.max_edges), self.max_nodes),
                "jobs": _box((self.max_jobs, len(JOB_FEATURES))),
                "totals": _box((len(GLOBAL_FEATURES),)),
            }
        return spaces.Dict(shown)

    def action_space(self) -> ActionSpace:
        """What one environment takes."""
        return ActionSpace([self.action_rows, self.limit_levels])

    def empty(self, num_lanes: int) -> dict[str, np.ndarray]:
        """Arrays of observations [num_lanes, ...] that describe no decision: features 0, indices -1, rows masked."""
        rows, k = self.max_candidates, num_lanes
        arrays: dict[str, np.ndarray] = {
            "candidates": np.zeros((k, rows, NUM_FEATURES), np.float32),
            "action_mask": np.zeros((k, self.action_rows + self.limit_levels), np.int8),
        }
        arrays["action_mask"][:, self.action_rows :] = 1
        if self.has_graph:
            arrays |= {
                "candidate_node": np.full((k, rows), NONE, np.int64),
                "nodes": np.zeros((k, self.max_nodes, len(NODE_FEATURES)), np.float32),
                "node_job": np.full((k, self.max_nodes), NONE, np.int64),
                "edges": np.full((k, 2, self.max_edges), NONE, np.int64),
                "jobs": np.zeros((k, self.max_jobs, len(JOB_FEATURES)), np.float32),
                "totals": np.zeros((k, len(GLOBAL_FEATURES)), np.float32),
            }
        return arrays

    def fill(self, arrays: dict[str, np.ndarray], lane: int, state: State, choice: Choice, stages: np.ndarray) -> None:
        """Describe the pending decision of `state` in row `lane` of `empty` arrays.

        Args:
            choice: what it offers, at least 1 candidate.
            stages: int64[C], written: the stage of each candidate shown.
        """
        num_candidates, rows = choice.num_candidates, arrays["candidates"][lane]
        arrays["action_mask"][lane, : min(num_candidates, self.max_candidates)] = 1
        if self.idling:
            arrays["action_mask"][lane, self.max_candidates] = choice.none_allowed
        if not self.has_graph:
            fill_candidates(state, num_candidates, rows, stages)
            return
        graph = (arrays[name][lane] for name in ("candidate_node", "nodes", "node_job", "edges", "jobs", "totals"))
        fill_graph(state, rows, stages, *graph)


def make_layout(
    profiles: Profiles, num_jobs: int, *, max_candidates: int | None, limit_levels: int, idling: bool, graph: bool
) -> Layout:
    """A layout that holds every decision of `num_jobs` jobs, of whatever profiles, unless `max_candidates` is less."""
    arrays = profiles.arrays
    num_stages = np.diff(arrays.stage_start)
    num_edges = np.diff(arrays.parent_start[arrays.stage_start])
    most = num_jobs * int(_candidates_of_a_job(profiles).max()) if max_candidates is None else max_candidates
    if not graph:
        return Layout(most, limit_levels, idling)
    # An array of no columns is no valid space: a trace without edges gets one column that is always padding.
    edges = max(1, num_jobs * int(num_edges.max()))
    return Layout(most, limit_levels, idling, num_jobs, num_jobs * int(num_stages.max()), edges)


def _candidates_of_a_job(profiles: Profiles) -> np.ndarray:
    """int64[num_profiles]: no decision has more candidates of a job than this.

    A candidate has demand and its parents have none (docs/simulator.md §4), so a stage and its parent are never both
    candidates: of each pair of a matching along the edges at most one is. The matching is made greedily.
    """
    arrays = profiles.arrays
    bounds = []
    for first, stop in pairwise(arrays.stage_start):
        matched = np.zeros(stop - first, bool)
        pairs = 0
        for stage in range(stop - first):
            parents = arrays.parents[arrays.parent_start[first + stage] : arrays.parent_start[first + stage + 1]]
            free = [parent for parent in parents if not matched[parent]]
            if free and not matched[stage]:
                matched[stage] = matched[free[0]] = True
                pairs += 1
        bounds.append(len(matched) - pairs)
    return np.asarray(bounds, np.int64)


def _box(shape: tuple[int, ...], low: float = 0.0) -> spaces.Box:
    return spaces.Box(low, LARGEST, shape, np.float32)


def _index(shape: tuple[int, ...], size: int) -> spaces.Box:
    return spaces.Box(NONE, size - 1, shape, np.int64)


@allocating
def fill_candidates(state: State, num_candidates: int, rows: np.ndarray, stages: np.ndarray) -> None:
    """Write the first candidates of the pending decision: float32[C, NUM_FEATURES] and their stages, int64[C]."""
    candidates = np.empty((num_candidates, NUM_FEATURES), np.float32)
    candidate_stage = np.empty(num_candidates, np.int64)
    fill_features(state, candidates, candidate_stage)
    order = row_order(candidates)
    for i in range(min(len(rows), num_candidates)):
        rows[i] = candidates[order[i]]
        stages[i] = candidate_stage[order[i]]


@allocating
def row_order(candidates: np.ndarray) -> np.ndarray:
    """int64[c]: the source job's candidates, then the jobs with least work left; in a job the stages by their rank.

    So a row of the same number means about the same in every decision, which a network without attention needs, and
    the rows that a small C cuts off are those that are seldom chosen. Equals stay in order of arrival.
    """
    keys = np.empty(len(candidates), np.int64)
    for i in range(len(candidates)):
        row = candidates[i]
        elsewhere = 1 - np.int64(row[IS_SOURCE])
        keys[i] = (elsewhere << 48) + (np.int64(row[WORK_RANK]) << 24) + np.int64(row[STAGE_RANK])
    return np.argsort(keys, kind="mergesort")


@allocating
def fill_graph(
    state: State,
    rows: np.ndarray,
    stages: np.ndarray,
    candidate_node: np.ndarray,
    nodes: np.ndarray,
    node_job: np.ndarray,
    edges: np.ndarray,
    jobs: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Write all of `graph.observe` into padded arrays, and the first candidates as `fill_candidates` does."""
    seen = observe(state)
    order = row_order(seen.candidates)
    for i in range(min(len(rows), len(order))):
        rows[i] = seen.candidates[order[i]]
        stages[i] = seen.candidate_stage[order[i]]
        candidate_node[i] = seen.candidate_node[order[i]]
    nodes[: len(seen.nodes)] = seen.nodes
    node_job[: len(seen.node_job)] = seen.node_job
    edges[:, : seen.edges.shape[1]] = seen.edges
    jobs[: len(seen.jobs)] = seen.jobs
    totals[:] = seen.totals


class ActionSpace(spaces.MultiDiscrete):
    """MultiDiscrete([R, L]) whose samples are valid answers: they name a candidate of the pending decision, or none.

    Gymnasium's checker, and many a first script, step an environment with samples drawn without a mask. The space is
    told of each decision by its environment (`num_candidates`, and `none_allowed`: whether the last row is an answer).
    After `seed` a sample must not depend on the episode that happens to be running: until the next decision it names
    row 0, which is always a candidate.
    """

    num_candidates: int = 1
    none_allowed: bool = False

    def seed(self, seed: int | None = None) -> Any:
        """Seed the samples."""
        if seed is not None:  # without one the space draws its own seed, at the first sample
            self.num_candidates, self.none_allowed = 1, False
        return super().seed(seed)

    def sample(self, mask: Any = None, probability: Any = None) -> np.ndarray:
        """int64[2]: drawn evenly from the valid answers, or under a mask as MultiDiscrete does."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        count = max(1, self.num_candidates)
        action = self.np_random.integers([count + self.none_allowed, self.nvec[1]])
        if action[0] == count:
            action[0] = self.nvec[0] - 1
        return action


class ActionSpaces(spaces.Box):
    """The actions of K environments, int64[K, 2]: as Gymnasium's batch of `ActionSpace`, but with valid samples.

    `num_candidates`, int64[K], and `none_allowed`, bool[K], are told by the native vector environment. Under
    Gymnasium's own `sync` and `async` they stay at 1 and False, so that samples name row 0.
    """

    def __init__(self, single: ActionSpace, num_lanes: int) -> None:
        self.num_candidates = np.ones(num_lanes, np.int64)
        self.none_allowed = np.zeros(num_lanes, bool)
        high = np.tile(single.nvec - 1, (num_lanes, 1))
        super().__init__(np.zeros_like(high), high, dtype=np.int64, seed=deepcopy(single.np_random))

    def seed(self, seed: Any = None) -> Any:
        """Seed the samples."""
        if seed is not None:
            self.num_candidates[:], self.none_allowed[:] = 1, False
        return super().seed(seed)

    def sample(self, mask: None = None, probability: None = None) -> np.ndarray:
        """int64[K, 2]: drawn evenly from the valid answers of each environment."""
        below = self.high.astype(np.int64) + 1
        count = np.maximum(1, self.num_candidates)
        below[:, 0] = count + self.none_allowed
        actions = self.np_random.integers(below)
        actions[:, 0] = np.where(actions[:, 0] == count, self.high[:, 0], actions[:, 0])
        return actions


@batch_space.register(ActionSpace)
def _batch(space: ActionSpace, n: int = 1) -> ActionSpaces:
    return ActionSpaces(space, n)
