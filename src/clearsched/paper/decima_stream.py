"""Decima, fig. 9b and 10a, b: mean JCT of all policies on streams, and what happens in a busy period."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clearsched.figures import style
from clearsched.paper.decima_batch import rows_of
from clearsched.paper.marks import dots, shown_of
from clearsched.paper.material import HEADER, Material, Runs, row

POINTS = 240
"""Times at which a busy period is told."""

SHARE = 0.4
"""Of an episode, that the busy period takes."""

MARKERS = 10
"""On each line."""


class Period(NamedTuple):
    """The busy period of an episode."""

    episode: int
    begin_s: float
    end_s: float


def draw(material: Material) -> style.Drawing:
    """Mean JCTs with intervals; the number of jobs in the system and the JCT of those that arrive, over time."""
    runs, subject = material.runs("stream"), material.subject
    figure = style.new_figure(height_in=2.0 + 0.24 * len(runs.kinds))
    grid = figure.add_gridspec(2, 2, width_ratios=[1.0, 1.3])
    left = figure.add_subplot(grid[:, 0])
    jobs = figure.add_subplot(grid[0, 1])
    jct = figure.add_subplot(grid[1, 1], sharex=jobs)
    dots(left, {name: runs.mean(name) for name in runs.means}, runs.kinds, subject)
    left.set_xlabel("mean JCT (s)")
    left.set_title(f"{len(runs.by_episode('fair'))} streams", loc="left")
    period = busiest(runs)
    times = np.linspace(period.begin_s, period.end_s, POINTS)
    rows = rows_of(runs)
    for name in shown_of(runs.kinds, without=("fifo",), students=1):
        shown = subject.shown(name, runs.kinds[name])
        arrival, span = _of_episode(runs, name, period.episode)
        there = in_system(arrival, span, times)
        jobs.plot(times, there, label=shown.label, **_line(shown, len(times)))
        seen = (arrival >= period.begin_s) & (arrival <= period.end_s)
        smooth = moving_mean(span[seen], 7)
        jct.plot(arrival[seen], smooth, **_line(shown, len(smooth)))
        rows += [
            row("jobs_in_system", name, shown.kind, float(at), float(n)) for at, n in zip(times, there, strict=True)
        ]
        rows += [
            row("jct_s_by_arrival", name, shown.kind, float(at), float(value))
            for at, value in zip(arrival[seen], span[seen], strict=True)
        ]
    jobs.set_ylabel("jobs in the system")
    jobs.set_title(f"busiest part of stream {period.episode}", loc="left")
    jobs.tick_params(axis="x", labelbottom=False)
    jct.set_ylabel("JCT (s),\nmean of 7 arrivals")
    jct.set_xlabel("time (s)")
    for axes in (jobs, jct):
        style.grid(axes, "both")
        axes.set_ylim(bottom=0)
    figure.legend(*jobs.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=7)
    return style.Drawing(figure, HEADER, rows)


def _line(shown: style.Shown, count: int) -> dict[str, Any]:
    """For `plot`, of `count` values: with a marker now and then, since two policies may share a colour."""
    dashes = style.KIND_DASHES[shown.kind]
    return style.points(shown, size=4.0) | {"linestyle": dashes, "markevery": max(1, count // MARKERS)}


def busiest(runs: Runs) -> Period:
    """The part of an episode in which most jobs are in the system under fair, of all episodes."""
    found, most = Period(0, 0.0, 1.0), -1.0
    for episode in range(len(runs.by_episode("fair"))):
        arrival, span = _of_episode(runs, "fair", episode)
        length = SHARE * float(arrival.max())
        for begin in np.linspace(0.0, float(arrival.max()) - length, 13):
            mean = float(in_system(arrival, span, np.linspace(begin, begin + length, 60)).mean())
            if mean > most:
                found, most = Period(episode, float(begin), float(begin) + length), mean
    return found


def in_system(arrival_s: np.ndarray, jct_s: np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """int64[T]: jobs that have arrived and not completed at each time."""
    arrived = np.searchsorted(np.sort(arrival_s), times_s, side="right")
    gone = np.searchsorted(np.sort(arrival_s + jct_s), times_s, side="right")
    return np.asarray(arrived - gone)


def moving_mean(values: np.ndarray, width: int) -> np.ndarray:
    """float64[n]: of each value and its neighbours, `width` of them; fewer at the ends."""
    total, place = np.append(0.0, np.cumsum(values)), np.arange(len(values))
    first, last = np.maximum(place - width // 2, 0), np.minimum(place + width // 2 + 1, len(values))
    return np.asarray((total[last] - total[first]) / (last - first))


def _of_episode(runs: Runs, policy: str, episode: int) -> tuple[np.ndarray, np.ndarray]:
    rows = runs.column(policy, "episode") == episode
    return runs.column(policy, "arrival_s")[rows], runs.column(policy, "jct_s")[rows]
