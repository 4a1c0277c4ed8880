"""Gantt chart of one episode: which job every executor worked for, under several policies side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.problems.dag_jobs.recording.spans import Runs, join_runs
from clearsched.problems.dag_jobs.schemas import GANTT_EPISODE, JOBS, TASKS
from clearsched.schemas import read_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW_GAP = 0.12
"""Share of an executor's row that stays white between it and the next."""


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `evaluation/tasks.parquet` and `jobs.parquet` and draw one panel a policy, all on the same axes."""
    path = results_dir / "evaluation" / "tasks.parquet"
    tasks, _ = read_table(path, TASKS)
    jobs, _ = read_table(results_dir / "evaluation" / "jobs.parquet", JOBS)
    if not len(tasks):
        raise ClearschedError(f"{path}: no tasks; run the evaluation again")
    policies = list(dict.fromkeys(tasks["policy"].to_pylist()))
    runs = {name: join_runs(tasks.filter(pc.equal(tasks["policy"], name))) for name in policies}
    num_jobs = 1 + max(pc.max(jobs["job"]).as_py() or 0, pc.max(tasks["job"]).as_py())
    colours = job_colours(runs[policies[0]], num_jobs)
    num_executors = max(int(run.executor.max()) for run in runs.values()) + 1
    last_s = max(float(run.end_s.max()) for run in runs.values())

    figure = style.new_figure(height_in=1.9 + 1.1 * min(num_executors, 50) / 25)
    panels = figure.subplots(1, len(policies), sharex=True, sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, policies, strict=True):
        of_policy = jobs.filter(pc.and_(pc.equal(jobs["policy"], name), pc.equal(jobs["episode"], GANTT_EPISODE)))
        if not len(of_policy):
            raise ClearschedError(f"{path}: differs from jobs.parquet: it has no episode {GANTT_EPISODE} of {name}")
        _draw_panel(axes, subject.shown(name).label, runs[name], of_policy, colours, num_executors)
        axes.set_xlim(0.0, 1.01 * last_s)
        axes.set_xlabel("time (s)")
    panels[0].set_ylabel("executor")
    _colour_bar(figure, panels, num_jobs)
    header = ["policy", "executor", "job", "start_s", "end_s", "num_tasks"]
    rows = [
        [name, *(column[i].item() for column in (run.executor, run.job, run.start_s, run.end_s, run.num_tasks))]
        for name, run in runs.items()
        for i in range(len(run.executor))
    ]
    return style.Drawing(figure, header, rows)


def job_colours(runs: Runs, num_jobs: int) -> npt.NDArray[np.float64]:
    """A colour for each job by its rank in executor time, float64[num_jobs, 4] (RGBA).

    The map runs from dark (least work) to light (most work) and is told apart with any colour blindness.
    """
    from matplotlib import colormaps

    busy_s = np.bincount(runs.job, weights=runs.end_s - runs.start_s, minlength=num_jobs)
    rank = np.argsort(np.argsort(busy_s, kind="stable"), kind="stable")
    return np.asarray(colormaps["viridis"](rank / max(num_jobs - 1, 1)))


def _draw_panel(axes: Axes, label: str, runs: Runs, jobs: pa.Table, colours: Any, num_executors: int) -> None:
    from matplotlib.collections import PolyCollection

    left, right = runs.start_s, runs.end_s
    bottom, top = runs.executor + ROW_GAP / 2, runs.executor + 1 - ROW_GAP / 2
    corners = np.stack([left, bottom, left, top, right, top, right, bottom], axis=1).reshape(-1, 4, 2)
    axes.add_collection(PolyCollection(list(corners), facecolors=colours[runs.job], edgecolors="none"))
    completion_s = jobs["arrival_s"].to_numpy() + jobs["jct_s"].to_numpy()
    # The completions stand above the executors, on a strip of their own, so that they hide no task.
    strip = 0.06 * num_executors
    axes.scatter(
        completion_s,
        np.full(len(completion_s), num_executors + strip),
        marker="v",
        s=22,
        c=colours[jobs["job"].to_numpy()],
        edgecolors=style.BLACK,
        linewidths=0.4,
        clip_on=False,
        zorder=3,
    )
    axes.set_ylim(0, num_executors + 2 * strip)
    ticks = np.arange(0, num_executors, max(1, -(-num_executors // 6)))
    axes.set_yticks(ticks + 0.5, [str(tick) for tick in ticks])
    mean = float(np.mean(jobs["jct_s"].to_numpy()))
    axes.set_title(f"{label}: mean JCT {mean:.1f} s", loc="left")


def _colour_bar(figure: Any, panels: Any, num_jobs: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(1, max(num_jobs, 2)), "viridis")
    bar = figure.colorbar(scale, ax=list(panels), orientation="horizontal", fraction=0.05, aspect=60, pad=0.02)
    bar.set_ticks([1, num_jobs] if num_jobs > 1 else [1])
    bar.set_label("job, by its work (1: least);  ▼ completion of a job", labelpad=-6)
    bar.outline.set_visible(False)
