"""The figures of a run: what executors did, JCT by policy, simulated against real."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearsched.engines.comparing import Compared, Ranking, Runs
from clearsched.engines.spark.measured import END, EXECUTED_BY, JOB, START
from clearsched.engines.spark.running import Results
from clearsched.engines.spark.text import AIM, shown
from clearsched.evaluation.policies import policies_of
from clearsched.figures import style
from clearsched.problems import find_problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 150
ROW_GAP = 0.12
"""Share of an executor's row that stays white between it and the next."""

MOST_PANELS = 6


def draw_all(results: Results, compared: Sequence[Compared], ranked: Ranking, out: Path) -> list[Path]:
    """Write gantt, jct and simulated_against_real as SVG, PNG and CSV."""
    figures: Mapping[str, tuple[str, Callable[[], style.Drawing]]] = {
        "gantt": ("what the executors of the real Spark did", lambda: gantt(results)),
        "jct": ("JCT by policy", lambda: jct(compared)),
        "simulated_against_real": ("simulated against real", lambda: scatter(results.runs, ranked)),
    }
    return [path for name, (title, draw) in figures.items() for path in style.draw_or_say(title, draw, out / name, DPI)]


def _looks(policy: str) -> dict[str, Any]:
    """The marker of a policy, as in all other figures."""
    known = policies_of(find_problem("dag_jobs"))
    kind, look = (
        (known[policy].kind, known[policy].look) if policy in known else ("student", style.Look(style.GREY, "h"))
    )
    return style.points(style.Shown(shown(policy), look, kind))


