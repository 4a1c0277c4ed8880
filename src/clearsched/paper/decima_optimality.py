"""Decima, its comparison with the optimum: how far policies are from it on small instances."""

from __future__ import annotations

import numpy as np

from clearsched.evaluation.statistics import Interval, bootstrap_mean, generator
from clearsched.figures import style
from clearsched.paper.marks import dots
from clearsched.paper.material import HEADER, Material, row
from clearsched.paper.optima import OPTIMALITY
from clearsched.schemas import read_table

FILE = "paper/optimality.parquet"


def draw(material: Material) -> style.Drawing:
    """A row a policy: its mean gap over the instances whose optimum is proved, and in how many it is optimal.

    Raises:
        NothingToDraw: the solver is not installed, or no optimum was proved.
    """
    table, told = read_table(material.file("batch", FILE), OPTIMALITY)
    if told.get("missing"):
        raise style.NothingToDraw(f"{told['missing']}; then delete {FILE} of the base batch and draw it again")
    proved = [each for each in table.to_pylist() if each["proved"]]
    if not proved:
        raise style.NothingToDraw("of no instance the optimum was proved")
    kinds = {each["policy"]: each["kind"] for each in proved}
    gaps = {name: np.array([each["gap_percent"] for each in proved if each["policy"] == name]) for name in kinds}
    bootstrap = material.bootstrap
    means: dict[str, Interval] = {
        name: bootstrap_mean(
            gaps[name],
            generator(bootstrap.seed, "paper", "optimality", name),
            bootstrap.confidence,
            bootstrap.resamples,
        )
        for name in sorted(gaps, key=lambda name: (float(gaps[name].mean()), name))
    }
    figure = style.new_figure(height_in=1.3 + 0.26 * len(means))
    axes = figure.subplots()
    dots(axes, means, kinds, material.subject, "{:.1f} %")
    axes.set_xlabel("mean JCT above the optimum (%)")
    count = len({each["instance"] for each in proved})
    sizes = sorted({each["jobs"] for each in proved})
    axes.set_title(
        f"{count} instances of {sizes[0]} to {sizes[-1]} jobs on {told['executors']} executors, optimum proved "
        f"(of {told['instances']})",
        loc="left",
    )
    rows = [row("gap_percent", name, kinds[name], "", means[name]) for name in means]
    rows += [row("optimal_share", name, kinds[name], "", float((gaps[name] < 1e-9).mean())) for name in means]
    rows.append(row("instances_proved", "", "", "", float(count)))
    return style.Drawing(figure, HEADER, rows)
