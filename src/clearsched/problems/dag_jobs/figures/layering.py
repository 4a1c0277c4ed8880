"""Where the stages of a DAG stand in a layered drawing, so that no edge runs through a stage.

After K. Sugiyama, S. Tagawa, M. Toda, Methods for Visual Understanding of Hierarchical System Structures (1981): a
stage's layer is the longest chain that ends in it; an edge that skips layers gets a place of its own in each of them;
places of a layer are ordered by the mean of their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clearsched.problems.dag_jobs.traces.dags import depths

SWEEPS = 8
"""Times that the layers are ordered, forwards and backwards."""

STAGE_GAP, LINE_GAP = 1.0, 0.45
"""Least distance of two stages of a layer, and of two edges that pass through it, in heights of a stage's slot."""


@dataclass(frozen=True)
class Layout:
    """A layered drawing; x counts layers from 0, y slots.

    Attributes:
        layer: of each stage.
        y: of each stage.
        edges: of each edge its parent, its child, and the points (x, y) that it passes in the layers between them.
        height: distance from the lowest to the highest place; 0 if all stand in a row. The lowest has y = 0.
    """

    layer: list[int]
    y: list[float]
    edges: list[tuple[int, int, list[tuple[int, float]]]]
    height: float


def layers_of(parents: Sequence[Sequence[int]]) -> list[int]:
    """Number of edges on the longest chain to each stage of an acyclic DAG."""
    counts = list(map(len, parents))
    parent = np.array([each for of in parents for each in of], np.int64)
    layer: list[int] = depths(len(parents), parent, np.repeat(np.arange(len(parents)), counts)).tolist()
    return layer


def lay_out(parents: Sequence[Sequence[int]]) -> Layout:
    """Place the stages of an acyclic DAG, some dozens at most; `parents` of each stage."""
    stages = range(len(parents))
    layer = layers_of(parents)
    depth = list(layer)  # of stages, then of the places that edges take
    chains: list[tuple[int, int, list[int]]] = []
    before: list[list[int]] = [[] for _ in stages]
    after: list[list[int]] = [[] for _ in stages]
    for child in stages:
        for parent in sorted(set(parents[child])):
            passed = list(range(len(depth), len(depth) + layer[child] - layer[parent] - 1))
            depth += range(layer[parent] + 1, layer[child])
            before += [[] for _ in passed]
            after += [[] for _ in passed]
            whole = [parent, *passed, child]
            for a, b in pairwise(whole):
                after[a].append(b)
                before[b].append(a)
            chains.append((parent, child, passed))
    columns = [[place for place in range(len(depth)) if depth[place] == each] for each in range(max(depth) + 1)]
    y = _order(columns, before, after)
    y = _align(columns, before, after, y, len(parents))
    lowest = min(y)
    edges = [
        (parent, child, [(depth[place], y[place] - lowest) for place in passed]) for parent, child, passed in chains
    ]
    return Layout(layer, [y[stage] - lowest for stage in stages], edges, max(y) - lowest)


def _order(columns: list[list[int]], before: list[list[int]], after: list[list[int]]) -> list[float]:
    """Order the places of each layer by the mean position of their neighbours; return the rank of each place."""
    y = [0.0] * sum(map(len, columns))
    for column in columns:
        for rank, place in enumerate(column):
            y[place] = rank - (len(column) - 1) / 2
    best, fewest = list(y), _crossings(columns, after, y)
    for sweep in range(SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            mean = {place: _mean([y[other] for other in neighbours[place]], y[place]) for place in column}
            column.sort(key=lambda place: (mean[place], y[place]))
            for rank, place in enumerate(column):
                y[place] = rank - (len(column) - 1) / 2
        crossings = _crossings(columns, after, y)
        if crossings < fewest:
            best, fewest = list(y), crossings
    for column in columns:
        column.sort(key=lambda place: best[place])
    return best


def _crossings(columns: list[list[int]], after: list[list[int]], y: list[float]) -> int:
    """Pairs of edges between neighbouring layers that cross."""
    count = 0
    for column in columns:
        lines = [(y[place], y[other]) for place in column for other in after[place]]
        count += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for i, a in enumerate(lines) for b in lines[:i])
    return count


def _align(
    columns: list[list[int]], before: list[list[int]], after: list[list[int]], y: list[float], num_stages: int
) -> list[float]:
    """Move places towards their neighbours, keeping the order of each layer and the least distances."""
    y = list(y)
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            wanted = [_mean([y[other] for other in (*before[place], *after[place])], y[place]) for place in column]
            is_stage = [place < num_stages for place in column]
            for place, value in zip(column, spread(wanted, is_stage), strict=True):
                y[place] = value
    return y


def spread(wanted: list[float], is_stage: list[bool]) -> list[float]:
    """The positions nearest to `wanted` (least squares) in that order and with the least distances between them.

    Pooling of adjacent violators, on the positions less the distances that stand before them.
    """
    offset, offsets = 0.0, [0.0]
    for a, b in pairwise(is_stage):
        offset += STAGE_GAP if a and b else (STAGE_GAP + LINE_GAP) / 2 if a or b else LINE_GAP
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []  # mean, how many
    for value, shift in zip(wanted, offsets, strict=True):
        mean, count = value - shift, 1
        while blocks and blocks[-1][0] > mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    flat = [mean for mean, count in blocks for _ in range(count)]
    return [value + shift for value, shift in zip(flat, offsets, strict=True)]


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
