"""How far each policy is from the optimum, on small instances of which it is proved."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clearsched.figures import style
from clearsched.problems.dag_jobs.schemas import OPTIMALITY
from clearsched.schemas import read_table


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `optimality.parquet` and draw one row a policy: its gap on every instance, and the mean.

    Raises:
        NothingToDraw: no optimum was proved.
    """
    table, settings = read_table(results_dir / "optimality.parquet", OPTIMALITY)
    rows = [row for row in table.to_pylist() if row["proved"]]
    if not rows:
        raise style.NothingToDraw("of no instance the optimum was proved: give the solver more effort")
    gaps: dict[str, list[float]] = {}
    for row in rows:
        gaps.setdefault(row["policy"], []).append(row["gap_percent"])
    kinds = {row["policy"]: row["kind"] for row in rows}
    order = sorted(gaps, key=lambda name: (float(np.mean(gaps[name])), name))
    figure = style.new_figure(height_in=1.2 + 0.36 * len(order))
    axes = figure.subplots()
    most = max(1.0, *(max(of) for of in gaps.values()))
    for place, name in enumerate(order):
        shown, values = subject.shown(name, kinds[name]), np.array(gaps[name])
        axes.plot(values, np.full(len(values), place), "|", color=shown.look.colour, markersize=9, alpha=0.55)
        axes.plot([values.mean()], [place], linestyle="none", **style.points(shown, 8))
        told = f"{values.mean():.1f} %, optimal in {int((values < 1e-9).sum())}"
        axes.annotate(
            told, (1.0, place), xycoords=("axes fraction", "data"), xytext=(6, 0), textcoords="offset points",
            va="center", fontsize=8, annotation_clip=False,
        )  # fmt: skip
    axes.set_yticks(range(len(order)), [subject.shown(name, kinds[name]).label for name in order])
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(-0.02 * most, 1.04 * most)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("mean job completion time above the optimum (%)")
    proved, jobs = len({row["instance"] for row in rows}), sorted({row["jobs"] for row in rows})
    axes.set_title(
        f"{proved} instances of {jobs[0]} to {jobs[-1]} jobs on {settings['executors']} executors, optimum proved"
        f" (of {settings['instances']})",
        loc="left",
    )
    style.grid(axes, "x")
    header = list(OPTIMALITY.names)
    return style.Drawing(figure, header, [[row[name] for name in header] for row in table.to_pylist()])
