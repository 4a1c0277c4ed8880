"""Distribution of the job completion times of every policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clearsched import schemas
from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.problems.dag_jobs.schemas import JOBS
from clearsched.schemas import read_table


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `evaluation/jobs.parquet` (kinds from `episodes.parquet`) and draw one curve a policy."""
    path = results_dir / "evaluation" / "jobs.parquet"
    table, _ = read_table(path, JOBS)
    episodes, _ = read_table(
        results_dir / "evaluation" / "episodes.parquet", schemas.episodes(subject.problem.measures)
    )
    kinds = dict(zip(episodes["policy"].to_pylist(), episodes["kind"].to_pylist(), strict=True))
    if not len(table):
        raise ClearschedError(f"{path}: no jobs; run the evaluation again")
    policy = np.array(table["policy"].to_pylist())
    jct_s = table["jct_s"].to_numpy()
    curves = {name: np.sort(jct_s[policy == name]) for name in dict.fromkeys(policy.tolist())}
    order = sorted(curves, key=lambda name: (float(np.median(curves[name])), name))

    figure = style.new_figure(height_in=4.2)
    axes = figure.subplots()
    for place, name in enumerate(order):
        values = curves[name]
        shown = subject.shown(name, kinds.get(name, "heuristic"))
        axes.plot(
            np.append(values, values[-1]),
            np.append(np.arange(len(values)), len(values)) / len(values),
            drawstyle="steps-post",
            linestyle=style.KIND_DASHES.get(shown.kind, "-"),
            linewidth=1.3 if shown.kind == "heuristic" else 1.9,
            markevery=(
                0.06 + 0.2 * place / len(order),
                0.2,
            ),  # each policy's at other places, told as parts of the axes
            label=f"{shown.label}: {np.median(values):.3g} / {np.percentile(values, 95):.3g}",
            **style.points(shown, 5),
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("job completion time (s), logarithmic")
    axes.set_ylabel("share of jobs completed")
    axes.set_ylim(0.0, 1.0)
    axes.set_title(f"{len(curves[order[0]]):,} jobs of the test episodes, by policy", loc="left")
    style.grid(axes, "both")
    figure.legend(title="median / 95th percentile (s)", loc="outside right center", alignment="left", title_fontsize=8)
    rows = [
        [name, kinds.get(name, "heuristic"), float(value), (place + 1) / len(curves[name])]
        for name in order
        for place, value in enumerate(curves[name])
    ]
    return style.Drawing(figure, ["policy", "kind", "jct_s", "share_of_jobs"], rows)
