"""The DAG of a job, which cluster-trace-v2018 keeps in the names of its tasks.

`M1` is a root, `R4_2` waits for task 2, `J5_3_4` for tasks 3 and 4; the letters mean nothing for it. Any other name
(`task_` and letters, `MergeTask...`) is a task without a number: it waits for none, and none can wait for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from clearsched.errors import ClearschedError
from clearsched.problems.dag_jobs.traces.dags import topological_order

NUMBERED = re.compile(r"(?!MergeTask)[A-Za-z]+([0-9]+)((?:_[A-Za-z0-9]*)*)", re.ASCII)

LARGEST = 2**31 - 1
"""Task numbers above it are no numbers: the trace has none such, and they are packed with the job into an int64."""

NO_NUMBER = LARGEST + 1
"""Stands for the number of a task without one; as the largest, it sorts these behind the others."""


@cache
def parse(name: str) -> tuple[int, tuple[int, ...]]:
    """Number of a task (`NO_NUMBER` if it has none) and the numbers of its parents, increasing, each once.

    A part of the name that is no number means nothing.
    """
    match = NUMBERED.fullmatch(name)
    number = NO_NUMBER if match is None else _number(match[1])
    if match is None or number == NO_NUMBER:
        return NO_NUMBER, ()
    parents = {_number(part) for part in match[2].split("_") if part.isdigit()}
    return number, tuple(sorted(parents))


def _number(digits: str) -> int:
    """The number, or `NO_NUMBER` if it is too large."""
    digits = digits.lstrip("0") or "0"
    return min(int(digits), NO_NUMBER) if len(digits) <= len(str(LARGEST)) else NO_NUMBER


@dataclass(frozen=True)
class Dag:
    """The edges of a batch of G tasks, sorted by job and then by number.

    Attributes:
        order: int64[G]: row of the input that became each row.
        parent_start: int64[G + 1]: where the parents of a row lie in `parents`.
        parents: int64[edges]: rows.
        missing: edges whose parent is no task of the job; they are left out.
        repeated: tasks whose number an earlier task of the job has; who waits for the number waits for all of them.
        cyclic: jobs whose names make a cycle; their edges from a number to itself or a smaller one are left out.
    """

    order: np.ndarray
    parent_start: np.ndarray
    parents: np.ndarray
    missing: int
    repeated: int
    cyclic: int


def resolve(job: np.ndarray, names: pa.Array) -> Dag:
    """The DAGs of whole jobs: `job` int64[G], non-decreasing; `names` string[G].

    Names repeat (M1, R2_1, ...), so each distinct one is parsed once, and everything else is done on arrays.
    """
    words = names.dictionary_encode()
    parsed = [parse(name) for name in words.dictionary.to_pylist()]
    word = words.indices.to_numpy()
    number = np.array([number for number, _ in parsed], np.int64)[word]
    order = np.lexsort((number, job))  # stable: as in the file where numbers are equal
    job, word, number = job[order], word[order], number[order]
    key = job << 32 | number

    counts = np.array([len(parents) for _, parents in parsed], np.int64)
    starts = np.cumsum(counts) - counts
    flat = np.array([parent for _, parents in parsed for parent in parents], np.int64)
    child, position = _expand(starts[word], counts[word])
    wanted = job[child] << 32 | flat[position]
    wanted[flat[position] == NO_NUMBER] = -1
    first = np.searchsorted(key, wanted, side="left")
    found = np.searchsorted(key, wanted, side="right") - first
    edge, parent = _expand(first, found)
    child = child[edge]

    cyclic = _cyclic_jobs(job, child, parent)
    kept = (parent < child) | ~np.isin(job[child], cyclic)
    child, parent = child[kept], parent[kept]
    again = (key[1:] == key[:-1]) & (number[1:] != NO_NUMBER)
    return Dag(
        order=order,
        parent_start=np.concatenate([[0], np.cumsum(np.bincount(child, minlength=len(job)))]),
        parents=parent,
        missing=int((found == 0).sum()),
        repeated=int(again.sum()),
        cyclic=len(cyclic),
    )


def _cyclic_jobs(job: np.ndarray, child: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """int64: jobs with a cycle. Rows are sorted by number, so a job all of whose parents have smaller rows has none;
    the few others are searched one by one.
    """
    found = []
    for suspect in np.unique(job[child[parent >= child]]):
        start, stop = np.searchsorted(job, [suspect, suspect + 1])
        parents: list[list[int]] = [[] for _ in range(stop - start)]
        low, high = np.searchsorted(child, [start, stop])
        for c, p in zip(child[low:high] - start, parent[low:high] - start, strict=True):
            parents[c].append(int(p))
        try:
            topological_order(parents, "")
        except ClearschedError:
            found.append(suspect)
    return np.asarray(found, np.int64)


def _expand(start: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For ranges start[i], ..., start[i] + count[i] - 1: the index i of each element, and the element."""
    index = np.repeat(np.arange(len(start)), count)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count) + start[index]


def has_edge_pattern() -> str:
    """The regular expression of names that name a parent."""
    return r"^[A-Za-z]+[0-9]+(_[A-Za-z0-9]*)*_[0-9]+(_[A-Za-z0-9]*)*$"
