"""What all figures of the papers will cost at the scale paper (`make paper`): the recorded rates, over all its jobs."""

from __future__ import annotations

from collections.abc import Iterable

from clearsched.doctor import costs
from clearsched.doctor.costs import Cost, Work
from clearsched.doctor.findings import Finding
from clearsched.doctor.paper_jobs import OF_SIZES, Job, distilled, jobs_of, of_scale, read_of
from clearsched.paper.bases import scenarios_of
from clearsched.params import Params
from clearsched.students.sizes import fronts

AT_ONCE = 64
"""Jobs of many bases are there to run side by side, on any number of cores that a machine has."""


def of_paper(own: Params, loop: float | None = None) -> Cost:
    """The cost of the scale paper with the user's seed and section `paper`; `loop` as in `costs.of_run`."""
    return costs.cost_of(by_stage(jobs_of(own)), loop)._replace(disk_mb=disk_mb(own))


def by_stage(jobs: Iterable[Job]) -> dict[str, Work]:
    """What the jobs of each stage do together."""
    total: dict[str, Work] = {}
    for job in jobs:
        before = total.get(job.stage, Work(0, 0.0, AT_ONCE))
        total[job.stage] = Work(before.rules + job.work.rules, before.jobs + job.work.jobs, AT_ONCE)
    return total


def disk_mb(own: Params) -> float:
    """Room on disk of the results of all bases, in MB."""
    scenarios, with_students, with_sizes = scenarios_of(of_scale(own)), distilled(), read_of(OF_SIZES)
    sized = sum(len(front.sizes) for front in fronts(next(iter(scenarios.values())).students))
    total = 0.0
    for name, params in scenarios.items():
        fits = costs.fits_of(params) + (sized if name in with_sizes else 0)
        total += costs.disk_mb(params, fits) if name in with_students else costs.table()["disk"]["fixed_mb"]
    return total


def told(cost: Cost, cores: float) -> list[Finding]:
    """A line of the time, with the stages that take most of it, and one of the room on disk and in memory."""
    room = costs.room_told("make paper's room", cost, costs.table()["memory_gb"]["paper"])
    return [costs.time_told("make paper", cost, cores), room]
