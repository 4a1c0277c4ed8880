"""What a run will cost: recorded times of stages, by how much they schedule, scaled by a loop that is timed here.

Beside this module, `costs.json` has of each stage the seconds that it takes before it schedules anything and those of a
job that it schedules once, with the recorded runs that they were set by; a test holds the two against each other. What
is not counted (tasks of a job, executors) makes a run cost up to `within` times as much, or as little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from clearsched.doctor.findings import Finding
from clearsched.documents import read_json
from clearsched.params import Params

TABLE = Path(__file__).with_name("costs.json")
GRID = 200
"""Settings that the tuning of the heuristics tries, about, whatever the problem."""
LOOPS, STEPS = 5, 1_000_000
"""The loop that is timed: the fastest of so many, of so many steps; together about half a second."""

ASKED = 1.0
"""What a further episode of the safety check costs, which a clone is asked up to seven times, next to a cloned one."""


class Work(NamedTuple):
    """What a stage does.

    Attributes:
        rules: jobs of the workflow that it has; each takes the fixed time.
        jobs: that it schedules, over all of them.
        threads: that can be at work at once.
    """

    rules: int
    jobs: float
    threads: int


class Cost(NamedTuple):
    """Of a run on one core of this machine.

    Attributes:
        cpu_s: CPU seconds by stage.
        threads: by stage, how many can be at work at once.
        disk_mb: of its results.
        within: by what factor all this may be wrong.
    """

    cpu_s: dict[str, float]
    threads: dict[str, int]
    disk_mb: float
    within: float

    def wall_s(self, cores: float) -> float:
        """From the first rule to the last, on so many cores that nobody else uses."""
        return sum(
            held_s(stage, cpu_s, cores) / min(max(cores, 1.0), self.threads[stage])
            for stage, cpu_s in self.cpu_s.items()
        )


@cache
def table() -> dict[str, Any]:
    """`costs.json`."""
    found: dict[str, Any] = read_json(TABLE)
    return found


def held_s(stage: str, cpu_s: float, cores: float) -> float:
    """Core seconds for which the jobs of a stage hold cores: one that is given two does not keep both at work."""
    on_two: float = table()["on_two"].get(stage, 0.5)  # seconds on two cores, next to CPU seconds
    return cpu_s * (2 * on_two if cores >= 2 else 1.0)


def loop_s(clock: Callable[[], float] = time.process_time) -> float:
    """CPU seconds of a loop of plain Python, the fastest of a few: how fast this machine is for one process now."""
    best = float("inf")
    for _ in range(LOOPS):
        start, total = clock(), 0
        for step in range(STEPS):
            total += step * step % 7
        best = min(best, clock() - start)
    return best


def work_of(params: Params) -> dict[str, Work]:
    """What each stage of a run does; a stage that takes what is shipped does nothing."""
    workload, search, teacher, students = params.workload, params.search, params.teacher, params.students
    jobs, episodes, decisions = workload.jobs, workload.episodes, params.decisions
    families = len(search.families) if search.source == "search" else 0
    seeds = teacher.seeds if teacher.source == "train" else 0
    rollouts = teacher.improve.iterations * teacher.improve.sequences * teacher.improve.rollouts
    clone = teacher.clone
    cloned = clone.episodes * (1 + clone.dagger_rounds + clone.safety_rounds)
    cloned += round(ASKED * clone.safety_episodes) if clone.safety_rounds else 0
    refine, fits = students.refine, fits_of(params)
    tried = refine.rounds * refine.evaluations * refine.structures * min(refine.episodes, episodes.train)
    return {
        "traces": Work(1, 0.0, 1),
        "heuristics": Work(1, GRID * episodes.validation * jobs, 2),
        "search": Work(families, families * search.evaluations * min(search.episodes, episodes.train) * jobs, 2),
        "teacher": Work(seeds, seeds * (rollouts + cloned) * jobs, max(seeds, 1)),
        "decisions": Work(1, (decisions.episodes + decisions.held_out) * jobs, 2),
        "students": Work(fits, fits * tried * jobs, 2 * max(len(students.names), 1)),
        "evaluation": Work(1, len(params.evaluation.policies) * episodes.test * jobs, 2),
        "figures": Work(1, 0.0, 8),
    }


def fits_of(params: Params) -> int:
    """How many fits of students a run makes: a kind and training seed each, or several."""
    return len(params.students.names) * params.students.seeds * params.students.fits


def disk_mb(params: Params, fits: int) -> float:
    """Room on disk of the results of a run with so many fits, each of which keeps what it was told, in MB."""
    recorded, students = table()["disk"], params.students
    logged = params.decisions.episodes + params.decisions.held_out
    logged += fits * students.dagger_rounds * students.dagger_episodes
    room_mb: float = recorded["fixed_mb"] + recorded["per_job_mb"] * logged * params.workload.jobs
    return room_mb


def of_run(params: Params, loop: float | None = None, compiled: bool = True) -> Cost:
    """The cost of a whole run of these params.

    Args:
        params: of the run.
        loop: seconds of the loop on this machine; None: it is timed.
        compiled: whether compiled code is there already.
    """
    recorded = table()
    loop = loop_s() if loop is None else loop
    cpu_s, threads, _, within = cost_of(work_of(params), loop)
    if not compiled:
        cpu_s["compiling"], threads["compiling"] = loop / recorded["loop_s"] * recorded["compile_s"], 1
    return Cost(cpu_s, threads, disk_mb(params, fits_of(params)), within)


def cost_of(work: Mapping[str, Work], loop: float | None = None) -> Cost:
    """The time that stages cost by the recorded rates; room on disk is not told. `loop` as in `of_run`."""
    recorded = table()
    slower, rates = (loop_s() if loop is None else loop) / recorded["loop_s"], recorded["stages"]
    cpu_s = {
        stage: slower * (rates[stage]["fixed_s"] * done.rules + rates[stage]["per_job_s"] * done.jobs)
        for stage, done in work.items()
    }
    return Cost(cpu_s, {stage: done.threads for stage, done in work.items()}, 0.0, recorded["within"])


def told(cost: Cost, cores: float) -> list[Finding]:
    """A line of the time, with the stages that take most of it, and one of the room on disk and in memory."""
    return [time_told("a run's time", cost, cores), room_told("a run's room", cost, table()["memory_gb"]["run"])]


def room_told(what: str, cost: Cost, memory_gb: float) -> Finding:
    """A line of the room on disk, and of the memory of the hungriest job, in GB."""
    low, mid, high = (in_mb(cost.disk_mb * times) for times in (1 / cost.within, 1.0, cost.within))
    return Finding(what, "ok", f"about {mid} of results ({low} to {high}), memory up to {memory_gb:g} GB a job")


def time_told(what: str, cost: Cost, cores: float) -> Finding:
    """A line of the time, with the stages that take most of it."""
    wall_s, total_s = cost.wall_s(cores), sum(cost.cpu_s.values())
    most = sorted(cost.cpu_s.items(), key=lambda item: -item[1])[:3]
    shares = ", ".join(f"{stage} {lasts(seconds)}" for stage, seconds in most)
    span = f"{lasts(wall_s / cost.within)} to {lasts(wall_s * cost.within)}"
    line = f"about {lasts(wall_s)} on {cores:g} free cores ({span}), CPU time {lasts(total_s)}: {shares}"
    return Finding(what, "ok", line)


def lasts(seconds: float) -> str:
    """A duration in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def in_mb(room_mb: float) -> str:
    """Room in the unit that suits it."""
    return f"{room_mb:.0f} MB" if room_mb < 1000 else f"{room_mb / 1000:.1f} GB"
