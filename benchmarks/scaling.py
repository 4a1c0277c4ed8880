"""How the simulator's cost grows: with the executors, and with the jobs that have finished. Curves and figures.

    python benchmarks/scaling.py [--profiles DIR_OR_TRACE] [--executors 5,10,...] [--jobs 1000,...] [--out FOLDER]

* CPU time of a task event for 5 to 10,000 executors under the fair heuristic: batches of 0.4 jobs an executor, as in
  setting (a), and at least 20, which keep the cluster busy; and the 20 jobs of (a) whatever the executors. log2 of the
  executors is drawn for comparison, through the lowest of the first points.
* CPU time of a task event, and memory, for a Poisson replay of up to 1,000,000 jobs on 50 executors at a load of 0.8.

Each point is measured in an own process, after an episode that compiles, so that memory is its own. Writes
`executors` and `jobs`, each as .png, .svg and .csv.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from settings import MOVING_DELAY_MS, RESULTS, SETTINGS, WARMUP_DELAY_MS, Setting, Stopwatch, command, load

from clearsched.figures import style
from clearsched.figures.settings import DEFAULT_DPI
from clearsched.problems.dag_jobs.problem import heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.replay import Chunk, ReplayStatistics, replay
from clearsched.problems.dag_jobs.simulator.simulate import simulate
from clearsched.problems.dag_jobs.workloads import executor_ms
from clearsched.problems.dag_jobs.workloads.arrivals import poisson

EXECUTORS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
JOBS = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
JOBS_PER_EXECUTOR = 0.4
REPLAY_EXECUTORS, REPLAY_LOAD = 50, 0.8


class Point(NamedTuple):
    """What was measured at one size."""

    curve: str
    executors: int
    jobs: int
    task_events: int
    cpu_s: float
    memory_mib: float  # by which the process grew beyond its peak before, that of importing and compiling

    @property
    def event_ns(self) -> float:
        """CPU nanoseconds of a task event."""
        return 1e9 * self.cpu_s / self.task_events


def batch_point(profiles: Profiles, curve: str, executors: int, jobs: int, cpu_seconds: float) -> Point:
    """Batches of `jobs` jobs on `executors` executors, until `cpu_seconds` have been spent."""
    policy, setting = heuristic("fair").compiled, Setting("a", jobs, executors, 0)
    simulate(profiles, SETTINGS["c"].episode(profiles.trace.num_profiles, 0, 0), policy)
    watch, tasks, before_mib, index = Stopwatch(), 0, peak_mib(), 0
    while index == 0 or watch.cpu_s < cpu_seconds:
        workload = setting.episode(profiles.trace.num_profiles, 0, index)
        with watch.running():
            tasks += simulate(profiles, workload, policy).num_tasks
        index += 1
    return Point(curve, executors, jobs, tasks, watch.cpu_s, peak_mib() - before_mib)


def replay_point(profiles: Profiles, curve: str, executors: int, jobs: int, cpu_seconds: float) -> Point:
    """One replay of `jobs` jobs that arrive at random, at a load of `REPLAY_LOAD`."""
    gap_ms = float(executor_ms(profiles, executors, MOVING_DELAY_MS).mean() / (REPLAY_LOAD * executors))
    run_replay(profiles, 100, gap_ms, executors)
    watch, before_mib = Stopwatch(), peak_mib()
    with watch.running():
        statistics = run_replay(profiles, jobs, gap_ms, executors)
    return Point(curve, executors, jobs, statistics.num_tasks, watch.cpu_s, peak_mib() - before_mib)


def run_replay(profiles: Profiles, jobs: int, gap_ms: float, executors: int) -> ReplayStatistics:
    """Replay `jobs` jobs under the fair heuristic, one every `gap_ms` on average."""
    return replay(
        profiles,
        poisson_jobs(profiles.trace.num_profiles, jobs, gap_ms),
        heuristic("fair").compiled,
        num_executors=executors,
        moving_delay_ms=MOVING_DELAY_MS,
    )


def poisson_jobs(num_profiles: int, jobs: int, gap_ms: float, size: int = 4096) -> Iterator[Chunk]:
    """Jobs of profiles drawn evenly that arrive at random; in chunks, so that none is kept."""
    generator, last_ms = np.random.default_rng(0), -gap_ms
    for first in range(0, jobs, size):
        count = min(size, jobs - first)
        arrival_ms = round(last_ms + gap_ms) + poisson(generator, count, gap_ms)
        last_ms = arrival_ms[-1]
        yield generator.integers(num_profiles, size=count), arrival_ms


def peak_mib() -> float:
    """Most memory that this process has used, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(point: Callable[..., Point], path: Path | None, *arguments: Any) -> Point:
    """Measure a point in a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        measured = pool.submit(_measure, point, path, arguments).result()
    print(
        f"{measured.curve:<24}{measured.executors:>8,} executors {measured.jobs:>10,} jobs "
        f"{measured.event_ns:>8.0f} ns/event {measured.cpu_s:>8.2f} CPU s {measured.memory_mib:>8.1f} MiB",
        flush=True,
    )
    return measured


def _measure(point: Callable[..., Point], path: Path | None, arguments: Sequence[Any]) -> Point:
    return point(compile_profiles(load(path), WARMUP_DELAY_MS), *arguments)


def executor_curves(path: Path | None, executors: Sequence[int], cpu_seconds: float) -> list[Point]:
    """The cost at each number of executors, with jobs in proportion and with 20 jobs."""
    points = []
    for number in executors:
        jobs = max(SETTINGS["a"].jobs, round(JOBS_PER_EXECUTOR * number))
        points.append(in_own_process(batch_point, path, "jobs in proportion", number, jobs, cpu_seconds))
        points.append(in_own_process(batch_point, path, "20 jobs", number, SETTINGS["a"].jobs, cpu_seconds))
    return points


def job_curve(path: Path | None, jobs: Sequence[int]) -> list[Point]:
    """The cost of each length of the replay."""
    return [in_own_process(replay_point, path, "replay", REPLAY_EXECUTORS, number, 0.0) for number in jobs]


def draw_executors(points: Sequence[Point]) -> style.Drawing:
    """CPU time of a task event against the executors."""
    figure = style.new_figure(3.4, 5.0)
    axes = figure.subplots()
    for curve, colour, marker in (("jobs in proportion", style.BLUE, "o"), ("20 jobs", style.ORANGE, "s")):
        own = [point for point in points if point.curve == curve]
        label = "0.4 jobs an executor" if curve == "jobs in proportion" else curve
        axes.plot([p.executors for p in own], [p.event_ns for p in own], color=colour, marker=marker, label=label)
    number = np.array(sorted({point.executors for point in points}))
    lowest_ns = min(point.event_ns for point in points if point.executors == number[0])
    axes.plot(
        number,
        lowest_ns / np.log2(number[0]) * np.log2(number),
        color=style.GREY,
        linestyle="--",
        label="log₂ of the executors",
    )
    _axes(axes, "executors", "CPU time of a task event (ns)")
    axes.legend()
    return _drawing(figure, points)


def draw_jobs(points: Sequence[Point]) -> style.Drawing:
    """CPU time of a task event, and memory, against the jobs that have finished."""
    figure = style.new_figure(3.2)
    cost, memory = figure.subplots(1, 2)
    jobs = [point.jobs for point in points]
    cost.plot(jobs, [point.event_ns for point in points], color=style.BLUE, marker="o")
    memory.plot(jobs, [point.memory_mib for point in points], color=style.BLUE, marker="o")
    _axes(cost, "jobs finished", "CPU time of a task event (ns)")
    _axes(memory, "jobs finished", "memory by which the process grows (MiB)")
    memory.set_ylim(top=max(10.0, 1.15 * memory.dataLim.ymax))
    return _drawing(figure, points)


def _axes(axes: Any, x: str, y: str) -> None:
    axes.set_xscale("log")
    axes.set_ylim(0, 1.15 * axes.dataLim.ymax or 1.0)  # memory may not grow at all
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    style.grid(axes, "both")


def _drawing(figure: Any, points: Sequence[Point]) -> style.Drawing:
    return style.Drawing(figure, (*Point._fields, "event_ns"), [(*point, point.event_ns) for point in points])


def numbers(text: str) -> list[int]:
    """A list such as `5,10,20`."""
    return [int(part) for part in text.split(",") if part]


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    drawings = {}
    with matplotlib.rc_context(style.RC):
        if arguments.executors:
            points = executor_curves(arguments.profiles, arguments.executors, arguments.cpu_seconds)
            drawings["executors"] = draw_executors(points)
        if arguments.jobs:
            drawings["jobs"] = draw_jobs(job_curve(arguments.profiles, arguments.jobs))
        for name, drawing in drawings.items():
            for path in style.save(drawing, arguments.out / name, DEFAULT_DPI):
                print(path)


if __name__ == "__main__":
    command(
        __doc__,
        main,
        cpu_seconds=1.0,
        executors={"type": numbers, "default": EXECUTORS, "help": "numbers of executors, separated by commas"},
        jobs={"type": numbers, "default": JOBS, "help": "lengths of the replay, in jobs"},
        out={"type": Path, "default": RESULTS, "help": "folder of the figures (%(default)s)"},
    )
