"""What all figures of the papers will cost at the scale paper (`make paper`): the same rates, over all bases."""

from __future__ import annotations

from collections.abc import Iterator

from clearsched.doctor.costs import Cost, Work, cost_of, work_of
from clearsched.paper.bases import scenario_name, scenarios_of
from clearsched.paper.experiments import EXPERIMENTS, params_of
from clearsched.paper.sharing import takes
from clearsched.params import Params

AT_ONCE = 64
"""Rules of many bases are there to run side by side, on any number of cores that a machine has."""


def of_paper(own: Params, loop: float | None = None) -> Cost:
    """The cost of the scale paper with the user's seed and section `paper`; `loop` as in `costs.of_run`."""
    paper = own.paper.model_copy(update={"scale": "paper"})
    scenarios = scenarios_of(own.model_copy(update={"paper": paper}))
    total: dict[str, Work] = {}
    for stage, done in _works(scenarios):
        before = total.get(stage, Work(0, 0.0, AT_ONCE))
        total[stage] = Work(before.rules + done.rules, before.jobs + done.jobs, AT_ONCE)
    return cost_of(total, loop)


def _works(scenarios: dict[str, Params]) -> Iterator[tuple[str, Work]]:
    """What each base makes that it does not take from another one, and its experiments."""
    taken = takes(scenarios)
    distilled = {scenario_name("paper", each.base) for each in EXPERIMENTS.values() if each.students}
    for name, params in scenarios.items():
        for stage, done in work_of(params).items():
            own = (name, stage) not in taken and stage not in ("evaluation", "figures")
            if own and (name in distilled or stage not in ("decisions", "students")):
                yield stage, done
    for name, each in EXPERIMENTS.items():
        base = scenarios[scenario_name("paper", each.base)]
        params = params_of(base, name)
        listed = len(params.evaluation.policies)
        seeds = 2 * (base.teacher.seeds if base.teacher.source == "train" else 1)
        yield "evaluation", Work(1, (listed + seeds) * params.workload.episodes.test * params.workload.jobs, 1)
