"""Arithmetic on the DAGs of many profiles at once; stages are named by their row in the table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError


def edge_rows(parents: pa.ChunkedArray, profile_starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The edges of a column of parents, sorted by child.

    Args:
        parents: for each stage the numbers of its parents within the profile.
        profile_starts: int64[P + 1], first row of each profile, then the number of rows.

    Returns:
        int64[edges] row of the parent, int64[edges] row of the child, bool[edges] whether the parent is a stage of the
        profile; where it is none, its row means nothing.
    """
    lists = parents.combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    child = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    parent = pc.list_flatten(lists).to_numpy().astype(np.int64)
    sizes = np.diff(profile_starts)
    base = np.repeat(profile_starts[:-1], sizes)[child]
    return base + parent, child, (parent >= 0) & (parent < np.repeat(sizes, sizes)[child])


def heights(num_stages: int, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """int64[num_stages]: stages on the longest path below each stage; -1 on a cycle and above one.

    Edges must be sorted by child. All profiles are peeled from their leaves upwards at once (Kahn's algorithm).
    """
    height = np.full(num_stages, -1, np.int64)
    waiting = np.bincount(parent, minlength=num_stages)
    first = np.searchsorted(child, np.arange(num_stages + 1))
    leaves = np.flatnonzero(waiting == 0)
    level = 0
    while len(leaves):
        height[leaves] = level
        counts = first[leaves + 1] - first[leaves]
        skipped = np.repeat(first[leaves] - np.cumsum(counts) + counts, counts)
        above = parent[skipped + np.arange(len(skipped))]
        np.subtract.at(waiting, above, 1)
        leaves = np.unique(above[waiting[above] == 0])
        level += 1
    return height


def depths(num_stages: int, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """int64[num_stages]: stages on the longest path above each stage; -1 on a cycle and below one."""
    order = np.argsort(parent, kind="stable")
    return heights(num_stages, child[order], parent[order])


def longest_paths(weight: np.ndarray, height: np.ndarray, parent: np.ndarray, child: np.ndarray) -> np.ndarray:
    """float64[stages]: largest sum of `weight` (>= 0) on a path from a stage downwards, its own included."""
    total = weight.astype(np.float64)
    below = np.zeros(len(weight))
    levels = np.arange(1, height.max(initial=0) + 2)
    stages = np.argsort(height, kind="stable")
    stage_bounds = np.searchsorted(height[stages], levels)
    edges = np.argsort(height[parent], kind="stable")
    edge_bounds = np.searchsorted(height[parent[edges]], levels)
    for level in range(len(levels) - 1):
        rows = stages[stage_bounds[level] : stage_bounds[level + 1]]
        used = edges[edge_bounds[level] : edge_bounds[level + 1]]
        np.maximum.at(below, parent[used], total[child[used]])
        total[rows] += below[rows]
    return total


def topological_order(parents: list[list[int]], where: str) -> list[int]:
    """Stages of one profile in an order in which every parent precedes its children.

    Raises:
        ClearschedError: a parent is no stage of the profile, or the DAG has a cycle.
    """
    children: list[list[int]] = [[] for _ in parents]
    waiting = [len(set(p)) for p in parents]
    for child, its_parents in enumerate(parents):
        for parent in set(its_parents):
            if not 0 <= parent < len(parents):
                raise ClearschedError(f"{where}: stage {child}: parent {parent} is no stage of the profile")
            children[parent].append(child)
    order = [stage for stage, count in enumerate(waiting) if count == 0]
    for stage in order:
        for child in children[stage]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(parents):
        stuck = [stage for stage, count in enumerate(waiting) if count]
        raise ClearschedError(f"{where}: the DAG has a cycle through stages {stuck}")
    return order
