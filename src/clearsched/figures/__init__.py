"""Figures: each module reads result files and draws one picture, with the data behind it as CSV.

A figure never runs anything: delete the folder `figures` and it is drawn again from the files of the other stages.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError
from clearsched.figures.settings import DEFAULT_DPI
from clearsched.registry import load

NAMES = ("jct_by_policy", "jct_cdf", "gantt", "learning_curve", "rules", "dag_gallery", "job_sizes", "arrivals")
"""The figures; each is a module of this package with a function `draw(results_dir) -> Drawing`."""

OF_SOURCES = {"published_quantiles": ("alibaba-like",)}
"""Figures that only some sources of jobs have."""

OF_TRACES = ("dag_gallery", "job_sizes", "arrivals", "published_quantiles")
"""Figures that show a trace: their modules have a function `draw_trace(measured) -> Drawing` too."""

INPUTS = {
    "jct_by_policy": ("evaluation/comparison.parquet",),
    "jct_cdf": ("evaluation/jobs.parquet", "evaluation/episodes.parquet"),
    "gantt": ("evaluation/tasks.parquet", "evaluation/jobs.parquet"),
    "learning_curve": ("teacher/learning_curve.parquet",),
    "rules": ("students/rule_list.json",),
    "dag_gallery": ("traces/trace.parquet",),
    "job_sizes": ("traces/trace.parquet",),
    "arrivals": ("traces/trace.parquet", "traces/workloads.parquet"),
    "published_quantiles": ("traces/trace.parquet",),
}
"""The files below `results/<scenario>/` that each figure reads, for the workflow's rules."""


def draw(name: str, results_dir: str | Path, params: Mapping[str, Any] | None = None) -> list[Path]:
    """Draw one figure from the files of a scenario and write `figures/<name>.svg`, `.png` and `.csv` below it.

    Args:
        name: one of `NAMES` or `OF_SOURCES`.
        results_dir: folder of the scenario, `results/<scenario>`.
        params: settings of the stage; `figures.dpi` is the resolution of the PNG, dots an inch.

    Returns:
        The three paths.

    Raises:
        ClearschedError: the figure is unknown, or a file it reads is missing or not of its schema.
    """
    _known(name, (*NAMES, *OF_SOURCES))
    import matplotlib

    from clearsched.figures import style

    section = (params or {}).get("figures") or {}
    results_dir = Path(results_dir)
    module = importlib.import_module(_module(name))
    with matplotlib.rc_context(style.RC):
        drawing = module.draw(results_dir)
        return style.save(drawing, results_dir / "figures" / name, int(section.get("dpi", DEFAULT_DPI)))


def draw_trace(
    path: str | Path, folder: str | Path, names: Sequence[str] | None = None, dpi: int = DEFAULT_DPI
) -> list[Path]:
    """Draw a trace into a folder: `<name>.svg`, `.png` and `.csv` of each figure.

    Args:
        path: a trace, Parquet.
        folder: made if it is not there.
        names: of `OF_TRACES`; None for all that the trace has the data for.
        dpi: resolution of the PNG, dots an inch.

    Returns:
        The paths.

    Raises:
        ClearschedError: the figure is unknown, the file is no trace, or lacks what a figure asked for shows.
    """
    for name in names or ():
        _known(name, OF_TRACES)
    import matplotlib

    from clearsched.figures import style
    from clearsched.problems.dag_jobs.figures import FIGURES

    # All figures of a trace read it once.
    wanted = [FIGURES[name] for name in names or OF_TRACES]
    measured = {reader: load(reader)(path) for reader in dict.fromkeys(figure.measure for figure in wanted)}
    written = []
    for figure in wanted:
        module, seen = importlib.import_module(figure.module), measured[figure.measure]
        applies = getattr(module, "applies", None)
        if not names and applies is not None and not applies(seen):
            continue
        with matplotlib.rc_context(style.RC):
            written += style.save(module.draw_trace(seen), Path(folder) / figure.name, dpi)
    return written


def compare(folders: Sequence[str | Path], out: str | Path, dpi: int = DEFAULT_DPI) -> list[Path]:
    """Draw the evaluations of several scenarios side by side: `data_sets.svg`, `.png` and `.csv` in the folder `out`.

    Args:
        folders: `results/<scenario>` each.
        out: made if it is not there.
        dpi: resolution of the PNG, dots an inch.

    Raises:
        ClearschedError: a folder has no evaluation, or two have the same name.
    """
    import matplotlib

    from clearsched.figures import data_sets, style

    with matplotlib.rc_context(style.RC):
        drawing = data_sets.draw_folders([Path(folder) for folder in folders])
        return style.save(drawing, Path(out) / "data_sets", dpi)


def _known(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise ClearschedError(f"figures: unknown figure {name!r}; known are {', '.join(names)}")


def _module(name: str) -> str:
    from clearsched.problems.dag_jobs.figures import FIGURES

    return FIGURES[name].module if name in FIGURES else f"clearsched.figures.{name}"