def gantt(results: Results) -> style.Drawing:
    """Which job every executor of the real Spark worked for in the first episode, a panel a policy."""
    policies = list(results.real)[:MOST_PANELS]
    first = {name: next(iter(results.real[name].values())) for name in policies}
    work_ms = np.array([job.work_ms for job in next(iter(results.jobs.values()))])
    last_s = max(float(episode.completion_ms.max()) for episode in first.values()) / 1000
    columns = 2 if len(policies) > 1 else 1
    rows = -(-len(policies) // columns)
    figure = style.new_figure(height_in=0.7 + 1.45 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    table: list[Sequence[Any]] = []
    for axes, name in zip(panels, policies, strict=False):
        tasks, jct_s = first[name].tasks, first[name].jct_s
        _bars(axes, tasks, first[name].completion_ms, work_ms)
        axes.set_title(f"{shown(name)}: mean JCT {jct_s.mean():.1f} s", loc="left")
        axes.set_xlim(0, 1.01 * last_s)
        table += [
            [name, *row]
            for row in zip(*(tasks[:, [EXECUTED_BY, JOB]].T), *(tasks[:, [START, END]].T / 1000), strict=True)
        ]
    for axes in panels[len(policies) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(policies) - columns) : len(policies)]:
        axes.set_xlabel("time (s)")
        axes.tick_params(labelbottom=True)
    for axes in panels[::columns]:
        axes.set_ylabel("executor")
    _colour_bar(figure, panels[: len(policies)], len(work_ms))
    return style.Drawing(figure, ["policy", "executor", "job", "start_s", "end_s"], table)


def _bars(axes: Axes, tasks: np.ndarray, completion_ms: np.ndarray, work_ms: np.ndarray) -> None:
    """A bar a task, in the colour of its job: the more work the job has, the lighter."""
    from matplotlib import colormaps
    from matplotlib.collections import PolyCollection

    rank = np.argsort(np.argsort(work_ms, kind="stable"), kind="stable")
    colours = np.asarray(colormaps["viridis"](rank / max(len(work_ms) - 1, 1)))
    left, right = tasks[:, START] / 1000, tasks[:, END] / 1000
    bottom, top = tasks[:, EXECUTED_BY] + ROW_GAP / 2, tasks[:, EXECUTED_BY] + 1 - ROW_GAP / 2
    corners = np.stack([left, bottom, left, top, right, top, right, bottom], axis=1).reshape(-1, 4, 2)
    axes.add_collection(
        PolyCollection(list(corners), facecolors=colours[tasks[:, JOB]], edgecolors="white", linewidths=0.25)
    )
    executors = int(tasks[:, EXECUTED_BY].max()) + 1
    strip = 0.09 * executors
    axes.scatter(
        completion_ms / 1000,
        np.full(len(completion_ms), executors + strip),
        marker="v",
        s=18,
        c=colours,
        edgecolors=style.BLACK,
        linewidths=0.4,
        clip_on=False,
        zorder=3,
    )
    axes.set_ylim(0, executors + 2 * strip)
    axes.set_yticks(np.arange(executors) + 0.5, [str(number) for number in range(executors)])


def _colour_bar(figure: Any, panels: Any, jobs: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(1, max(jobs, 2)), "viridis")
    bar = figure.colorbar(scale, ax=list(panels), orientation="horizontal", fraction=0.05, aspect=60, pad=0.02)
    bar.set_ticks([1, jobs] if jobs > 1 else [1])
    bar.set_label("job, by its work (1: least);  ▼ completion of a job", labelpad=-6)
    bar.outline.set_visible(False)


def jct(compared: Sequence[Compared]) -> style.Drawing:
    """Mean JCT by policy with its interval: on the real Spark, and what the simulator said beside it."""
    rows = sorted(compared, key=lambda row: row.real.mean)
    figure = style.new_figure(height_in=1.3 + 0.42 * len(rows))
    axes, differences = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for place, row in enumerate(rows):
        ends = [[row.real.mean - row.real.low], [row.real.high - row.real.mean]]
        axes.errorbar([row.real.mean], [place], xerr=ends, capsize=2.5, **_looks(row.policy))
        axes.plot([row.simulated.mean], [place + 0.24], "|", color=style.BLACK, markersize=8, markeredgewidth=1.6)
        if row.to_reference is not None:
            found = row.to_reference
            ends = [[found.mean - found.low], [found.high - found.mean]]
            differences.errorbar([found.mean], [place], xerr=ends, capsize=2.5, **_looks(row.policy))
    axes.set_yticks(range(len(rows)), [shown(row.policy) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_xlabel("mean JCT (s); | simulated")
    reference = next((row.policy for row in rows if row.to_reference is None), "")
    differences.axvline(0, color=style.BLACK, linewidth=0.9, zorder=0.5)
    differences.set_xlabel("paired difference (s)")
    differences.set_title(f"real, against {shown(reference)}", loc="left")
    axes.set_title("real Spark, 95 % CI over episodes", loc="left")
    for each in (axes, differences):
        style.grid(each, "x")
    header = ["policy", "real_s", "real_low_s", "real_high_s", "simulated_s"]
    table = [[row.policy, row.real.mean, row.real.low, row.real.high, row.simulated.mean] for row in rows]
    return style.Drawing(figure, header, table)


def scatter(runs: Mapping[str, Runs], ranked: Ranking) -> style.Drawing:
    """Simulated against real: of each job on logarithmic axes, of each episode's mean beside it."""
    figure = style.new_figure(height_in=4.2)
    of_jobs, of_episodes = figure.subplots(1, 2)
    table: list[Sequence[Any]] = []
    for name, one in runs.items():
        look = _looks(name)
        real, simulated = np.concatenate(one.real_s), np.concatenate(one.simulated_s)
        of_jobs.plot(real, simulated, linestyle="none", alpha=0.6, **(look | {"markersize": 3}))
        of_episodes.plot(one.real, one.simulated, linestyle="none", label=shown(name), **look)
        table += [[name, "job", *pair] for pair in zip(real, simulated, strict=True)]
        table += [[name, "episode", *pair] for pair in zip(one.real, one.simulated, strict=True)]
    for axes in (of_jobs, of_episodes):
        _diagonal(axes)
    of_jobs.set_xscale("log")
    of_jobs.set_yscale("log")
    of_jobs.set_title("jobs", loc="left")
    of_episodes.set_title(f"means of episodes; Kendall's tau of policies {ranked.tau:.2f}", loc="left")
    of_episodes.legend(loc="upper left")
    return style.Drawing(figure, ["policy", "of", "real_s", "simulated_s"], table)


def _diagonal(axes: Axes) -> None:
    """Where the two are equal, and where they differ by the aim."""
    low, high = min(axes.get_xlim()[0], axes.get_ylim()[0]), max(axes.get_xlim()[1], axes.get_ylim()[1])
    ends = np.array([max(low, 0.05), high])
    axes.plot(ends, ends, color=style.BLACK, linewidth=0.8, zorder=0.5)
    axes.fill_between(ends, ends * (1 - AIM), ends * (1 + AIM), color=style.GREY, alpha=0.25, linewidth=0, zorder=0.4)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_xlabel("JCT on the real Spark (s)")
    axes.set_ylabel("JCT in the simulator (s)")
    axes.set_aspect("equal")
