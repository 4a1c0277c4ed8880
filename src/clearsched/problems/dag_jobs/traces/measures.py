"""What can be counted in a trace, job by job and stage by stage, piece by piece: a file of millions of jobs too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clearsched.problems.dag_jobs.traces.dags import depths, edge_rows, heights, longest_paths
from clearsched.problems.dag_jobs.traces.durations import mean_task_ms
from clearsched.problems.dag_jobs.traces.storage import TraceFile
from clearsched.problems.dag_jobs.traces.trace import Trace

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measures:
    """The numbers of a trace that its description and its pictures are made of.

    Of each job, [jobs]:
        stages, tasks, depth: how many; depth is the number of stages on the longest chain.
        work_s: tasks x mean duration, summed, executor-seconds.
        path_s: the longest chain of mean task durations: no number of executors is faster.
        arrival_s: time of arrival, seconds; NaN where the source knows none.
    Of each stage, [stages]:
        stage_tasks: number of tasks.
        stage_s: mean task duration (`durations.mean_task_ms`), seconds.
        stage_level: number of stages on the longest chain that ends in it, from 1.
        cpu, memory: cores and % of a machine that a task asks for; NaN where the source does not know.
    Of all: path of the file, edges, templates (distinct names of queries), levels (executors at which durations were
    measured), metadata.
    """

    path: Path
    stages: npt.NDArray[np.int32]
    tasks: IntArray
    depth: npt.NDArray[np.int32]
    work_s: FloatArray
    path_s: FloatArray
    arrival_s: FloatArray
    stage_tasks: npt.NDArray[np.int32]
    stage_s: FloatArray
    stage_level: npt.NDArray[np.int32]
    cpu: npt.NDArray[np.float32]
    memory: npt.NDArray[np.float32]
    edges: int
    templates: int
    levels: tuple[int, ...]
    metadata: dict[str, Any]

    @property
    def source(self) -> str:
        """The name of the source; empty where the file does not tell."""
        return str(self.metadata.get("source") or "")

    @property
    def parallelism(self) -> FloatArray:
        """float64[jobs]: executors that a job keeps busy on average if it gets all it can use: work / longest chain."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.path_s > 0, self.work_s / self.path_s, 1.0)

    def rows_of(self, jobs: npt.NDArray[np.int64]) -> pa.Table:
        """The stages of some jobs (numbers, increasing), schema `TRACE`; only what holds them is read.

        Raises:
            ClearschedError: the file is damaged.
        """
        return TraceFile(self.path).rows_of(jobs)


def measure(path: str | Path) -> Measures:
    """Read a trace of any size once, check it and count.

    Raises:
        ClearschedError: missing, damaged, no trace, or not sound.
    """
    file = TraceFile(path)
    parts: dict[str, list[npt.NDArray[Any]]] = {}
    names: list[IntArray] = []  # hashes: the names themselves would not fit where each job has its own
    levels: set[int] = set()
    edges = 0
    for trace in file.traces():
        levels.update(trace.levels)
        names.append(np.array([hash(name) for name in trace.stages["query"].unique().to_pylist()], np.int64))
        parent, child, _ = edge_rows(trace.stages["parents"], trace.profile_starts)
        edges += len(parent)
        for name, values in _measure_piece(trace, parent, child).items():
            parts.setdefault(name, []).append(values)
        pa.default_memory_pool().release_unused()  # what the piece took, before the next one takes it again
    arrays: dict[str, Any] = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return Measures(
        path=file.path,
        **arrays,
        edges=edges,
        templates=len(np.unique(np.concatenate(names))),
        levels=tuple(sorted(levels)),
        metadata=file.metadata,
    )


def _measure_piece(trace: Trace, parent: IntArray, child: IntArray) -> dict[str, npt.NDArray[Any]]:
    """The arrays of `Measures` for a piece; its edges are given as rows."""
    table, first = trace.stages, trace.profile_starts[:-1]
    num_tasks = table["num_tasks"].to_numpy()
    stage_s = mean_task_ms(table["durations"]) / 1000.0
    height = heights(len(table), parent, child)
    return {
        "stages": np.diff(trace.profile_starts).astype(np.int32),
        "tasks": np.add.reduceat(num_tasks.astype(np.int64), first),
        "depth": (1 + np.maximum.reduceat(height, first)).astype(np.int32),
        "work_s": np.add.reduceat(num_tasks * stage_s, first),
        "path_s": np.maximum.reduceat(longest_paths(stage_s, height, parent, child), first),
        "arrival_s": table["arrival_ms"].take(first).to_numpy().astype(np.float64) / 1000.0,
        "stage_tasks": num_tasks.astype(np.int32),
        "stage_s": stage_s,
        "stage_level": (1 + depths(len(table), parent, child)).astype(np.int32),
        "cpu": table["cpu"].to_numpy().astype(np.float32),
        "memory": table["memory"].to_numpy().astype(np.float32),
    }
