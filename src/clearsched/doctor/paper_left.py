"""How far `make paper` has come, and how long what is left will take: projected, corrected by what was measured.

What is done is told by the benchmarks that Snakemake writes when a job has ended (a job at work counts as not begun),
and by its plan, which the workflow leaves here when it starts: what it runs again is not done before it has run again.
"""

from __future__ import annotations

import contextlib
import csv
import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from clearsched.doctor import costs
from clearsched.doctor.paper_jobs import SCALE, Job, jobs_of
from clearsched.documents import read_json
from clearsched.errors import ClearschedError
from clearsched.files import write_json
from clearsched.paper.bases import BASES, PROBLEM, scenario_name
from clearsched.params import Params, defaults, load, load_stage

PLAN = ".paper_plan.json"
"""Below results/: which jobs Snakemake was asked for last, and which of them it had to run."""

TRUSTED_S = 300.0
"""CPU seconds: as if so many had been measured at the projected speed. Few measured ones correct little by that."""

LOOK_S = 1.0
"""Seconds between two looks at whether a run has ended."""

YOUNGER_S = 2.0
"""Seconds by which the times of files may be off: some file systems count whole ones."""

SAMPLED_S, THEN_S = 15.0, 30.0
"""Snakemake looks at a job's CPU time every half second as long, then each time after so many seconds."""


class Plan(NamedTuple):
    """What Snakemake had before it when it started.

    Attributes:
        at_s: when, seconds since 1970; benchmarks that are younger were written since.
        asked: benchmarks of the jobs that the targets need.
        run: those of them that were to run.
    """

    at_s: float
    asked: frozenset[str]
    run: frozenset[str]


class Left(NamedTuple):
    """How far it has come.

    Attributes:
        jobs: all of them.
        done: of these.
        spent_s: CPU seconds measured of what is done.
        speed: CPU seconds measured, next to those projected for the same jobs; 1 where nothing was measured.
        cpu_s: CPU seconds that are left, by stage.
        longest_s: those of the longest job that is left: no number of cores makes it shorter.
        low_s, high_s: the least and the most that `cpu_s` may come to.
    """

    jobs: int
    done: int
    spent_s: float
    speed: float
    cpu_s: dict[str, float]
    longest_s: float
    low_s: float
    high_s: float

    def wall_s(self, cores: float) -> tuple[float, float, float]:
        """Seconds on so many cores that nobody else uses: projected, the least and the most."""
        total = sum(self.cpu_s.values())
        held = sum(costs.held_s(stage, cpu_s, cores) for stage, cpu_s in self.cpu_s.items())
        wall = max(held / max(cores, 1.0), self.longest_s)
        return wall, wall * self.low_s / total, wall * self.high_s / total


def of_paper(own: Params, results: Path, asked: Collection[str] | None = None, loop: float | None = None) -> Left:
    """How far the scale paper has come.

    Args:
        own: the user's params; seed and section `paper` count.
        results: the folder of the results.
        asked: benchmarks of the jobs that count; None: all.
        loop: as in `costs.of_run`.
    """
    jobs = [job for job in jobs_of(own) if asked is None or job.benchmark in asked]
    loop = costs.loop_s() if loop is None else loop
    done = finished(jobs, results)
    projected = {job.benchmark: sum(costs.cost_of({job.stage: job.work}, loop).cpu_s.values()) for job in jobs}
    return _left(jobs, done, projected)


def finished(jobs: Iterable[Job], results: Path) -> dict[str, float | None]:
    """By the benchmark of each job that is done its CPU seconds; None where they were not measured."""
    plan, found = read_plan(results), {}
    for job in jobs:
        path = results / job.benchmark
        there = path.is_file() and not (job.benchmark in plan.run and path.stat().st_mtime < plan.at_s)
        if there or job.benchmark in plan.asked - plan.run:
            found[job.benchmark] = measured_s(path)
    return found


