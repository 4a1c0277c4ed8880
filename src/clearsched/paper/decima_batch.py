"""Decima, fig. 9a: mean JCT of all policies on batches of jobs; and on jobs like those of an industrial trace."""

from __future__ import annotations

import numpy as np

from clearsched.figures import style
from clearsched.paper.marks import distribution, dots, logarithmic, shown_of
from clearsched.paper.material import HEADER, YARDSTICK, Material, Runs, row


def draw(material: Material) -> style.Drawing:
    """See `draw_means`."""
    return draw_means(material, "batch", ("batch", "batches"))


def draw_industrial(material: Material) -> style.Drawing:
    """See `draw_means`; few jobs take most of the time there, so episodes differ by much."""
    return draw_means(material, "industrial", ("stream", "streams"), few_large=True)


def draw_means(material: Material, experiment: str, word: tuple[str, str], few_large: bool = False) -> style.Drawing:
    """The mean JCT of each policy with its intervals; beside it, how those of the episodes are distributed.

    Args:
        material: what there is.
        experiment: whose.
        word: for an episode, and for several.
        few_large: whether the axes are logarithmic.
    """
    runs, subject = material.runs(experiment), material.subject
    figure = style.new_figure(height_in=1.5 + 0.24 * len(runs.kinds))
    left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
    dots(left, {name: runs.mean(name) for name in runs.means}, runs.kinds, subject)
    left.set_xlabel("mean JCT (s)")
    left.set_title(f"{len(runs.by_episode(YARDSTICK))} {word[1]}", loc="left")
    names = shown_of(runs.kinds)
    for place, name in enumerate(names):
        shown = subject.shown(name, runs.kinds[name])
        distribution(right, runs.by_episode(name), shown, place / len(names))
    right.set_xlabel(f"mean JCT of a {word[0]} (s)")
    right.set_ylabel(f"share of the {word[1]}")
    right.set_ylim(0.0, 1.0)
    style.grid(right, "both")
    if few_large:
        logarithmic(left)
        logarithmic(right, subs=(1.0,))  # it spans decades: the labels between would lie on each other
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return style.Drawing(figure, HEADER, [*rows_of(runs), *_by_episode(runs)])


def rows_of(runs: Runs) -> list[list[object]]:
    """Of each policy: mean JCT, the paired difference to tuned weighted fair, how many times its and fair's it is."""
    rows = [row("mean_jct_s", name, runs.kinds[name], "", runs.mean(name)) for name in runs.means]
    rows += [
        row("difference_percent", name, runs.kinds[name], YARDSTICK, runs.difference(name, YARDSTICK))
        for name in runs.means
        if name != YARDSTICK
    ]
    rows += [
        row("ratio", name, runs.kinds[name], other, runs.ratio(name, other))
        for other in ("fair", YARDSTICK)
        for name in runs.means
    ]
    return rows


def _by_episode(runs: Runs) -> list[list[object]]:
    return [
        row("episode_jct_s", name, runs.kinds[name], episode, float(value))
        for name in runs.means
        for episode, value in enumerate(np.asarray(runs.by_episode(name)))
    ]
