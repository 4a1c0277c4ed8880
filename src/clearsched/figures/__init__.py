"""Figures: each module reads result files and draws one picture, with the data behind it as CSV.

A figure never runs anything: delete the folder `figures` and it is drawn again from the files of the other stages.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearsched.errors import ClearschedError

NAMES = ("jct_by_policy", "jct_cdf", "gantt", "learning_curve", "rules")
"""The figures; each is a module of this package with a function `draw(results_dir) -> Drawing`."""

INPUTS = {
    "jct_by_policy": ("evaluation/comparison.parquet",),
    "jct_cdf": ("evaluation/jobs.parquet", "evaluation/episodes.parquet"),
    "gantt": ("evaluation/tasks.parquet", "evaluation/jobs.parquet"),
    "learning_curve": ("teacher/learning_curve.parquet",),
    "rules": ("students/rule_list.json",),
}
"""The files below `results/<scenario>/` that each figure reads, for the workflow's rules."""


def draw(name: str, results_dir: str | Path, params: Mapping[str, Any] | None = None) -> list[Path]:
    """Draw one figure from the files of a scenario and write `figures/<name>.svg`, `.png` and `.csv` below it.

    Args:
        name: one of `NAMES`.
        results_dir: folder of the scenario, `results/<scenario>`.
        params: settings of the stage; `figures.dpi` is the resolution of the PNG, dots an inch.

    Returns:
        The three paths.

    Raises:
        ClearschedError: the figure is unknown, or a file it reads is missing or not of its schema.
    """
    if name not in NAMES:
        raise ClearschedError(f"figures: unknown figure {name!r}; known are {', '.join(NAMES)}")
    import matplotlib

    from clearsched.figures import style

    section = (params or {}).get("figures") or {}
    results_dir = Path(results_dir)
    module = importlib.import_module(f"clearsched.figures.{name}")
    with matplotlib.rc_context(style.RC):
        drawing = module.draw(results_dir)
        return style.save(drawing, results_dir / "figures" / name, int(section.get("dpi", style.DEFAULT_DPI)))