def measured_s(benchmark: Path) -> float | None:
    """CPU seconds of a job; None where its benchmark has none.

    What the job took since Snakemake last looked is missing there: the rest is taken to have gone on alike.
    """
    try:
        with benchmark.open(encoding="utf-8", newline="") as stream:
            row = next(csv.DictReader(stream, delimiter="\t"))
        lasted_s, cpu_s = float(row["s"]), float(row["cpu_time"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration, csv.Error):
        return None
    if not (0 <= lasted_s < float("inf") and 0 <= cpu_s < float("inf")):
        return None
    looked_s = SAMPLED_S + THEN_S * ((lasted_s - SAMPLED_S) // THEN_S)
    return cpu_s * lasted_s / looked_s if lasted_s > SAMPLED_S else cpu_s


def _left(jobs: Sequence[Job], done: Mapping[str, float | None], projected: Mapping[str, float]) -> Left:
    """`projected`: CPU seconds of each job, by its benchmark."""
    known: dict[str, float] = defaultdict(float)
    foretold: dict[str, float] = defaultdict(float)
    for job in jobs:
        spent = done.get(job.benchmark)
        if spent is not None:
            known[job.stage] += spent
            foretold[job.stage] += projected[job.benchmark]
    known_s, foretold_s = sum(known.values()), sum(foretold.values())
    overall = _speed(known_s, foretold_s, 1.0)
    speeds = {job.stage: _speed(known[job.stage], foretold[job.stage], overall) for job in jobs}
    rest = [(job.stage, speeds[job.stage] * projected[job.benchmark]) for job in jobs if job.benchmark not in done]
    cpu_s: dict[str, float] = defaultdict(float)
    low_s = high_s = 0.0
    for stage, seconds in rest:
        within = _within(foretold[stage])
        cpu_s[stage] += seconds
        low_s, high_s = low_s + seconds / within, high_s + seconds * within
    longest_s = max((seconds for _, seconds in rest), default=0.0)
    speed = known_s / foretold_s if foretold_s else 1.0
    return Left(len(jobs), len(done), known_s, speed, dict(cpu_s), longest_s, low_s, high_s)


def _speed(known_s: float, foretold_s: float, before: float) -> float:
    """CPU seconds measured next to those projected, `before` as long as little was measured."""
    return (known_s + TRUSTED_S * before) / (foretold_s + TRUSTED_S)


def _within(foretold_s: float) -> float:
    """By what factor a stage may still be wrong: the recorded one, its root once most was measured."""
    share = foretold_s / (foretold_s + TRUSTED_S)
    within: float = costs.table()["within"]
    return within ** (1 - share / 2)


def told(left: Left, cores: float) -> list[str]:
    """A line of what is done and left; one of what takes longest, as long as anything is left."""
    count = f"{left.done or 'none'} of {left.jobs} jobs done"
    spent = f", {in_cpu(left.spent_s)} spent" if left.done else ""
    if left.done == left.jobs:
        return [f"paper: all {left.jobs} jobs done{spent}; nothing is left"]
    wall, low, high = map(costs.lasts, left.wall_s(cores))
    rest = f"about {wall} left on {cores:g} free cores ({low} to {high}), projected"
    most = sorted(left.cpu_s.items(), key=lambda item: -item[1])[:3]
    longest = ", ".join(f"{stage} {in_cpu(seconds)}" for stage, seconds in most)
    so_far = f"; so far {left.speed:.2g} times the CPU time projected" if left.spent_s >= TRUSTED_S else ""
    return [f"paper: {count}{spent}; {rest}", f"paper: most of it {longest}{so_far}"]


def in_cpu(seconds: float) -> str:
    """CPU time in the unit that suits it."""
    number, unit = costs.lasts(seconds).split()
    return f"{number} CPU {unit}"


def at_start(own: Params, results: Path, planned: Mapping[str, bool], cores: float) -> list[str]:
    """What is told as Snakemake starts, of the targets that it was asked for; its plan is kept beside.

    Args:
        own: the user's params.
        results: the folder of the results, as Snakemake names it.
        planned: by the benchmark of each job that the targets need whether it will run.
        cores: of the run.

    Raises:
        ClearschedError: the plan can't be written; that of an earlier run is gone then.
    """
    (results / PLAN).unlink(missing_ok=True)
    below = {Path(path).relative_to(results).as_posix(): runs for path, runs in planned.items()}
    keep_plan(results, below, [path for path, runs in below.items() if runs])
    left = of_paper(own, results, below)
    return told(left, cores) if left.done < left.jobs else []


def params_of(results: Path) -> Params:
    """The user's params: as the workflow wrote them when it started last, else of params.yaml, else the defaults.

    Raises:
        ClearschedError: params.yaml is broken.
    """
    written = results / scenario_name(SCALE, next(iter(BASES))) / "params" / "paper.json"
    with contextlib.suppress(ClearschedError):  # not there, or of another version
        return load_stage(written, "paper")
    own = Path("params.yaml")
    return load(own) if own.is_file() else defaults(PROBLEM)


def turns(every_s: float) -> Iterator[None]:
    """One each time that so many seconds have gone by, until whoever started this process has ended."""
    parent, due_s = os.getppid(), time.monotonic() + every_s
    while os.getppid() == parent:
        if time.monotonic() >= due_s:
            yield
            due_s += every_s
        time.sleep(LOOK_S)


def keep_plan(results: Path, asked: Iterable[str], run: Iterable[str]) -> None:
    """Write down what Snakemake has before it.

    Args:
        results: the folder of the results.
        asked: benchmarks of the jobs that the targets need, below `results`.
        run: those of them that will run.

    Raises:
        ClearschedError: it can't be written.
    """
    write_json(results / PLAN, {"at_s": time.time() - YOUNGER_S, "asked": sorted(asked), "run": sorted(run)})


def read_plan(results: Path) -> Plan:
    """What Snakemake had before it when it started last; empty where that is not known."""
    try:
        told = read_json(results / PLAN)
        return Plan(float(told["at_s"]), frozenset(told["asked"]), frozenset(told["run"]))
    except (ClearschedError, KeyError, TypeError, ValueError):
        return Plan(0.0, frozenset(), frozenset())
