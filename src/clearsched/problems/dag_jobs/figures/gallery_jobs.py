"""Which jobs of a trace the gallery shows, and the boxes that stand for them.

A job with few stages has a box a stage. One that is too large for that has a box a layer, with its number of stages:
no job is too large to be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clearsched.problems.dag_jobs.figures.layering import Layout, lay_out, layers_of
from clearsched.problems.dag_jobs.traces.durations import mean_task_ms
from clearsched.problems.dag_jobs.traces.measures import Measures

COUNT = 12
"""Jobs in a gallery."""

MOST_STAGES, MOST_LAYERS, MOST_SLOTS = 40, 10, 7.0
"""Larger jobs do not fit into a panel with numbers that can be read; slots are stages side by side."""

CANDIDATES, LARGE_CANDIDATES = 200, 24
"""Jobs among which the dozen is chosen: those that fit, and those that do not."""


@dataclass(frozen=True)
class Box:
    """What stands in one place: a stage, or the stages of a few layers.

    Attributes:
        stages: their number.
        num_tasks: their tasks.
        work_s: tasks x mean duration, executor-seconds.
        parents: of a stage, within its job.
    """

    stages: int
    num_tasks: int
    work_s: float
    parents: tuple[int, ...] = ()

    @property
    def mean_s(self) -> float:
        """Mean task duration, s."""
        return self.work_s / self.num_tasks


@dataclass(frozen=True)
class Shown:
    """A job of the gallery.

    Attributes:
        profile, query, size: its names.
        boxes: in the order of the layout's places.
        layout: where they stand.
        whole: whether each stage has a box.
        layers: of the job.
    """

    profile: int
    query: str
    size: str
    boxes: tuple[Box, ...]
    layout: Layout
    whole: bool
    layers: int

    @property
    def stages(self) -> int:
        """The number of its stages."""
        return sum(box.stages for box in self.boxes)

    @property
    def work_s(self) -> float:
        """Its work, executor-seconds."""
        return sum(box.work_s for box in self.boxes)


def choose(measures: Measures) -> tuple[list[Shown], str]:
    """At most `COUNT` jobs of different queries, spread over the numbers of stages, small ones first; and what is to be
    said of those that do not fit, empty where all do.

    Jobs without edges are shown where none with edges fits, larger ones by layers where fewer than `COUNT` fit.
    """
    fits = (measures.stages <= MOST_STAGES) & (measures.depth <= MOST_LAYERS)
    found: dict[str, Shown] = {}
    wide: list[pa.Table] = []
    looked_at = 0
    for some in (fits & (measures.depth > 1), fits & (measures.depth == 1)):
        tables = [] if found else _tables(measures, np.flatnonzero(some), CANDIDATES)
        looked_at += len(tables)
        for table in tables:
            layout = lay_out(table["parents"].to_pylist())
            if layout.height < MOST_SLOTS:
                found.setdefault(table["query"][0].as_py(), _whole(table, layout))
            else:
                wide.append(table)
    dozen = _spread_out(list(found.values()), COUNT)
    large: dict[str, Shown] = {}
    if len(dozen) < COUNT:
        for table in [*wide[:LARGE_CANDIDATES], *_tables(measures, np.flatnonzero(~fits), LARGE_CANDIDATES)]:
            if table["query"][0].as_py() not in found:
                large.setdefault(table["query"][0].as_py(), _by_layers(table))
    dozen += _spread_out(list(large.values()), COUNT - len(dozen))
    return sorted(dozen, key=_rank), _left_out(int((~fits).sum()), len(fits), len(wide), looked_at, dozen)


def _rank(job: Shown) -> tuple[Any, ...]:
    return not job.whole, job.layout.height, job.stages, job.profile


def _left_out(large: int, jobs: int, wide: int, looked_at: int, shown: list[Shown]) -> str:
    """What the picture says of the jobs that do not fit."""
    told = []
    if large:
        told.append(f"{large:,} of {jobs:,} jobs have over {MOST_STAGES} stages or {MOST_LAYERS} in a chain")
    if wide:
        told.append(f"{wide:,} of {looked_at:,} looked at have over {MOST_SLOTS:g} side by side")
    if not told:
        return ""
    how = "a box stands for the stages of a layer or more" if any(not job.whole for job in shown) else "not shown"
    return f"{'; '.join(told)}: {how}"


def _tables(measures: Measures, jobs: npt.NDArray[np.int64], most: int) -> list[pa.Table]:
    """The rows of at most so many of some jobs, evenly spread over the numbers of stages."""
    if not len(jobs):
        return []
    jobs = jobs[np.lexsort((jobs, measures.depth[jobs], measures.stages[jobs]))]
    rows = measures.rows_of(np.sort(jobs[evenly(len(jobs), most)]))
    starts = np.flatnonzero(np.r_[True, np.diff(rows["profile"].to_numpy()) != 0])
    return [rows.slice(a, b - a) for a, b in zip(starts, np.append(starts[1:], len(rows)), strict=True)]


def _spread_out(jobs: list[Shown], most: int) -> list[Shown]:
    """At most so many, evenly spread over the numbers of stages."""
    jobs = sorted(jobs, key=lambda job: (job.stages, job.layout.height, job.profile))
    return [jobs[place] for place in evenly(len(jobs), most)]


def evenly(length: int, count: int) -> list[int]:
    """At most `count` of `length` places, evenly spread, the first and the last among them."""
    return sorted({round(float(place)) for place in np.linspace(0, length - 1, min(length, count))})


def _whole(stages: pa.Table, layout: Layout) -> Shown:
    """A job with a box a stage."""
    means_s, num_tasks = mean_task_ms(stages["durations"]) / 1000, stages["num_tasks"].to_numpy()
    parents = stages["parents"].to_pylist()
    boxes = [
        Box(1, int(tasks), float(tasks * mean), tuple(of))
        for tasks, mean, of in zip(num_tasks, means_s, parents, strict=True)
    ]
    return _shown(stages, tuple(boxes), layout, True, max(layout.layer) + 1)


def _by_layers(stages: pa.Table) -> Shown:
    """A job with a box a layer; of more than `MOST_LAYERS`, neighbouring layers share one."""
    layer = np.array(layers_of(stages["parents"].to_pylist()))
    layers = int(layer.max()) + 1
    count = min(layers, MOST_LAYERS)
    box = layer * count // layers
    num_tasks = stages["num_tasks"].to_numpy().astype(np.int64)
    work_s = np.bincount(box, num_tasks * mean_task_ms(stages["durations"]) / 1000)
    tasks, of = np.bincount(box, num_tasks), np.bincount(box)
    boxes = tuple(Box(int(of[i]), int(tasks[i]), float(work_s[i])) for i in range(count))
    edges: list[tuple[int, int, list[tuple[int, float]]]] = [(i, i + 1, []) for i in range(count - 1)]
    return _shown(stages, boxes, Layout(list(range(count)), [0.0] * count, edges, 0.0), False, layers)


def _shown(stages: pa.Table, boxes: tuple[Box, ...], layout: Layout, whole: bool, layers: int) -> Shown:
    profile, query, size = (stages[name][0].as_py() for name in ("profile", "query", "size"))
    return Shown(profile, query, size, boxes, layout, whole, layers)
